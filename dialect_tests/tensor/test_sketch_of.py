"""Sketches against storage read by its definition, and against NumPy where the definition is the package's own."""

from __future__ import annotations

import copy
import importlib
import math
import os
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialect_tests.crossing import crossed, examples
from dialect_tests.tensor import reference
from mlir_sparse import _native
from mlir_sparse.dtypes import DTYPES
from mlir_sparse.encoding import encoding
from mlir_sparse.encoding.sketch import AxisSketch, Sketch
from mlir_sparse.tensor import SparseTensor, tensor
from mlir_sparse.tensor.sketch_of import sketch_of

Array = np.ndarray[Any, Any]

MORE = [
    ("row pairs", encoding("(i, j) -> (i : compressed(nonunique), j : compressed)")),
    ("columns of pairs", encoding("(i, j, k) -> (j : dense, k : compressed(nonunique), i : singleton)")),
    ("loose COO", encoding("(i, j) -> (i : loose_compressed(nonunique), j : singleton)")),
    ("dense inside", encoding("(i, j, k) -> (k : compressed, i : dense, j : compressed)")),
    ("twice blocked", encoding(
        "(i, j) -> (i floordiv 4 : dense, j floordiv 6 : compressed, (i mod 4) floordiv 2 : dense, i mod 2 : dense, "
        "j mod 6 : dense)"
    )),
    ("inside out", encoding(
        "(i, j) -> (i mod 4 : dense, j floordiv 2 : compressed, i floordiv 4 : dense, j mod 2 : dense)"
    )),
    ("loose blocks", encoding(
        "(i, j) -> (i floordiv 2 : loose_compressed, j floordiv 3 : loose_compressed, i mod 2 : dense, j mod 3 : dense)"
    )),
]  # fmt: skip
NATIVE = {
    f"{name} of rank {kind.dim_rank}": kind
    for name, kind in [*reference.WHOLE[1], *reference.MATRICES, *reference.WHOLE[3], *MORE]
}


def _degrees(columns: Sequence[Array]) -> tuple[AxisSketch, ...]:
    """Returns the degrees of coordinates in each dimension, by NumPy."""
    counts = [np.unique(column, return_counts=True)[1] for column in columns]
    return tuple(
        AxisSketch(float(c.size), float(c.max(initial=0)), float(sum(int(n) ** 2 for n in c.tolist()))) for c in counts
    )


def _expected(A: SparseTensor) -> Sketch:
    """Returns the sketch of storage that is read by its definition."""
    found = [A.encoding.lvl_to_dim.evaluate(at) for at, _ in reference.entries(A.storage)]
    inside = [at for at in found if all(c < extent for c, extent in zip(at, A.shape, strict=True))]
    columns = np.array(inside, np.int64).reshape(len(inside), A.ndim).T
    return Sketch(A.shape, float(len(found)), _degrees(list(columns)))


def _filled(pattern: str, shape: tuple[int, ...]) -> Array:
    random = np.random.default_rng(sum(shape))
    dense = np.zeros(shape)
    match pattern:
        case "one entry":
            dense[tuple(extent - 1 for extent in shape)] = 7
        case "hubs":  # a row and a column of the first two dimensions
            dense[shape[0] // 2] = 3
            dense.swapaxes(0, -1)[1] = 4
        case "random":
            dense[random.random(shape) < 0.3] = 2
        case "all":
            dense[...] = 1
    return dense


@crossed(name=NATIVE, pattern=["empty", "one entry", "hubs", "random", "all"], extents=[(8, 12, 4), (7, 11, 5)])
def test_native_storage(name: str, pattern: str, extents: tuple[int, ...]) -> None:
    kind = NATIVE[name]
    dense = reference.fits_structured(_filled(pattern, extents[: kind.dim_rank]), kind)
    A = tensor(dense, kind)
    assert sketch_of(A) == _expected(A)
    assert sketch_of(A).entries == A.nse


@given(st.data())
@examples(60)
def test_native_storage_of_any_shape(data: st.DataObject) -> None:
    kind = NATIVE[data.draw(st.sampled_from(sorted(NATIVE)))]
    kind = kind.with_widths(*(data.draw(st.sampled_from([8, 16, 32, 64])) for _ in range(2)))
    dense = data.draw(reference.dense_arrays(kind.dim_rank))
    A = tensor(reference.fits_structured(dense, kind), kind)
    assert sketch_of(A) == _expected(A)


# What a format can hold of an array, and what it stores of that.
_WHOLE = np.ones_like
FOREIGN: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "DIA": (_WHOLE, lambda a: np.isin(_offsets(a), _offsets(a)[a != 0])),
    "Banded": (lambda a: np.triu(np.tril(_WHOLE(a), 1), -1), lambda a: (_offsets(a) >= -1) & (_offsets(a) < 2)),
    "PackedLower": (np.tril, lambda a: _offsets(a) <= 0),
    "PackedUpper": (np.triu, lambda a: _offsets(a) >= 0),
    "Skyline": (np.tril, lambda a: (np.cumsum(a, axis=1) > 0) & (_offsets(a) <= 0)),
    "UpperSkyline": (np.triu, lambda a: (np.cumsum(a, axis=0) > 0) & (_offsets(a) >= 0)),
    "RowIntervals": (
        _WHOLE,
        lambda a: (np.cumsum(a, axis=1) > 0) & (np.cumsum(a[:, ::-1], axis=1)[:, ::-1] > 0),
    ),
    "SlotELL": (_WHOLE, lambda a: a != 0),
    "CountedELL": (_WHOLE, lambda a: a != 0),
    "HashedRows": (_WHOLE, lambda a: a != 0),
}


def _offsets(a: Array) -> Array:
    offsets: Array = np.arange(a.shape[1]) - np.arange(a.shape[0])[:, None]
    return offsets


@crossed(
    name=FOREIGN,
    pattern=["empty", "one entry", "random", "all"],
    shape=[(6, 6), (5, 8), (8, 3), (0, 4)],
    width=[8, 16, 32, 64],
)
def test_storage_that_the_dialect_lacks(name: str, pattern: str, shape: tuple[int, int], width: int) -> None:
    dense = np.zeros(shape) if 0 in shape else _filled(pattern, shape)
    held, stored = FOREIGN[name]
    dense = np.where(held(np.ones_like(dense)), dense, 0)
    A = tensor(dense, encoding(name, rank=2, pos_width=width, crd_width=width))
    assert sketch_of(A) == Sketch(shape, float(A.nse), _degrees(np.nonzero(stored(dense))))


def test_a_hash_table_has_as_many_entries_as_it_was_given() -> None:
    A = tensor(np.arange(9.0) % 3, "HashVector")
    assert sketch_of(A) == Sketch((9,), 6.0, (AxisSketch(6.0, 1.0, 6.0),))


@pytest.mark.parametrize("name", ["CSR", "COO", "DCSC", "UnorderedCOO"])
def test_a_slice_counts_its_own_entries(name: str) -> None:
    dense = _filled("random", (9, 14)) + _filled("hubs", (9, 14))
    part = tensor(dense, name).slice(slice(1, 9, 3), slice(2, 13, 2))
    inside = np.nonzero(dense[1:9:3, 2:13:2])
    assert sketch_of(part) == Sketch((3, 6), float(inside[0].size), _degrees(inside))


@pytest.mark.parametrize("name", ["BatchedCSR", "(b, i, j) -> (b : batch, j : compressed, i : compressed)"])
@pytest.mark.parametrize("pattern", ["empty", "one entry", "random", "all"])
def test_batches_count_without_their_padding(name: str, pattern: str) -> None:
    dense = _filled(pattern, (3, 5, 7))
    A = tensor(dense, name)
    assert sketch_of(A) == Sketch((3, 5, 7), float(A.nse), _degrees(np.nonzero(dense)))


@crossed(name=["CSR", "COO", "SoA-COO", "DCSR", "BSR(2, 2)", "LooseCSR"], pos=[8, 16, 32, 64], crd=[8, 16, 32, 64])
def test_widths(name: str, pos: int, crd: int) -> None:
    A = tensor(_filled("random", (16, 30)), encoding(name, rank=2, pos_width=pos, crd_width=crd))
    assert sketch_of(A) == _expected(A)


@pytest.mark.parametrize("dtype", [d.name for d in DTYPES])
def test_element_types(dtype: str) -> None:
    for name in ("CSR", "BSR(2, 2)", "dense"):
        A = tensor(_filled("random", (6, 8)), name, dtype=dtype)
        assert sketch_of(A) == _expected(A)


@pytest.mark.parametrize("rank", range(1, 9))
@pytest.mark.parametrize("name", ["dense", "CSF", "COO"])
def test_ranks(rank: int, name: str) -> None:
    A = tensor(_filled("random", (3, 2, 2, 3, 1, 2, 2, 2)[:rank]), name)
    assert sketch_of(A) == _expected(A)


def test_stored_zeros_and_duplicates_count() -> None:
    coordinates = [[0, 2, 2, 2], [1, 0, 3, 3]]
    A = SparseTensor.from_levels("NonuniqueCOO", (4, 4), [[0, 4], None], coordinates, [0.0, 1.0, 0.0, 2.0])
    assert sketch_of(A) == Sketch((4, 4), 4.0, (AxisSketch(2.0, 3.0, 10.0), AxisSketch(3.0, 2.0, 6.0)))


def test_a_stored_row_without_entries_is_no_coordinate_of_an_entry() -> None:
    A = SparseTensor.from_levels("DCSR", (9, 9), [[0, 3], [0, 2, 2, 3]], [[1, 4, 5], [0, 8, 8]], [1.0, 2.0, 3.0])
    assert sketch_of(A).axes == (AxisSketch(2.0, 2.0, 5.0), AxisSketch(2.0, 2.0, 5.0))


def test_buffers_that_lie_oddly_in_memory() -> None:
    def odd(numbers: Sequence[int]) -> Array:
        memory = np.zeros(4 * len(numbers) + 1, np.uint8)
        found = np.frombuffer(memory.data, np.int32, len(numbers), 1)
        found[...] = numbers
        return found

    A = SparseTensor.from_levels("CSR", (3, 4), [None, odd([0, 2, 2, 4])], [None, odd([0, 3, 1, 3])], np.ones(4))
    assert sketch_of(A) == _expected(A)
    spread = np.repeat(np.array([0, 3, 1, 3]), 3)[::3]
    B = SparseTensor.from_levels("CSR", (3, 4), [None, np.array([0, 2, 2, 4])], [None, spread], np.ones(4))
    assert sketch_of(B) == _expected(B)


HUGE = 1 << 62


@pytest.mark.parametrize(
    "name",
    ["COO", "UnorderedCOO", "SoA-COO", "DCSR", "CSF", "(i, j) -> (j : compressed, i : compressed)", "DBSR(2, 3)"],
)
def test_huge_extents_take_no_memory(name: str) -> None:
    random = np.random.default_rng(0)
    places = np.append(random.integers(0, HUGE, 20), HUGE - 1)
    columns = random.choice(places, (2, 300))
    A = tensor((columns, np.ones(300)), name, shape=(HUGE, HUGE))
    assert sketch_of(A) == _expected(A)


def test_huge_extents_above_other_levels() -> None:
    random = np.random.default_rng(0)
    columns = random.choice(random.integers(0, HUGE, 9), (3, 300))
    A = tensor((columns, np.ones(300)), "CSF", shape=(HUGE, HUGE, HUGE))
    assert sketch_of(A) == _expected(A)


@pytest.mark.parametrize("name", ["COO", "CSR", "CSC", "DCSR", "UnorderedCOO", "BSR(2, 2)", "CompressedDense"])
def test_more_entries_a_coordinate_than_a_byte_counts(name: str) -> None:
    random = np.random.default_rng(1)
    columns = np.minimum(random.zipf(1.3, (2, 50_000)), 800) - 1
    A = tensor((columns, np.ones(50_000)), name, shape=(800, 800))
    # Padding is an entry like others, and NumPy finds it by its value.
    ones = A.storage.with_values(np.ones_like(A.storage.values))
    stored = np.nonzero(SparseTensor._trusted(A.encoding, A.shape, ones).to_numpy())
    assert sketch_of(A) == Sketch((800, 800), float(stored[0].size), _degrees(stored))


@crossed(dtype=["u1", "u2", "i4", "i8"], step=[1, 3], length=[0, 1, 1024, 1025, 5000])
def test_native_counts(dtype: str, step: int, length: int) -> None:
    random = np.random.default_rng(length)
    extent = 200
    for numbers in (random.integers(0, extent, length), np.full(length, extent - 1), random.zipf(1.2, length) % extent):
        coordinates = np.repeat(numbers.astype(dtype), step)[::step]
        begins = np.append(0, np.cumsum(random.choice([0, 1, 2, 255, 256, 70000], length))).astype(np.int64)
        counts = np.bincount(numbers, minlength=extent)
        assert _native.count_degrees(coordinates, extent) == (*_norms(counts), counts[-1])
        ascending = np.repeat(np.sort(coordinates), step)[::step]
        assert _native.run_degrees(ascending) == _norms(counts)
        for width in (np.int32, np.int64):
            weighted = np.bincount(numbers, np.diff(begins), extent)
            found = _native.count_degrees(coordinates, extent, begins.astype(width))
            assert found == (*_norms(weighted), weighted[-1])
            assert _native.segment_degrees(begins.astype(width)) == _norms(np.diff(begins))


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("extent", [3, 2048, 2049, 40_000, 100_003])
def test_native_counts_on_several_threads(threads: int, extent: int) -> None:
    random = np.random.default_rng(extent)
    length = 100_003
    begins = np.append(0, np.cumsum(random.choice([0, 1, 3, 300], length))).astype(np.int32)
    for numbers in (random.integers(0, extent, length), np.full(length, extent - 1), random.zipf(1.2, length) % extent):
        counts, weighted = np.bincount(numbers, minlength=extent), np.bincount(numbers, np.diff(begins), extent)
        with _native.Limits(threads):
            assert _native.count_degrees(numbers, extent) == (*_norms(counts), counts[-1])
            assert _native.count_degrees(numbers, extent, begins) == (*_norms(weighted), weighted[-1])
            assert _native.run_degrees(np.sort(numbers)) == _norms(counts)
            assert _native.segment_degrees(begins) == _norms(np.diff(begins))
            above = np.sort(random.integers(0, length + 1, length)).astype(np.int32)
            assert _native.segment_degrees(begins, above) == _norms(np.diff(begins[above]))


def _norms(degrees: Array) -> tuple[float, float, float]:
    numbers = [int(degree) for degree in degrees]
    return float(np.count_nonzero(degrees)), float(max(numbers, default=0)), float(sum(n * n for n in numbers))


@crossed(dtype=["i4", "i8"], length=[1, 700, 5000], distinct=[1, 40, 5000])
def test_native_counts_of_huge_extents(dtype: str, length: int, distinct: int) -> None:
    random = np.random.default_rng(length)
    extent = np.iinfo(dtype).max
    places = np.append(random.integers(0, extent, distinct), [0, extent - 1])
    for numbers in (random.choice(places, length), np.full(length, extent - 1), np.arange(length) << 14):
        coordinates = numbers.astype(dtype)
        begins = np.append(0, np.cumsum(random.choice([0, 1, 3, 300], length))).astype(np.int32)
        known, ranks = np.unique(coordinates, return_inverse=True)
        last = known[-1] == extent - 1
        for weights, segments in ((np.ones(length), None), (np.diff(begins), begins)):
            degrees = np.bincount(ranks, weights)
            found = _native.count_degrees(coordinates, extent, segments)
            assert found == (*_norms(degrees), degrees[-1] if last else 0.0)


def test_native_counts_of_levels_refuse_buffers_that_do_not_fit() -> None:
    def count(positions: Sequence[int], outer: Sequence[int] = (0, 2), values: int = 3) -> object:
        buffers = [np.array(outer), np.array(positions)], [np.array([0, 4]), np.array([0, 1, 2])]
        return _native.level_degrees([(1, True, True, False)] * 2, (5, 5), *buffers, values)

    assert count([0, 1, 3]) == [(2.0, 2.0, 5.0), (3.0, 1.0, 3.0)]
    for faulty in (([0, 3],), ([0, 1, 3], (0, 2), 4), ([0, 1, 3], (0, 9), 3), ([0, 1, 3], (0, -1), 3)):
        with pytest.raises(IndexError, match="expected"):
            count(*faulty)
    with pytest.raises(ValueError, match="for each level"):
        _native.level_degrees([(1, True, True, False)], (5, 5), [None], [None], 3)


@pytest.mark.parametrize("name", ["SlotELL", "CountedELL", "HashedRows", "ELL", "LooseCSR", "DIA", "RowIntervals"])
def test_matrices_with_gaps_and_hubs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of more entries than a block, columns of more than a byte counts, and most rows of few."""
    monkeypatch.setattr(importlib.import_module("mlir_sparse.tensor.sampled_degrees"), "_LEAST", math.inf)
    random = np.random.default_rng(5)
    dense = np.where(random.random((700, 3000)) < 0.002, 2.0, 0.0)
    dense[:, 17] = dense[[5, 699]] = 1
    if name == "DIA":
        dense = np.triu(np.tril(dense, 9), -3) + np.eye(700, 3000)
    A = tensor(dense, name)
    stored = dense != 0 if name not in {"DIA", "RowIntervals"} else FOREIGN[name][1](dense)
    assert sketch_of(A) == Sketch(dense.shape, float(A.nse), _degrees(np.nonzero(stored)))


@pytest.mark.parametrize("name", ["DIA", "Banded", "RowIntervals", "PackedLower"])
@pytest.mark.parametrize("shape", [(1, 900), (900, 1), (900, 900), (40, 700), (700, 40)])
def test_few_and_many_intervals(name: str, shape: tuple[int, int]) -> None:
    if name == "PackedLower" and shape[0] != shape[1]:
        pytest.skip("triangles are square")
    held, stored = FOREIGN[name]
    dense = np.where(held(np.ones(shape)), np.random.default_rng(3).random(shape) < 0.2, 0.0)
    if name == "DIA":  # few diagonals, some of which begin or end within
        dense = np.where(np.isin(_offsets(dense), [-2, 0, 1, 650, -650]), 1.0, 0.0)
    A = tensor(dense, name)
    assert sketch_of(A) == Sketch(shape, float(A.nse), _degrees(np.nonzero(stored(dense))))


@crossed(pos=[8, 16, 32, 64], crd=[8, 16, 32, 64], step=[1, 3])
def test_loose_rows_with_gaps_between_them(pos: int, crd: int, step: int) -> None:
    kind = encoding("LooseCSR", rank=2, pos_width=pos, crd_width=crd)
    segments, lengths = [2, 5, 6, 6, 8, 19, 20, 21], [3, 0, 11, 1]
    coordinates = np.full(24, 88)
    for begin, length in zip(segments[::2], lengths, strict=True):
        coordinates[begin : begin + length] = np.arange(length) * 3
    spread = np.repeat(coordinates, step)[::step]
    A = SparseTensor.from_levels(kind, (4, 90), [None, segments], [None, spread], np.ones(24))
    columns = np.repeat(np.arange(4), lengths), np.concatenate([np.arange(length) * 3 for length in lengths])
    assert sketch_of(A) == Sketch((4, 90), 15.0, _degrees(columns))


@crossed(
    sizes=[(), (1,), (2500,), (3, 2500), (2, 5, 41), (4, 1, 3000), (300, 3)],
    each=[1, 3, 8, 2100],
    dtype=[np.int16, np.int32, np.int64],
    step=[1, 3],
    extent=[50, 1 << 30],
    threads=[1, 3],
)
def test_tables_below_dense_levels(
    sizes: tuple[int, ...], each: int, dtype: type[np.signedinteger[Any]], step: int, extent: int, threads: int
) -> None:
    """Rows longer and shorter than what is counted at a time, of vectors and of numbers apart."""
    if math.prod(sizes) * each > 200_000:
        each = 1
    random = np.random.default_rng(each)
    table = random.integers(0, extent, (*sizes, each)).astype(dtype)
    table[random.random(table.shape) < random.choice([0.0, 0.3, 0.9, 1.0])] = -1
    filled = table >= 0
    counted = [filled.sum(axis=tuple(k for k in range(filled.ndim) if k != level)) for level in range(len(sizes))]
    expected = [*map(_norms, counted), _norms(np.unique(table[filled], return_counts=True)[1])]
    kinds = [*[(0, True, True, False)] * len(sizes), (3, True, False, True)]
    coordinates = [*[None] * len(sizes), np.repeat(table.ravel(), step)[::step]]
    with _native.Limits(threads):
        found = _native.level_degrees(kinds, (*sizes, extent), [None] * len(kinds), coordinates, table.size)
    assert found == expected


@crossed(share=[0.0, 0.0002, 0.2], extent=[700, 1 << 30], threads=[1, 3])
def test_loose_rows_that_adjoin_but_for_some(share: float, extent: int, threads: int) -> None:
    random = np.random.default_rng(7)
    lengths = random.choice([0, 1, 2, 9, 40], 5000)
    gaps = np.where(random.random(5000) < share, 5, 0)
    ends = np.cumsum(lengths + gaps)
    begins = ends - lengths
    coordinates = random.integers(0, extent, ends[-1] + 3)
    stored = np.concatenate([coordinates[b:e] for b, e in zip(begins, ends, strict=True)])
    kinds, segments = [(0, True, True, False), (2, True, True, False)], np.stack([begins, ends], axis=1).ravel()
    with _native.Limits(threads):
        found = _native.level_degrees(kinds, (5000, extent), [None, segments], [None, coordinates], coordinates.size)
    assert found == [_norms(lengths), _norms(np.unique(stored, return_counts=True)[1])]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("extent", [1, 2, 40, 8192, 8193])
def test_neighbours_of_one_coordinate_are_counted_by_turns(threads: int, extent: int) -> None:
    numbers = np.sort(np.random.default_rng(extent).integers(0, extent, 70_003)).astype(np.int32)
    counts = np.bincount(numbers, minlength=extent)
    with _native.Limits(threads):
        assert _native.count_degrees(numbers, extent) == (*_norms(counts), counts[-1])


def test_native_counts_of_gaps_refuse_buffers_that_do_not_fit() -> None:
    def loose(segments: Sequence[int], outer: tuple[int, bool, bool, bool] = (0, True, True, False)) -> object:
        kinds, coordinates = [outer, (2, True, True, False)], [None, np.array([0, 1, 7, 4])]
        return _native.level_degrees(kinds, (2, 5), [None, np.array(segments)], coordinates, 4)

    assert loose([0, 2, 3, 4]) == [(2.0, 2.0, 5.0), (3.0, 1.0, 3.0)]
    for faulty in ([0, 2, 3], [0, 2, 3, 5], [-1, 2, 3, 4], [2, 0, 3, 4]):
        with pytest.raises(IndexError, match="expected"):
            loose(faulty)

    def table(sizes: tuple[int, ...], *, kind: int = 0) -> object:
        kinds = [(kind, True, True, False), (3, True, True, True)]
        return _native.level_degrees(kinds, sizes, [None, None], [None, np.array([-1, 2, 2, -1, -1, 0])], 6)

    assert table((3, 5)) == [(3.0, 1.0, 3.0), (2.0, 2.0, 5.0)]
    assert table((2, 5)) == [(2.0, 2.0, 5.0), (2.0, 2.0, 5.0)]
    for sizes, kind in (((4, 5), 0), ((0, 5), 0), ((3, 5), 1)):
        with pytest.raises(IndexError, match="expected"):
            table(sizes, kind=kind)


def test_squares_beyond_64_bits() -> None:
    assert _native.segment_degrees(np.array([0, HUGE])) == (1.0, float(HUGE), float(HUGE) ** 2)
    assert _native.count_degrees(np.array([0]), 1, np.array([0, HUGE]))[2] == float(HUGE) ** 2


def test_native_counts_refuse_begins_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="one more than coordinates"):
        _native.count_degrees(np.zeros(3, np.int32), 4, np.zeros(3, np.int32))
    with pytest.raises(ValueError, match="expected contiguous begins"):
        _native.segment_degrees(np.zeros(8, np.int32)[::2])


def test_of_an_array_shape_and_size() -> None:
    assert sketch_of(np.ones(())) == Sketch((), 1.0)
    assert sketch_of(np.zeros((3, 0, 4))) == Sketch((3, 0, 4), 0.0)
    assert sketch_of(np.broadcast_to(1.0, (1 << 40, 2))) == Sketch((1 << 40, 2), float(1 << 41))


def test_it_is_computed_once() -> None:
    A = tensor(_filled("random", (8, 12)))
    assert sketch_of(A) is sketch_of(A)


def test_other_tensors_do_not_get_it() -> None:
    A = tensor(_filled("random", (8, 12)))
    sketch_of(A)
    others = [pickle.loads(pickle.dumps(A)), copy.copy(A), copy.deepcopy(A), A.slice(slice(0, 4), slice(0, 12))]
    others += [A.astype("f4"), A.convert("CSC"), A.T]
    assert [other._sketch for other in others] == [None] * len(others)
    assert sketch_of(others[0]) == sketch_of(A)


def test_threads() -> None:
    random = np.random.default_rng(2)
    A = tensor((random.integers(0, 500, (2, 100_000)), np.ones(100_000)), "COO", shape=(500, 500))
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: sketch_of(A), range(16)))
    assert found == [_expected_of(A)] * 16


def _expected_of(A: SparseTensor) -> Sketch:
    return Sketch(A.shape, float(A.nse), _degrees(list(A.to_coo()[0])))


def test_a_fork_has_it_and_makes_others() -> None:
    A, B = (tensor(_filled("random", shape)) for shape in ((8, 12), (300, 200)))
    known, expected = sketch_of(A), _expected_of(B)
    child = os.fork()
    if child == 0:
        os._exit(0 if sketch_of(A) is known and sketch_of(B) == expected else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_rounded_sketch_tells_powers_of_4() -> None:
    axis = AxisSketch(100.0, 40.0, 5000.0)
    near, far = Sketch((1020,), 1020.0, (axis,)), Sketch((1000,), 5000.0, (axis,))
    assert Sketch((1000,), 1000.0, (axis,)).rounded == near.rounded != far.rounded
    assert Sketch((0,), 0.0).rounded == ((0,), (0,))
    assert Sketch((4, 4), 4.0).rounded != Sketch((4,), 4.0, (AxisSketch(1.0, 1.0, 1.0),)).rounded


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize(
    "name",
    [
        "COO",
        "COO(soa)",
        "UnorderedCOO",
        "(i, j, k) -> (k : dense, i : compressed(nonunique), j : singleton(nonunique))",
    ],
)
@pytest.mark.parametrize("extents", [(3, 2048, 40_000), (40_000, 5, 2049), (1, 1 << 40, 3000), (50_000, 300, 1)])
def test_columns_of_one_region_are_counted_together(threads: int, name: str, extents: tuple[int, ...]) -> None:
    random = np.random.default_rng(extents[0])
    if ":" not in name:
        extents = extents[:2] if name == "UnorderedCOO" else extents
    rows = np.stack([random.zipf(1.3, 70_001) % extent for extent in extents])
    A = tensor((rows, np.ones(70_001)), _region(name, len(extents)), shape=extents)
    expected = _degrees(A.to_coo()[0])
    with _native.Limits(threads):
        assert sketch_of(A).axes == expected


def _region(name: str, rank: int) -> Any:
    if name == "COO(soa)":
        levels = ", ".join(
            ["d0 : compressed(nonunique)", *(f"d{n} : singleton(nonunique, soa)" for n in range(1, rank))]
        )
        return encoding(f"({', '.join(f'd{n}' for n in range(rank))}) -> ({levels})")
    return encoding(name) if ":" in name else encoding(name, rank=rank)


@pytest.mark.parametrize(
    ("storage", "places"),
    [
        ("CSF", (2.0, 3.0, 5.0)),
        ("(i, j, k) -> (i : dense, j : compressed, k : compressed)", (4.0, 3.0, 5.0)),
        ("(i, j, k) -> (k : compressed, j : dense, i : compressed)", (3.0, 9.0, 5.0)),
        ("COO", ()),  # coordinates stand there again and again
        ("(i, j, k) -> (i : dense, j floordiv 2 : compressed, j mod 2 : dense, k : dense)", ()),
    ],
)
def test_places_of_levels(storage: str, places: tuple[float, ...]) -> None:
    coordinates = np.array([[0, 0, 0], [0, 0, 5], [0, 2, 1], [3, 1, 1], [3, 1, 5]])
    found = tensor((coordinates.T, np.ones(5)), storage, shape=(4, 3, 6))
    assert sketch_of(found).levels == places


def test_tensors_with_fibres_of_unlike_lengths_share_no_plan() -> None:
    at = np.arange(4096)
    short = tensor((np.stack([at // 256, at % 256, at % 16]), np.ones(4096)), "CSF", shape=(16, 256, 256))
    long = tensor((np.stack([at // 256, at % 2 * 3, at % 256]), np.ones(4096)), "CSF", shape=(16, 256, 256))
    assert sketch_of(short).levels[1] == 4096.0
    assert sketch_of(long).levels[1] == 32.0
    assert sketch_of(short).rounded != sketch_of(long).rounded
