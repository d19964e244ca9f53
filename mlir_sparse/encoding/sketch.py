"""Sketches: a few numbers about a tensor's entries, from which costs are estimated."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["AxisSketch", "Sketch"]


@dataclass(frozen=True, slots=True)
class AxisSketch:
    """How the entries of a tensor spread over the coordinates of one dimension.

    The degree of a coordinate is the number of entries that have it.

    Args:
        distinct: the number of coordinates that have an entry.
        largest: the largest degree.
        squares: the sum of squared degrees: how many pairs of entries, each with itself too, share a coordinate.
    """

    distinct: float
    largest: float
    squares: float


@dataclass(frozen=True, slots=True)
class Sketch:
    """What an estimate knows about a tensor (degree statistics, as in Deeds et al. 2025, section 5).

    A sketch decides which plan is taken, never what a plan computes.

    Args:
        shape: the extent of each dimension.
        entries: the number of stored entries; of an array the number of elements.
        axes: the degrees in each dimension; none for an array, where each coordinate has equally many.
    """

    shape: tuple[int, ...]
    entries: float
    axes: tuple[AxisSketch, ...] = ()

    @property
    def rounded(self) -> tuple[tuple[int, ...], ...]:
        """Returns the numbers rounded to powers of 4: tensors for which they are equal share a plan.

        >>> Sketch((1000,), 1000.0).rounded == Sketch((1020,), 1020.0).rounded
        True
        """
        axes = ((axis.distinct, axis.largest, axis.squares) for axis in self.axes)
        return tuple(tuple(map(_power_of_4, numbers)) for numbers in (self.shape, (self.entries,), *axes))


def _power_of_4(number: float) -> int:
    return round(math.log(max(1.0, number), 4))
