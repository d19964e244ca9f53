"""Degrees by a sample against counts of all entries: on data that a sample may well mistake, for all storage."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from dialect_tests.crossing import crossed
from dialect_tests.guarded_memory import guarded
from mlir_sparse import _native
from mlir_sparse.encoding import encoding
from mlir_sparse.encoding.sketch import AxisSketch
from mlir_sparse.tensor import SparseTensor, tensor
from mlir_sparse.tensor.sketch_of import sketch_of

Array = np.ndarray[Any, Any]
Patterns = dict[str, Callable[[np.random.Generator], tuple[Sequence[int], Array]]]

sampled = importlib.import_module("mlir_sparse.tensor.sampled_degrees")

ENTRIES = 300_000
# One of 34 entries is in the sample: distinct coordinates are off by the square root of that at most, and noise.
DISTINCT, LARGEST, SQUARES = 7.0, 8.0, 1.25


def _rows(random: np.random.Generator, each: int) -> Array:
    rows = np.repeat(np.arange(ENTRIES // each), each)
    return np.stack([rows, random.integers(0, ENTRIES // each, rows.size)])


def _hub_row(random: np.random.Generator) -> tuple[Sequence[int], Array]:
    n = ENTRIES // 3
    hub = np.stack([np.full(n // 4, n // 2), np.arange(n // 4) * 4])
    return (n, n), np.concatenate([_rows(random, 3), hub], axis=1)


def _aligned_hubs(random: np.random.Generator) -> tuple[Sequence[int], Array]:
    """A row and a column of the same number, which products of both would meet in."""
    (n, _), found = _hub_row(random)
    return (n, n), np.concatenate([found, found[::-1]], axis=1)


def _one_to_one(random: np.random.Generator) -> tuple[Sequence[int], Array]:
    return (ENTRIES, ENTRIES), np.stack([np.arange(ENTRIES), random.permutation(ENTRIES)])


def _band(random: np.random.Generator) -> tuple[Sequence[int], Array]:
    rows = np.repeat(np.arange(ENTRIES // 16), 16)
    return (ENTRIES // 16, ENTRIES // 16 + 16), np.stack([rows, rows + np.tile(np.arange(16), ENTRIES // 16)])


def _skewed(random: np.random.Generator) -> tuple[Sequence[int], Array]:
    n = 40_000
    places = random.random((2, ENTRIES)) ** 3 * n
    return (n, n), places.astype(np.int64)


MATRICES: Patterns = {
    "3 a row": lambda random: ((ENTRIES // 3, ENTRIES // 3), _rows(random, 3)),
    "20 a row": lambda random: ((ENTRIES // 20, ENTRIES // 20), _rows(random, 20)),
    "hub row": _hub_row,
    "aligned hubs": _aligned_hubs,
    "one to one": _one_to_one,
    "band": _band,
    "skewed": _skewed,
    "two columns": lambda random: ((ENTRIES, 2), np.stack([np.arange(ENTRIES), random.integers(0, 2, ENTRIES)])),
}
TENSORS: Patterns = {
    "large modes": lambda random: ((100_000,) * 3, random.integers(0, 100_000, (3, ENTRIES))),
    "huge modes": lambda random: ((1 << 40,) * 3, random.integers(0, 1 << 40, (3, ENTRIES))),
    "one entry a fibre": lambda random: (
        (1000, 1000, 90_000),
        np.stack([*np.divmod(random.permutation(1_000_000)[:ENTRIES], 1000), random.integers(0, 90_000, ENTRIES)]),
    ),
}
PADDED = ["SlotELL", "HashedRows", "ELL"]  # each row takes as many places as the longest
SHORT_ROWS = [name for name in MATRICES if name not in ("hub row", "aligned hubs", "skewed")]


def _of(patterns: Patterns, pattern: str, name: str) -> SparseTensor:
    shape, coordinates = patterns[pattern](np.random.default_rng(7))
    if len(shape) == 2:
        coordinates = np.stack(np.divmod(np.unique(coordinates[0] * shape[1] + coordinates[1]), shape[1]))
    return tensor((coordinates, np.ones(coordinates.shape[1])), name, shape=tuple(shape))


def _counted(A: SparseTensor) -> list[AxisSketch]:
    counts = [np.unique(column, return_counts=True)[1].astype(np.float64) for column in A.to_coo()[0]]
    return [AxisSketch(float(c.size), float(c.max()), float((c**2).sum())) for c in counts]


def _are_near(found: Sequence[AxisSketch], expected: Sequence[AxisSketch], chance: float = 1 / 34) -> None:
    for axis, exact in zip(found, expected, strict=True):
        assert 1 / SQUARES < axis.squares / exact.squares < SQUARES
        assert 1 / LARGEST < axis.largest / exact.largest < LARGEST
        assert 1 / DISTINCT < axis.distinct / exact.distinct < DISTINCT
        if exact.largest * chance > 100:  # it is seen that often
            assert 0.7 < axis.largest / exact.largest < 1.4


@pytest.fixture
def all_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples tensors of any size, whether counters are near or not."""
    monkeypatch.setattr(sampled, "_LEAST", 1)
    monkeypatch.setattr(sampled, "_are_near", lambda storage, levels: levels.sizes is not None)


@pytest.mark.usefixtures("all_sampled")
@crossed(name=["CSR", "COO", "UnorderedCOO", "HiCOO", "LooseCSR"], pattern=MATRICES)
def test_matrices(name: str, pattern: str) -> None:
    A = _of(MATRICES, pattern, name)
    _are_near(sketch_of(A).axes, _counted(A))


@pytest.mark.usefixtures("all_sampled")
@crossed(name=PADDED, pattern=SHORT_ROWS)
def test_matrices_with_rows_of_one_length(name: str, pattern: str) -> None:
    A = _of(MATRICES, pattern, name)
    _are_near(sketch_of(A).axes, _counted(A))


@pytest.mark.usefixtures("all_sampled")
@crossed(
    name=[
        "COO",
        "UnorderedCOO",
        "CSF",
        "HiCOO",
        "(i, j, k) -> (k : compressed(nonunique), i : singleton(nonunique), j : singleton)",
    ],
    pattern=TENSORS,
)
def test_tensors_of_rank_3(name: str, pattern: str) -> None:
    A = _of(TENSORS, pattern, name)
    _are_near(sketch_of(A).axes, _counted(A))


@pytest.mark.parametrize("pattern", ["hub row", "aligned hubs"])
def test_a_hub_among_many_is_not_lost(pattern: str) -> None:
    """The sum of squares is that of the hub nearly, which decides the order of products."""
    A = _of(MATRICES, pattern, "UnorderedCOO")
    found, exact = sketch_of(A).axes[0], _counted(A)[0]
    assert exact.squares > 100 * A.nse
    assert 0.8 < found.squares / exact.squares < 1.25


@pytest.mark.usefixtures("all_sampled")
@crossed(
    name=["SlotELL", "CountedELL", "HashedRows", "ELL", "LooseCSR", "COO", "SoA-COO", "CSR", "DCSR", "CSB", "HiCOO"],
    pos=[16, 32, 64],
    crd=[8, 16, 32, 64],
)
def test_samples_are_of_entries_in_any_width(name: str, pos: int, crd: int) -> None:
    """Empty places have coordinate -1, which narrow numbers hold as 255 and 65,535."""
    random = np.random.default_rng(pos + crd)
    dense = (random.random((120, 100)) < 0.3) * 1.0
    dense[:, :40] = 0
    A = tensor(dense, encoding(name, rank=2, pos_width=pos, crd_width=crd))
    storage, kinds = A.storage, sampled._kinds(A.encoding)
    arrays = storage.positions, storage.coordinates
    columns, chance = _native.sample_entries(kinds, storage.level_sizes, *arrays, storage.values.size)
    rows, at = A.encoding.lvl_to_dim.evaluate(columns)
    assert dense[rows, at].all()
    assert len(rows) > 0.5 * chance * A.nse
    assert len(set(zip(rows.tolist(), at.tolist(), strict=True))) == len(rows)
    assert max(axis.distinct for axis in sketch_of(A).axes) <= 120


@crossed(
    name=["SlotELL", "HashedRows", "ELL", "LooseCSR", "SoA-COO", "CSR", "DCSR", "HiCOO"],
    crd=[8, 16, 32, 64],
    shape=[(1, 1), (1, 120), (120, 1), (120, 100)],
)
def test_samples_read_nothing_beside_the_arrays(name: str, crd: int, shape: tuple[int, int]) -> None:
    random = np.random.default_rng(crd)
    for density in (0.0, 0.01, 0.5, 1.0):
        A = tensor((random.random(shape) < density) * 1.0, encoding(name, rank=2, crd_width=crd))
        storage, kinds = A.storage, sampled._kinds(A.encoding)
        for begins in (False, True):
            arrays = [
                [one if one is None else guarded(one, begins=begins) for one in given]
                for given in (storage.positions, storage.coordinates)
            ]
            columns, _ = _native.sample_entries(kinds, storage.level_sizes, *arrays, storage.values.size)
            rows, at = A.encoding.lvl_to_dim.evaluate(columns)
            assert A.to_numpy()[rows, at].all()


@crossed(name=["UnorderedCOO", "HashedRows", "CSF", "HiCOO"], threads=[1, 2, 7])
def test_a_sample_is_the_same_each_time(name: str, threads: int) -> None:
    A, B = (_of(MATRICES, "3 a row", name) for _ in range(2))
    with _native.Limits(threads):
        assert sketch_of(A) == sketch_of(B)


def test_small_tensors_and_near_counters_are_exact() -> None:
    random = np.random.default_rng(3)
    for name, entries, extent in (("UnorderedCOO", 200_000, 60_000), ("CSR", ENTRIES, 90_000), ("COO", ENTRIES, 9000)):
        rows, columns = np.divmod(np.unique(random.integers(0, extent**2, entries)), extent)
        A = tensor((np.stack([rows, columns]), np.ones(rows.size)), name, shape=(extent, extent))
        assert list(sketch_of(A).axes) == _counted(A)


def test_outermost_degrees_are_exact_where_positions_tell_them() -> None:
    for name in ("ELL", "LooseCSR"):
        A = _of(MATRICES, "20 a row", name)
        assert sketch_of(A).axes[0] == _counted(A)[0]


def test_of_no_entries() -> None:
    assert _native.sampled_degrees(np.zeros(0, np.int64), 5, 0.5) == (0.0, 0.0, 0.0)
    columns, _ = _native.sample_entries([(0, True, True, False), (3, False, False, True)], (9, 9), [None, None],
                                        [None, np.full(36, -1)], 36)  # fmt: skip
    assert [column.size for column in columns] == [0, 0]


def test_buffers_that_do_not_fit_are_refused() -> None:
    many = np.zeros(4000, np.int64)

    def sample(kinds: Sequence[int], positions: Sequence[Array | None], coordinates: Sequence[Array | None]) -> object:
        levels = [(kind, True, True, False) for kind in kinds]
        return _native.sample_entries(levels, (5,) * len(kinds), positions, coordinates, 4000)

    assert sample([1], [np.array([0, 4000])], [many])
    with pytest.raises(IndexError, match="expected a coordinate for each position"):
        sample([1], [np.array([0, 4000])], [many[:9]])
    with pytest.raises(IndexError, match="expected a coordinate for each position"):
        sample([1, 1], [np.array([0, 1]), np.arange(4001)], [many[:1], many])
    with pytest.raises(IndexError, match="expected positions for a level"):
        sample([1], [np.array([0])], [many])
    for segments in ([0, 4001], [-1, 5], [5, 2]):
        with pytest.raises(IndexError, match="expected segments in the coordinates"):
            sample([0, 2], [None, np.array(segments)], [None, many])
    with pytest.raises(IndexError, match="innermost level alone"):
        sample([2, 1], [np.array([0, 4000]), np.arange(4001)], [many, many])
    with pytest.raises(IndexError, match="expected as many places"):
        _native.sample_entries(
            [(0, True, True, False), (3, False, False, True)], (7, 5), [None, None], [None, many], many.size
        )
    with pytest.raises(ValueError, match="expected contiguous positions"):
        sample([1], [np.array([0, 0, 4000])[::2]], [many])
    with pytest.raises(ValueError, match="chance"):
        _native.sampled_degrees(many, 5, 0.0)
