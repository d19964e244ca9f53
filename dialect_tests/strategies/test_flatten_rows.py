"""The pass that writes one loop over the entries of all rows: what it computes, and what it leaves alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms
from dialect_tests.strategy_remarks import MASKED, NARROW, SPMV, TRANSPOSED, said_by

NAME = "flatten-rows"

pytestmark = pytest.mark.usefixtures("one_thread_and_two")


def matrix(rows: int, columns: int, dtype: Any = np.float64, density: float = 0.3) -> Any:
    made = scipy.sparse.random_array((rows, columns), density=density, rng=np.random.default_rng(0), format="csr")
    made.data = np.ceil(made.data * 5)
    return made.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.int8, np.complex128])
@pytest.mark.parametrize("stored", ["CSR", "CSC", "DCSR", "DCSC", "COO", "ELL", "BSR(2, 3)", "DIA"])
def test_sums_of_all_entries(stored: str, dtype: Any) -> None:
    A = matrix(30, 21, dtype)
    T, dense, x = ms.tensor(A).convert(stored), A.toarray(), np.arange(1, 22).astype(dtype)
    assert ms.evaluate("s = A(i,j)", A=T) == dense.sum(dtype=dtype)
    assert ms.evaluate("s = A(i,j) * x(j)", A=T, x=x) == (dense @ x).sum(dtype=dtype)
    np.testing.assert_array_equal(ms.evaluate("y(j) = A(i,j)", A=T), dense.sum(0, dtype=dtype))
    np.testing.assert_array_equal(ms.evaluate("y(i) = A(i,j)", A=T), dense.sum(1, dtype=dtype))


@pytest.mark.parametrize("stored", ["CSR", "CSC", "DCSR", "COO"])
@pytest.mark.parametrize("dtype", [np.float64, np.int16])
@pytest.mark.parametrize(("name", "reduce"), [("max", np.max), ("min", np.min), ("prod", np.prod)])
def test_other_accumulations_of_all_entries(name: str, reduce: Any, dtype: Any, stored: str) -> None:
    for A in (matrix(30, 21, dtype) - 3 * (matrix(30, 21, dtype) > 2), matrix(9, 9, dtype, density=1.0)):
        T = ms.tensor(scipy.sparse.csr_array(A.astype(dtype))).convert(stored)
        expected = reduce(A.toarray().astype(dtype)).astype(dtype)
        np.testing.assert_allclose(ms.evaluate(f"s = {name}(i, j : A(i,j))", A=T), expected)


@pytest.mark.parametrize(("rows", "columns"), [(0, 0), (0, 5), (5, 0), (1, 1), (17, 6), (400, 1), (1, 400), (3000, 7)])
@pytest.mark.parametrize("density", [0.0, 0.02, 1.0])
def test_all_extents(rows: int, columns: int, density: float) -> None:
    A = matrix(rows, columns, density=density)
    assert ms.evaluate("s = A(i,j)", A=ms.tensor(A)) == A.sum()
    np.testing.assert_array_equal(ms.evaluate("y(j) = A(i,j)", A=ms.tensor(A)), A.toarray().sum(0))


@pytest.mark.parametrize("stored", ["CSF", "COO", "DenseCompressedCompressed", "CompressedCompressedDense"])
def test_three_levels(stored: str) -> None:
    T = np.where(np.random.default_rng(2).random((13, 16, 17)) < 0.2, 3.0, 0.0)
    T[4], T[:, 5] = 0, 0
    A, v = ms.tensor(T, stored), np.arange(17.0)
    assert ms.evaluate("s = T(i,j,k)", T=A) == T.sum()
    assert ms.evaluate("s = T(i,j,k) * v(k)", T=A, v=v) == (T @ v).sum()
    np.testing.assert_array_equal(ms.evaluate("y(k) = T(i,j,k)", T=A), T.sum((0, 1)))
    np.testing.assert_array_equal(ms.evaluate("y(i) = T(i,j,k)", T=A), T.sum((1, 2)))
    np.testing.assert_array_equal(ms.evaluate("y(i,k) = T(i,j,k)", T=A, out="dense"), T.sum(1))
    np.testing.assert_array_equal(ms.evaluate("y(j) = T(i,j,k)", T=A), T.sum((0, 2)))


@pytest.mark.parametrize("outermost", ["dense", "compressed"])
@pytest.mark.parametrize("middle", ["compressed(nonunique)", "loose_compressed(nonunique)"])
@pytest.mark.parametrize("last", ["singleton", "singleton(soa)"])
def test_lists_of_several_coordinates_below_rows(outermost: str, middle: str, last: str) -> None:
    T = np.where(np.random.default_rng(3).random((13, 16, 17)) < 0.2, 3.0, 0.0)
    T[4], T[:, 5] = 0, 0
    A, v = ms.tensor(T, f"(i, j, k) -> (i : {outermost}, j : {middle}, k : {last})"), np.arange(16.0)
    assert ms.evaluate("s = T(i,j,k)", T=A) == T.sum()
    for statement, expected in (("y(i)", (1, 2)), ("y(j)", (0, 2)), ("y(k)", (0, 1)), ("y(j,k)", 0), ("y(i,k)", 1)):
        np.testing.assert_array_equal(ms.evaluate(f"{statement} = T(i,j,k)", T=A, out="dense"), T.sum(expected))
    np.testing.assert_array_equal(ms.evaluate("y(k) = T(i,j,k) * v(j)", T=A, v=v), np.einsum("ijk,j->k", T, v))


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_counts_once(special: float) -> None:
    A = matrix(30, 21)
    A.data[7] = special
    T = ms.tensor(A)
    np.testing.assert_equal(ms.evaluate("s = A(i,j)", A=T)[()], special)
    np.testing.assert_equal(ms.evaluate("s = max(i, j : A(i,j))", A=T)[()], np.max(A.toarray()))
    np.testing.assert_equal(ms.evaluate("s = min(i, j : A(i,j))", A=T)[()], np.min(A.toarray()))


def test_truth_values() -> None:
    A, x = matrix(30, 21), np.zeros(21, bool)
    T = ms.tensor(A).astype("bool")
    assert not ms.evaluate("s = A(i,j) * x(j)", A=T, x=x, semiring="or_and")
    x[A.indices[-1]] = True
    assert ms.evaluate("s = A(i,j) * x(j)", A=T, x=x, semiring="or_and")
    assert not ms.evaluate("s = or(i, j : A(i,j) > 5)", A=ms.tensor(A))
    assert ms.evaluate("s = or(i, j : A(i,j) > 4)", A=ms.tensor(A))


@pytest.mark.parametrize("options", [MASKED, NARROW])
@pytest.mark.parametrize("text", ["s = A(i,j)", "y(j) = A(i,j)", "s = A(i,j) * x(j)", "s = prod(i, j : A(i,j))"])
def test_it_says_that_rows_are_one_loop(text: str, options: object) -> None:
    dense = {"x": ""} if "x(" in text else {}
    assert "applied to j" in said_by(NAME, text, options=options, A="CSR", **dense)
    by = "scatter-runs" if text[0] == "y" else "sum-rows" if "x(" in text else "inner-sums"
    assert options is NARROW or "applied to j" in said_by(by, text, options=options, A="CSR", **dense)


def test_all_levels_are_one_loop() -> None:
    assert said_by(NAME, "s = T(i,j,k)", T="CSF") == ["applied to k"]


def test_it_says_why_rows_are_gone_through() -> None:
    said = said_by(NAME, TRANSPOSED, A="CSR", x="")
    assert said == ["j: what it does with entries depends on their row"]


@pytest.mark.parametrize("text", [SPMV, "y(i) = A(i,j)", "y(i) = max(j : A(i,j))"])
def test_it_says_nothing_of_rows_with_results(text: str) -> None:
    dense = {"x": ""} if text == SPMV else {}
    assert said_by(NAME, text, A="CSR", **dense) == []


@pytest.mark.parametrize("text", ["y(i) = T(i,j,k) * v(k)", "y(i) = T(i,j,k)"])
def test_entries_of_all_rows_are_asked_for_as_they_lie(text: str) -> None:
    """What begins such a loop is a position of a position, which is no row that a coordinate names."""
    dense = {"v": ""} if "v(" in text else {}
    assert said_by("prefetch-rows", text, T="CSF", **dense) == []
    assert said_by("prefetch-streams", text, T="CSF", **dense) == ["applied to i"]
