"""Places of a shape as integers, for sorting, merging and searching coordinates of any rank."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.errors import TooLargeError

__all__ = ["Array", "fits_in_64_bits", "linear", "numbered", "relocated", "sorted_unique", "united", "unlinear"]

Array = np.ndarray[Any, Any]
Columns = Sequence[Array]

_MOST = (1 << 63) - 1


def fits_in_64_bits(shape: Sequence[int]) -> bool:
    """Returns whether the row-major indices of a shape fit in 64 bits.

    >>> fits_in_64_bits((2**32, 2**30)), fits_in_64_bits((2**32, 2**32))
    (True, False)
    """
    return prod(shape) <= _MOST


def _check_fits_in_64_bits(shape: Sequence[int]) -> None:
    if not fits_in_64_bits(shape):
        raise TooLargeError(f"expected a shape of less than 2**63 places to number them, but got {tuple(shape)}")


def linear(dims: Columns, shape: Sequence[int]) -> Array:
    """Returns the row-major index of each place.

    Raises:
        TooLargeError: for a shape whose indices do not fit in 64 bits.
    """
    _check_fits_in_64_bits(shape)
    if not dims:
        return np.zeros(1, dtype=np.int64)
    keys = dims[0].astype(np.int64)
    for dim, extent in zip(dims[1:], shape[1:], strict=True):
        keys = keys * extent + dim
    return keys


def relocated(dims: Columns, given: Sequence[int], wanted: Sequence[int]) -> list[Array]:
    """Returns the coordinates of places in another shape of as many: of 32 bits where all fit, else of 64.

    Args:
        dims: coordinates of one length, of 32 or 64 bits.
        given: their shape.
        wanted: the other.

    Raises:
        TooLargeError: for a shape whose row-major indices do not fit in 64 bits.

    >>> [dim.tolist() for dim in relocated([np.array([0, 1]), np.array([2, 1])], (2, 3), (3, 2))]
    [[1, 2], [0, 0]]
    """
    _check_fits_in_64_bits(given)
    return _native.relocated([np.ascontiguousarray(dim) for dim in dims], given, wanted)


def unlinear(keys: Array, shape: Sequence[int]) -> tuple[Array, ...]:
    """Returns the coordinates of places, given their row-major indices."""
    dims: list[Array] = []
    for extent in reversed(shape[1:]):
        keys, dim = np.divmod(keys, extent) if extent else (keys, keys)
        dims.append(dim)
    return (keys, *reversed(dims)) if shape else ()


def numbered(lists: Sequence[Columns], shape: Sequence[int]) -> list[Array]:
    """Returns an integer for each place in several lists of coordinates; the integers order places row-major.

    It is the row-major index if that fits in 64 bits; else coordinates are first replaced by their ranks among those in
    the lists, which are few.

    >>> numbered([[np.array([2**32, 0]), np.array([5, 2**40])]], (2**40, 2**50))[0].tolist()
    [2, 1]
    """
    if fits_in_64_bits(shape):
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
    """Returns the ranks of numbers among the distinct ones, and the count of these."""
    distinct = sorted_unique(column)
    return np.searchsorted(distinct, column).astype(np.int64, copy=False), distinct.size


def sorted_unique(keys: Array) -> Array:
    """Returns the distinct numbers of an array, ascending; the sort merges ascending runs."""
    ordered = np.sort(keys, kind="stable")
    first = np.ones(ordered.size, bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def united(lists: Sequence[Columns], shape: Sequence[int]) -> tuple[tuple[Array, ...], list[Array]]:
    """Returns the union of several lists of places in row-major order, and the indices of each list's places in it."""
    numbers = numbered(lists, shape)
    joined = np.concatenate(numbers)
    if fits_in_64_bits(shape):
        keys = sorted_unique(joined)
        places = unlinear(keys, shape)
    else:
        keys, first = np.unique(joined, return_index=True)
        places = tuple(np.concatenate(columns)[first] for columns in zip(*lists, strict=True))
    return places, [np.searchsorted(keys, keys_of_list) for keys_of_list in numbers]
