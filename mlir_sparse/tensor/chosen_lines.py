"""The entries of a tensor in chosen lines of one dimension, in the same storage: what another process needs of it.

Lines are the elements with one coordinate along a dimension: rows and columns of matrices, slices of tensors.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from mlir_sparse.encoding import Encoding, LevelFormat
from mlir_sparse.tensor.create import tensor as packed
from mlir_sparse.tensor.level_storage import Array, LevelStorage
from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["closes_up", "entries_in_lines", "entries_of_each_line", "lines_closed_up", "lines_spread_out"]

_MOST_RUNS = 256
"""Of lines behind one another, which are copied one by one."""
_WALKED = (LevelFormat.DENSE, LevelFormat.COMPRESSED, LevelFormat.SINGLETON)


def closes_up(encoding: Encoding, dim: int) -> bool:
    """Returns whether storage has something for each line of a dimension, so that fewer lines take less of it.

    >>> from mlir_sparse.encoding import encoding
    >>> [closes_up(encoding(name), 0) for name in ("CSR", "CSC", "DCSR")]
    [True, False, False]
    """
    formats = tuple(kind.format for kind in encoding.level_types)
    return (
        _is_walked(encoding)
        and formats[:2] == (LevelFormat.DENSE, LevelFormat.COMPRESSED)
        and encoding.level_order[0] == dim
    )


def entries_in_lines(tensor: SparseTensor, dim: int, wanted: Array) -> SparseTensor:
    """Returns a tensor of the same shape and storage with the entries in some lines, explicit zeros included.

    Args:
        tensor: the whole.
        dim: the dimension.
        wanted: coordinates along it, ascending.

    >>> A = packed([[1.0, 2.0], [3.0, 0.0], [0.0, 4.0]], "CSR")
    >>> entries_in_lines(A, 0, np.array([0, 2])).to_numpy().tolist()
    [[1.0, 2.0], [0.0, 0.0], [0.0, 4.0]]
    >>> entries_in_lines(A, 1, np.array([0])).to_numpy().tolist()
    [[1.0, 0.0], [3.0, 0.0], [0.0, 0.0]]
    """
    mask = np.zeros(tensor.shape[dim] + 1, bool)  # what pads rows is -1, and no line
    mask[wanted] = True
    level = tensor.encoding.level_order.index(dim) if _is_walked(tensor.encoding) else 0
    if not _is_walked(tensor.encoding) or tensor.storage.coordinates[level] is None:
        coordinates, values = tensor.to_coo()
        kept = mask[coordinates[dim]]
        return packed((coordinates[:, kept], values[kept]), tensor.encoding, shape=tensor.shape)
    return _filtered(tensor, level, mask)


def lines_closed_up(tensor: SparseTensor, dim: int, wanted: Array) -> SparseTensor:
    """Returns some lines of a tensor behind one another, in storage that `closes_up`.

    Args:
        tensor: the whole.
        dim: the dimension of its outermost level.
        wanted: coordinates along it, ascending.

    >>> A = packed([[1.0, 2.0], [3.0, 0.0], [0.0, 4.0]], "CSR")
    >>> lines_closed_up(A, 0, np.array([0, 2])).to_numpy().tolist()
    [[1.0, 2.0], [0.0, 4.0]]
    """
    storage = tensor.storage
    positions, coordinates = list(storage.positions), list(storage.coordinates)
    places = _below(storage, 1, np.asarray(wanted, np.int64), positions, coordinates)
    found = LevelStorage(
        tensor.encoding,
        (len(wanted), *storage.level_sizes[1:]),
        tuple(positions),
        tuple(coordinates),
        storage.values[places],
    )
    shape = (*tensor.shape[:dim], len(wanted), *tensor.shape[dim + 1 :])
    return SparseTensor._trusted(tensor.encoding, shape, found)


def lines_spread_out(lines: SparseTensor, dim: int, places: Array, extent: int) -> SparseTensor:
    """Returns a tensor with lines at some coordinates and none elsewhere: what `lines_closed_up` has taken, put back.

    Args:
        lines: the lines.
        dim: the dimension of the outermost level.
        places: the coordinate of each, ascending.
        extent: the extent of the result along the dimension.

    >>> A = packed([[1.0, 2.0], [0.0, 4.0]], "CSR")
    >>> lines_spread_out(A, 0, np.array([0, 2]), 4).to_numpy().tolist()
    [[1.0, 2.0], [0.0, 0.0], [0.0, 4.0], [0.0, 0.0]]
    """
    storage = lines.storage
    begins = storage.positions[1]
    assert begins is not None  # of a compressed level
    positions = _positions_spread_out(begins, np.asarray(places), extent)
    found = LevelStorage(
        lines.encoding,
        (extent, *storage.level_sizes[1:]),
        (storage.positions[0], positions, *storage.positions[2:]),
        storage.coordinates,
        storage.values,
    )
    shape = (*lines.shape[:dim], extent, *lines.shape[dim + 1 :])
    return SparseTensor._trusted(lines.encoding, shape, found)


def _positions_spread_out(begins: Array, places: Array, extent: int) -> Array:
    """Returns positions of lines at some coordinates, and of empty ones elsewhere."""
    if not places.size:
        return np.zeros(extent + 1, begins.dtype)
    runs = np.flatnonzero(np.diff(places) != 1) + 1
    if runs.size > _MOST_RUNS:
        counts = np.zeros(extent + 1, begins.dtype)
        counts[places + 1] = np.diff(begins)
        return np.cumsum(counts, out=counts)
    # Neighbours in a grid are few runs, which are copied in a tenth of the time that counts are added up in.
    found = np.empty(extent + 1, begins.dtype)
    done = 0
    for first, behind in pairwise([0, *runs.tolist(), places.size]):
        low, high = int(places[first]), int(places[behind - 1]) + 1
        found[done:low] = begins[first]
        found[low : high + 1] = begins[first : behind + 1]
        done = high + 1
    found[done:] = begins[-1]
    return found


def entries_of_each_line(tensor: SparseTensor, dim: int) -> Array:
    """Returns how many entries each line of a dimension has.

    >>> entries_of_each_line(packed([[1.0, 2.0], [3.0, 0.0]], "CSR"), 1).tolist()
    [2, 1]
    """
    begins = tensor.storage.positions[1] if tensor.encoding.lvl_rank == 2 and closes_up(tensor.encoding, dim) else None
    if begins is not None:
        return np.diff(begins.astype(np.int64))
    return np.bincount(np.asarray(tensor.to_coo()[0][dim]), minlength=tensor.shape[dim])


def _is_walked(encoding: Encoding) -> bool:
    return (
        encoding.is_permutation
        and not encoding.has_slices
        and not encoding.batch_rank
        and all(kind.format in _WALKED for kind in encoding.level_types)
    )


def _filtered(tensor: SparseTensor, level: int, mask: Array) -> SparseTensor:
    """Returns the entries whose coordinates in a level that lists them are in a mask."""
    encoding, storage = tensor.encoding, tensor.storage
    named = storage.coordinates[level]
    assert named is not None  # as the caller has seen
    first = level  # singleton levels list the entries of the compressed level above them
    while encoding.level_types[first].functions.is_chained:
        first -= 1
    kept = mask[named]
    places = np.flatnonzero(kept)
    positions, coordinates = list(storage.positions), list(storage.coordinates)
    begins = storage.positions[first]
    assert begins is not None  # of a compressed level
    before = np.zeros(kept.size + 1, begins.dtype)
    np.cumsum(kept, out=before[1:])
    positions[first] = before[begins]
    for listing in range(first, level + 1):
        own = storage.coordinates[listing]
        assert own is not None
        coordinates[listing] = own[places]
    places = _below(storage, level + 1, places, positions, coordinates)
    found = LevelStorage(encoding, storage.level_sizes, tuple(positions), tuple(coordinates), storage.values[places])
    return SparseTensor._trusted(encoding, tensor.shape, found)


def _below(
    storage: LevelStorage, level: int, places: Array, positions: list[Array | None], coordinates: list[Array | None]
) -> Array:
    """Puts what levels have below some places of the level before them; returns the places of the values.

    Args:
        storage: the whole.
        level: the first of these levels.
        places: the places in the level before.
        positions: those of all levels, changed from `level` on.
        coordinates: likewise.
    """
    for number in range(level, len(storage.level_sizes)):
        functions = storage.encoding.level_types[number].functions
        begins, named = storage.positions[number], storage.coordinates[number]
        if functions.has_full_loop:
            size = storage.level_sizes[number]
            places = (places[:, None] * size + np.arange(size)).reshape(-1)
            continue
        if functions.is_segmented:
            assert begins is not None
            starts = begins[places].astype(np.int64)
            counts = begins[places + 1].astype(np.int64) - starts
            ends = np.cumsum(counts)
            positions[number] = np.concatenate([[0], ends]).astype(begins.dtype)
            places = np.arange(int(ends[-1]) if ends.size else 0) + np.repeat(starts - ends + counts, counts)
        assert named is not None  # compressed and singleton levels list coordinates
        coordinates[number] = named[places]
    return places
