"""Other libraries: for each kernel they have, a function from operands to the call to time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse

import mlir_sparse as ms
from benchmarks import sparse_results
from benchmarks.data import Operands

__all__ = ["PEERS", "THREADED", "Call", "Prepare"]

Call = Callable[[], Any]
Prepare = Callable[[Operands], Call]


def _checked(matrix: Any) -> Any:
    matrix.check_format(full_check=True)  # ranges only, not the order
    return matrix


def _slots(matrix: Any) -> Any:
    """Lays rows out as ELL in NumPy: coordinates and values of each slot, -1 and 0 where a row has none."""
    lengths = np.diff(matrix.indptr)
    width, rows = int(lengths.max(initial=0)), matrix.shape[0]
    filled = np.arange(width) < lengths[:, None]  # row after row, as the entries come
    columns, values = np.full((rows, width), -1, matrix.indices.dtype), np.zeros((rows, width))
    columns[filled], values[filled] = matrix.indices, matrix.data
    return np.ascontiguousarray(columns.T), np.ascontiguousarray(values.T)


def _to_slots(operands: Operands) -> Call:
    A = operands["A"]

    def call() -> Any:
        _slots(A)
        return A  # what the result is compared with; the arrays are NumPy's own

    return call


def _from_slots(operands: Operands) -> Call:
    """Takes rows out of ELL in NumPy, where they are as `_slots` leaves them."""
    A = operands["A"]
    columns, values = _slots(A)

    def call() -> Any:
        by_row, kept = columns.T, values.T
        filled = by_row >= 0
        starts = np.zeros(A.shape[0] + 1, np.int32)
        np.cumsum(filled.sum(1), out=starts[1:])
        return scipy.sparse.csr_array((kept[filled], by_row[filled], starts), shape=A.shape)

    return call


def _through_csr(operands: Operands) -> Call:
    """Converts coordinates to CSR and multiplies once: what multiplying straight from them must beat."""
    A, x = ms.tensor(operands["A"], "COO"), operands["x"]
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=A.convert("CSR"), x=x)
    return lambda: kernel(A.convert("CSR"), x)


_OWN: Mapping[str, Mapping[str, Prepare]] = {
    "SciPy": {
        "spmv": lambda o: lambda: o["A"] @ o["x"],
        "spmv-out": lambda o: lambda: o["A"] @ o["x"],
        "spmm": lambda o: lambda: o["A"] @ o["X"],
        "pack": lambda o: o["A"].tocsr,
        "pack-csc": lambda o: o["A"].tocsc,
        "pack-hashed": lambda o: o["A"].tocsr,
        "coo-to-csr": lambda o: o["A"].tocsr,
        "coo-to-csc": lambda o: o["A"].tocsc,
        "to-csc": lambda o: o["A"].tocsc,
        "to-coo": lambda o: lambda: o["A"].tocoo(copy=True),  # ours shares nothing with its source either
        "to-dia": lambda o: o["A"].todia,
        "to-bsr": lambda o: lambda: o["A"].tobsr((4, 4)),
        "dia-to-csr": lambda o: o["A"].todia().tocsr,
        "bsr-to-csr": lambda o: o["A"].tobsr((4, 4)).tocsr,
        "validate": lambda o: lambda: _checked(o["A"]),
    },
    "NumPy": {"to-ell": _to_slots, "ell-to-csr": _from_slots},
    "by way of CSR": {"spmv-coo": _through_csr},
}

PEERS: Mapping[str, Mapping[str, Prepare]] = {
    name: {**_OWN.get(name, {}), **sparse_results.PEERS.get(name, {})}
    for name in dict.fromkeys((*_OWN, *sparse_results.PEERS))
}

# Peers that run on as many threads as we do; the others run on one.
THREADED = ("by way of CSR",)
