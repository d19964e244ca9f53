"""Reference results, by SciPy and NumPy, in the plainest way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse

from benchmarks.canonical import Entries, plain
from benchmarks.entries import Coordinates, DoublyCompressed, Ell, Fibers

__all__ = [
    "added",
    "coordinates",
    "innerprod",
    "mattransmul",
    "mttkrp",
    "product",
    "product_flops",
    "sddmm",
    "spmv",
    "stored",
    "tensor_total",
    "total",
    "ttm",
    "ttv",
]

Operands = Mapping[str, Any]


def stored(operand: Any) -> int:
    """Returns how many values are stored, padding included."""
    return int(
        operand.values.size if isinstance(operand, (Coordinates, DoublyCompressed, Ell, Fibers)) else operand.data.size
    )


def added(o: Operands) -> int:
    """Counts an operation for each stored value of all operands."""
    return sum(map(stored, o.values()))


def spmv(o: Operands) -> Any:
    A, x = o["A"], o["x"]
    return (A.values * x[A.columns]).sum(0) if isinstance(A, Ell) else A @ x


def mattransmul(o: Operands) -> Any:
    return o["alpha"] * (o["A"].T @ o["x"]) + o["beta"] * o["z"]


def sddmm(o: Operands) -> Any:
    """Multiplies rows and columns at the entries, some at a time."""
    S, X, Y = o["S"].tocoo(), o["X"], o["Y"]
    values = np.empty(S.nnz)
    for start in range(0, S.nnz, 100_000):
        some = slice(start, start + 100_000)
        values[some] = S.data[some] * np.einsum("ek,ek->e", X[S.row[some]], Y[S.col[some]])
    return scipy.sparse.coo_array((values, (S.row, S.col)), shape=S.shape)


def product(o: Operands) -> Any:
    return o["A"] @ o["B"]


def product_flops(o: Operands) -> int:
    """Counts two operations for each pair of entries that meet."""
    return 2 * int(np.diff(o["B"].indptr)[o["A"].indices].sum(dtype=np.int64))


def total(o: Operands) -> Any:
    first, *others = o.values()
    return sum(others, first)


def coordinates(tensor: Any) -> tuple[Any, Any, Any]:
    """Returns the three coordinates of each entry."""
    if isinstance(tensor, Coordinates):
        return tensor.coords[:, 0], tensor.coords[:, 1], tensor.coords[:, 2]
    lines = np.diff(tensor.pos[1])
    i = np.repeat(np.repeat(tensor.crd[0], np.diff(tensor.pos[0])), lines)
    return i, np.repeat(tensor.crd[1], lines), tensor.crd[2]


def _lines(tensor: Any) -> tuple[Any, Any, Any]:
    """Returns the numbers of the pairs (i, j), which of them each entry has, and its k."""
    i, j, k = coordinates(tensor)
    keys, which = np.unique(i.astype(np.int64) * tensor.shape[1] + j, return_inverse=True)
    return keys, which, k


def ttv(o: Operands) -> Entries:
    keys, which, k = _lines(o["T"])
    return Entries(keys, np.bincount(which, o["T"].values * o["v"][k], keys.size))


def ttm(o: Operands) -> Entries:
    keys, which, k = _lines(o["T"])
    columns = [np.bincount(which, o["T"].values * column[k], keys.size) for column in o["M"].T]
    return Entries(keys, np.stack(columns, 1))


def mttkrp(o: Operands) -> Any:
    T, (i, j, k) = o["T"], coordinates(o["T"])
    columns = (T.values * b[j] * c[k] for b, c in zip(o["B"].T, o["C"].T, strict=True))
    return np.stack([np.bincount(i, column, T.shape[0]) for column in columns], 1)


def innerprod(o: Operands) -> Any:
    T, U = plain(o["T"]), plain(o["U"])
    assert isinstance(T, Entries)
    assert isinstance(U, Entries)
    _, t, u = np.intersect1d(T.keys, U.keys, assume_unique=True, return_indices=True)
    return np.dot(T.values[t], U.values[u])


def tensor_total(o: Operands) -> Entries:
    found: list[Any] = [plain(operand) for operand in o.values()]
    places: Any = np.concatenate([entries.keys for entries in found])
    keys, which = np.unique(places, return_inverse=True)
    return Entries(keys, np.bincount(which, np.concatenate([entries.values for entries in found]), keys.size))
