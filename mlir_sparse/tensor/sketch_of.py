"""Sketches of tensors: how their entries spread over the coordinates of each dimension.

Entries are counted, those of large tensors out of the caches by a sample.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from mlir_sparse import _native
from mlir_sparse.classes import dataclass
from mlir_sparse.encoding.buffer_layout import level_tuples
from mlir_sparse.encoding.sketch import AxisSketch, Sketch
from mlir_sparse.tensor.batch_and_slice_parts import to_plain
from mlir_sparse.tensor.batch_levels import batch_depth
from mlir_sparse.tensor.convert.coordinates_of import expand_dims, flat_coordinates
from mlir_sparse.tensor.counted_levels import CountedLevels, counted_levels, dense_blocks
from mlir_sparse.tensor.interval_degrees import degrees_of_intervals
from mlir_sparse.tensor.level_storage import Array, LevelStorage
from mlir_sparse.tensor.sampled_degrees import sampled_degrees
from mlir_sparse.tensor.sampled_pattern import sampled_pattern
from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["rounded_sketch", "sketch_of"]

Rounded = tuple[tuple[int, ...], ...]

_NOTHING = AxisSketch(0.0, 0.0, 0.0)


def sketch_of(value: SparseTensor | Array) -> Sketch:
    """Returns the sketch of a tensor, which is computed once and kept with it, or of an array.

    Entries are those of `nse`, stored zeros and padding included. Padding outside of the tensor, as in the last blocks
    of a row, has no coordinate: it counts in no dimension. Degrees are exact, but those of 2^18 values or more whose
    counters would be out of the caches are estimated by the same sample each time.

    >>> from mlir_sparse.tensor import tensor
    >>> sketch_of(tensor([[0.0, 2.0], [0.0, 3.0]])).axes[1]
    AxisSketch(distinct=1.0, largest=2.0, squares=4.0)
    """
    if isinstance(value, np.ndarray):
        return Sketch(value.shape, float(value.size))
    # Two threads may compute it at once: they find the same.
    if value._sketch is None:
        axes, pattern = _axes(value._storage, value._shape), sampled_pattern(value._storage, value._shape)
        value._sketch = Sketch(value.shape, float(value.nse), axes, pattern, _places_of_levels(value._storage))
    return value._sketch


def rounded_sketch(value: object) -> Rounded | None:
    """Returns what plans are chosen by: data that is alike, but for factors below 4, has one; None for a number."""
    if type(value) is np.ndarray:
        return _rounded_shape(value.shape)
    if type(value) is not SparseTensor:
        return None
    sketch = value._sketch
    return (sketch_of(value) if sketch is None else sketch).rounded


@lru_cache(maxsize=1024)
def _rounded_shape(shape: tuple[int, ...]) -> Rounded:
    return Sketch(shape, float(math.prod(shape))).rounded


def _places_of_levels(storage: LevelStorage) -> tuple[float, ...]:
    """Returns how many places each level has, where levels are dimensions whose coordinates stand there once."""
    levels = counted_levels(storage.encoding)
    if levels is None or not levels.are_dimensions or storage.view or not all(kind[1] for kind in levels.kinds):
        return ()
    found, places = list[float](), 1.0
    for size, coordinates in zip(storage.level_sizes, storage.coordinates, strict=True):
        places = places * size if coordinates is None else float(coordinates.size)
        found.append(places)
    return tuple(found)


def _axes(storage: LevelStorage, shape: tuple[int, ...]) -> tuple[AxisSketch, ...]:
    """Returns the degrees in each dimension."""
    levels = counted_levels(storage.encoding)
    if levels is not None and not storage.view and levels.end_at(shape):
        return sampled_degrees(storage, shape, levels) or _of_levels(storage, levels)
    if batch_depth(storage.encoding):
        return _axes(to_plain(storage), shape)
    if storage.values.size == 0:
        return (_NOTHING,) * len(shape)
    if not storage.view and (sizes := dense_blocks(storage.encoding)):
        return _of_blocks(storage, shape, sizes)
    if not storage.encoding.is_native and (found := degrees_of_intervals(storage, shape)) is not None:
        return found
    native = storage.encoding.is_native and not storage.view
    if native and (sampled := sampled_degrees(storage, shape, None)) is not None:
        return sampled
    dims, _ = expand_dims(storage, shape, padding=True)
    return tuple(_of_coordinates(dim, extent) for dim, extent in zip(dims, shape, strict=True))


def _of_levels(storage: LevelStorage, levels: CountedLevels) -> tuple[AxisSketch, ...]:
    """Returns the degrees in each dimension; each level is one, or has its blocks."""
    count, sizes, outer = storage.values.size, levels.sizes, len(levels.kinds)
    if count == 0:
        return (_NOTHING,) * len(levels.of_dim)
    if sizes is None:
        found = _native.level_degrees(levels.kinds, storage.level_sizes, storage.positions, storage.coordinates, count)
        return tuple([AxisSketch(*found[level]) for level in levels.of_dim])
    inside = math.prod(sizes)
    buffers = storage.level_sizes[:outer], storage.positions[:outer], storage.coordinates[:outer]
    found = _native.level_degrees(levels.kinds, *buffers, count // inside)
    pairs = zip((found[level] for level in levels.of_dim), sizes, strict=True)
    # Each coordinate of a block has as many values inside.
    return tuple(
        _times(AxisSketch(d * size, most, squares * size), inside // size) for (d, most, squares), size in pairs
    )


def _of_blocks(storage: LevelStorage, shape: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[AxisSketch, ...]:
    """Returns the degrees in each dimension, from the coordinates of dense blocks, the last of which may go beyond."""
    outer = len(shape)
    levels = level_tuples(storage.encoding, storage.level_sizes)[:outer]
    columns, _ = _native.expand(levels, storage.positions[:outer], flat_coordinates(storage)[:outer])
    of_dim = {level.expr.dims()[0]: column for level, column in zip(storage.encoding.levels, columns, strict=False)}
    blocks = [_Blocks(of_dim[dim], extent, size) for dim, (extent, size) in enumerate(zip(shape, sizes, strict=True))]
    return tuple(_of_block_axis(axis, [other for other in blocks if other is not axis]) for axis in blocks)


@dataclass(frozen=True, slots=True, eq=False)
class _Blocks:
    """The blocks along one dimension.

    Args:
        coordinates: the coordinate of each stored block.
        extent: the extent of the dimension.
        size: the size of a block.
    """

    coordinates: Array
    extent: int
    size: int

    @property
    def count(self) -> int:
        """Returns how many blocks are in the extent, the last one in part."""
        return -(-self.extent // self.size)

    @property
    def beyond(self) -> int:
        """Returns how many coordinates of the last block are beyond the extent."""
        return self.count * self.size - self.extent


def _of_block_axis(axis: _Blocks, others: Sequence[_Blocks]) -> AxisSketch:
    """Returns the degrees in a dimension of dense blocks: each coordinate of a block has as many values inside."""
    each, begins = math.prod(other.size for other in others), None
    if any(other.beyond for other in others):
        inside = np.ones(axis.coordinates.size, np.int64)
        for other in others:
            inside *= np.where(other.coordinates == other.count - 1, other.size - other.beyond, other.size)
        each, begins = 1, np.append(0, np.cumsum(inside))
    distinct, largest, squares, last = _native.count_degrees(axis.coordinates, axis.count, begins)
    found = AxisSketch(
        distinct * axis.size - axis.beyond * (last > 0), largest, squares * axis.size - axis.beyond * last**2
    )
    return _times(found, each)


def _of_coordinates(coordinates: Array, extent: int) -> AxisSketch:
    distinct, largest, squares, _ = _native.count_degrees(coordinates, extent)
    return AxisSketch(distinct, largest, squares)


def _times(axis: AxisSketch, factor: int) -> AxisSketch:
    """Returns the degrees where each entry stands for so many."""
    return AxisSketch(axis.distinct, axis.largest * factor, axis.squares * float(factor) ** 2)
