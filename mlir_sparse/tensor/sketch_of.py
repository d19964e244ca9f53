"""Sketches of tensors: how their entries spread over the coordinates of each dimension, counted exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mlir_sparse import _native
from mlir_sparse.encoding.buffer_layout import level_tuples
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.level_type import LevelType
from mlir_sparse.encoding.sketch import AxisSketch, Sketch
from mlir_sparse.tensor.batch_and_slice_parts import to_plain
from mlir_sparse.tensor.batch_levels import batch_depth
from mlir_sparse.tensor.buffer_arrays import at_least_32_bits
from mlir_sparse.tensor.convert.coordinates_of import expand_dims, flat_coordinates
from mlir_sparse.tensor.level_storage import Array, LevelStorage
from mlir_sparse.tensor.sampled_pattern import sampled_pattern
from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["rounded_sketch", "sketch_of"]

Rounded = tuple[tuple[int, ...], ...]

# Counters for so many coordinates an entry take less time than sorting the coordinates; they take a byte each.
_COUNTED = 16
_NOTHING = AxisSketch(0.0, 0.0, 0.0)


def sketch_of(value: SparseTensor | Array) -> Sketch:
    """Returns the sketch of a tensor, which is computed once and kept with it, or of an array.

    Entries are those of `nse`, stored zeros and padding included. Padding outside of the tensor, as in the last blocks
    of a row, has no coordinate: it counts in no dimension.

    >>> from mlir_sparse.tensor import tensor
    >>> sketch_of(tensor([[0.0, 2.0], [0.0, 3.0]])).axes[1]
    AxisSketch(distinct=1.0, largest=2.0, squares=4.0)
    """
    if isinstance(value, np.ndarray):
        return Sketch(value.shape, float(value.size))
    # Two threads may compute it at once: they find the same.
    if value._sketch is None:
        axes, pattern = tuple(_axes(value.storage, value.shape)), sampled_pattern(value.storage, value.shape)
        value._sketch = Sketch(value.shape, float(value.nse), axes, pattern)
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


def _axes(storage: LevelStorage, shape: tuple[int, ...]) -> list[AxisSketch]:
    """Returns the degrees in each dimension."""
    if batch_depth(storage.encoding):
        storage = to_plain(storage)
    if storage.values.size == 0:
        return [_NOTHING] * len(shape)
    encoding = storage.encoding
    if encoding.is_native and not storage.view:
        if encoding.is_permutation and all(map(_is_compact, encoding.level_types)):
            return _of_levels(storage)
        if sizes := _dense_blocks(encoding):
            return _of_blocks(storage, shape, sizes)
    dims, _ = expand_dims(storage, shape, padding=True)
    return [_of_coordinates(dim, extent) for dim, extent in zip(dims, shape, strict=True)]


def _is_compact(kind: LevelType) -> bool:
    """Returns whether a level is dense, compressed or singleton."""
    return kind.functions.compact and not kind.functions.is_grouped


def _of_levels(storage: LevelStorage) -> list[AxisSketch]:
    """Returns the degrees in each dimension, from the innermost level out; each level is a dimension.

    Position p of a level has `each * (begins[p + 1] - begins[p])` values below it, or `each` without `begins`.
    """
    encoding = storage.encoding
    axes = [_NOTHING] * encoding.dim_rank
    begins, each, count = None, 1, storage.values.size
    for level in reversed(range(encoding.lvl_rank)):
        axes[encoding.level_order[level]] = _times(_of_level(storage, level, begins, count), each)
        positions = storage.positions[level]
        if positions is not None and begins is not None and level == 1 and _are_alone(storage):
            # What begins[positions] would give, without that array.
            found = AxisSketch(*_native.segment_degrees(begins, positions))
            axes[encoding.level_order[0]] = _times(found, each)
            break
        if positions is not None:
            begins, count = positions if begins is None else begins[positions], positions.size - 1
        elif encoding.level_types[level].functions.has_full_loop:
            size = storage.level_sizes[level]
            count //= size
            if begins is None:
                each *= size
            else:
                begins = np.ascontiguousarray(begins[::size])
    return axes


def _of_level(storage: LevelStorage, level: int, begins: Array | None, count: int) -> AxisSketch:
    """Returns the degrees of a level's coordinates: how many values are below its `count` positions."""
    kind, coordinates = storage.encoding.level_types[level], storage.coordinates[level]
    size = storage.level_sizes[level]
    if coordinates is None and level > 0:
        return _of_repeats(begins, count // size, size)
    if coordinates is None or (level == 0 and _are_alone(storage)):
        return _alike(count, 1) if begins is None else AxisSketch(*_native.segment_degrees(begins))
    if level == 0 and kind.ordered and begins is None:
        return AxisSketch(*_native.run_degrees(coordinates))
    return _of_coordinates(coordinates, size, begins)


def _are_alone(storage: LevelStorage) -> bool:
    """Returns whether each position of the outermost level has a coordinate of its own."""
    return storage.coordinates[0] is None or storage.encoding.level_types[0].unique


def _of_repeats(begins: Array | None, parents: int, size: int) -> AxisSketch:
    """Returns the degrees of a dense level below other levels."""
    if begins is None:
        return _alike(size, parents)
    below = np.diff(begins).reshape(parents, size).sum(axis=0, dtype=np.int64)
    return AxisSketch(*_native.segment_degrees(np.append(0, np.cumsum(below))))


def _dense_blocks(encoding: Encoding) -> tuple[int, ...]:
    """Returns the size of the blocks in each dimension, if all stored levels are above dense blocks; else ()."""
    outer = encoding.dim_rank
    inner = [encoding.block_of(dim) for dim in range(outer)]
    types = encoding.level_types[outer:]
    dims = [level.expr.dims() for level in encoding.levels[:outer]]
    if not types or not all(kind.functions.has_full_loop for kind in types):
        return ()
    if sorted(dims) != [(dim,) for dim in range(outer)]:
        return ()
    # The levels above have the coordinates of blocks, those below the places inside: not the other way round.
    steps = encoding.lvl_to_dim.evaluate([1] * outer + [0] * len(types))
    return tuple(inner) if list(steps) == inner else ()


def _of_blocks(storage: LevelStorage, shape: tuple[int, ...], sizes: tuple[int, ...]) -> list[AxisSketch]:
    """Returns the degrees in each dimension, from the coordinates of dense blocks, the last of which may go beyond."""
    outer = len(shape)
    levels = level_tuples(storage.encoding, storage.level_sizes)[:outer]
    columns, _ = _native.expand(levels, storage.positions[:outer], flat_coordinates(storage)[:outer])
    of_dim = {level.expr.dims()[0]: column for level, column in zip(storage.encoding.levels, columns, strict=False)}
    blocks = [_Blocks(of_dim[dim], extent, size) for dim, (extent, size) in enumerate(zip(shape, sizes, strict=True))]
    return [_of_block_axis(axis, [other for other in blocks if other is not axis]) for axis in blocks]


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
    distinct, largest, squares, last = _degrees(axis.coordinates, axis.count, begins)
    found = AxisSketch(
        distinct * axis.size - axis.beyond * (last > 0), largest, squares * axis.size - axis.beyond * last**2
    )
    return _times(found, each)


def _of_coordinates(coordinates: Array, extent: int, begins: Array | None = None) -> AxisSketch:
    distinct, largest, squares, _ = _degrees(coordinates, extent, begins)
    return AxisSketch(distinct, largest, squares)


def _degrees(coordinates: Array, extent: int, begins: Array | None) -> tuple[float, float, float, float]:
    """Returns distinct coordinates, the largest degree, the sum of squares, and the degree of the last coordinate.

    Args:
        coordinates: in any order.
        extent: one more than the last coordinate.
        begins: coordinate p stands for `begins[p + 1] - begins[p]` entries, for one if it is None.
    """
    if extent <= _COUNTED * coordinates.size + 65536:
        return _native.count_degrees(coordinates, extent, None if begins is None else at_least_32_bits(begins))
    if begins is None:
        ascending = np.sort(coordinates)
        last = ascending.size - int(np.searchsorted(ascending, extent - 1))
        return (*_native.run_degrees(ascending), float(last))
    found, ranks = np.unique(coordinates, return_inverse=True)
    *degrees, last_found = _degrees(ranks, found.size, begins)
    return degrees[0], degrees[1], degrees[2], last_found if found[-1] == extent - 1 else 0.0


def _alike(coordinates: int, degree: int) -> AxisSketch:
    return _times(AxisSketch(float(coordinates), 1.0, float(coordinates)), degree)


def _times(axis: AxisSketch, factor: int) -> AxisSketch:
    """Returns the degrees where each entry stands for so many."""
    return AxisSketch(axis.distinct, axis.largest * factor, axis.squares * float(factor) ** 2)
