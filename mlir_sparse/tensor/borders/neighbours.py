"""The libraries whose sparse arrays tensors are made of, and made into: a row is a library.

A library is recognised by the module of a class and by the attributes that are read; none is imported to look.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mlir_sparse.classes import dataclass
from mlir_sparse.errors import OperandError

if TYPE_CHECKING:
    from mlir_sparse.tensor.borders.foreign_parts import Given
    from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["NEIGHBOURS", "Neighbour", "made_for", "neighbour_of"]

_ROOM = "mlir_sparse.tensor.borders"


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A library with sparse arrays.

    Args:
        name: what `A.to(...)` calls it.
        package: the package of its classes.
        attributes: what one of its sparse arrays has, one tuple for each kind of them.
        home: the module of this room that has `NAME_parts` and `NAME_of`.
        function: NAME.
        computes: whether its arrays are operands of operators and kernels, as graphs and files are not.
        looks: whether the home's `is_sparse_NAME` tells its sparse arrays from others of the same classes.
    """

    name: str
    package: str
    attributes: tuple[tuple[str, ...], ...]
    home: str
    function: str
    computes: bool = True
    looks: bool = False

    def is_sparse(self, source: Any) -> bool:
        """Returns whether an object of one of the library's classes is sparse."""
        return not self.looks or bool(_member(self.home, f"is_sparse_{self.function}")(source))

    def reader(self) -> Callable[[Any], Given]:
        """Returns what says of a sparse array of the library's of which arrays it is made."""
        found: Callable[[Any], Given] = _member(self.home, f"{self.function}_parts")
        return found

    def made(self, tensor: SparseTensor, options: dict[str, Any]) -> Any:
        """Returns a tensor as a sparse array of the library's."""
        return _member(self.home, f"{self.function}_of")(tensor, **options)


NEIGHBOURS = (
    Neighbour("pydata", "sparse", (("asformat", "todense"),), "pydata_sparse", "pydata"),
    Neighbour("jax", "jax", (("indices", "data", "n_batch", "n_dense"),), "jax_sparse", "jax"),
    Neighbour("graphblas", "graphblas", (("to_coo", "nvals", "shape"),), "graphblas_sparse", "graphblas"),
    Neighbour("tensorflow", "tensorflow", (("indices", "values", "dense_shape"),), "tensorflow_sparse", "tensorflow"),
    Neighbour("arrow", "pyarrow", (("non_zero_length", "to_numpy", "shape"),), "arrow_sparse", "arrow"),
    Neighbour("networkx", "networkx", (("adjacency", "is_multigraph", "nodes"),), "graphs", "networkx", False),
    Neighbour("igraph", "igraph", (("get_edgelist", "vcount", "es"),), "graphs", "igraph", False),
    Neighbour("anndata", "h5py", (("attrs", "create_group"),), "hdf5_groups", "group", False, looks=True),
    Neighbour("anndata", "zarr", (("attrs", "create_group"),), "hdf5_groups", "group", False, looks=True),
    Neighbour(
        "pandas", "pandas", (("sp_index", "sp_values"), ("sparse", "iloc")), "pandas_sparse", "pandas", looks=True
    ),
)
_BUILTIN = ("numpy", "builtins", "mlir_sparse", "scipy", "torch")


def neighbour_of(source: object) -> Neighbour | None:
    """Returns the library whose sparse array an object is; None for any other object."""
    found = _by_class(type(source))  # type: ignore[arg-type]  # classes have a hash
    return found if found is not None and found.is_sparse(source) else None


def made_for(tensor: SparseTensor, name: str, options: dict[str, Any]) -> Any:
    """Returns a tensor as a sparse array of a library.

    Raises:
        OperandError: for a name that no library has, and for options that it does not take.
        MissingPackageError: without the library.
    """
    for neighbour in NEIGHBOURS:
        if neighbour.name == name:
            try:
                return neighbour.made(tensor, options)
            except TypeError as error:
                if isinstance(error, OperandError) or "argument" not in str(error):
                    raise
                raise OperandError(f"expected options of A.to({name!r}), but got others: {error}") from None
    names = ", ".join(dict.fromkeys(neighbour.name for neighbour in NEIGHBOURS))
    raise OperandError(f"expected cpu, cuda, cuda:N, scipy, torch, cupy, {names} for A.to, but got {name!r}")


@lru_cache(maxsize=64)
def _member(home: str, name: str) -> Any:
    return getattr(importlib.import_module(f"{_ROOM}.{home}"), name)


@lru_cache(maxsize=512)
def _by_class(kind: Any) -> Neighbour | None:
    for ancestor in kind.__mro__:
        package = (ancestor.__module__ or "").partition(".")[0]
        if package in _BUILTIN:
            continue
        for neighbour in NEIGHBOURS:
            if package == neighbour.package and any(_has_all(kind, names) for names in neighbour.attributes):
                return neighbour
    return None


def _has_all(kind: type, names: tuple[str, ...]) -> bool:
    return all(hasattr(kind, name) or name in getattr(kind, "__annotations__", ()) for name in names)
