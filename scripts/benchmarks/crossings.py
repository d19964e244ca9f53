"""Tensors from other libraries' sparse arrays and back, beyond what the libraries themselves take for it.

The floor outwards is the library's own constructor on arrays that are ready for it, without its checks where they can
be left out; inwards it is the library's own way to hand its arrays over. JAX's arrays are its own copies: its floor
outwards includes these.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
import timeit
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse

import mlir_sparse as ms

__all__ = ["CROSSINGS", "crossing", "is_installed"]

_CALLS, _ROUNDS = 200, 30


@dataclass(frozen=True, slots=True)
class Crossing:
    """A kind of sparse array of a library.

    Args:
        library: its name for `A.to`.
        package: the package to import.
        made: given the module and a matrix in CSR, returns the constructor on ready arrays.
        read: hands over the arrays of one.
    """

    library: str
    package: str
    made: Callable[[Any, Any], Callable[[], Any]]
    read: Callable[[Any], Any]


def _scipy(module: Any, rows: Any, kind: str = "csr") -> Callable[[], Any]:
    one = rows.tobsr((4, 4)) if kind == "bsr" else rows.asformat(kind)
    return lambda: getattr(module, f"{kind}_array")((one.data, one.indices, one.indptr), shape=one.shape)


def _torch(module: Any, rows: Any, kind: str = "csr") -> Callable[[], Any]:
    one = rows.tobsr((4, 4)) if kind == "bsr" else rows.asformat(kind)
    arrays = [module.from_numpy(array) for array in (one.indptr, one.indices, one.data)]
    return lambda: getattr(module, f"sparse_{kind}_tensor")(*arrays, one.shape, check_invariants=False)


def _torch_entries(module: Any, rows: Any) -> Callable[[], Any]:
    one = rows.tocoo()
    indices, values = module.from_numpy(np.stack(one.coords).astype(np.int64)), module.from_numpy(one.data)
    return lambda: module.sparse_coo_tensor(indices, values, one.shape, is_coalesced=True, check_invariants=False)


def _pydata_entries(module: Any, rows: Any) -> Callable[[], Any]:
    one = rows.tocoo()
    return lambda: module.COO(np.stack(one.coords), one.data, shape=one.shape, has_duplicates=False, sorted=True)


def _pydata_rows(module: Any, rows: Any) -> Callable[[], Any]:
    arrays = rows.data, rows.indices, rows.indptr
    return lambda: module.GCXS(arrays, shape=rows.shape, compressed_axes=[0])


def _jax_entries(module: Any, rows: Any) -> Callable[[], Any]:
    one, put = rows.tocoo(), importlib.import_module("jax.numpy").asarray
    return lambda: module.BCOO(
        (put(one.data), put(np.stack(one.coords, axis=1))), shape=one.shape, indices_sorted=True, unique_indices=True
    )


def _jax_rows(module: Any, rows: Any) -> Callable[[], Any]:
    put, arrays = importlib.import_module("jax.numpy").asarray, (rows.data, rows.indices, rows.indptr)
    return lambda: module.BCSR(tuple(map(put, arrays)), shape=rows.shape, indices_sorted=True, unique_indices=True)


def _arrow_rows(module: Any, rows: Any) -> Callable[[], Any]:
    return lambda: module.SparseCSRMatrix.from_numpy(rows.data, rows.indptr, rows.indices, rows.shape)


def _graphblas_rows(module: Any, rows: Any) -> Callable[[], Any]:
    arrays = rows.indptr.astype(np.uint64), rows.indices.astype(np.uint64), rows.data
    return lambda: module.Matrix.from_csr(*arrays, ncols=rows.shape[1])


def _networkx_edges(module: Any, rows: Any) -> Callable[[], Any]:
    one, nodes = rows.tocoo(), range(rows.shape[0])
    edges = list(zip(*(column.tolist() for column in (*one.coords, one.data)), strict=True))

    def made() -> Any:
        graph = module.DiGraph()
        graph.add_nodes_from(nodes)
        graph.add_weighted_edges_from(edges)
        return graph

    return made


def _of_torch(one: Any) -> Any:
    if str(one.layout) == "torch.sparse_coo":
        return one._indices().numpy(), one._values().numpy()
    by_rows = str(one.layout) != "torch.sparse_csc"
    places = (one.crow_indices(), one.col_indices()) if by_rows else (one.ccol_indices(), one.row_indices())
    return (*[array.numpy() for array in places], one.values().numpy())


def _attributes(*names: str) -> Callable[[Any], Any]:
    return lambda one: [np.asarray(getattr(one, name)) for name in names]


_ROWS = _attributes("data", "indices", "indptr")

CROSSINGS: Mapping[str, Crossing] = {
    "scipy CSR": Crossing("scipy", "scipy.sparse", _scipy, _ROWS),
    **{
        f"scipy {kind.upper()}": Crossing("scipy", "scipy.sparse", partial(_scipy, kind=kind), _ROWS)
        for kind in ("csc", "bsr")
    },
    **{
        f"torch {kind.upper()}": Crossing("torch", "torch", partial(_torch, kind=kind), _of_torch)
        for kind in ("csr", "csc", "bsr")
    },
    "torch COO": Crossing("torch", "torch", _torch_entries, _of_torch),
    "pydata COO": Crossing("pydata", "sparse", _pydata_entries, _attributes("data", "coords")),
    "pydata GCXS": Crossing("pydata", "sparse", _pydata_rows, _ROWS),
    "jax BCOO": Crossing("jax", "jax.experimental.sparse", _jax_entries, _attributes("data", "indices")),
    "jax BCSR": Crossing("jax", "jax.experimental.sparse", _jax_rows, _ROWS),
    "graphblas CSR": Crossing("graphblas", "graphblas", _graphblas_rows, lambda one: one.to_csr()),
    "networkx": Crossing("networkx", "networkx", _networkx_edges, lambda one: list(one.edges(data="weight"))),
    "arrow CSR": Crossing("arrow", "pyarrow", _arrow_rows, lambda one: one.to_numpy()),
}
"""By library and layout; those of packages that are not installed are left out of the figures."""


def is_installed(one: Crossing) -> bool:
    """Returns whether the package of a crossing can be imported, which it is not."""
    return importlib.util.find_spec(one.package.partition(".")[0]) is not None


def crossing(name: str, outwards: bool, clock: str) -> list[float]:
    """Returns the seconds of a crossing on the same memory beyond its floor, of a matrix of 8 x 8.

    Args:
        name: one of `CROSSINGS`.
        outwards: whether tensors become the library's arrays, and not the reverse.
        clock: "wall" or "processor".
    """
    one, timer = CROSSINGS[name], time.perf_counter if clock == "wall" else time.process_time
    if one.library == "jax":
        importlib.import_module("jax").config.update("jax_enable_x64", True)
    rows = scipy.sparse.eye_array(8, format="csr")
    make = one.made(importlib.import_module(one.package), rows)
    theirs = make()
    tensor = ms.tensor(theirs)
    ours = partial(tensor.to, one.library) if outwards else partial(ms.tensor, theirs)
    floor = make if outwards else partial(one.read, theirs)
    np.testing.assert_array_equal(ms.tensor(ours()).to_numpy() if outwards else ours().to_numpy(), rows.toarray())
    assert type(ours()) is (type(theirs) if outwards else type(tensor))
    times = [
        [timeit.timeit(call, number=_CALLS, timer=timer) / _CALLS for call in (ours, floor)] for _ in range(_ROUNDS)
    ]
    return [mine - bare for mine, bare in times]
