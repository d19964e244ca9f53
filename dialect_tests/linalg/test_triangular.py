"""Triangular systems: against NumPy on every storage, width, type and number of sides, and what is refused."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

RNG = np.random.default_rng(20)
STORAGES: dict[str, dict[str, Any]] = {
    "CSR": {"encoding": "CSR"},
    "CSC": {"encoding": "CSC"},
    "BSR 2": {"encoding": "BSR", "block": (2, 2)},
    "BSR 4": {"encoding": "BSR", "block": (4, 4)},
    "BSR 2 x 3": {"encoding": "BSR", "block": (2, 3)},
    "CSR 8": {"encoding": "CSR", "pos_width": 16, "crd_width": 8},
    "CSC 64": {"encoding": "CSC", "pos_width": 64, "crd_width": 64},
    "CSR 64 32": {"encoding": "CSR", "pos_width": 64, "crd_width": 32},
    "COO": {"encoding": "COO"},
    "DCSR": {"encoding": "DCSR"},
    "DIA": {"encoding": "DIA"},
}


def matrix(n: int, dtype: str = "f8") -> np.ndarray[Any, Any]:
    """Returns a matrix with both triangles, and a full diagonal."""
    values = RNG.integers(-4, 5, (n, n)) * (RNG.random((n, n)) < 0.3)
    found = (values + 1j * values.T if dtype.startswith("c") else values).astype(dtype)
    np.fill_diagonal(found, RNG.integers(4, 9, n))
    return found


def expected(dense: np.ndarray[Any, Any], b: np.ndarray[Any, Any], lower: bool, unit: bool) -> np.ndarray[Any, Any]:
    triangle = (np.tril(dense) if lower else np.triu(dense)).astype(np.result_type(dense, np.float64))
    if unit:
        np.fill_diagonal(triangle, 1)
    return np.linalg.solve(triangle, b)


@pytest.mark.parametrize("storage", STORAGES)
def test_every_storage(storage: str) -> None:
    for n, (lower, unit) in itertools.product((1, 2, 37), itertools.product((True, False), repeat=2)):
        dense = matrix(n)
        A = ms.tensor(dense, **STORAGES[storage])
        for sides in ((), (1,), (3,), (20,)):
            b = RNG.random((n, *sides))
            found = ms.linalg.solve_triangular(A, b, lower, unit)
            wanted = expected(dense, b, lower, unit)
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())
            # The second time rows are in sets, where that pays: the same operations.
            np.testing.assert_array_equal(ms.linalg.solve_triangular(A, b, lower, unit), found)


@pytest.mark.parametrize(("dtype", "wanted"), [("f4", "f4"), ("c8", "c8"), ("c16", "c16"), ("i4", "f8"), ("f2", "f4")])
def test_every_type(dtype: str, wanted: str) -> None:
    dense = matrix(20, dtype)
    for storage in ("CSR", "CSC", "BSR 4"):
        A = ms.tensor(dense, **STORAGES[storage])
        b = np.ones((20, 3), "f4")
        found = ms.linalg.solve_triangular(A, b)
        assert found.dtype == wanted
        np.testing.assert_allclose(found, expected(dense, b, True, False), rtol=2e-4, atol=1e-4)


def test_sides_of_another_type() -> None:
    dense = matrix(9)
    b = np.arange(9) + 1j
    found = ms.linalg.solve_triangular(ms.tensor(dense), b)
    np.testing.assert_allclose(found, expected(dense, b, True, False))
    assert ms.linalg.solve_triangular(ms.tensor(dense, dtype="bf16"), np.arange(9, dtype="f2")).dtype == np.float32


def test_sides_are_not_changed_and_need_no_layout() -> None:
    dense, b = matrix(12), np.asfortranarray(RNG.random((12, 5)))
    b.flags.writeable = False
    found = ms.linalg.solve_triangular(ms.tensor(dense), b[:, ::2])
    np.testing.assert_allclose(found, expected(dense, b[:, ::2], True, False))


@pytest.mark.parametrize("empty", [(0,), (0, 3)])
def test_no_rows(empty: tuple[int, ...]) -> None:
    A = ms.tensor(([[], []], []), "CSR", shape=(0, 0))
    assert ms.linalg.solve_triangular(A, np.zeros(empty)).shape == empty
    assert ms.linalg.solve_triangular(ms.tensor(np.eye(3)), np.zeros((3, 0))).shape == (3, 0)


def wide(by: str) -> tuple[ms.SparseTensor, np.ndarray[Any, Any]]:
    """Returns a lower triangle of 5 sets of 4,000 rows, which threads solve together, and right sides."""
    width, sets = 4000, 5
    n = width * sets
    rows = np.repeat(np.arange(width, n), 4)
    columns = (rows // width - 1) * width + RNG.integers(0, width, rows.size)
    entries = ms.tensor(((np.r_[rows, np.arange(n)], np.r_[columns, np.arange(n)]), RNG.random(rows.size + n) + 1), by)
    return entries, RNG.random((n, 2))


@pytest.mark.parametrize("by", ["CSR", "CSC"])
@pytest.mark.parametrize("lower", [True, False])
def test_threads_give_the_same_bits(by: str, lower: bool) -> None:
    A, b = wide(by)
    A = A if lower else A.T
    before = ms.get_num_threads()
    try:
        ms.set_num_threads(1)
        alone = ms.linalg.solve_triangular(A, b, lower)
        ms.set_num_threads(4)
        for _ in range(9):  # one thread and several by turns, then the faster of both
            np.testing.assert_array_equal(ms.linalg.solve_triangular(A, b, lower), alone)
    finally:
        ms.set_num_threads(before)
    T = A.to_scipy()
    np.testing.assert_allclose(T @ alone, b, atol=1e-10)


def neighbours(draw: np.random.Generator, n: int, unit: bool) -> ms.SparseTensor:
    """Returns a matrix with some neighbours of the diagonal, entries far from it in both triangles, and, where the
    diagonal is taken to be 1, not all of it."""
    rows = np.r_[draw.integers(0, n, n // 2), np.arange(1, n), np.arange(n - 1), np.arange(n)]
    columns = np.r_[draw.integers(0, n, n // 2), np.arange(n - 1), np.arange(1, n), np.arange(n)]
    on = rows == columns
    kept = (draw.random(rows.size) < 0.6) | (on & (not unit))
    values = np.where(on, 4.0, draw.random(rows.size) - 0.5)
    return ms.tensor(((rows[kept], columns[kept]), values[kept]), "CSC", shape=(n, n))


@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("lower", [True, False])
def test_columns_that_wait_for_the_column_before(lower: bool, unit: bool) -> None:
    """One side and many: what a column leaves to its neighbour is taken by the same operation."""
    draw = np.random.default_rng(3)
    for n in (1, 2, 3, 50, 700, 1500):
        A = neighbours(draw, n, unit)
        b = draw.random((n, 3))
        triangle = (np.tril if lower else np.triu)(A.to_numpy())
        if unit:
            np.fill_diagonal(triangle, 1)
        several = ms.linalg.solve_triangular(A, b, lower, unit)
        np.testing.assert_allclose(triangle @ several, b, atol=1e-11 * max(1, np.abs(several).max()))
        one = np.stack([ms.linalg.solve_triangular(A, side, lower, unit) for side in b.T], axis=1)
        np.testing.assert_array_equal(one, several)
        many = ms.linalg.solve_triangular(A, np.repeat(b, 100, axis=1), lower, unit)
        np.testing.assert_array_equal(many, np.repeat(several, 100, axis=1))


@pytest.mark.parametrize("by", ["CSR", "CSC"])
@pytest.mark.parametrize("lower", [True, False])
def test_threads_give_the_same_bits_beside_neighbours(by: str, lower: bool) -> None:
    n, draw = 40_000, np.random.default_rng(5)
    far = draw.integers(0, 20_000, 60_000), draw.integers(20_000, n, 60_000)
    pairs = np.arange(0, n - 1, 2)
    rows, columns = np.r_[far[1], pairs + 1, np.arange(n)], np.r_[far[0], pairs, np.arange(n)]
    A = ms.tensor(((rows, columns), draw.random(rows.size) + 1), by, shape=(n, n))
    A = A if lower else A.T.convert(by)
    b = draw.random(n)
    before = ms.get_num_threads()
    try:
        ms.set_num_threads(1)
        alone = ms.linalg.solve_triangular(A, b, lower)
        ms.set_num_threads(4)
        for _ in range(9):
            np.testing.assert_array_equal(ms.linalg.solve_triangular(A, b, lower), alone)
    finally:
        ms.set_num_threads(before)
    np.testing.assert_allclose(A.to_scipy() @ alone, b, atol=1e-9)


def test_sides_of_any_memory() -> None:
    dense, draw = matrix(30), RNG.random(30)
    A = ms.tensor(dense)
    unaligned = np.frombuffer(b"\0" + draw.tobytes(), np.uint8)[1:].view("f8")
    for sides in (unaligned, draw.astype(">f8"), draw[::-1][::-1], np.repeat(draw, 2)[::2], draw.tolist()):
        np.testing.assert_allclose(ms.linalg.solve_triangular(A, sides), expected(dense, draw, True, False))
    shared = ms.tensor(np.diag(draw + 1), "CSR")
    found = ms.linalg.solve_triangular(shared, shared.storage.values)
    np.testing.assert_allclose(found, np.ones(30))
    assert not np.shares_memory(found, shared.storage.values)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.parametrize("unit", [True, False])
def test_rows_that_wait_for_the_row_before(dtype: str, unit: bool) -> None:
    """A result that the next row takes from a register is the one in memory, rounded alike."""
    n = 200
    dense = np.zeros((n, n), dtype)
    for distance in (1, 2, 7):
        place = np.arange(distance, n)
        dense[place, place - distance] = RNG.random(n - distance) - 0.5
    dense[50, 49] = dense[90] = 0  # no neighbour; nothing before the diagonal
    np.fill_diagonal(dense, RNG.random(n) + 1)
    b = RNG.random(n).astype(dtype)
    for lower, triangle in ((True, dense), (False, np.ascontiguousarray(dense.T))):
        found = ms.linalg.solve_triangular(ms.tensor(triangle, "CSR"), b, lower, unit)
        wanted = expected(triangle, b, lower, unit)
        small = (1e-5 if dtype == "f4" else 1e-13) * np.abs(wanted).max()  # what is left of terms that cancel
        np.testing.assert_allclose(found, wanted, rtol=1e-4 if dtype == "f4" else 1e-11, atol=small)
        several = ms.linalg.solve_triangular(ms.tensor(triangle, "CSR"), np.stack([b, b], axis=1), lower, unit)
        np.testing.assert_array_equal(several, np.stack([found, found], axis=1))


def test_threads_of_the_caller() -> None:
    A, b = wide("CSR")
    alone = ms.linalg.solve_triangular(A, b)
    found: list[Any] = [None] * 4

    def solve(at: int) -> None:
        found[at] = ms.linalg.solve_triangular(A, b)

    threads = [threading.Thread(target=solve, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in found:
        np.testing.assert_array_equal(one, alone)


def test_values_written_later_count() -> None:
    A = ms.tensor(np.diag([2.0, 4.0]))
    np.testing.assert_array_equal(ms.linalg.solve_triangular(A, np.ones(2)), [0.5, 0.25])
    A.storage.values[:] = 1
    np.testing.assert_array_equal(ms.linalg.solve_triangular(A, np.ones(2)), [1, 1])


def test_a_diagonal_whose_reciprocal_overflows() -> None:
    A = ms.tensor(np.diag([5e-324, 1.0]))
    np.testing.assert_array_equal(ms.linalg.solve_triangular(A, np.array([1e-323, 1.0])), [2.0, 1.0])


@pytest.mark.parametrize("storage", ["CSR", "CSC", "BSR 2", "COO"])
def test_singular_triangles_name_the_row(storage: str) -> None:
    dense = np.diag(np.arange(1.0, 7))
    dense[3, 3] = 0
    dense[3, 2] = 1
    A = ms.tensor(dense, **STORAGES[storage])
    for sides in ((6,), (6, 3), (6, 40)):
        with pytest.raises(ms.SingularMatrixError, match="none at row 3: add it, or pass unit_diagonal=True"):
            ms.linalg.solve_triangular(A, np.ones(sides))
    with pytest.raises(np.linalg.LinAlgError, match="upper triangle"):
        ms.linalg.solve_triangular(A, np.ones(6), lower=False)
    ms.linalg.solve_triangular(A, np.ones(6), unit_diagonal=True)


def test_stored_zeros_on_the_diagonal_and_nan() -> None:
    A = ms.tensor(([[0, 1], [0, 1]], [0.0, 1.0]), "CSR")
    with pytest.raises(ms.SingularMatrixError, match="row 0"):
        ms.linalg.solve_triangular(A, np.ones(2))
    B = ms.tensor(([[0, 1], [0, 1]], [np.nan, 1.0]), "CSR")
    np.testing.assert_array_equal(ms.linalg.solve_triangular(B, np.ones(2)), [np.nan, 1])


def test_what_is_refused() -> None:
    A = ms.tensor(np.eye(3))
    with pytest.raises(ms.ExtentError, match="square"):
        ms.linalg.solve_triangular(ms.tensor(np.ones((2, 3))), np.ones(2))
    with pytest.raises(ms.RankError, match="square matrix"):
        ms.linalg.solve_triangular(ms.tensor(np.ones(3)), np.ones(3))
    with pytest.raises(ms.ExtentError, match="3 rows"):
        ms.linalg.solve_triangular(A, np.ones(4))
    with pytest.raises(ms.RankError, match="right sides"):
        ms.linalg.solve_triangular(A, np.ones((3, 1, 1)))
    with pytest.raises(ms.OperandError, match=r"b\.to_numpy\(\)"):
        ms.linalg.solve_triangular(A, A)
    with pytest.raises(ms.DTypeError, match="f64"):
        ms.linalg.solve_triangular(A, np.ones(3, np.longdouble))
    with pytest.raises(ms.OperandError, match="numbers"):
        ms.linalg.solve_triangular(A, np.array(["a", "b", "c"], object))


def test_slices_and_sources() -> None:
    dense = matrix(10)
    part = ms.tensor(dense).slice(slice(2, 8), slice(2, 8))
    b = RNG.random(6)
    np.testing.assert_allclose(ms.linalg.solve_triangular(part, b), expected(dense[2:8, 2:8], b, True, False))
    np.testing.assert_allclose(
        ms.linalg.solve_triangular(dense, np.ones(10)), expected(dense, np.ones(10), True, False)
    )


def test_rows_out_of_order_and_with_repeats_are_solved_with_as_they_sum() -> None:
    """Their layout is that of CSR; where the diagonal is must not be guessed from it."""
    loose = "(i, j) -> (i : dense, j : compressed(nonunique, nonordered))"
    A = ms.SparseTensor.from_levels(loose, (2, 2), [None, [0, 1, 4]], [None, [0, 1, 0, 0]], [2.0, 3.0, 0.5, 0.5])
    b = np.array([2.0, 4.0])
    for found in (ms.linalg.solve_triangular(A, b), ms.linalg.ILU0(A).solve(b), ms.linalg.solve(A, b)):
        np.testing.assert_allclose(found, [1.0, 1.0])
    np.testing.assert_allclose(ms.linalg.IC0(A.T @ A).factor.to_numpy(), np.linalg.cholesky((A.T @ A).to_numpy()))


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize(
    ("diagonal", "near", "first", "b"),
    [
        (1e200, 1e-200, 1e300, 0.0),  # the entry over the diagonal has no digits left
        (1e-300, 1e300, 0.0, 1e-5),  # or is infinite
        (1e-10, 1.0, 1e300 * (1 - 2**-50), 1e300),  # the right side over the diagonal is infinite
        (5e-324, 1.0, 2.0, 2.0),  # the reciprocal is
        (3.0, 2.0, np.inf, 1.0),
        (3.0, 2.0, np.nan, 1.0),
    ],
)
def test_entries_over_the_diagonal_lose_nothing(
    diagonal: float, near: float, first: float, b: float, lower: bool
) -> None:
    """(b - a x) / d is computed as b / d - (a / d) x, where that has the same digits."""
    dense = np.array([[1.0, 0.0], [near, diagonal]])
    sides = np.array([first, b])
    with np.errstate(all="ignore"):
        wanted = np.array([first, (b - near * first) / diagonal])
    turn = slice(None) if lower else slice(None, None, -1)
    matrix = ms.tensor(dense if lower else dense[::-1, ::-1].copy(), "CSR")
    for columns in (1, 3, 9):
        found = ms.linalg.solve_triangular(matrix, np.repeat(sides[turn, None], columns, 1), lower=lower)
        np.testing.assert_allclose(found[turn], np.repeat(wanted[:, None], columns, 1), rtol=1e-15)
