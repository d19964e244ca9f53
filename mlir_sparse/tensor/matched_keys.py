"""Pairs of equal numbers in two lists: which stored entries are at which wanted places."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["matched_keys"]

Array = np.ndarray[Any, Any]

_SPARSE = 4  # numbers are counted where their range is at most so many times as long as the lists


def matched_keys(stored: Array, wanted: Array, size: int) -> tuple[Array, Array]:
    """Returns for each pair of a stored and a wanted number that are equal where they are in their lists.

    Args:
        stored: integers from 0 to size - 1; with few repeats, in any order.
        wanted: likewise.
        size: the range of both.

    >>> [found.tolist() for found in matched_keys(np.array([3, 0, 2]), np.array([2, 2, 3]), 4)]
    [[0, 2, 2], [2, 0, 1]]
    >>> [found.tolist() for found in matched_keys(np.array([3, 0, 2]), np.array([2, 2, 3]), 2**60)]
    [[2, 2, 0], [0, 1, 2]]
    """
    if size <= _SPARSE * (stored.size + wanted.size):
        return _counted(stored, wanted, size)
    order = None if _ascends(stored) else np.argsort(stored, kind="stable")
    ordered = stored if order is None else stored[order]
    first = np.searchsorted(ordered, wanted, "left")
    counts = np.searchsorted(ordered, wanted, "right") - first
    at, of = _spread(first, counts)
    return at if order is None else order[at], of


def _counted(stored: Array, wanted: Array, size: int) -> tuple[Array, Array]:
    """As `matched_keys`, without sorting what is stored; pairs are in its order."""
    counts = np.bincount(wanted, minlength=size)
    order = None if _ascends(wanted) else np.argsort(wanted, kind="stable")
    at, of = _spread((np.cumsum(counts) - counts)[stored], counts[stored])
    return of, at if order is None else order[at]


def _ascends(numbers: Array) -> bool:
    return bool(np.all(numbers[1:] >= numbers[:-1]))


def _spread(first: Array, counts: Array) -> tuple[Array, Array]:
    """Returns the numbers from first[k] on, counts[k] of them, for each k in turn; and k beside each of them."""
    of = np.repeat(np.arange(counts.size), counts)
    return np.arange(of.size) + np.repeat(first - np.cumsum(counts) + counts, counts), of
