"""A tensor converted through every preset of its rank, in any order, stays the tensor that it was."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from dialect_tests.crossing import crossed
from dialect_tests.tensor.reference import Array, fits_structured, same
from mlir_sparse import DimSlice, SparseTensor, tensor
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import PRESETS, Encoding, encoding
from mlir_sparse.encoding.preset import Preset
from mlir_sparse.errors import StorageError

DTYPES = ("f64", "f32", "f16", "bf16", "i8", "i16", "i32", "i64", "c64", "c128", "bool")
RANKS = (1, 2, 3, 4)
WIDTHS = ((0, 0), (8, 8), (16, 32), (32, 16), (64, 64), (32, 64), (64, 32))


def presets(rank: int) -> list[Preset]:
    return [preset for preset in PRESETS.values() if preset.min_rank <= rank <= (preset.max_rank or rank)]


@cache
def variants(name: str, shape: tuple[int, ...]) -> list[Encoding]:
    """Returns a preset with parameters of all kinds: blocks that divide nothing, every order, wide and narrow."""
    return list(_variants(PRESETS[name], shape))


def _variants(preset: Preset, shape: tuple[int, ...]) -> Iterator[Encoding]:
    rank, name = len(shape), preset.name
    match preset.parameter:
        case "order":
            yield from (
                encoding(name, order=order)
                for order in itertools.islice(itertools.permutations(range(rank)), 0, None, max(1, rank - 2))
            )
        case "block":
            smallest = 2 if name == "CSB" else 1
            blocks = ((smallest, 3, 2, smallest), (4, 2, 3, 2), (2, 2, 2, 2), (16, 5, 7, 3))
            yield from (encoding(name, block=block[:rank]) for block in blocks)
        case "size":
            yield from (encoding(name, rank=rank, size=size) for size in (1, 2, 5))
        case "n_m":
            yield from (encoding(name, rank=rank, n=n, m=m) for n, m in ((1, 2), (2, 3), (3, 3), (1, 5)))
        case "width":
            yield from (encoding(name), encoding(name, width=max(1, shape[1])))
        case "band":
            yield from (encoding(name, band=band) for band in ((0, 0), (1, 2), (8, 8), (20, 3)))
        case "slices":
            if all(shape):  # there is no slice of nothing
                yield encoding(name, slices=[DimSlice(0, extent, 1) for extent in shape])
        case _:
            yield encoding(name, rank=rank)


def in_room(dense: Array, stored_as: Encoding) -> Array:
    """Returns the tensor with zeros where a format of limited room has none."""
    dense = fits_structured(dense, stored_as)
    inside = _room((stored_as.preset or "").split("(")[0], stored_as, dense.shape)
    return np.where(inside, dense, 0).astype(dense.dtype)


def _room(name: str, stored_as: Encoding, shape: tuple[int, ...]) -> Array:
    grid = np.indices(shape)
    match name:
        case "Banded":
            low, high = stored_as.level_bounds(shape)[0]
            return (grid[1] - grid[0] >= low) & (grid[1] - grid[0] < high)
        case "PackedLower" | "Skyline":
            return grid[1] <= grid[0]
        case "PackedUpper" | "UpperSkyline":
            return grid[1] >= grid[0]
        case _:
            return np.ones(shape, bool)


def draw_dense(rng: np.random.Generator, rank: int, kind: str) -> Array:
    """Draws a tensor: of random entries, empty, of one entry, full, of one row or of one column."""
    shape = rng.integers(0 if kind in ("random", "empty") else 1, 10 if rank < 3 else 6, rank)
    if kind in ("one row", "one column"):
        shape[0 if kind == "one row" else -1] = 1
    filled = rng.random(shape) < {"empty": 0.0, "one entry": 0.0, "full": 1.0}.get(kind, 0.4)
    if kind == "one entry":
        filled[tuple(rng.integers(0, extent) for extent in shape)] = True
    values = rng.integers(1, 9, shape) * rng.choice([-1, 1], shape)
    return np.where(filled, values, 0).astype(DType(str(rng.choice(DTYPES))).numpy)


def shuffled(rng: np.random.Generator, found: list[Preset]) -> list[Preset]:
    return [found[at] for at in rng.permutation(len(found))]


def assert_holds(made: SparseTensor, dense: Array) -> None:
    assert same(made.to_numpy(), dense), made.encoding
    coordinates, values = made.to_coo()
    scattered = np.zeros_like(dense)
    np.add.at(scattered, tuple(coordinates), values)
    assert same(scattered, dense), made.encoding


@crossed(rank=RANKS, kind=["random", "empty", "one entry", "full", "one row", "one column"], seed=range(4))
def test_a_chain_through_every_preset_returns_the_same_tensor(rank: int, kind: str, seed: int) -> None:
    rng = np.random.default_rng([rank, seed, *kind.encode()])
    dense = draw_dense(rng, rank, kind)
    at = tensor(dense)
    for preset in shuffled(rng, presets(rank)):
        known = variants(preset.name, dense.shape)
        if not known:
            continue
        wanted = known[rng.integers(len(known))]
        kept = in_room(dense, wanted)
        if not wanted.has_slices:
            wanted = wanted.with_widths(*WIDTHS[rng.integers(len(WIDTHS))])
        if not same(kept, dense):
            with pytest.raises(StorageError, match="but got"):
                at.convert(wanted)
            assert_holds(tensor(kept).convert(wanted).convert(at.encoding), kept)
            continue
        at = at.convert(wanted)
        assert_holds(at, dense)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["random", "full", "one row", "one column"])
def test_every_format_of_limited_room_takes_part_where_it_has_room(kind: str, seed: int) -> None:
    rng = np.random.default_rng([seed, *kind.encode()])
    dense = draw_dense(rng, 2, kind)
    i, j = np.indices(dense.shape)
    dense = np.where((i == j) & (j % 2 == 0), dense, 0).astype(dense.dtype)  # inside all of them
    at = tensor(dense)
    for preset in shuffled(rng, presets(2)):
        for wanted in variants(preset.name, dense.shape)[:1]:
            at = at.convert(wanted)
            assert_holds(at, dense)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rank", RANKS)
def test_stored_zeros_stay_until_they_are_to_go(rank: int, seed: int) -> None:
    rng = np.random.default_rng([rank, seed])
    dense = draw_dense(rng, rank, "random")
    listed = (rng.random(dense.shape) < 0.5) | (dense != 0)
    at = tensor((np.nonzero(listed), dense[listed]), "COO", shape=dense.shape)
    kept, nonzero = np.count_nonzero(listed), np.count_nonzero(dense)
    for preset in shuffled(rng, presets(rank)):
        wanted = variants(preset.name, dense.shape)[-1]
        if wanted.has_padding:
            continue
        at = at.convert(wanted)
        assert at.nse == kept, wanted
        assert at.to_coo()[1].size == kept, wanted
        dropped = at.convert(wanted, drop_zeros=True)
        assert dropped.nse == nonzero, wanted
        assert_holds(dropped, dense)
    assert same(at.to_numpy(), dense)


@pytest.mark.parametrize("name", ["CSR", "DIA", "BSR(2, 3)", "SlotELL", "HashedRows", "COO", "Skyline", "CSF"])
def test_zeros_of_padding_are_no_entries(name: str) -> None:
    dense = np.array([[0.0, 0, 0], [4, 0, 0], [0, 5, 6]])
    made = tensor(dense).convert(name)
    assert made.convert("CSR").nse == 3
    assert made.convert("COO", drop_zeros=True).nse == 3
