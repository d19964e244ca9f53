"""Loops over what several lists all have: the lists catch up with each other, whatever lies between."""

from __future__ import annotations

from functools import reduce
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.guarded_memory import guarded
from dialect_tests.strategy_remarks import ADD, said_by
from mlir_sparse.dtypes import DTYPES

SHAPE = (23, 40)
THREE, FOUR = "D(i,j) = A(i,j) * B(i,j) * C(i,j)", "D(i,j) = A(i,j) * B(i,j) * C(i,j) * E(i,j)"


def _random(density: float, seed: int, shape: tuple[int, ...] = SHAPE) -> Any:
    rng = np.random.default_rng(seed)
    return np.where(rng.random(shape) < density, rng.integers(1, 4, shape), 0)


def _every(first: int, step: int) -> Any:
    """Returns a matrix with entries in every so many columns, and nothing in every third row."""
    found = np.zeros(SHAPE, int)
    found[:, first::step] = 2
    found[::3] = 0
    return found


WHOLE = np.ones(SHAPE, int)
COLUMNS = np.arange(SHAPE[1])
PATTERNS = {
    "random": [_random(0.3, seed) for seed in range(4)],
    "dense": [_random(0.9, seed) for seed in range(4)],
    "equal": [_random(0.4, 5) * factor for factor in (1, 2, 3, 1)],
    "two are equal": [_random(0.4, 5), _random(0.4, 5), _random(0.3, 6), _random(0.4, 5)],
    "shifted": [np.roll(_random(0.3, 7), by, axis=1) for by in (0, 1, 2, 0)],
    "by turns": [_every(0, 2), _every(1, 2), WHOLE, _every(0, 4)],
    "steps": [_every(0, 2), _every(0, 3), _every(0, 5), _every(0, 1)],
    "one is far sparser": [_random(0.8, 8), _random(0.8, 9), _random(0.02, 10), WHOLE],
    "one after the other": [*(WHOLE * (third == COLUMNS // 14) for third in range(3)), WHOLE],
    "one is empty": [_random(0.3, 11), _random(0.3, 12), np.zeros(SHAPE, int), WHOLE],
    "last column": [WHOLE, _random(0.3, 13) | (COLUMNS == 39), WHOLE * (COLUMNS == 39), WHOLE],
    "first column": [WHOLE, _random(0.3, 14) | (COLUMNS == 0), WHOLE * (COLUMNS == 0), WHOLE],
}


def _kernel(text: str, stored: str = "CSR", dtype: str = "f64", **options: Any) -> tuple[ms.Kernel, str]:
    names = [name for name in "ABCE" if f"{name}(" in text]
    out = {"out": stored} if text.startswith("D") else {}
    types = dict.fromkeys(names, f"{dtype}[?,?] {stored}")
    kernel = ms.compile(text, tensors=types, optimize="off", **out, **options)
    assert isinstance(kernel, ms.Kernel)
    return kernel, "".join(names)


def _dense(found: Any) -> Any:
    return found.to_numpy() if isinstance(found, ms.SparseTensor) else found


@pytest.mark.parametrize("stored", ["CSR", "DCSR", "CSC"])
@pytest.mark.parametrize(
    ("text", "sums"),
    [(THREE, None), (FOUR, None), ("y(i) = A(i,j) * B(i,j) * C(i,j)", 1), ("s = A(i,j) * B(i,j) * C(i,j)", (0, 1))],
)
def test_all_patterns_in_all_orders(text: str, sums: Any, stored: str) -> None:
    kernel, names = _kernel(text, stored)
    assert "leapfrog-lists" in [remark.strategy for remark in kernel.remarks() if remark.applied]
    for given in PATTERNS.values():
        for order in permutations(given[: len(names)]):
            product = reduce(np.multiply, order)
            found = kernel(*(ms.tensor(np.asarray(x, float), stored) for x in order))
            np.testing.assert_array_equal(_dense(found), product if sums is None else product.sum(sums))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_all_element_types(dtype: Any) -> None:
    kernel, _ = _kernel(THREE, dtype=dtype.name)
    given = [np.minimum(x, 2).astype(dtype.numpy) for x in PATTERNS["random"][:3]]  # products are numbers of all types
    found = kernel(*(ms.tensor(x, "CSR") for x in given))
    expected = reduce(np.multiply, given)
    np.testing.assert_array_equal(np.asarray(_dense(found)).astype(complex), expected.astype(complex))


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("shape", [(0, 0), (0, 4), (4, 0), (1, 1), (1, 300), (300, 1), (700, 300)])
def test_extents_and_threads(shape: tuple[int, int], threads: int) -> None:
    kernel, _ = _kernel(THREE, threads=threads)
    given = [_random(density, seed, shape) + 0.0 for seed, density in enumerate((0.6, 0.9, 0.4))]
    for order in permutations(given):
        found = kernel(*(ms.tensor(x, "CSR") for x in order))
        np.testing.assert_array_equal(found.to_numpy(), reduce(np.multiply, order))


def test_numbers_that_are_not_finite_and_signs_of_zero() -> None:
    """Only stored entries count: what meets nothing is no NaN, and what is stored keeps its sign."""
    values = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.5, -1.0])
    rng = np.random.default_rng(3)
    stored, dense = [], []
    for _ in range(3):
        has = rng.random(SHAPE) < 0.6
        i, j = has.nonzero()
        drawn = rng.choice(values, i.size)
        stored.append(ms.tensor((np.stack([i, j]), drawn), "CSR", shape=SHAPE))
        dense.append((has, has.astype(float)))
        dense[-1][1][i, j] = drawn
    kernel, _ = _kernel(THREE)
    found = kernel(*stored)
    everywhere = dense[0][0] & dense[1][0] & dense[2][0]
    with np.errstate(invalid="ignore"):
        expected = (dense[0][1] * dense[1][1] * dense[2][1])[everywhere]
    found = found.to_scipy()
    np.testing.assert_array_equal(found.indices, everywhere.nonzero()[1])
    np.testing.assert_array_equal(found.indptr, np.r_[0, everywhere.sum(1).cumsum()])
    np.testing.assert_array_equal(found.data, expected)
    np.testing.assert_array_equal(np.signbit(found.data), np.signbit(expected))


def test_coordinates_with_their_highest_bit_set() -> None:
    high = [(1 << 31) + 5, (1 << 32) - 3]
    lists = ([3, *high], [4, high[0]], [3, 4, high[0], high[1]])
    vectors = [
        ms.SparseTensor.from_levels(
            "(i) -> (i : compressed)",
            (1 << 32,),
            [np.array([0, len(crd)], np.uint32)],
            [np.array(crd, np.uint32)],
            np.arange(2.0, 2 + len(crd)),
        )
        for crd in lists
    ]
    for a, b, c in permutations(vectors):
        assert ms.evaluate("s = a(i) * b(i) * c(i)", a=a, b=b, c=c, optimize="off") == 3 * 3 * 4


@pytest.mark.parametrize("begins", [False, True])
@pytest.mark.parametrize(("pos", "crd"), [("u2", "u1"), ("u4", "u4"), ("u8", "u2")])
@pytest.mark.parametrize("text", [THREE, FOUR, "s = A(i,j) * B(i,j) * C(i,j)"])
def test_nothing_beside_the_arrays_is_read(text: str, pos: str, crd: str, begins: bool) -> None:
    """A list that another one has passed ends at its own end, the last row at that of the array."""
    widths = {"pos_width": 8 * np.dtype(pos).itemsize, "crd_width": 8 * np.dtype(crd).itemsize}
    stored, names = ms.encoding("CSR", rank=2, **widths), "ABCE" if text is FOUR else "ABC"
    for given in PATTERNS.values():
        for first in range(len(names)):
            order, operands = np.roll(given[: len(names)], first, axis=0), {}
            for name, x in zip(names, order, strict=True):
                rows, columns = x.nonzero()
                ends = np.r_[0, np.bincount(rows, minlength=SHAPE[0]).cumsum()].astype(pos)
                arrays = (guarded(one, begins=begins) for one in (ends, columns.astype(crd), x[rows, columns] + 0.0))
                positions, coordinates, values = arrays
                levels = [None, positions], [None, coordinates]
                operands[name] = ms.SparseTensor.from_levels(stored, SHAPE, *levels, values)
                kept = operands[name].storage.coordinates[1]
                assert kept is not None
                assert np.shares_memory(kept, coordinates) or not coordinates.size
            found = ms.evaluate(text, **operands, optimize="off", **({"out": "CSR"} if text[0] == "D" else {}))
            product = reduce(np.multiply, order)
            np.testing.assert_array_equal(_dense(found), product if text[0] == "D" else product.sum())


def test_levels_above_that_meet() -> None:
    rng = np.random.default_rng(1)
    given = [np.where(rng.random((9, 8, 30)) < 0.4, rng.integers(1, 4, (9, 8, 30)), 0.0) for _ in range(3)]
    given[1][2:5] = 0
    given[2][:, 3] = 0
    T, U, V = (ms.tensor(x, "CSF") for x in given)
    text = "W(i,j,k) = T(i,j,k) * U(i,j,k) * V(i,j,k)"
    for order in permutations((T, U, V)):
        found = ms.evaluate(text, **dict(zip("TUV", order, strict=True)), out="CSF", optimize="off")
        np.testing.assert_array_equal(found.to_numpy(), reduce(np.multiply, given))


@pytest.mark.parametrize("stored", ["COO", "CSR(unordered)"])
def test_other_storage_gives_the_same(stored: str) -> None:
    for given in PATTERNS.values():
        operands = {name: ms.tensor(x + 0.0, stored) for name, x in zip("ABC", given, strict=False)}
        found = ms.evaluate("y(i) = A(i,j) * B(i,j) * C(i,j)", **operands)
        np.testing.assert_array_equal(found, reduce(np.multiply, given[:3]).sum(1))


def test_it_says_which_loops_it_rewrites() -> None:
    storage = dict.fromkeys("ABC", "CSR")
    assert said_by("leapfrog-lists", THREE, "CSR", **storage) == ["applied to j"]
    assert said_by("split-merges", THREE, "CSR", **storage) == []
    assert said_by("leapfrog-lists", ADD, "CSR", A="CSR", B="CSR") == []
    assert said_by("leapfrog-lists", "C(i,j) = A(i,j) * B(i,j)", "CSR", A="CSR", B="CSR") == []


def test_it_says_why_sums_stay_as_they_are() -> None:
    storage = dict.fromkeys("ABC", "CSR")
    said = said_by("leapfrog-lists", "D(i,j) = (A(i,j) + B(i,j)) * C(i,j)", "CSR", **storage)
    assert set(said) == {"j: something is done where not all operands meet"}


def test_it_says_that_loops_around_others_stay() -> None:
    said = said_by("leapfrog-lists", THREE, "DCSR", **dict.fromkeys("ABC", "DCSR"))
    assert said == ["applied to j", "i: loops are inside: the order of its iterations is not what takes the time"]
