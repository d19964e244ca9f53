"""Tensors of three dimensions and any size, sorted by coordinates: with short fibres, with long ones, and skewed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from benchmarks.entries import Array, Coordinates

__all__ = ["TENSORS", "long_fibres", "short_fibres", "skewed_fibres"]

_CHUNK = 1 << 23  # entries drawn at a time


def short_fibres(entries: int) -> Coordinates:
    """Draws places alike: hardly a pair (i, j) has two of them."""
    i, j = max(entries // 450, 2), max(entries // 11, 8)
    return _drawn(entries, (i, j, j), lambda rng, count: rng.integers(0, i * j * j, count), 11)


def long_fibres(entries: int) -> Coordinates:
    """Draws some hundred places for each of a few pairs (i, j)."""
    i, j, k = max(entries // 5000, 2), max(entries // 500, 4), 8192
    pairs = np.unique(np.random.default_rng(12).integers(0, i * j, max(entries // 120, 2)))

    def places(rng: np.random.Generator, count: int) -> Array:
        return pairs[rng.integers(0, pairs.size, count)] * k + rng.integers(0, k, count)

    return _drawn(entries, (i, j, k), places, 13)


def skewed_fibres(entries: int) -> Coordinates:
    """Draws places whose coordinates are mostly the popular few, as of words or people."""
    shape = i, j, k = max(entries // 600, 4), max(entries // 900, 4), max(entries // 300, 8)
    names = [np.random.default_rng((14, axis)).permutation(extent) for axis, extent in enumerate(shape)]

    def popular(rng: np.random.Generator, axis: int, count: int) -> Array:
        return names[axis][(shape[axis] * rng.random(count) ** 1.5).astype(np.int64)]

    rng = np.random.default_rng(15)
    pairs = np.unique(popular(rng, 0, max(entries // 4, 2)) * j + popular(rng, 1, max(entries // 4, 2)))

    def places(rng: np.random.Generator, count: int) -> Array:
        return pairs[(pairs.size * rng.random(count) ** 1.5).astype(np.int64)] * k + popular(rng, 2, count)

    return _drawn(entries, (i, j, k), places, 16)


def _drawn(
    entries: int, shape: tuple[int, int, int], places: Callable[[np.random.Generator, int], Array], seed: int
) -> Coordinates:
    """Draws places by chunks, sorts them, and leaves out those that come again."""
    keys = np.empty(entries, np.int64)
    for number, first in enumerate(range(0, entries, _CHUNK)):
        count = min(_CHUNK, entries - first)
        keys[first : first + count] = places(np.random.default_rng((seed, number)), count)
    keys.sort()
    keys = keys[np.r_[True, keys[1:] != keys[:-1]]]
    coords = np.empty((keys.size, 3), np.int32)
    coords[:, 2], pairs = keys % shape[2], keys // shape[2]
    coords[:, 1], coords[:, 0] = pairs % shape[1], pairs // shape[1]
    return Coordinates(shape, coords, np.random.default_rng(seed).random(keys.size))


TENSORS: Mapping[str, Callable[[int], Coordinates]] = {
    "short fibres": short_fibres,
    "long fibres": long_fibres,
    "skewed": skewed_fibres,
}
