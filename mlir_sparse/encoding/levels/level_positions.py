"""All positions of a level, with the coordinates of each."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.process.available_memory import check_fits

__all__ = ["ROOT", "Array", "LevelPositions", "Stored", "counted", "repeated", "wide"]

Array: TypeAlias = np.ndarray[Any, Any]
Stored: TypeAlias = Array | None
"""Positions or coordinates of a level, None where it stores none."""


@dataclass(frozen=True, slots=True)
class LevelPositions:
    """The positions of a level.

    Args:
        columns: the coordinate of each position in this level and those above it.
        live: whether an entry is stored at a position; None where all have one.
        count: the number of positions.
        parents: the parent of each position; None where their numbers are equal.
    """

    columns: tuple[Array, ...]
    live: Array | None
    count: int
    parents: Array | None = None

    def below(self, coordinates: Array, parents: Array | None = None, live: Array | None = None) -> LevelPositions:
        """Returns the positions of the next level.

        Args:
            coordinates: the coordinate of each.
            parents: the parent of each, a position of this level; None where their numbers are equal.
            live: whether an entry is stored there, as far as the next level decides.
        """
        columns, alive = self.columns, self.live
        if parents is not None:
            columns = tuple(column[parents] for column in columns)
            alive = None if alive is None else alive[parents]
        if alive is not None and live is not None:
            alive = alive & live
        return LevelPositions((*columns, coordinates), live if alive is None else alive, coordinates.size, parents)


ROOT = LevelPositions((), None, 1)


def wide(array: Stored) -> Array:
    """Returns stored integers widened to 64 bits."""
    assert array is not None
    found: Array = array.astype(np.int64, copy=False)
    return found


def repeated(lengths: Array) -> Array:
    """Returns the parent of each child, given the number of children of each parent.

    >>> repeated(np.array([2, 0, 1]))
    array([0, 0, 2])
    """
    return np.repeat(np.arange(lengths.size), lengths)


def counted(starts: Array, lengths: Array) -> Array:
    """Returns start, start + 1, ... of each interval, one interval after the other.

    >>> counted(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    total = int(lengths.sum())
    check_fits(8 * total, f"the coordinates of {total} places")
    found: Array = np.arange(total) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    return found
