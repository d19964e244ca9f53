"""What one loop nest takes by estimate: the steps of its loops, each by what it does; or BLAS in its place."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from mlir_sparse.machine import MachineTimes
from mlir_sparse.plan.algebra.copied_operands import CopiedOperand
from mlir_sparse.plan.algebra.estimates import EntrySet, Estimates
from mlir_sparse.plan.algebra.masked_products import Mask
from mlir_sparse.plan.algebra.nest_loops import Loop, loops_over, predecessors

__all__ = ["LoopNest", "NestTime", "blas_time", "time_to_sort"]

# Elements of a dense temporary beyond which no plan has one.
_LIMIT = 2e9


class NestTime(NamedTuple):
    """What one loop nest takes.

    Args:
        nanoseconds: the time.
        places: at how many places its operands meet.
        entries: the entries of its result.
        sparse: whether the result is sparse.
        most: the most entries that the result can have.
        by_blas: whether it is a product of two arrays that BLAS computes, in place of loops.
        masked: how one operand masks the product of two others in a nest of its own; None for one nest.
        copied: the operands that it reads from copies in other storage, which are made first.
    """

    nanoseconds: float
    places: float
    entries: float
    sparse: bool
    most: float
    by_blas: bool = False
    masked: Mask | None = None
    copied: tuple[CopiedOperand, ...] = ()


def blas_time(relations: Sequence[EntrySet], kept: int, estimates: Estimates, machine: MachineTimes) -> float:
    """Returns what BLAS takes for a product of two arrays; infinity for what has no matrix."""
    if len(relations) != 2:
        return math.inf
    one, other = relations
    if one.sparse or other.sparse or not (one.in_memory and other.in_memory):
        return math.inf
    first, second = one.variables, other.variables
    shared = first & second
    summed = shared & ~kept
    if (first | second) & ~summed != kept or not (summed and kept):
        return math.inf
    if not (first & ~shared and second & ~shared):
        if shared & kept:
            return math.inf
        return _matrix_vector_time(estimates.space(first | second), estimates.space(kept), machine)
    elements = sum(map(estimates.space, (first, second, kept)))
    each = machine.write if elements < machine.kept else machine.element  # what is in the caches is there
    total = estimates.space(first | second) * machine.multiply_add + elements * each
    return total + estimates.space(shared & kept) * machine.matrices + machine.call if elements < _LIMIT else math.inf


# A product by a vector in BLAS takes so much of the time of loops for each element, as it sums several rows together.
_OF_LOOPS = 0.5


def _matrix_vector_time(elements: float, result: float, machine: MachineTimes) -> float:
    """Returns what BLAS takes for a product of a matrix of so many elements by a vector."""
    if elements >= _LIMIT:
        return math.inf
    return machine.call + _OF_LOOPS * 2 * machine.lane * elements + machine.write * result


def _time_of_result(places: float, space: float, sparse: int, inserts: bool, machine: MachineTimes) -> float:
    if inserts:
        return (machine.append if sparse == 1 else machine.insert) * places + machine.sparse_result
    each = machine.write if space < machine.kept else machine.fresh_write
    return each * space if space < _LIMIT else math.inf


def _conversion(sparse: Sequence[EntrySet], estimates: Estimates, machine: MachineTimes) -> float:
    """Returns the time of a conversion, if no order of loops suits all levels."""
    if len(sparse) < 2 or predecessors(sparse) is not None:
        return 0.0
    return min(time_to_sort(one, estimates, machine) for one in sparse if one.order and len(one.order) > 1)


def time_to_sort(relation: EntrySet, estimates: Estimates, machine: MachineTimes) -> float:
    """Returns the time of bringing a relation into another order: into as many slices as its innermost level has."""
    slices = estimates.space(relation.order[-1]) if relation.order else 1.0
    return machine.convert_into(slices) * relation.entries


class LoopNest:
    """A loop nest: loops over entries, with loops over rows of arrays inside of them if there are any.

    Args:
        relations: the operands.
        result: the variables of the result.
        estimates: estimates for the variables.
        machine: the times of steps.
        array: whether the result is an array although loops could leave elements out.
        last: the variable of the result's last dimension; 0 where its dimensions have no order yet.
    """

    def __init__(
        self,
        relations: Sequence[EntrySet],
        result: int,
        estimates: Estimates,
        machine: MachineTimes,
        *,
        array: bool = False,
        last: int = 0,
    ) -> None:
        self.sparse, self.arrays, walked, variables = list[EntrySet](), list[EntrySet](), 0, 0
        for one in relations:
            variables |= one.variables
            if not one.sparse:
                self.arrays.append(one)
            elif one not in self.sparse:  # a part that is read twice at the same places is walked once
                self.sparse.append(one)
                walked |= one.variables
        self.result = result
        self.last = last
        self.variables = variables
        self.walked = walked
        # The variables of the inner loops, which only arrays have.
        self.rows = variables & ~walked
        # Whether the result is sparse: loops go over its entries.
        self.inserts = bool(self.sparse) and not array and result & (result - 1) != 0 and not result & ~walked
        # At how many places all sparse operands have an entry, and the most that there can be.
        self.met, self.met_at_most = estimates.meet(self.sparse)
        self.estimates = estimates
        self.machine = machine
        space = estimates.space(result)
        self.places = self.met * estimates.space(self.rows)
        self.fixed = machine.call + _time_of_result(self.places, space, len(self.sparse), self.inserts, machine)
        self.at_least = self.fixed + (self.met * machine.walk if self.sparse else 0.0)

    def time(self, most: float) -> NestTime | None:
        """Returns what it takes; None where that exceeds a time."""
        if self.at_least > most:
            return None
        machine, space, total, places = self.machine, self.estimates.space(self.result), self.fixed, self.places
        if not self.sparse:
            total += places * machine.lane * max(1, len(self.arrays))
        else:
            total += _conversion(self.sparse, self.estimates, machine)
            loops = self.loops(most - total)
            total += math.inf if loops is None else self._in_loops(loops)
        if total > most:
            return None
        if not self.inserts:
            return NestTime(total, places, space, False, space)
        whole = self.result == self.variables
        entries = places if whole else self.estimates.entries_of_sum(self.sparse, places, self.result)
        entries = min([entries, *(one.entries for one in self.sparse if one.variables == self.result)])
        return NestTime(total, places, entries, True, min(space, self.met_at_most))

    def loops(self, most: float) -> tuple[Loop, ...] | None:
        """Returns the loops over entries, outermost first; None where they exceed a time."""
        machine, kept = self.machine, self.result if self.inserts else 0
        meet = machine.meet / machine.walk
        loops = loops_over(self.sparse, kept, self.estimates, meet, most / machine.walk, self.result)
        if loops is None or loops[-1].iterations >= self.met:
            return loops
        return (*loops[:-1], loops[-1]._replace(iterations=self.met))

    def _in_loops(self, loops: Sequence[Loop]) -> float:
        return self._walks(loops) + self._reads(loops) + (self._inner(loops) if self.rows else 0.0)

    def _walks(self, loops: Sequence[Loop]) -> float:
        """Returns the time of going over rows."""
        machine = self.machine
        found = sum([loop.iterations * (machine.meet if loop.meeting else machine.walk) for loop in loops])
        return found + sum([self._enters(relation, loops) for relation in self.sparse]) if len(loops) > 1 else found

    def _enters(self, relation: EntrySet, loops: Sequence[Loop]) -> float:
        """Returns the time of beginning rows of a relation that loops come to in no order, or again and again."""
        found, machine, own = 0.0, self.machine, relation.variables
        for outer, inner in itertools.pairwise(loops):
            row = own & outer.inside
            if row and row != outer.inside and inner.inside & ~outer.inside & own:
                loop = _outermost(row, loops)
                # The row that was the last; few are, where loops inside of the outermost leave few places.
                found += max(0.0, outer.iterations - loop.iterations) * machine.enter
                if loop.inside != row:
                    entries = relation.entries / self._slices(relation.variables, loops)
                    found += loop.iterations * machine.enter_in(entries)
        return found

    def _slices(self, variables: int, loops: Sequence[Loop]) -> float:
        """Returns into how many slices the outermost loop divides what has some variables: one is near at a time."""
        first = loops[0].inside
        return max(1.0, self.estimates.space(first)) if first & variables else 1.0

    def _reads(self, loops: Sequence[Loop]) -> float:
        """Returns the time of reading elements of arrays, and of adding to those of the result.

        Each is read in the outermost loop that has all its variables.
        """
        space, look_up = self.estimates.space, self.machine.look_up_in
        found = 0.0
        for array in self.arrays:
            if outer := array.variables & ~self.rows:
                found += self._in_some_order(outer, min(array.entries, space(outer)), loops, look_up)
        if self.inserts:
            masks = [one for one in self.sparse if len(self.sparse) > 1 and one.variables == self.result]
            return found + sum([self._in_some_order(self.result, space(self.result), loops, look_up) for _ in masks])
        if outer := self.result & ~self.rows:
            # Rows of arrays that are added to a row of the result are counted where loops go over them.
            each = look_up if self.result & self.rows else self.machine.scatter_in
            found += self._in_some_order(outer, space(outer), loops, each)
        return found

    def _in_some_order(
        self, variables: int, elements: float, loops: Sequence[Loop], each: Callable[[float], float]
    ) -> float:
        """Returns the time of coming to elements over some variables; loops over just these do so in order."""
        loop, machine = _outermost(variables, loops), self.machine
        if loop.inside == variables:
            return loop.iterations * machine.look_up
        near = elements / self._slices(variables, loops)
        found = loop.iterations * each(near)
        if near < elements and elements > machine.near:
            found += min(loop.iterations, elements / 8) * machine.far_line
        return found

    def _inner(self, loops: Sequence[Loop]) -> float:
        """Returns the time of loops over rows of arrays."""
        machine, found = self.machine, 0.0
        for array in self.arrays:
            inner = array.variables & self.rows
            if not inner:
                continue
            elements = self.estimates.space(inner)
            if array.order and not array.order[-1] & self.rows:
                found += elements * machine.look_up_in(array.entries)  # of columns, each in a line of its own
            else:
                line = machine.far_line if array.entries > machine.near else machine.near_line
                found += max(1.0, elements / 8) * line
        lanes = max(1, len(self.sparse) + len(self.arrays) - 1)
        found += self.estimates.space(self.rows) * machine.lane * lanes
        return loops[-1].iterations * (found + self._row_of_result(loops))

    def _row_of_result(self, loops: Sequence[Loop]) -> float:
        """Returns the time of adding to a row of the result, which stays in registers while a sum is innermost."""
        elements, machine = self.estimates.space(self.result & self.rows), self.machine
        if not self.result & self.rows:
            return 0.0
        if self.last and not self.last & self.rows:
            return elements * machine.look_up
        outside = loops[-2].inside if len(loops) > 1 else 0
        if not self.result & loops[-1].inside & ~outside or self.inserts or not self.walked & ~self.result:
            return 0.0
        line = machine.far_line if self.estimates.space(self.result) > machine.near else machine.near_line
        return 2 * max(1.0, elements / 8) * line


def _outermost(variables: int, loops: Sequence[Loop]) -> Loop:
    """Returns the outermost loop inside of which all of some variables are known."""
    for loop in loops:
        if not variables & ~loop.inside:
            return loop
    raise AssertionError("loops are over all variables of their operands")
