"""What eager operations work on: tensors and SciPy's arrays of one content."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse

import mlir_sparse as ms

__all__ = ["DTYPES", "SIZES", "STORAGES", "Operands", "operands"]

STORAGES = ("CSR", "CSC", "COO")
DTYPES = ("f64", "f32", "i64", "c128")
# Rows and entries a row by the name of a size.
SIZES = {"8 x 8": (8, 3), "1e3": (200, 5), "1e4": (1000, 10), "1e6": (100_000, 10)}
_SIDE_OF_DENSE = 4000  # of a matrix that is read as an array, at the most
_NUMPY = {"f64": np.float64, "f32": np.float32, "i64": np.int64, "c128": np.complex128}


@dataclass(frozen=True)
class Operands:
    """Matrices of one library, and what NumPy has of them for both.

    Args:
        library: `mlir_sparse`, `scipy.sparse`, or `sparse` (pydata's).
        A: a square matrix.
        B: another of its shape.
        S: a matrix of 3 x 3 with four entries.
        F: a matrix with as many entries as A, or fewer, that fits in memory as an array.
        dense: an array of F's shape.
        row: an array of one row of A's columns.
        column: an array of one column of A's rows.
        picked: a tenth of A's rows, in no order.
        triples: rows, columns and values of A, in a random order.
        sorted_triples: those by rows.
        storage: by the names of this package.
    """

    library: Any
    A: Any
    B: Any
    S: Any
    F: Any
    dense: Any
    row: Any
    column: Any
    picked: Any
    triples: tuple[Any, Any, Any]
    sorted_triples: tuple[Any, Any, Any]
    storage: str


@cache
def _matrix(rows: int, columns: int, each: int, dtype: str, seed: int) -> Any:
    """Returns a matrix with some entries in each row, none of which are zeros."""
    random = np.random.default_rng(seed)
    places = np.unique(np.repeat(np.arange(rows), each) * columns + random.integers(0, columns, rows * each))
    values = random.permutation(places.size) * 67 % 199 - 99.5
    if dtype == "c128":
        values = values + 1j * values[::-1]
    values = 2 * values if dtype == "i64" else values
    coordinates = tuple(one.astype(np.int32) for one in np.divmod(places, columns))
    found = scipy.sparse.coo_array((values.astype(_NUMPY[dtype]), coordinates), shape=(rows, columns))
    return found.tocsr()


@cache
def _dense(rows: int, columns: int, dtype: str) -> Any:
    found = np.random.default_rng(5).random((rows, columns)) * 2 + 1
    return found.astype(_NUMPY[dtype])


def operands(library: str, storage: str, size: str, dtype: str) -> Operands:
    """Returns what operations work on.

    Args:
        library: its name.
        storage: a key of `STORAGES`.
        size: a key of `SIZES`.
        dtype: one of `DTYPES`.
    """
    rows, each = SIZES[size]
    side = min(rows, _SIDE_OF_DENSE)
    A, B = _matrix(rows, rows, each, dtype, 1), _matrix(rows, rows, each, dtype, 2)
    F = _matrix(side, side, rows * each // side, dtype, 3)
    S = scipy.sparse.csr_array(np.array([[1, 0, 2], [0, 0, 3], [4, 0, 0]], _NUMPY[dtype]))
    random = np.random.default_rng(4)
    entries = A.tocoo()
    order = random.permutation(entries.nnz)
    given = (entries.row, entries.col, entries.data)
    module, convert = _ways(library, storage)
    return Operands(
        module,
        *(convert(one) for one in (A, B, S, F)),
        _dense(side, side, dtype),
        _dense(1, rows, dtype),
        _dense(rows, 1, dtype),
        random.permutation(rows)[: max(1, rows // 10)],
        (given[0][order], given[1][order], given[2][order]),
        given,
        storage,
    )


def _ways(library: str, storage: str) -> tuple[Any, Any]:
    if library == "mlir_sparse":
        return ms, lambda matrix: ms.tensor(matrix.copy()).convert(storage)
    if library == "scipy.sparse":
        return scipy.sparse, lambda matrix: matrix.asformat(storage.lower())
    import sparse

    kind = sparse.COO if storage == "COO" else sparse.GCXS
    return sparse, lambda matrix: kind.from_scipy_sparse(matrix.asformat(storage.lower()))
