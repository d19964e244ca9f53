"""Batch levels: every buffer below has a leading axis for each batch level.

Positions of every batch start at 0; rows are as long as the longest batch (`#sparse_tensor.encoding`, "batch"). A
shorter batch is padded: it repeats its last position and has zeros for coordinates and values, which nothing reads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.errors import PositionsError, StorageError
from mlir_sparse.process.available_memory import check_fits
from mlir_sparse.tensor.level_storage import Array, LevelStorage
from mlir_sparse.tensor.widths import check_width, width_dtype

__all__ = ["batch_depth", "flat_levels", "from_batches", "one_batch", "to_batches"]


def batch_depth(encoding: Encoding) -> int:
    """Returns the number of batch levels, which are the outermost ones.

    >>> from mlir_sparse.encoding import encoding
    >>> batch_depth(encoding("BatchedCSR")), batch_depth(encoding("CSR"))
    (1, 0)
    """
    return encoding.batch_rank


def to_batches(storage: LevelStorage, encoding: Encoding) -> LevelStorage:
    """Returns plain storage, with dense levels in place of batch levels, as batches."""
    depth, sizes = batch_depth(encoding), storage.level_sizes
    lead = sizes[:depth]
    counts = np.ones(math.prod(lead), np.int64)
    longest = 0
    positions: list[Array | None] = [None] * len(sizes)
    coordinates: list[Array | None] = [None] * len(sizes)
    for level in range(depth, len(sizes)):
        pos, crd = storage.positions[level], storage.coordinates[level]
        if encoding.level_types[level].functions.has_full_loop:
            counts = counts * sizes[level]
        if pos is not None:
            rows = _local_positions(pos, counts)
            counts = rows[:, -1].astype(np.int64)
            longest = max(longest, int(counts.max(initial=0)))
            positions[level] = rows
        if crd is not None:
            coordinates[level] = _padded(crd, counts)
    given = storage.encoding
    resolved = encoding.with_widths(encoding.pos_width or given.pos_width, encoding.crd_width or given.crd_width)
    check_width("posWidth", resolved.pos_width, longest)
    dtype = width_dtype(resolved.pos_width)
    local = tuple(None if p is None else _by_batch(p.astype(dtype), lead) for p in positions)
    padded = tuple(None if c is None else _by_batch(c, lead) for c in coordinates)
    return LevelStorage(resolved, sizes, local, padded, _by_batch(_padded(storage.values, counts), lead))


def from_batches(storage: LevelStorage, plain: Encoding) -> LevelStorage:
    """Returns batches as plain storage of one tensor, without padding."""
    given = storage.encoding
    buffers = flat_levels(given, storage.level_sizes, storage.positions, storage.coordinates, storage.values)
    positions, coordinates, values = buffers
    width = max((p.dtype.itemsize * 8 for p in positions if p is not None), default=given.pos_width)
    resolved = plain.with_widths(width, given.crd_width)
    return LevelStorage(resolved, storage.level_sizes, tuple(positions), tuple(coordinates), values)


def one_batch(
    storage: LevelStorage, plain: Encoding, index: tuple[int, ...]
) -> tuple[LevelStorage, tuple[int, ...], int]:
    """Returns a batch as plain storage, whose arrays are views of the given ones.

    Args:
        storage: storage of batches.
        plain: the encoding with dense levels for the batch levels.
        index: the batch's coordinate in each batch level.

    Returns:
        storage with one coordinate in each batch level; the number of padding coordinates in each level; the number of
            padding values.
    """
    given, rank = storage.encoding, storage.encoding.lvl_rank
    sizes = (*(1 for _ in index), *storage.level_sizes[len(index) :])
    positions: list[Array | None] = [None] * rank
    coordinates: list[Array | None] = [None] * rank
    padding, count = [0] * rank, 1
    for level in range(len(index), rank):
        pos, crd = storage.positions[level], storage.coordinates[level]
        if given.level_types[level].functions.has_full_loop:
            count *= sizes[level]
        if pos is not None:
            positions[level] = pos[index][: count + 1]
            count = int(pos[index][count])
        if crd is not None:
            coordinates[level] = crd[index][:count]
            padding[level] = crd.shape[-1] - count
    resolved = plain.with_widths(given.pos_width, given.crd_width)
    values = storage.values[index]
    part = LevelStorage(resolved, sizes, tuple(positions), tuple(coordinates), values[:count])
    return part, tuple(padding), values.size - count


def flat_levels(
    encoding: Encoding,
    sizes: Sequence[int],
    positions: Sequence[Array | None],
    coordinates: Sequence[Array | None],
    values: Array,
) -> tuple[list[Array | None], list[Array | None], Array]:
    """Returns the buffers of plain storage without padding, given those of batches.

    Checks the layout of the batches, but not their contents.

    Raises:
        StorageError: for arrays without the batch axes, or too short.
        PositionsError: for a batch whose positions do not start at 0 or end beyond its coordinates.
    """
    depth = batch_depth(encoding)
    lead = tuple(sizes[:depth])
    counts = np.ones(math.prod(lead), np.int64)
    flat_pos: list[Array | None] = [None] * len(sizes)
    flat_crd: list[Array | None] = [None] * len(sizes)
    for level in range(depth, len(sizes)):
        pos, crd = positions[level], coordinates[level]
        if encoding.level_types[level].functions.has_full_loop:
            counts = counts * sizes[level]
        if pos is not None:
            assert crd is not None
            rows = _rows(pos, lead, counts + 1, f"positions[{level}]")
            parents, counts = counts, _ends(rows, counts, crd.shape[-1], level)
            flat_pos[level] = _joined_positions(rows, parents, counts)
        if crd is not None:
            flat_crd[level] = _used(_rows(crd, lead, counts, f"coordinates[{level}]"), counts)
    wide = np.result_type(*(p for p in flat_pos if p is not None)) if any(p is not None for p in flat_pos) else None
    same = [None if p is None else p.astype(wide, copy=False) for p in flat_pos]
    return same, flat_crd, _used(_rows(values, lead, counts, "values"), counts)


def _by_batch(rows: Array, lead: tuple[int, ...]) -> Array:
    return rows.reshape(*lead, rows.shape[1])


def _rows(array: Array, lead: tuple[int, ...], needed: Array, name: str) -> Array:
    """Returns an array with one row a batch, after checking the length of the rows."""
    if array.shape[: len(lead)] != lead or array.ndim <= len(lead):
        axes = ", ".join(map(str, lead))
        raise StorageError(
            f"expected {name} of shape ({axes}, ...), an axis for each batch level, but got {array.shape}"
        )
    rows: Array = array.reshape(math.prod(lead), math.prod(array.shape[len(lead) :]))
    most = int(needed.max(initial=0))
    if rows.shape[1] < most:
        raise StorageError(f"expected room for {most} in each batch of {name}, but got {rows.shape[1]}")
    return rows


def _ends(rows: Array, parents: Array, capacity: int, level: int) -> Array:
    """Returns the last position of each batch."""
    batches = np.arange(parents.size)
    ends = rows[batches, parents].astype(np.int64)
    wrong = (rows[:, :1] != 0).any(axis=1) | (ends < 0) | (ends > capacity)
    if wrong.any():
        batch = int(np.argmax(wrong))
        raise PositionsError(
            f"expected positions[{level}] of each batch to go from 0 to at most {capacity}, its number of coordinates, "
            f"but got {int(rows[batch, 0])} to {int(ends[batch])} in batch {batch}"
        )
    return ends


def _joined_positions(rows: Array, parents: Array, counts: Array) -> Array:
    total = int(counts.sum())
    dtype = rows.dtype if total <= np.iinfo(rows.dtype).max else np.dtype(np.int64)
    starts = np.cumsum(counts) - counts
    return np.append(_used(rows + starts[:, None], parents), total).astype(dtype)


def _local_positions(flat: Array, parents: Array) -> Array:
    """Returns a row of positions for each batch, with the last one repeated where other batches have more parents."""
    ends = np.cumsum(parents)
    starts = ends - parents
    at = np.minimum(starts[:, None] + np.arange(int(parents.max(initial=0)) + 1), ends[:, None])
    rows: Array = flat[at] - flat[starts][:, None]
    return rows


def _inside(counts: Array, width: int) -> Array:
    inside: Array = np.arange(width) < counts[:, None]
    return inside


def _used(rows: Array, counts: Array) -> Array:
    used: Array = rows[_inside(counts, rows.shape[1])]
    return used


def _padded(flat: Array, counts: Array) -> Array:
    """Returns a row for each batch, padded to the longest."""
    width = int(counts.max(initial=0))
    check_fits(counts.size * width * flat.itemsize, f"{counts.size} batches of {width}, the longest one's entries")
    rows = np.zeros((counts.size, width), flat.dtype)
    rows[_inside(counts, width)] = flat[: int(counts.sum())]
    return rows
