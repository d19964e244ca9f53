"""Sketches: a few numbers about a tensor's entries, from which costs are estimated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field

from mlir_sparse.classes import dataclass

__all__ = ["AxisSketch", "PatternSketch", "Sketch", "uniform_sketch"]


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


# Equal only to itself, so that estimates keep what they find for it.
@dataclass(frozen=True, slots=True, eq=False)
class PatternSketch:
    """Where a square matrix has entries, by a sample of them.

    Estimates of products that close a circle, such as triangles, need it: entries near the diagonal meet more often
    than those that are anywhere.

    Args:
        mirrored: the share of entries at (i, j) for which there is one at (j, i).
        offsets: the share of entries by the bits of j - i, with its sign: 0 for the diagonal, -3 for 4 to 7 below it.
        of_one_value: whether all entries have one value, as those of a graph have.
    """

    mirrored: float
    offsets: Mapping[int, float]
    of_one_value: bool = False

    @property
    def rounded(self) -> tuple[int, ...]:
        """Returns rough numbers: how many entries are mirrored, whether one value, how far off half are."""
        below, places, known = 0.0, sorted(self.offsets, key=abs), (round(2 * self.mirrored), int(self.of_one_value))
        for place in places:
            below += self.offsets[place]
            if below >= 0.5:
                return (*known, abs(place) // 2)
        return known


@dataclass(frozen=True, slots=True)
class Sketch:
    """What an estimate knows about a tensor (degree statistics, as in Deeds et al. 2025, section 5).

    A sketch decides which plan is taken, never what a plan computes.

    Args:
        shape: the extent of each dimension.
        entries: the number of stored entries; of an array the number of elements.
        axes: the degrees in each dimension; none for an array, where each coordinate has equally many.
        pattern: where a square matrix has entries, if that was looked at.
        levels: the number of places that each level of the storage has, outermost first; none where levels are no
            dimensions, or not counted.
    """

    shape: tuple[int, ...]
    entries: float
    axes: tuple[AxisSketch, ...] = ()
    pattern: PatternSketch | None = field(default=None, compare=False)
    levels: tuple[float, ...] = field(default=(), compare=False)
    _rounded: tuple[tuple[int, ...], ...] | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def rounded(self) -> tuple[tuple[int, ...], ...]:
        """Returns the numbers rounded to powers of 4: tensors for which they are equal share a plan.

        >>> Sketch((1000,), 1000.0).rounded == Sketch((1020,), 1020.0).rounded
        True
        """
        if self._rounded is None:  # each call with the tensor asks for them
            axes = ((axis.distinct, axis.largest, axis.squares) for axis in self.axes)
            # The first level has the coordinates of a dimension, the last one the entries.
            numbers = (self.shape, (self.entries, *self.levels[1:-1]), *axes)
            found = tuple([tuple(map(_power_of_4, each)) for each in numbers])
            object.__setattr__(self, "_rounded", found if self.pattern is None else (*found, self.pattern.rounded))
        assert self._rounded is not None
        return self._rounded


def _power_of_4(number: float) -> int:
    return round(math.log(max(1.0, number), 4))


def uniform_sketch(shape: tuple[int, ...], entries: float) -> Sketch:
    """Returns the sketch of a tensor of which only the number of entries is known, as if they were anywhere.

    Args:
        shape: its extents.
        entries: how many it has, about.

    >>> uniform_sketch((2, 4), 4.0).axes[1]
    AxisSketch(distinct=4.0, largest=1, squares=4.0)
    """
    entries = min(entries, float(math.prod(shape)))
    axes = (
        AxisSketch(min(float(extent), entries), math.ceil(entries / max(1, extent)), entries**2 / max(1, extent))
        for extent in shape
    )
    return Sketch(shape, entries, tuple(axes))
