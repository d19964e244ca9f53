"""The loops of a nest over sparse operands, in an order that levels allow, with how many iterations each has."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from mlir_sparse.plan.algebra.estimates import EntrySet, Estimates, bits_of, union

__all__ = ["Loop", "loops_over", "order_left", "predecessors"]

Variables = int


class Loop(NamedTuple):
    """A loop of a nest.

    Args:
        inside: the variables of this loop and those around it.
        iterations: how many iterations it has, over all iterations of those around it.
        meeting: whether it goes over several rows together.
    """

    inside: Variables
    iterations: float
    meeting: bool


def loops_over(
    relations: Sequence[EntrySet],
    kept: Variables,
    estimates: Estimates,
    meet: float,
    most: float = math.inf,
    outer: Variables = 0,
) -> tuple[Loop, ...] | None:
    """Returns loops over sparse relations in a good order that levels allow, outermost first.

    Args:
        relations: what the loops go over.
        kept: the variables of a sparse result, if there is one. Rows that a sum around the innermost loop comes to
            again and again are scattered, and looked up.
        estimates: estimates for the variables.
        meet: the time of an iteration that meets rows, as a multiple of that of one that walks a row.
        most: the time from which on there is no result, in iterations that walk a row.
        outer: the variables of which one is outermost where others take as long.
    """
    nest = _Nest(relations, kept, estimates, meet)
    best, found = most, None
    for first in (*bits_of(nest.variables & outer), *bits_of(nest.variables & ~outer)):
        if not nest.before.get(first):
            total, loops = nest.loops_from(first, best)
            if total < best:
                best, found = total, loops
    return None if found is None else tuple([Loop(*each) for each in found])


# The variables of a loop and those around it, its iterations, and whether it goes over several rows together.
_Chosen = tuple[Variables, float, bool]


class _Nest:
    """What all orders of the loops of one nest share: `_known` has the numbers of places known so far."""

    __slots__ = ("_estimates", "_kept", "_known", "_meet", "_relations", "before", "variables")

    def __init__(self, relations: Sequence[EntrySet], kept: Variables, estimates: Estimates, meet: float) -> None:
        self._relations = relations
        self._kept = kept
        self._estimates = estimates
        self._meet = meet
        self._known: dict[Variables, float] = {}
        self.variables = union(relations)
        self.before = predecessors(relations) or {}

    def loops_from(self, first: int, most: float) -> tuple[float, list[_Chosen]]:
        """Returns loops of which the outermost is over one variable, and each further one takes the least time."""
        total, chosen, last = self._places(first), first, first
        loops = [(first, total, self._iterations(0, first, 0)[1])]
        while chosen != self.variables and total < most:
            least, following = math.inf, None
            for variable in bits_of(self._next(chosen)):
                iterations, meeting = self._iterations(chosen, variable, last)
                time = iterations * self._meet if meeting else iterations
                if time < least or following is None:
                    least, following = time, (chosen | variable, iterations, meeting)
            assert following is not None
            total += least
            chosen, last = following[0], chosen ^ following[0]
            loops.append(following)
        return total, loops

    def _rows(self, chosen: Variables, variable: int) -> list[EntrySet]:
        """Returns the relations of whose rows a loop goes over one; a vector is a row that it comes to again."""
        found = []
        for relation in self._relations:
            own = relation.variables
            if own & variable and (own & chosen or own == variable):
                found.append(relation)
        return found

    def _iterations(self, chosen: Variables, variable: int, last: int) -> tuple[float, bool]:
        """Returns how many iterations a loop inside of others has, and whether it goes over several rows together."""
        rows = self._rows(chosen, variable) if len(self._relations) > 1 else ()
        if len(rows) < 2:
            return self._places(chosen | variable), False
        # Loops walk what a scattered row does not have, too.
        walked = [row for row in rows if row.variables & last] if self._scatters(chosen, variable, last) else rows
        if len(rows) == 2 and len(walked) == 1:
            return self._places(chosen) * self._degree(walked[0], chosen), False
        return self._places(chosen) * sum([self._degree(row, chosen) for row in rows]), True

    def _scatters(self, chosen: Variables, variable: int, last: int) -> bool:
        """Returns whether the innermost loop is over a sparse result, inside of one that the result sums over."""
        return bool(variable & self._kept and last & ~self._kept) and chosen | variable == self.variables

    def _places(self, variables: Variables) -> float:
        found = self._known.get(variables)
        if found is None:
            found = self._known[variables] = self._estimates.prefix(self._relations, variables)
        return found

    def _degree(self, relation: EntrySet, chosen: Variables) -> float:
        """Returns how many entries a relation has at one place of some variables, for entries that meet it."""
        shared = relation.variables & chosen
        if not shared & (shared - 1) and relation.entries and (squares := relation.squares.get(shared)):
            return squares / relation.entries
        rows = min(relation.entries, self._estimates.space(shared))
        return relation.entries / rows if rows else 0.0

    def _next(self, chosen: Variables) -> Variables:
        """Returns which variables a loop may be over next: those that a relation links to the ones before, if any."""
        linked, left = 0, self.variables & ~chosen
        for relation in self._relations:
            if relation.variables & chosen:
                linked |= relation.variables
        if found := self._ready(linked & left, chosen):
            return found
        # What levels have outside of those.
        outside = 0
        for variable in bits_of(linked & left):
            outside |= self.before.get(variable, 0)
        return self._ready(outside & left, chosen) or self._ready(left, chosen) or left

    def _ready(self, variables: Variables, chosen: Variables) -> Variables:
        if not self.before:
            return variables
        found = 0
        before = self.before.get
        for variable in bits_of(variables):
            if not before(variable, 0) & ~chosen:
                found |= variable
        return found


def predecessors(relations: Sequence[EntrySet]) -> Mapping[int, Variables] | None:
    """Returns which variables levels have outside of each; None where orders of levels contradict each other."""
    return _predecessors(_orders(relations))


# The variables of the levels of each relation with several, outermost first.
_Orders = tuple[tuple[int, ...], ...]


def _orders(relations: Sequence[EntrySet]) -> _Orders:
    return tuple([one.order for one in relations if one.order and len(one.order) > 1])


# Cached: a search asks for the same few orders of levels for each nest that it looks at.
@lru_cache(maxsize=512)
def _predecessors(orders: _Orders) -> Mapping[int, Variables] | None:
    before: dict[int, Variables] = {}
    for order in orders:
        outside = 0
        for variable in order:
            before[variable] = before.get(variable, 0) | outside
            outside = variable
    left = dict(before)
    while left:
        free = [variable for variable, outside in left.items() if not any(outside & other for other in left)]
        if not free:
            return None
        for variable in free:
            del left[variable]
    return before


def order_left(relations: Sequence[EntrySet], kept: Variables) -> tuple[int, ...] | None:
    """Returns the order of levels of a sparse result, where those of operands leave no other; None where they do.

    Args:
        relations: the sparse operands.
        kept: the variables of the result.
    """
    return _order_left(_orders(relations), kept)


@lru_cache(maxsize=512)
def _order_left(orders: _Orders, kept: Variables) -> tuple[int, ...] | None:
    before = _predecessors(orders)
    if not before:
        return None
    outside = {variable: _outside(variable, before) & kept for variable in bits_of(kept)}
    found = sorted(outside, key=lambda variable: outside[variable].bit_count())
    forced = [outside[variable].bit_count() for variable in found] == list(range(len(found)))
    return tuple(found) if forced else None


def _outside(variable: int, before: Mapping[int, Variables]) -> Variables:
    """Returns which variables levels have outside of one, and outside of these."""
    found = before.get(variable, 0)
    for outer in bits_of(found):
        found |= _outside(outer, before)
    return found
