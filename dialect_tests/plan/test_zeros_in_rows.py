"""Extremes of rows in one loop nest, which starts from zero where a row leaves elements out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.crossing import crossed
from mlir_sparse.plan import plan
from mlir_sparse.plan.plan_steps import Generic

pytestmark = pytest.mark.usefixtures("one_thread_and_two")
TYPES = [np.float64, np.float32, np.float16, np.int8, np.int32, np.int64, np.uint8]
WIDE = "(i, j, k) -> (i : dense, j : dense, k : compressed)"


def generics(text: str, **types: str) -> list[Generic]:
    return [step for step in plan(ms.compile(text, **types).spec).steps if isinstance(step, Generic)]


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("y(i) = max(j : A(i,j))", "f64[?,?] CSR"),
        ("y(i) = min(j : A(i,j))", "i32[?,?] CSR"),
        ("y(j) = max(i : A(i,j))", "f32[?,?] CSC"),
        ("y(i,j) = max(k : A(i,j,k))", f"f64[?,?,?] {WIDE}"),
    ],
)
def test_rows_of_entries_side_by_side_take_one_nest(text: str, stored: str) -> None:
    (step,) = generics(text, A=stored)
    assert step.zeros
    assert "from 0 in rows that leave elements out" in ms.compile(text, A=stored).explain()


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("y(j) = max(i : A(i,j))", "f64[?,?] CSR"),
        ("y(i) = max(j : A(i,j))", "f64[?,?] DCSR"),
        ("y(i) = max(j : A(i,j))", "f64[?,?] COO"),
        ("s = max(i, j : A(i,j))", "f64[?,?] CSR"),
        ("y(i) = max(j : A(i,j) * x(j))", "f64[?,?] CSR"),
        ("y(i) = or(j : A(i,j))", "bool[?,?] CSR"),
    ],
)
def test_others_count_entries(text: str, stored: str) -> None:
    kinds = {"A": stored, **({"x": "f64[?]"} if "* x(" in text else {})}
    assert not any(step.zeros for step in generics(text, **kinds))


def rows(dtype: Any, columns: int) -> Any:
    """Returns a matrix whose rows are empty, full and neither, of either sign and of both."""
    rng, unsigned = np.random.default_rng(columns), np.dtype(dtype).kind == "u"
    full = rng.integers(0 if unsigned else -9, 10, (40, columns))
    full[0] = 0
    full[1], full[2] = rng.integers(1, 9, columns), (1 if unsigned else -1) * rng.integers(1, 9, columns)
    there = rng.random((40, columns)) < np.linspace(0, 1, 40)[:, None]
    there[1] = there[2] = True
    return np.where(there, full, 0).astype(dtype)


@crossed(dtype=TYPES, columns=[1, 2, 7, 8, 9, 33], stored=["CSR", "CSC", "DCSR", "ELL"])
def test_extremes_of_rows_of_all_kinds(dtype: Any, columns: int, stored: str) -> None:
    full = rows(dtype, columns)
    A = ms.tensor(full, "CSR").convert(stored)
    for name, reduce in (("max", np.max), ("min", np.min)):
        np.testing.assert_array_equal(ms.evaluate(f"y(i) = {name}(j : A(i,j))", A=A), reduce(full, axis=1))
        np.testing.assert_array_equal(ms.evaluate(f"y(j) = {name}(i : A(i,j))", A=A), reduce(full, axis=0))
        found = ms.evaluate(f"y(i) = {name}(j : A(i,j)) + 1", A=A)
        np.testing.assert_array_equal(found, reduce(full, axis=1) + 1)


@pytest.mark.parametrize("shape", [(0, 5), (3, 1), (1, 1), (5, 300)])
def test_extents_of_all_sizes(shape: tuple[int, int]) -> None:
    full = -np.ones(shape)
    full[:, 1::2] = 0
    A = ms.tensor(full, "CSR")
    np.testing.assert_array_equal(ms.evaluate("y(i) = max(j : A(i,j))", A=A), full.max(axis=1))
    np.testing.assert_array_equal(ms.evaluate("y(i) = min(j : A(i,j))", A=A), full.min(axis=1))


def test_columns_of_part_of_a_matrix_are_as_many_as_it_has() -> None:
    """Calls in chunks of rows see how long all rows are."""
    rng = np.random.default_rng(3)
    full = np.where(rng.random((100_000, 3)) < 0.7, -rng.integers(1, 9, (100_000, 3)), 0).astype(float)
    np.testing.assert_array_equal(ms.evaluate("y(i) = max(j : A(i,j))", A=ms.tensor(full, "CSR")), full.max(axis=1))


def test_stored_zeros_and_what_is_no_number() -> None:
    values = np.array([-1.0, -0.0, np.nan, -0.0, -2.0, -0.0, -3.0, -np.inf])
    positions, columns = np.array([0, 2, 4, 6, 8, 8], np.int32), np.array([0, 1, 0, 1, 0, 2, 0, 1], np.int32)
    A = ms.SparseTensor.from_levels("CSR", (5, 3), [None, positions], [None, columns], values)
    full = np.minimum(columns, 1)
    B = ms.SparseTensor.from_levels("CSR", (5, 2), [None, positions], [None, full], values)
    for matrix, most, least in (
        (A, [0.0, np.nan, 0.0, 0.0, 0.0], [-1.0, np.nan, -2.0, -np.inf, 0.0]),
        (B, [-0.0, np.nan, -0.0, -3.0, 0.0], [-1.0, np.nan, -2.0, -np.inf, 0.0]),
    ):
        for name, expected in (("max", most), ("min", least)):
            found = ms.evaluate(f"y(i) = {name}(j : A(i,j))", A=matrix)
            np.testing.assert_array_equal(found, expected)
            known = ~np.isnan(expected)
            np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(expected)[known])


def test_extremes_that_are_read_twice() -> None:
    full = rows(np.float64, 9)
    text = "y(i) = max(j : A(i,j)) * max(j : A(i,j)) - min(j : A(i,j))"
    expected = full.max(axis=1) ** 2 - full.min(axis=1)
    np.testing.assert_array_equal(ms.evaluate(text, A=ms.tensor(full, "CSR")), expected)
    np.testing.assert_array_equal(ms.evaluate(text, A=ms.tensor(full, "CSR"), optimize="off"), expected)
