"""Other libraries: for each kernel they have, a function from operands to the call to time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import mlir_sparse as ms
from benchmarks.data import Operands

__all__ = ["PEERS", "Call", "Prepare"]

Call = Callable[[], Any]
Prepare = Callable[[Operands], Call]


def _checked(matrix: Any) -> Any:
    matrix.check_format(full_check=True)  # ranges only, not the order
    return matrix


def _slots(matrix: Any) -> Any:
    """Lays rows out as ELL in NumPy: coordinates and values of each slot, -1 and 0 where a row has none."""
    lengths = np.diff(matrix.indptr)
    rows = np.repeat(np.arange(matrix.shape[0]), lengths)
    slots = np.arange(matrix.nnz) - np.repeat(matrix.indptr[:-1], lengths)
    columns = np.full((lengths.max(), matrix.shape[0]), -1, matrix.indices.dtype)
    values = np.zeros(columns.shape)
    columns[slots, rows], values[slots, rows] = matrix.indices, matrix.data
    return matrix


def _through_csr(operands: Operands) -> Call:
    """Converts coordinates to CSR and multiplies once: what multiplying straight from them must beat."""
    A, x = ms.tensor(operands["A"], "COO"), operands["x"]
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=A.convert("CSR"), x=x)
    return lambda: kernel(A.convert("CSR"), x)


PEERS: Mapping[str, Mapping[str, Prepare]] = {
    "SciPy": {
        "spmv": lambda o: lambda: o["A"] @ o["x"],
        "spmv-out": lambda o: lambda: o["A"] @ o["x"],
        "spmm": lambda o: lambda: o["A"] @ o["X"],
        "pack": lambda o: o["A"].tocsr,
        "pack-csc": lambda o: o["A"].tocsc,
        "to-csc": lambda o: o["A"].tocsc,
        "to-coo": lambda o: lambda: o["A"].tocoo(copy=True),  # ours shares nothing with its source either
        "to-dia": lambda o: o["A"].todia,
        "to-bsr": lambda o: lambda: o["A"].tobsr((4, 4)),
        "validate": lambda o: lambda: _checked(o["A"]),
    },
    "NumPy": {"to-ell": lambda o: lambda: _slots(o["A"])},
    "by way of CSR": {"spmv-coo": _through_csr},
}
