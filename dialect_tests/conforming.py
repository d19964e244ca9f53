"""Data that a format can hold: formats for triangles, bands and n of every m entries hold no other."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["NARROW", "conforming", "narrowed"]

Array = np.ndarray[Any, Any]

_GROUPED = ("NV_24", "NM")
_LOWER = ("PackedLower", "Skyline")
_UPPER = ("PackedUpper", "UpperSkyline")

# Presets that cannot hold every matrix; each holds what is on the diagonal in the first half of a group of four.
NARROW = (*_GROUPED, *_LOWER, *_UPPER, "Banded")


def conforming(array: Array, preset: str) -> Array:
    """Returns data with zeros where a preset of the dialect has no room for anything else."""
    array = array.copy()
    if preset in _GROUPED:
        array[..., 2::4] = array[..., 3::4] = 0
    if preset == "Banded":
        array = np.triu(np.tril(array, 1), -1)
    if preset in _LOWER:
        array = np.tril(array)
    if preset in _UPPER:
        array = np.triu(array)
    return array


def narrowed(array: Array) -> Array:
    """Returns data of which products and sums fit every preset of NARROW: diagonal, half of every group of four."""
    if not array.ndim:
        return array
    coordinates = np.indices(array.shape)
    kept = (coordinates == coordinates[:1]).all(0) & (coordinates[0] % 4 < 2)
    return np.where(kept, array, np.zeros((), array.dtype))
