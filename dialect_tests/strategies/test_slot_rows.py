"""The pass that adds up the slots of rows side by side in blocks and vectors: what it computes, and what it leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms
from dialect_tests.strategy_remarks import MASKED, NARROW, SPMM, SPMV, said_by

BLOCK = 1 << 15


def matrix(rows: int, columns: int, dtype: Any = np.float64, density: float = 0.3) -> Any:
    made = scipy.sparse.random_array((rows, columns), density=density, rng=np.random.default_rng(0), format="csr")
    made.data = np.ceil(made.data * 5)
    return made.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int32, np.int8, np.complex128])
@pytest.mark.parametrize("stored", ["SlotELL", "CountedELL", "ELL"])
def test_products(stored: str, dtype: Any) -> None:
    A, x = matrix(37, 9, np.float64), np.arange(1, 10).astype(dtype)
    found = ms.evaluate(SPMV, A=ms.tensor(A.toarray().astype(dtype), stored), x=x)
    np.testing.assert_array_equal(found, A.toarray().astype(dtype) @ x)  # whole numbers add up without rounding


@pytest.mark.parametrize("rows", [0, 1, 7, 8, 9, 16, BLOCK - 1, BLOCK, BLOCK + 9])
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_around_vectors_and_blocks(rows: int, threads: int) -> None:
    A, before = matrix(rows, 5), ms.get_num_threads()
    x = np.arange(5.0)
    try:
        ms.set_num_threads(threads)
        found = ms.evaluate(SPMV, A=ms.tensor(A).convert("SlotELL"), x=x)
    finally:
        ms.set_num_threads(before)
    np.testing.assert_array_equal(found, A @ x)


@pytest.mark.parametrize(("rows", "columns"), [(20, 0), (0, 20), (20, 1)])
def test_nothing_is_read_where_nothing_is(rows: int, columns: int) -> None:
    A = scipy.sparse.csr_array((rows, columns))
    found = ms.evaluate(SPMV, A=ms.tensor(A).convert(ms.encoding("SlotELL", width=3)), x=np.ones(columns))
    np.testing.assert_array_equal(found, np.zeros(rows))


def test_slots_that_are_not_taken_meet_no_infinities() -> None:
    dense = np.zeros((24, 6))
    dense[::3, 4] = dense[1::3, 2:5] = 2.0
    x = np.array([np.nan, np.inf, 1.0, 2.0, 3.0, -np.inf])
    found = ms.evaluate(SPMV, A=ms.tensor(dense, "SlotELL"), x=x)
    np.testing.assert_array_equal(found, dense[:, 2:5] @ x[2:5])


@pytest.mark.parametrize(
    ("text", "semiring", "expected"),
    [
        ("y(i) = b(i) - A(i,j) * x(j)", None, lambda A, x, b: b - A @ x),
        ("y(i) = A(i,j) * x(j) * b(i)", None, lambda A, x, b: (A @ x) * b),
        ("y(i) = A(i,j)", None, lambda A, x, b: A.sum(1)),
        ("y(i) = A(i,j) * sqrt(x(j))", None, lambda A, x, b: A @ np.sqrt(x)),
        ("y(i) = A(i,j) * x(j)", "min_plus", lambda A, x, b: np.where(A != 0, A + x, np.inf).min(1)),
        ("y(i) = A(i,j) * x(j)", "max_times", lambda A, x, b: np.where(A != 0, A * x, -np.inf).max(1)),
    ],
)
def test_statements(text: str, semiring: str | None, expected: Any) -> None:
    A, x, b = matrix(29, 12).toarray(), np.arange(12.0) ** 2, np.arange(29.0)
    given = {"A": ms.tensor(A, "SlotELL"), "x": x, "b": b}
    found = ms.evaluate(text, tensors={name: given[name] for name in ms.parse(text).inputs}, semiring=semiring)
    np.testing.assert_array_equal(found, expected(A, x, b))


def test_it_applies_to_products_with_vectors() -> None:
    assert said_by("slot-rows", SPMV, A="SlotELL", x="") == ["applied to i"]
    assert said_by("slot-rows", "y(i) = b(i) - A(i,j) * x(j)", A="SlotELL", x="", b="") == ["applied to i"]


def test_it_leaves_what_vectors_do_not_hold() -> None:
    assert said_by("slot-rows", SPMV, A="SlotELL", x="", dtype="c64") == [
        "i: its rows do not lie side by side in memory, or vectors do not hold their elements"
    ]


def test_it_needs_masks() -> None:
    assert said_by("slot-rows", SPMV, options=NARROW, A="SlotELL", x="") == [
        "i: vectors here have no masks, or lanes were asked for"
    ]


def test_other_loops_are_none_of_its_own() -> None:
    assert said_by("slot-rows", SPMV, options=MASKED, A="CSR", x="") == []
    assert said_by("slot-rows", SPMM, A="SlotELL", B="") == []
