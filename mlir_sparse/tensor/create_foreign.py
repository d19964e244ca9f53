"""Tensors from other libraries' sparse arrays, which `tensor` takes; few programs have any."""

from __future__ import annotations

from typing import Any

from mlir_sparse.dtypes import DType
from mlir_sparse.errors import SparseError, StorageError
from mlir_sparse.tensor.borders.foreign_parts import FAULTS, storage_of_parts
from mlir_sparse.tensor.borders.known_forms import keep_form, keep_reader, shared_tensor
from mlir_sparse.tensor.borders.neighbours import Neighbour
from mlir_sparse.tensor.borders.scipy_parts import check_parts
from mlir_sparse.tensor.borders.scipy_sparse import default_encoding, scipy_lines, storage_of_scipy
from mlir_sparse.tensor.borders.torch_sparse import default_torch_encoding, storage_of_torch, torch_arrays
from mlir_sparse.tensor.create import Asked, from_library
from mlir_sparse.tensor.fill_values import cast_fill, fill_of
from mlir_sparse.tensor.filled_tensor import filled
from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["tensor_of_neighbour", "tensor_of_scipy", "tensor_of_torch"]


def tensor_of_neighbour(neighbour: Neighbour, source: Any, as_it_is: bool, asked: Asked) -> Any:
    """Returns the tensor of another library's array, a FilledTensor if it has a fill value.

    Args:
        neighbour: the library.
        source: the array.
        as_it_is: whether nothing was asked for.
        asked: what was asked for.
    """
    reader = neighbour.reader()
    try:
        given = reader(source)
        if as_it_is and (known := shared_tensor(given)) is not None:
            return known
        parts = given.parts()
    except SparseError:
        raise
    except FAULTS as error:
        what = f"a {type(source).__name__} of {neighbour.package} whose parts belong together"
        raise StorageError(f"expected {what}, but got from reading it: {error}") from error
    made = from_library(parts, lambda parts: parts.encoding, storage_of_parts, asked)
    # Graphs and files take long to read: to read one twice, where its arrays do not fit, takes longer than to look.
    # Where dense arrays have the class too, each is looked at.
    if as_it_is and keep_form(given, made) and neighbour.computes and not neighbour.looks:
        keep_reader(type(source), reader)
    if given.fill is None:
        return made
    own = fill_of(given.fill, DType.of(parts.values.dtype))
    return filled(made, own if asked.dtype is None else cast_fill(own, made.type.dtype))


def tensor_of_torch(source: Any, as_it_is: bool, asked: Asked) -> SparseTensor:
    """Returns the tensor of one of PyTorch's sparse tensors; `as_it_is` if nothing was asked for."""
    made = from_library(source, default_torch_encoding, storage_of_torch, asked)
    if as_it_is and (given := torch_arrays(source)) is not None and keep_form(given, made):
        keep_reader(type(source), torch_arrays)
    return made


def tensor_of_scipy(source: Any, as_it_is: bool, asked: Asked) -> SparseTensor:
    """Returns the tensor of one of SciPy's sparse arrays; `as_it_is` if nothing was asked for."""
    check_parts(source)
    made = from_library(source, default_encoding, storage_of_scipy, asked)
    own = as_it_is and type(source).__module__.startswith("scipy.")  # subclasses may have anything in attributes
    if own and (given := scipy_lines(source)) is not None and keep_form(given, made):
        keep_reader(type(source), scipy_lines)
    return made
