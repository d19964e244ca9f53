"""Storage that SciPy has no type for, in NumPy: coordinates and CSF of three dimensions, ELL by slots, DCSR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

__all__ = [
    "Coordinates",
    "DoublyCompressed",
    "Ell",
    "Fibers",
    "fibers",
    "mixed",
    "moved",
    "skewed",
    "slots",
    "with_empty_rows",
    "without_empty_rows",
]

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Coordinates:
    """A 3-tensor by entries, sorted, each place once.

    Args:
        shape: of the tensor.
        coords: a row of three 32-bit coordinates for each entry.
        values: of the entries.
    """

    shape: tuple[int, ...]
    coords: Array
    values: Array


@dataclass(frozen=True, slots=True)
class Fibers:
    """A 3-tensor in CSF: the coordinates of each level, and where the children of each begin.

    Args:
        shape: of the tensor.
        crd: three arrays of 32-bit coordinates.
        pos: of levels 1 and 2: for each coordinate of the level above, where its own begin; then the end.
        values: of the entries.
    """

    shape: tuple[int, ...]
    crd: tuple[Array, Array, Array]
    pos: tuple[Array, Array]
    values: Array


@dataclass(frozen=True, slots=True)
class Ell:
    """A matrix in rows of one width, slot after slot.

    Args:
        shape: of the matrix.
        columns: slots x rows; a row's own last column again, with value zero, where it has no more entries.
        values: slots x rows.
    """

    shape: tuple[int, int]
    columns: Array
    values: Array


@dataclass(frozen=True, slots=True)
class DoublyCompressed:
    """A matrix by those rows that have entries.

    Args:
        shape: of the matrix.
        rows: which have any, in order.
        pos: where the entries of each begin; then the end.
        crd: the column of each entry.
        values: of the entries.
    """

    shape: tuple[int, int]
    rows: Array
    pos: Array
    crd: Array
    values: Array


def without_empty_rows(matrix: Any) -> DoublyCompressed:
    """Stores the rows of a CSR matrix that have entries."""
    rows = np.flatnonzero(np.diff(matrix.indptr)).astype(np.int32)
    pos = np.r_[matrix.indptr[rows], matrix.indptr[-1]].astype(np.int32)
    return DoublyCompressed(matrix.shape, rows, pos, matrix.indices, matrix.data)


def with_empty_rows(matrix: DoublyCompressed) -> Any:
    """Returns the same in CSR."""
    lengths = np.zeros(matrix.shape[0] + 1, np.int32)
    lengths[matrix.rows + 1] = np.diff(matrix.pos)
    starts = np.cumsum(lengths, dtype=np.int32)
    return scipy.sparse.csr_array((matrix.values, matrix.crd, starts), shape=matrix.shape)


def skewed(shape: tuple[int, int, int], entries: int, lines: int, skew: float, seed: int) -> Coordinates:
    """Draws entries whose coordinates are mostly the popular few, as of words or people.

    Args:
        lines: about how many pairs of the first two coordinates have entries.
        skew: how popular the few are; 1 for all alike.
    """
    rng = np.random.default_rng(seed)

    def popular(extent: int, count: int) -> Array:
        ranks = (extent * rng.random(count) ** skew).astype(np.int64)
        return rng.permutation(extent)[ranks]  # the popular are not neighbours

    pairs = np.unique(popular(shape[0], lines) * shape[1] + popular(shape[1], lines))
    keys = np.empty(0, np.int64)
    while keys.size < entries:
        more = entries + entries // 4
        keys = np.union1d(keys, popular(pairs.size, more) * shape[2] + popular(shape[2], more))
    keys = np.sort(rng.choice(keys, entries, replace=False))
    i_j, k = pairs[keys // shape[2]], keys % shape[2]
    coords = np.stack((i_j // shape[1], i_j % shape[1], k), 1).astype(np.int32)
    return Coordinates(shape, coords, rng.random(entries))


def moved(tensor: Coordinates, by: int) -> Coordinates:
    """Returns the tensor with its last coordinates moved round by some."""
    coords = tensor.coords.astype(np.int64)
    coords[:, 2] = (coords[:, 2] + by) % tensor.shape[2]
    return _sorted(coords, tensor.values.copy(), tensor.shape)


def mixed(tensor: Coordinates) -> Coordinates:
    """Returns a tensor that has every other place of this one, and for the rest a place beside it."""
    coords = tensor.coords.astype(np.int64)
    coords[1::2, 2] = (coords[1::2, 2] + 1) % tensor.shape[2]
    return _sorted(coords, tensor.values.copy(), tensor.shape)


def _sorted(coords: Array, values: Array, shape: tuple[int, ...]) -> Coordinates:
    keys, first = np.unique(np.ravel_multi_index(tuple(coords.T), shape), return_index=True)
    return _of_keys(keys, values[first], shape)


def _of_keys(keys: Array, values: Array, shape: tuple[int, ...]) -> Coordinates:
    return Coordinates(shape, np.stack(np.unravel_index(keys, shape), 1).astype(np.int32), values)


def fibers(tensor: Coordinates) -> Fibers:
    """Stores sorted entries in CSF."""
    i, j, k = (np.ascontiguousarray(column) for column in tensor.coords.T)
    new_i = np.flatnonzero(np.r_[True, i[1:] != i[:-1]])
    new_j = np.flatnonzero(np.r_[True, (i[1:] != i[:-1]) | (j[1:] != j[:-1])])
    starts = np.r_[np.searchsorted(new_j, new_i), new_j.size].astype(np.int32)
    return Fibers(tensor.shape, (i[new_i], j[new_j], k), (starts, np.r_[new_j, i.size].astype(np.int32)), tensor.values)


def slots(matrix: Any) -> Ell:
    """Lays the rows of a CSR matrix out in slots."""
    lengths = np.diff(matrix.indptr)
    width, rows = int(lengths.max(initial=0)), matrix.shape[0]
    filled = np.arange(width) < lengths[:, None]  # row after row, as the entries come
    last = np.where(lengths > 0, matrix.indices[np.maximum(matrix.indptr[1:] - 1, 0)], 0)
    columns, values = np.repeat(last[:, None], width, 1).astype(np.int32), np.zeros((rows, width))
    columns[filled], values[filled] = matrix.indices, matrix.data
    return Ell(matrix.shape, np.ascontiguousarray(columns.T), np.ascontiguousarray(values.T))
