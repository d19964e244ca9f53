"""Places of a shape as integers: for sorting, merging and looking up coordinates of any number of dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from mlir_sparse.errors import TooLargeError

__all__ = ["Array", "are_counted", "linear", "numbered", "sorted_unique", "united", "unlinear"]

Array = np.ndarray[Any, Any]
Columns = Sequence[Array]

_MOST = (1 << 63) - 1


def are_counted(shape: Sequence[int]) -> bool:
    """Returns whether 64 bits count the places of a shape.

    >>> are_counted((2**32, 2**30)), are_counted((2**32, 2**32))
    (True, False)
    """
    return prod(shape) <= _MOST


def linear(dims: Columns, shape: Sequence[int]) -> Array:
    """Returns the row-major number of each place.

    Raises:
        TooLargeError: for a shape of more places than 64 bits count.
    """
    if not are_counted(shape):
        raise TooLargeError(f"expected a shape of less than 2**63 places to number them, but got {tuple(shape)}")
    keys = np.zeros(dims[0].shape if dims else (1,), dtype=np.int64)
    for dim, extent in zip(dims, shape, strict=True):
        keys = keys * extent + dim
    return keys


def unlinear(keys: Array, shape: Sequence[int]) -> tuple[Array, ...]:
    """Returns the coordinates of places given by their row-major numbers."""
    dims: list[Array] = []
    for extent in reversed(shape):
        keys, dim = np.divmod(keys, extent) if extent else (keys, keys)
        dims.append(dim)
    return tuple(reversed(dims))


def numbered(lists: Sequence[Columns], shape: Sequence[int]) -> list[Array]:
    """Returns an integer for each place of several lists: equal for equal places, ascending in row-major order.

    It is the row-major number where 64 bits count the places of the shape; else dimensions
    are counted by the coordinates that some place of the lists has, which are few.

    Args:
        lists: of each, the coordinates in each dimension.
        shape: the extents.

    >>> numbered([[np.array([2**32, 0]), np.array([5, 2**40])]], (2**40, 2**50))[0].tolist()
    [2, 1]
    """
    if are_counted(shape):
        return [linear(dims, shape) for dims in lists]
    ends = np.cumsum([dims[0].size for dims in lists])
    keys = _ranked([np.concatenate(columns) for columns in zip(*lists, strict=True)], shape)
    return np.split(keys, ends[:-1])


def _ranked(columns: Sequence[Array], shape: Sequence[int]) -> Array:
    keys, count = np.zeros(columns[0].size, np.int64), 1
    for column, extent in zip(columns, shape, strict=True):
        if count * extent > _MOST:
            keys, count = _rank(keys)
            column, extent = _rank(column)
        keys, count = keys * extent + column, count * extent
    return keys


def _rank(column: Array) -> tuple[Array, int]:
    """Returns numbers as their ranks among the distinct ones, and how many these are."""
    distinct = sorted_unique(column)
    return np.searchsorted(distinct, column).astype(np.int64, copy=False), distinct.size


def sorted_unique(keys: Array) -> Array:
    """Returns the distinct numbers of an array, ascending; runs that ascend already are merged."""
    ordered = np.sort(keys, kind="stable")
    first = np.ones(ordered.size, bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def united(lists: Sequence[Columns], shape: Sequence[int]) -> tuple[tuple[Array, ...], list[Array]]:
    """Returns the places that are in one of several lists or more, in row-major order, and where those of each are."""
    numbers = numbered(lists, shape)
    joined = np.concatenate(numbers)
    if are_counted(shape):
        keys = sorted_unique(joined)
        places = unlinear(keys, shape)
    else:
        keys, first = np.unique(joined, return_index=True)
        places = tuple(np.concatenate(columns)[first] for columns in zip(*lists, strict=True))
    return places, [np.searchsorted(keys, own) for own in numbers]
