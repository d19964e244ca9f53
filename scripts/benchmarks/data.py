"""Inputs, the same on every machine and in every run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse

__all__ = ["Operands", "poisson", "shuffled_coo", "sorted_coo", "uniform", "with_dense"]

Operands = Mapping[str, Any]


def uniform(rows: int, per_row: int, columns: int | None = None) -> scipy.sparse.csr_array:
    """Draws `per_row` columns for each row; columns drawn twice are one entry."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, columns or rows, (rows, per_row), dtype=np.int32)
    starts = np.arange(0, rows * per_row + 1, per_row, dtype=np.int32)
    matrix = scipy.sparse.csr_array((rng.random(rows * per_row), drawn.ravel(), starts), shape=(rows, columns or rows))
    matrix.sum_duplicates()
    return matrix


def poisson(n: int) -> scipy.sparse.csr_array:
    """Builds the 5-point matrix of the Poisson equation on an n x n grid."""
    line = scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    one = scipy.sparse.eye_array(n)
    return scipy.sparse.csr_array(scipy.sparse.kron(line, one) + scipy.sparse.kron(one, line))


def sorted_coo(rows: int, per_row: int) -> scipy.sparse.coo_array:
    """Returns entries sorted by row, then column."""
    return uniform(rows, per_row).tocoo()


def shuffled_coo(rows: int, per_row: int) -> scipy.sparse.coo_array:
    """Returns the same entries in no order."""
    A = sorted_coo(rows, per_row)
    order = np.random.default_rng(2).permutation(A.nnz)
    return scipy.sparse.coo_array((A.data[order], (A.row[order], A.col[order])), shape=A.shape)


def with_dense(matrix: scipy.sparse.csr_array, name: str, *columns: int) -> Operands:
    """Returns A and a dense operand of as many rows as A has columns."""
    return {"A": matrix, name: np.random.default_rng(1).random((matrix.shape[1], *columns))}
