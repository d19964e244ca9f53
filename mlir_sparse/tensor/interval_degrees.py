"""Degrees of storage whose innermost level has all coordinates of an interval, as diagonals and packed triangles have.

Intervals are counted, not the entries in them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlir_sparse import _native
from mlir_sparse.affine import Dim
from mlir_sparse.affine.integer_form import form_of
from mlir_sparse.encoding.derived_fact import fact_of
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.levels.sized_level import dims_of, sized_levels
from mlir_sparse.encoding.sketch import AxisSketch
from mlir_sparse.tensor.level_storage import Array, LevelStorage
from mlir_sparse.tensor.walk_storage import walk_levels

__all__ = ["degrees_of_intervals"]

# Counters of all coordinates take no more memory than so many times the values.
_MOST = 16
# To sort where an interval begins takes as long as to look at so many coordinates.
_FEW = 16


def degrees_of_intervals(storage: LevelStorage, shape: tuple[int, ...]) -> tuple[AxisSketch, ...] | None:
    """Returns the degrees in each dimension, without what is stored beyond the tensor; None for other storage."""
    steps = _steps(storage.encoding)
    if steps is None or max(shape) > _MOST * storage.values.size:
        return None
    last = storage.encoding.lvl_rank - 1
    above, level = walk_levels(storage, shape, last)[-1], sized_levels(storage.encoding, shape)[last]
    found = level.functions.intervals(level, above, storage.positions[last], storage.coordinates[last])
    if found is None or above.live is not None:
        return None
    starts, lengths = found
    first = [np.asarray(dim) for dim in dims_of(storage.encoding, (*above.columns, starts), above.count)]
    low, high = _inside(first, lengths, steps, shape)
    counts = high - low
    return tuple(
        _of_interval(dim + low, counts, extent) if step else _of_weights(dim, counts, extent)
        for dim, step, extent in zip(first, steps, shape, strict=True)
    )


@fact_of
def _steps(encoding: Encoding) -> tuple[int, ...] | None:
    """Returns how far each dimension goes, 0 or 1, from one coordinate of the innermost level to the next."""
    forms, last = [form_of(result) for result in encoding.lvl_to_dim.results], Dim(encoding.lvl_rank - 1)
    if encoding.lvl_rank < 2 or any(form is None or not form.is_linear for form in forms):
        return None
    steps = tuple([dict(form.terms).get(last, 0) for form in forms if form is not None])
    return steps if set(steps) <= {0, 1} else None


def _inside(first: Sequence[Array], lengths: Array, steps: Sequence[int], shape: Sequence[int]) -> tuple[Array, Array]:
    """Returns where the part of each interval begins and ends that is inside the tensor, from its first coordinate."""
    low, high = np.zeros_like(lengths), lengths
    for dim, step, extent in zip(first, steps, shape, strict=True):
        if step:
            low, high = np.maximum(low, -dim), np.minimum(high, extent - dim)
        else:
            high = np.where((dim >= 0) & (dim < extent), high, 0)
    return low, np.maximum(low, high)


def _of_interval(begins: Array, counts: Array, extent: int) -> AxisSketch:
    """Returns the degrees in a dimension, each interval of which has so many coordinates from a first one on."""
    begins, ends = begins[counts > 0], (begins + counts)[counts > 0]
    if begins.size == 0:
        return AxisSketch(0.0, 0.0, 0.0)
    if _FEW * begins.size < extent:  # degrees change at few coordinates
        points, places = np.unique(np.concatenate([begins, ends]), return_inverse=True)
        begins, ends = places[: begins.size], places[begins.size :]
    else:
        points = np.arange(extent + 1)
    changes = np.bincount(begins, minlength=points.size) - np.bincount(ends, minlength=points.size)
    degrees, lengths = np.cumsum(changes[:-1]), np.diff(points)
    squares = float((lengths * degrees.astype(np.float64) ** 2).sum())
    return AxisSketch(float(lengths[degrees > 0].sum()), float(degrees.max()), squares)


def _of_weights(coordinates: Array, counts: Array, extent: int) -> AxisSketch:
    """Returns the degrees in a dimension, of which each coordinate has as many entries."""
    filled = counts > 0
    ends = np.append(0, np.cumsum(counts[filled]))
    distinct, largest, squares, _ = _native.count_degrees(coordinates[filled], extent, ends)
    return AxisSketch(distinct, largest, squares)
