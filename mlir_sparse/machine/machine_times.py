"""What the steps of loops take on a machine: times that `mlir-sparse tune --machine` measures."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mlir_sparse.classes import dataclass

__all__ = ["FAR_SIZES", "MachineTimes"]

# Sizes at which steps in memory that caches do not hold are timed, each four times the one before; the first is a
# quarter of the first of these.
FAR_SIZES = (1 << 18, 1 << 20, 1 << 22, 1 << 24)


@dataclass(frozen=True, slots=True)
class MachineTimes:
    """Times in nanoseconds, and sizes in elements.

    Args:
        walk: an iteration of a loop over the entries of one row, or over rows.
        look_up: an element of an array at a coordinate, read, in the second-level cache.
        far_look_ups: the same in arrays of `FAR_SIZES` elements, at coordinates in no order.
        scatter: an element of a result that is added to at coordinates in no order, in the second-level cache.
        far_scatters: the same in results of `FAR_SIZES` elements.
        meet: an entry of one of several rows that a loop goes over together.
        enter: the begin of a row that loops come to in no order, of a matrix that is in the second-level cache.
        far_enters: the same for matrices of `FAR_SIZES` entries.
        lane: an element of a row that vectors go over.
        append: an entry of a sparse result that loops come to in its order, once.
        insert: one that loops come to in another order, or again.
        near_line: a cache line of an array that is in the second-level cache.
        far_line: one that is not.
        write: an element of a dense result that stays in the caches.
        fresh_write: one on pages that the process has not touched.
        call: a loop nest, whatever it does.
        sparse_result: a sparse result, whatever it has.
        convert: an entry that is sorted into few slices.
        far_converts: one that is sorted into as many slices as `FAR_SIZES` say.
        function: a function such as exp of an element that vectors go over.
        lone_function: one of a number between loops over rows, or in a row.
        multiply_add: a product of two numbers that BLAS adds to a sum.
        element: one of an operand or result of BLAS.
        matrices: a product of two matrices by BLAS, whatever it does, in a stack of them.
        near: up to how many elements arrays are near.
        kept: up to how many elements results stay in the caches.
    """

    walk: float
    look_up: float
    far_look_ups: tuple[float, ...]
    scatter: float
    far_scatters: tuple[float, ...]
    meet: float
    enter: float
    far_enters: tuple[float, ...]
    lane: float
    append: float
    insert: float
    near_line: float
    far_line: float
    write: float
    fresh_write: float
    call: float
    sparse_result: float
    convert: float
    far_converts: tuple[float, ...]
    function: float
    lone_function: float
    multiply_add: float
    element: float
    matrices: float
    near: float
    kept: float

    def look_up_in(self, elements: float) -> float:
        """Returns the time of reading an element of an array of a size at a coordinate, where these have no order.

        >>> from mlir_sparse.machine import shipped_profiles
        >>> times = shipped_profiles()["amd-epyc-family-25"].times
        >>> times.look_up_in(1000) == times.look_up < times.look_up_in(1e7)
        True
        """
        return _at_size(elements, self.look_up, self.far_look_ups)

    def scatter_in(self, elements: float) -> float:
        """Returns the time of adding to an element of a result of a size at a coordinate, where these have no order."""
        return _at_size(elements, self.scatter, self.far_scatters)

    def enter_in(self, entries: float) -> float:
        """Returns the time of beginning a row of a matrix of so many entries, where these have no order."""
        return _at_size(entries, self.enter, self.far_enters)

    def convert_into(self, slices: float) -> float:
        """Returns the time of sorting an entry into so many slices."""
        return _at_size(slices, self.convert, self.far_converts)


def _at_size(size: float, near: float, far: Sequence[float]) -> float:
    """Returns a time at a size, between those of the next smaller and larger size that were measured."""
    if size <= FAR_SIZES[0] / 4:
        return near
    steps = math.log(size / FAR_SIZES[0], 4) + 1
    place = min(int(steps), len(far) - 1)
    before = near if place == 0 else far[place - 1]
    return before + min(1.0, steps - place) * (far[place] - before)
