"""The pass that adds entries of a list to their element several at a time: what it computes, and what it leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms
from dialect_tests.strategy_remarks import MASKED, NARROW, SPMV, TRANSPOSED, said_by
from mlir_sparse import _native

NAME = "sum-runs"

pytestmark = pytest.mark.usefixtures("one_thread_and_two")

LENGTHS = [
    [],
    [0],
    [1],
    [7],
    [8],
    [9],
    [8, 8, 8],
    [16, 1, 17, 40, 0, 64],
    [3, 5, 8, 0, 4, 4],  # whole vectors of two rows
    [1] * 50,
    list(range(33)),
    list(range(33))[::-1],
    [0, 0, 30, 0, 1, 23],
    [5] * 41,  # two runs or three in each vector
    [1, 6, 1, 8, 2, 5, 1] * 7,  # from one run to four
    [1, 2] * 100 + [64] * 3,  # as sampled, each entry is added by itself, and then runs are long
    [64] * 30 + [1] * 60,  # the other way round
]


def listed(lengths: list[int], dtype: Any, seed: int = 0) -> tuple[Any, Any]:
    """Returns a matrix in COO whose rows have so many entries, and its elements."""
    rng = np.random.default_rng(seed)
    dense = np.zeros((len(lengths), 64), dtype)
    for row, length in enumerate(lengths):
        dense[row, rng.choice(64, length, replace=False)] = rng.integers(1, 10, length)
    return ms.tensor(dense, "COO"), dense


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64", "c128"])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_rows_of_all_lengths_and_types(lengths: list[int], dtype: str) -> None:
    A, dense = listed(lengths, ms.DType(dtype).numpy)
    rng = np.random.default_rng(2)
    x, b = (rng.integers(1, 9, size).astype(A.dtype) for size in (64, len(lengths)))
    wide = np.complex128 if dtype == "c128" else np.int64  # narrow integers wrap, halves are rounded once
    product = dense.astype(wide) @ x.astype(wide)
    for text, given, expected in (
        (SPMV, {"A": A, "x": x}, product),
        ("y(i) = A(i,j)", {"A": A}, dense.astype(wide).sum(1)),
        ("y(i) = b(i) - A(i,j) * x(j)", {"A": A, "x": x, "b": b}, b.astype(wide) - product),
        (TRANSPOSED, {"A": A, "x": b}, dense.astype(wide).T @ b.astype(wide)),
    ):
        found = ms.evaluate(text, tensors=given)
        np.testing.assert_array_equal(found, expected.astype(found.dtype))


@pytest.mark.parametrize("lengths", LENGTHS[2:])
@pytest.mark.parametrize(("semiring", "join", "start"), [("min_plus", np.min, np.inf), ("max_plus", np.max, -np.inf)])
def test_semirings(semiring: str, join: Any, start: float, lengths: list[int]) -> None:
    A, dense = listed(lengths, np.float64)
    x = np.random.default_rng(1).integers(-3, 4, 64).astype(float)
    found = ms.evaluate(SPMV, A=A, x=x, semiring=semiring)
    expected = [join((row + x)[row != 0], initial=start) for row in dense]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_stays_in_its_row(special: float) -> None:
    A, dense = listed([3, 0, 12, 5, 8, 30, 2], np.float64)
    x = np.ones(64)
    x[9] = special
    hit = dense[:, 9] != 0
    found = ms.evaluate(SPMV, A=A, x=x)
    np.testing.assert_array_equal(np.isfinite(found), ~hit)
    np.testing.assert_array_equal(found[~hit], dense[~hit].sum(1))


def test_entries_that_repeat_are_added() -> None:
    rows, columns = np.repeat([0, 2, 3], [9, 20, 3]), np.zeros(32, int)
    A = scipy.sparse.coo_array((np.ones(32), (rows, columns)), shape=(5, 2))
    found = ms.evaluate("y(i) = A(i,j)", A=ms.tensor(A))
    np.testing.assert_array_equal(found, [9, 0, 20, 3, 0])


def test_chunks_may_end_inside_of_vectors() -> None:
    rng = np.random.default_rng(7)
    A, dense = listed([int(n) for n in rng.geometric(0.1, 300).clip(max=64)], np.float64)
    x = rng.integers(1, 9, 64).astype(float)
    kernel, before = ms.compile(SPMV, A=A, x=x), _native.piece_work()
    try:
        _native.set_piece_work(1)
        for threads in (1, 2, 3, 7):
            ms.set_num_threads(threads)
            np.testing.assert_array_equal(kernel(A, x), dense @ x)
    finally:
        _native.set_piece_work(before)


def test_lists_of_three_coordinates() -> None:
    T = np.where(np.random.default_rng(2).random((13, 16, 17)) < 0.3, 3.0, 0.0)
    A, v = ms.tensor(T, "COO"), np.arange(17.0)
    np.testing.assert_array_equal(ms.evaluate("y(i) = T(i,j,k) * v(k)", T=A, v=v), (T @ v).sum(1))
    np.testing.assert_array_equal(ms.evaluate("y(j) = T(i,j,k) * v(k)", T=A, v=v), (T @ v).sum(0))


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64", "i8", "i32", "c128"])
@pytest.mark.parametrize("density", [0.02, 0.3, 1.0])
@pytest.mark.parametrize("text", ["Y(i,j) = T(i,j,k) * v(k)", "Y(j,i) = T(i,j,k) * v(k)"])
def test_fibres_of_three_coordinates(text: str, density: float, dtype: str) -> None:
    rng = np.random.default_rng(3)
    kind = ms.DType(dtype).numpy
    T = (rng.integers(1, 4, (9, 11, 40)) * (rng.random((9, 11, 40)) < density)).astype(kind)
    T[2] = T[:, 5] = 0
    v = rng.integers(1, 3, 40).astype(kind)
    found = ms.evaluate(text, T=ms.tensor(T, "COO"), v=v, out="dense")
    wide = np.complex128 if dtype == "c128" else np.int64
    expected = (T.astype(wide) @ v.astype(wide)).astype(found.dtype)
    np.testing.assert_array_equal(found, expected if "Y(i,j)" in text else expected.T)


def test_equal_coordinates_of_another_level_are_no_fibre() -> None:
    """Where the first and the last of eight entries share the second coordinate alone, they are of different fibres."""
    rows, columns = np.arange(64) // 2, np.tile([3, 3], 32)
    depth = np.tile([0, 1], 32)
    T = ms.tensor((np.stack([rows, columns, depth]), np.ones(64)), "COO", shape=(32, 5, 2))
    expected = np.zeros((32, 5))
    expected[:, 3] = 2
    np.testing.assert_array_equal(ms.evaluate("Y(i,j) = T(i,j,k) * v(k)", T=T, v=np.ones(2), out="dense"), expected)


@pytest.mark.parametrize("options", [MASKED, NARROW])
def test_it_says_that_fibres_are_added_up(options: object) -> None:
    said = said_by(NAME, "Y(i,j) = T(i,j,k) * v(k)", out="dense", options=options, T="COO", v="")
    assert said == ["applied to k"]


@pytest.mark.parametrize("options", [MASKED, NARROW])
@pytest.mark.parametrize("text", [SPMV, "y(i) = A(i,j)", "y(i) = b(i) - A(i,j) * x(j)"])
def test_it_says_that_runs_are_added_up(text: str, options: object) -> None:
    dense = {name: "" for name in "bx" if f"{name}(" in text}
    assert said_by(NAME, text, options=options, A="COO", **dense) == ["applied to j"]


@pytest.mark.parametrize(
    ("text", "kinds", "reason"),
    [
        (TRANSPOSED, {}, "entries of one coordinate do not follow each other"),
        (SPMV, {"dtype": "c128"}, "it adds up c128, which vectors do not hold"),
        ("y(i) = sin(A(i,j)) * x(j)", {}, "vectors of entries have no math.sin of f64"),
    ],
)
def test_it_says_why_entries_are_added_one_by_one(text: str, kinds: dict[str, Any], reason: str) -> None:
    assert said_by(NAME, text, A="COO", x="", **kinds) == [f"j: {reason}"]


@pytest.mark.parametrize("stored", ["CSR", "CSC", "DCSR"])
def test_it_says_nothing_of_other_storage(stored: str) -> None:
    assert said_by(NAME, SPMV, A=stored, x="") == []
