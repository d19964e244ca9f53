"""Requests for elements that later entries name: which loops make them, and that results are the same with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import mlir_sparse as ms
from dialect_tests.crossing import crossed
from dialect_tests.strategy_remarks import NARROW, SPMM, SPMV, TRANSPOSED, said_by

ROWS, COLUMNS = 30_000, 300_000


def scattered(degree: int, shape: tuple[int, int] = (ROWS, COLUMNS)) -> sp.csr_array:
    """Returns a matrix with so many entries a row and fewer, at columns in no order: a sample finds them far apart."""
    rng = np.random.default_rng(degree)
    lengths = rng.integers(0, degree + 1, shape[0])
    lengths[-3:] = 0  # the last entry is not in the last row
    rows = np.repeat(np.arange(shape[0]), lengths)
    columns = rng.integers(0, shape[1], rows.size)
    matrix = sp.coo_array((rng.integers(-3, 4, rows.size), (rows, columns)), shape=shape).tocsr()
    matrix.sum_duplicates()
    return matrix


def neighbouring() -> sp.csr_array:
    """Returns a matrix whose entries are near each other, of the same shape."""
    ones = np.ones(ROWS)
    return sp.csr_array(sp.diags_array([ones, 2 * ones, 3 * ones], offsets=[0, 1, 5], shape=(ROWS, COLUMNS)))


MATRICES = {"scattered": scattered(4), "one a row": scattered(2), "neighbouring": neighbouring()}


@crossed(
    matrix=list(MATRICES),
    stored=["CSR", "COO", "DCSR", "ELL"],
    dtype=[np.float64, np.float32, np.int32, np.complex128],
    width=[32, 64],
    threads=[1, 3],
)
def test_results_are_the_same_wherever_entries_lie(
    matrix: str, stored: str, dtype: Any, width: int, threads: int
) -> None:
    A, rng = MATRICES[matrix].astype(dtype), np.random.default_rng(1)
    x, z = (rng.integers(-4, 5, size).astype(dtype) for size in (COLUMNS, ROWS))
    encoding = ms.encoding(stored).with_widths(width, width)
    T = ms.tensor(A, "CSR").convert(encoding)
    ms.set_num_threads(threads)
    try:
        np.testing.assert_array_equal(ms.evaluate(SPMV, A=T, x=x), A @ x)
        np.testing.assert_array_equal(ms.evaluate(TRANSPOSED, A=T, x=z), A.T @ z)
        np.testing.assert_array_equal(ms.evaluate("y(j) = A(i,j)", A=T, out="dense"), A.sum(axis=0))
    finally:
        ms.set_num_threads(None)


@pytest.mark.parametrize("columns", [1, 3, 4, 9])
def test_rows_of_arrays(columns: int) -> None:
    A, rng = MATRICES["scattered"].astype(np.float64), np.random.default_rng(2)
    B = rng.integers(-4, 5, (COLUMNS, columns)).astype(float)
    T = ms.tensor(A, "CSR")
    np.testing.assert_array_equal(ms.evaluate("C(i,j) = A(i,k) * B(k,j)", A=T, B=B), A @ B)
    np.testing.assert_array_equal(ms.evaluate("C(j) = A(i,k) * B(k,j)", A=T, B=B), (A @ B).sum(axis=0))


def test_it_says_where_elements_are_asked_for() -> None:
    assert said_by("prefetch-gathers", SPMV, options=NARROW, A="CSR", x="") == ["applied to j"]
    assert said_by("prefetch-gathers", TRANSPOSED, options=NARROW, A="CSR", x="") == ["applied to j"]
    assert said_by("prefetch-gathers", SPMV, dtype="c128", options=NARROW, A="CSR", x="") == ["applied to j"]


def test_it_says_where_they_are_not() -> None:
    assert said_by("prefetch-gathers", "y(i) = A(i,j)", options=NARROW, A="CSR") == []  # it reads no array
    rows = "j: its rows lie anywhere in memory: entries behind one are not those of the next"
    assert said_by("prefetch-gathers", SPMM, "CSR", A="CSR", B="CSR") == [rows]
    vectors = said_by("prefetch-gathers", SPMV, A="CSR", x="")
    assert vectors == []  # entries in vectors have no ends to foresee
