"""Degrees by a sample of the entries, of tensors so large that counters of all of them are out of the caches.

What costs are estimated from need not be exact: native code says by how much it is off, and tests hold it to that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mlir_sparse import _native
from mlir_sparse.encoding.derived_fact import fact_of
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.levels.sized_level import marks_empty
from mlir_sparse.encoding.sketch import AxisSketch
from mlir_sparse.tensor.counted_levels import CountedLevels, NativeLevel, native_level
from mlir_sparse.tensor.level_storage import Array, LevelStorage

__all__ = ["sampled_degrees"]

# Of fewer values a sample has too few entries: they are all counted.
_LEAST = 1 << 18
# The most counters of coordinates of one level that stay near, and of those that a loop over runs counts beside.
_NEAR, _NEAR_BESIDE_RUNS = 1 << 20, 1 << 17
# Coordinates that are counted, for each value: the others are in levels with few.
_MOST_COUNTED = 1.25
# How many values there are to each coordinate of the outermost level, whose entries are then counted, by levels below.
_EACH_OUTERMOST = {1: 2, 2: 8}
# The kind of levels with all coordinates, as native code numbers kinds.
_DENSE = 0


def sampled_degrees(
    storage: LevelStorage, shape: tuple[int, ...], levels: CountedLevels | None
) -> tuple[AxisSketch, ...] | None:
    """Returns estimates of the degrees in each dimension; None where all entries are to be counted.

    Args:
        storage: the storage; no slice.
        shape: the extent of each dimension.
        levels: its levels, if native code counts their coordinates as they are stored.
    """
    kinds = _kinds(storage.encoding)
    if kinds is None or storage.values.size < _LEAST or (levels is not None and _are_near(storage, levels)):
        return None
    sizes = storage.level_sizes
    columns, chance = _native.sample_entries(kinds, sizes, storage.positions, storage.coordinates, storage.values.size)
    if levels is None:
        dims = _inside(storage.encoding.lvl_to_dim.evaluate(columns), shape)
        return tuple([_of_sample(dim, extent, chance) for dim, extent in zip(dims, shape, strict=True)])
    known, tables = _of_outermost(storage, levels), any(has_empty for *_, has_empty in kinds)
    found = list[AxisSketch]()
    for level, extent in zip(levels.of_dim, shape, strict=True):
        axis = known if level == 0 else None
        if axis is None:
            axis = _of_sample(columns[level], extent, chance)
        if tables and kinds[level][0] == 0:  # each coordinate of a dense level has as many places
            axis = AxisSketch(axis.distinct, min(axis.largest, storage.values.size // sizes[level]), axis.squares)
        found.append(axis)
    return tuple(found)


def _of_sample(coordinates: Array, extent: int, chance: float) -> AxisSketch:
    """Returns the degrees of all entries, by the coordinates of a sample."""
    return AxisSketch(*_native.sampled_degrees(coordinates, extent, chance))


def _of_outermost(storage: LevelStorage, levels: CountedLevels) -> AxisSketch | None:
    """Returns the degrees in the outermost level where positions below tell them soon; None for other storage."""
    (kind, unique, *_), *below = levels.kinds
    begins = [array for array in storage.positions[1:] if array is not None]
    each = _EACH_OUTERMOST.get(len(below))
    if each is None or not (kind == _DENSE or unique) or len(begins) != len(below):
        return None
    if begins[0].size * each > storage.values.size:
        return None
    if not levels.has_gaps:
        return AxisSketch(*_native.segment_degrees(begins[-1], begins[0] if len(begins) == 2 else None))
    if len(below) == 2:
        return None
    lengths = (begins[0][1::2] - begins[0][::2]).astype(np.float64)
    return AxisSketch(float(np.count_nonzero(lengths)), float(lengths.max(initial=0)), float(np.square(lengths).sum()))


def _are_near(storage: LevelStorage, levels: CountedLevels) -> bool:
    """Returns whether to count all entries takes little time: their counters stay in the caches."""
    if levels.sizes is not None:
        return True
    if levels.has_gaps:
        return False
    counted, most = list[int](), _NEAR
    for level, (coordinates, (_, unique, ordered, _)) in enumerate(zip(storage.coordinates, levels.kinds, strict=True)):
        if coordinates is None or (level == 0 and unique):
            continue
        if level == 0 and ordered:
            most = _NEAR_BESIDE_RUNS
        else:
            counted.append(level)
    arrays = [array for level in counted if (array := storage.coordinates[level]) is not None]
    return (
        sum(array.size for array in arrays) <= _MOST_COUNTED * storage.values.size
        and sum(storage.level_sizes[level] for level in counted) <= most
    )


def _inside(dims: Sequence[Array], shape: tuple[int, ...]) -> Sequence[Array]:
    """Returns the coordinates of what is inside the tensor: blocks go beyond."""
    inside = math.prod([(dim < extent) for dim, extent in zip(dims, shape, strict=True)], start=True)
    return [dim[inside] for dim in dims]


@fact_of
def _kinds(encoding: Encoding) -> tuple[NativeLevel, ...] | None:
    """Returns the levels as native code samples them; None if it cannot."""
    found, last = list[NativeLevel](), encoding.lvl_rank - 1
    for number in range(encoding.lvl_rank):
        kind = native_level(encoding, number)
        gaps = encoding.level_types[number].functions.has_gaps or marks_empty(encoding, number)
        if kind is None or (gaps and number < last):
            return None
        found.append(kind)
    return tuple(found)
