"""The first position of the greatest or least value along the last axis; missing entries are zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["position"]

Array = np.ndarray[Any, Any]


def position(value: Array | SparseTensor, greatest: bool) -> Array:
    """Returns `argmax` or `argmin` along the last axis, as NumPy defines it: the first of equals, NaN before all.

    >>> position(np.array([[0.0, 3.0, 3.0], [-1.0, 0.0, -2.0]]), True)
    array([1, 1])
    """
    shape = value.shape[:-1]
    if not value.shape[-1] or 0 in shape:
        return np.zeros(shape, np.int64)
    if not isinstance(value, SparseTensor):
        return np.asarray((np.argmax if greatest else np.argmin)(value, axis=-1), np.int64)
    found = np.zeros(shape, np.int64)
    coordinates, values = value.convert("COO" if value.ndim > 1 else "SparseVector").to_coo()
    if not len(values):
        return found
    rows, columns = coordinates[:-1], coordinates[-1].astype(np.int64)  # in order, as they are listed
    starts = np.flatnonzero(np.r_[True, np.any(rows[:, 1:] != rows[:, :-1], axis=0)])
    # A vector has one row, without coordinates.
    found[tuple(rows[:, starts]) or ...] = _first(columns, values, starts, value.shape[-1], greatest)
    return found


def _first(columns: Array, values: Array, starts: Array, extent: int, greatest: bool) -> Array:
    """Returns the position for each run of entries, whose columns ascend."""
    counts = np.diff(np.r_[starts, len(columns)])
    best = (np.maximum if greatest else np.minimum).reduceat(values, starts)
    spread = np.repeat(best, counts)
    same = (values == spread) | ((values != values) & (spread != spread))
    at = np.minimum.reduceat(np.where(same, columns, extent), starts)
    # The first missing column is the first place in the run where the column differs from the place.
    place = np.arange(len(columns)) - np.repeat(starts, counts)
    gap = np.minimum.reduceat(np.where(columns != place, place, np.repeat(counts, counts)), starts)
    below = best < 0 if greatest else best > 0
    zero = np.where(best == 0, np.minimum(at, gap), np.where(below, gap, at))
    return np.asarray(np.where(gap < extent, zero, at))
