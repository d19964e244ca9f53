"""The pass that adds up each row by itself where one sum is of all: what it computes, and what it leaves alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms
from dialect_tests.strategy_remarks import MASKED, NARROW, SPMV, said_by

FORM = "s = x(i) * A(i,j) * z(j)"
TOTAL = "s = T(i,j,k) * v(k)"
FIBRES = "s = T(i,j,k) * C(j,k)"


def matrix(rows: int, columns: int, dtype: Any = np.float64) -> Any:
    made = scipy.sparse.random_array((rows, columns), density=0.3, rng=np.random.default_rng(0), format="csr")
    made.data = np.ceil(made.data * 5)
    return made.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.complex128])
@pytest.mark.parametrize("stored", ["CSR", "CSC", "DCSR", "COO", "ELL", "BSR(2, 3)"])
def test_rows_add_up_to_the_sum_of_all(stored: str, dtype: Any) -> None:
    rng = np.random.default_rng(1)
    A, x, z = matrix(12, 9, dtype), rng.integers(1, 4, 12).astype(dtype), rng.integers(1, 4, 9).astype(dtype)
    found = ms.evaluate(FORM, A=ms.tensor(A).convert(stored), x=x, z=z)
    assert found == x @ (A.toarray() @ z)  # whole numbers add up without rounding


@pytest.mark.parametrize(("rows", "columns"), [(0, 0), (0, 5), (5, 0), (1, 1), (17, 6), (400, 1)])
def test_all_extents(rows: int, columns: int) -> None:
    A = matrix(rows, columns)
    assert ms.evaluate(FORM, A=ms.tensor(A), x=np.ones(rows), z=np.ones(columns)) == A.sum()


def test_sums_over_three_levels() -> None:
    T = np.random.default_rng(2).integers(-1, 2, (5, 6, 7)).astype(float)
    v = np.arange(7.0)
    stored = ms.tensor(T, "CSF")
    assert ms.evaluate(TOTAL, T=stored, v=v) == (T @ v).sum()
    np.testing.assert_array_equal(ms.evaluate("y(i) = T(i,j,k) * v(k)", T=stored, v=v), (T @ v).sum(1))


@pytest.mark.parametrize("text", ["y(k) = A(i,j) * B(j,k)", "y(k) = sum(i, j : A(i,j)) + sum(j : B(j,k))"])
def test_rows_in_vectors_are_carried_as_they_are(text: str) -> None:
    A, B = matrix(12, 9), matrix(9, 40).toarray()
    for options in (NARROW, MASKED):
        expected = A.sum(0) @ B if "*" in text else A.sum() + B.sum(0)
        np.testing.assert_array_equal(ms.evaluate(text, A=ms.tensor(A), B=B, optimize="off"), expected)
        assert said_by("rows-apart", text, options=options, A="CSR", B="") == []


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_stays_so(special: float) -> None:
    A = matrix(8, 8)
    A.data[3] = special
    np.testing.assert_equal(ms.evaluate("s = A(i,j)", A=ms.tensor(A)), np.float64(special))


def test_what_is_added_to_counts() -> None:
    A = matrix(8, 8)
    assert ms.evaluate("s += A(i,j)", s=np.array(3.0), A=ms.tensor(A)) == 3 + A.sum()


@pytest.mark.parametrize(("text", "storage"), [(FORM, {"A": "CSR", "x": "", "z": ""}), (FIBRES, {"T": "CSF", "C": ""})])
def test_it_says_that_rows_are_added_up_apart(text: str, storage: dict[str, str]) -> None:
    assert said_by("rows-apart", text, options=NARROW, **storage) == [f"applied to {text[-2]}"]
    assert said_by("rows-apart", text, options=NARROW, dtype="i32", **storage) == []  # these add up in a cycle each


def test_it_leaves_rows_that_vectors_add_up() -> None:
    assert said_by("rows-apart", FORM, options=MASKED, A="CSR", x="", z="") == []


def test_it_leaves_what_is_no_sum_of_all() -> None:
    assert said_by("rows-apart", SPMV, options=NARROW, A="CSR", x="") == []
    said = said_by("rows-apart", "s = max(i, j : x(i) * A(i,j))", options=NARROW, A="CSR", x="")
    assert said == ["j: it makes no sum of its entries"]
