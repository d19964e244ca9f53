"""The cheapest way to compute one product: which of its factors make a part that is computed first.

Dynamic programming over sets of factors, as orders of joins are found in databases (Selinger et al. 1979). Of each set
it knows the cheapest loop nest over factors and over parts that are sets themselves. Sets that are equal up to the
names of variables are made once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from mlir_sparse.notation import IndexVar
from mlir_sparse.plan.algebra.estimates import EntrySet, Estimates
from mlir_sparse.plan.algebra.nest_times import MACHINE, MachineTimes, nest_time

__all__ = ["ProductSearch", "Way"]

# Up to so many factors all partitions are tried, up to the second number all pairs of parts; then pairs are joined.
_PARTITIONED, _HALVED = 4, 7
# A plan must be so much cheaper than another to be taken in its place: estimates are no better.
_NOTICED = 0.999

Members = frozenset[int]


@dataclass(frozen=True, slots=True)
class Way:
    """A way to compute a set of factors.

    Args:
        nanoseconds: the time, parts included.
        result: the result as another nest's operand.
        read: the factors that the last loop nest reads as they are.
        made: the sets of factors that are made first, each a part that it reads.
    """

    nanoseconds: float
    result: EntrySet
    read: Members
    made: tuple[Members, ...] = ()


class ProductSearch:
    """Searches the ways to compute a product.

    Args:
        relations: what each factor is to estimates.
        kept: the variables of the result.
        estimates: estimates for the variables.
        key: what sets have in common that are equal up to the names of variables.
        is_made: whether a set with such a key is there already.
        fits: whether a part with a result fits in memory.
        machine: the times of steps.
    """

    def __init__(
        self,
        relations: Sequence[EntrySet],
        kept: frozenset[IndexVar],
        estimates: Estimates,
        key: Callable[[Members], Hashable],
        is_made: Callable[[Hashable], bool],
        fits: Callable[[EntrySet], bool],
        machine: MachineTimes = MACHINE,
    ) -> None:
        self._relations = relations
        self._kept = kept
        self._estimates = estimates
        self._key = key
        self._is_made = is_made
        self._fits = fits
        self._machine = machine
        self._ways: dict[Members, Way] = {}
        self._linked: dict[Members, bool] = {}

    @cached_property
    def whole(self) -> Members:
        """Returns the set of all factors."""
        return frozenset(range(len(self._relations)))

    def kept(self, members: Members) -> frozenset[IndexVar]:
        """Returns the variables of a set that the result or other factors have."""
        others = self._variables(self.whole - members)
        return self._variables(members) & (self._kept | others)

    def best(self, members: Members) -> Way:
        """Returns the cheapest way to compute a set."""
        if members not in self._ways:
            if len(members) > _HALVED:
                self._join_pairs(members)
            found = self.in_one_nest(members)
            for parts in self._partitions(members):
                found = self._cheaper(found, members, parts)
            self._ways[members] = found
        return self._ways[members]

    def in_one_nest(self, members: Members) -> Way:
        """Returns the way without parts: one loop nest over all factors of a set."""
        return self._way(members, members, ())

    def _variables(self, members: Members) -> frozenset[IndexVar]:
        return frozenset[IndexVar]().union(*(self._relations[one].variables for one in members))

    def _is_read(self, part: Members) -> bool:
        """Returns whether a part is a factor that is read as it is: no variable is summed over in it alone."""
        return len(part) == 1 and self._variables(part) == self.kept(part)

    def _cheaper(self, found: Way, members: Members, parts: tuple[Members, ...]) -> Way:
        made = tuple(part for part in parts if not self._is_read(part))
        below = 0.0
        for part in {self._key(part): part for part in made}.values():
            way = self.best(part)
            below += 0.0 if self._is_made(self._key(part)) else way.nanoseconds
            if below >= found.nanoseconds or not self._fits(way.result):
                return found
        read = members.difference(*made)
        way = self._way(members, read, made, below)
        return way if way.nanoseconds < found.nanoseconds * _NOTICED else found

    def _way(self, members: Members, read: Members, made: tuple[Members, ...], below: float = 0.0) -> Way:
        operands = [*(self._relations[one] for one in sorted(read)), *(self.best(part).result for part in made)]
        kept = self.kept(members)
        nest = nest_time(operands, kept, self._estimates, self._machine)
        result = EntrySet(kept, nest.entries, nest.sparse, *_degrees(operands, kept), most=nest.most)
        return Way(below + nest.nanoseconds, result, read, made)

    def _partitions(self, members: Members) -> Iterator[tuple[Members, ...]]:
        ordered = sorted(members)
        if len(ordered) == 1:
            return
        singles = tuple(frozenset({one}) for one in ordered)
        if not all(map(self._is_read, singles)):
            yield singles
        for parts in self._splits(ordered):
            if all(len(part) == 1 or self._is_linked(part) for part in parts):
                yield parts

    def _splits(self, ordered: list[int]) -> Iterator[tuple[Members, ...]]:
        if len(ordered) <= _PARTITIONED:
            yield from (parts for parts in _set_partitions(ordered) if 1 < len(parts) < len(ordered))
        elif len(ordered) <= _HALVED:
            yield from _halves_and_rests(ordered)
        else:
            yield from self._joined

    def _is_linked(self, members: Members) -> bool:
        """Returns whether variables link all factors of a set: a product of others is larger than both."""
        if members not in self._linked:
            left, reached = set(members), self._variables(frozenset({min(members)}))
            while True:
                near = {
                    one
                    for one in left
                    if self._relations[one].variables & reached or not self._relations[one].variables
                }
                if not near:
                    break
                left -= near
                reached |= self._variables(frozenset(near))
            self._linked[members] = not left
        return self._linked[members]

    _joined: tuple[tuple[Members, ...], ...] = ()

    def _join_pairs(self, members: Members) -> None:
        """Finds a way for many factors: the cheapest pair is joined, until two parts are left."""
        left = [frozenset({one}) for one in sorted(members)]
        while len(left) > 2:
            pairs = [(a, b) for a, b in itertools.combinations(left, 2) if self._is_linked(a | b)]
            ways = {a | b: self._cheaper(self.in_one_nest(a | b), a | b, (a, b)) for a, b in pairs}
            if not ways:
                break
            pair = min(ways, key=lambda one: ways[one].nanoseconds)
            self._ways[pair] = ways[pair]
            left = [*(one for one in left if not one <= pair), pair]
        self._joined = (tuple(left),)


def _degrees(
    operands: Sequence[EntrySet], kept: frozenset[IndexVar]
) -> tuple[dict[IndexVar, float], dict[IndexVar, float]]:
    """Returns the degrees of a result: those of an operand that has all its variables, whose entries it inherits."""
    for operand in operands:
        if operand.sparse and operand.variables == kept:
            return dict(operand.largest), dict(operand.squares)
    return {}, {}


def _set_partitions(items: list[int]) -> Iterator[tuple[Members, ...]]:
    if not items:
        yield ()
        return
    first, *rest = items
    for size in range(len(rest) + 1):
        for chosen in itertools.combinations(rest, size):
            left = [one for one in rest if one not in chosen]
            yield from ((frozenset((first, *chosen)), *parts) for parts in _set_partitions(left))


def _halves_and_rests(items: list[int]) -> Iterator[tuple[Members, ...]]:
    """Yields two parts, each made first, and one part that is made first with all others as they are."""
    for size in range(2, len(items)):
        for chosen in itertools.combinations(items, size):
            rest = [one for one in items if one not in chosen]
            if len(rest) > 1 and chosen[0] == items[0]:
                yield frozenset(chosen), frozenset(rest)
            yield (frozenset(chosen), *(frozenset({one}) for one in rest))
