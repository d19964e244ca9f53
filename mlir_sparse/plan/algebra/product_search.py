"""The cheapest way to compute one product: which of its factors make a part that is computed first.

Dynamic programming over sets of factors, as orders of joins are found in databases (Selinger et al. 1979). Of each set
it knows the cheapest loop nest over factors and over parts that are sets themselves. Sets that are equal up to the
names of variables are made once.

A factor is a bit, and a set of factors a number with their bits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from mlir_sparse.plan.algebra.copied_operands import with_copies
from mlir_sparse.plan.algebra.estimates import EntrySet, bits_of
from mlir_sparse.plan.algebra.factor_partitions import (
    PARTITIONED,
    PARTITIONS,
    interchangeable,
    without_alike,
    without_some,
)
from mlir_sparse.plan.algebra.loop_times import NestTime
from mlir_sparse.plan.algebra.nest_loops import order_left
from mlir_sparse.plan.algebra.nest_times import NestTimes

__all__ = ["Members", "ProductSearch", "Way", "result_of"]

# Up to PARTITIONED factors all partitions are tried, and whether each factor is summed first; beyond, pairs of parts,
# and one part with all others as they are. Up to the first number of factors no such way is left out. Beyond, pairs are
# joined first; then sets are searched up to the second number of factors, as long as no more ways than the third number
# are looked at.
_EXACT, _HALVED, _WORK = 6, 9, 1000
# From this share of its elements on a part is an array.
_FULL = 0.25
# A plan must be so much cheaper than another to be taken in its place: estimates are no better.
_NOTICED = 0.999
# The same where a factor is summed in the loops that read it, which take longer than by estimate if anything.
_UNSUMMED = 0.95

# The bits of a set of factors.
Members = int


class Way(NamedTuple):
    """A way to compute a set of factors.

    Args:
        nanoseconds: the time, parts included.
        result: the result as another nest's operand.
        read: the factors that the last loop nest reads as they are.
        made: the sets of factors that are made first, each a part that it reads.
        by_blas: whether BLAS computes it, in place of a loop nest.
    """

    nanoseconds: float
    result: EntrySet
    read: Members
    made: tuple[Members, ...] = ()
    by_blas: bool = False


class ProductSearch:
    """Searches the ways to compute a product.

    Args:
        relations: what each factor is to estimates.
        kept: the variables of the result.
        nests: the times of loop nests.
        key: what sets have in common that are equal up to the names of variables.
        is_made: whether a set with such a key is there already; None where nothing is.
        fits: whether a part with a result fits in memory.
        has_arrays: whether parts that are nearly full may be arrays.
        occurrence: what sets have in common that are equal at the same variables; their key by default.
        into_array: whether the result is an array although loops could leave elements out.
    """

    def __init__(
        self,
        relations: Sequence[EntrySet],
        kept: int,
        nests: NestTimes,
        key: Callable[[Members], Hashable],
        is_made: Callable[[Hashable], bool] | None,
        fits: Callable[[EntrySet], bool],
        *,
        has_arrays: bool = False,
        occurrence: Callable[[Members], Hashable] | None = None,
        into_array: bool = False,
    ) -> None:
        self.whole: Members = (1 << len(relations)) - 1
        self._relations = {1 << number: relation for number, relation in enumerate(relations)}
        self._result = kept
        self.nests = nests
        self._key = key
        self._is_made = is_made
        # By set its key, as a number, and whether a set with that key is made already.
        self._keys: dict[Members, tuple[int, bool]] = {}
        self._numbers: dict[Hashable, int] = {}
        self._fits = fits
        self._has_arrays = has_arrays
        self._occurrence = occurrence
        self._arrays: dict[Members, bool] = {self.whole: into_array}
        self._ways: dict[Members, Way] = {}
        self._linked: dict[Members, bool] = {}
        self._kept: dict[Members, int] = {}
        self._variables: dict[Members, int] = {0: 0}
        # The ways of sets that joining pairs came to, for those that are not searched.
        self._joined: dict[Members, Way] = {}
        # The work after which only ways that are known are taken.
        self._end = math.inf if len(relations) <= _EXACT else 0
        # The factors that are read as they are: no variable is summed over in one of them alone.
        self._plain = sum(one for one, each in self._relations.items() if each.variables == self.kept(one))

    def kept(self, members: Members) -> int:
        """Returns the variables of a set that the result or other factors have."""
        found = self._kept.get(members)
        if found is None:
            others = self._result | self.variables(self.whole & ~members)
            found = self._kept[members] = self.variables(members) & others
        return found

    def variables(self, members: Members) -> int:
        """Returns the variables of a set."""
        found = self._variables.get(members)
        if found is None:
            found = 0
            for one in bits_of(members):
                found |= self._relations[one].variables
            self._variables[members] = found
        return found

    def best(self, members: Members) -> Way:
        """Returns the cheapest way to compute a set."""
        found = self._ways.get(members)
        if found is None:
            if members in self._joined and self.nests.work >= self._end:
                return self._joined[members]
            found = self._ways[members] = self._searched(members)
        return found

    @cached_property
    def ranked(self) -> tuple[Way, ...]:
        """Returns the cheapest way for each choice of what the last loop nest of the product reads, cheapest first."""
        best = self.best(self.whole)
        first = self.in_one_nest(self.whole)
        beyond = first._replace(nanoseconds=math.inf)
        made = (self._choices(parts)[0] for parts in self._partitions(self.whole))
        found = [first, *(self._with_parts(beyond, self.whole, parts) for parts in made)]
        others = {way.made: way for way in found if way is not None and way.made != best.made}
        return (best, *sorted(others.values(), key=lambda way: way.nanoseconds))

    def take(self, rank: int) -> None:
        """Takes another way than the cheapest to compute the product, by its place among `ranked`."""
        self._ways[self.whole] = self.ranked[rank]

    def _searched(self, members: Members) -> Way:
        found = self.in_one_nest(members)
        if members == self.whole and members.bit_count() > _EXACT:
            self._join_pairs()
            joined = self._joined.get(members, found)
            found = joined if joined.nanoseconds < found.nanoseconds * _NOTICED else found
            if members.bit_count() > _HALVED:
                return self._cheaper(found, members, list(bits_of(members))) or found
            self._end = self.nests.work + _WORK
            self._find_small_sets()
        for parts in self._partitions(members):
            found = self._cheaper(found, members, parts) or found
        return self._refined(found, members)

    def _refined(self, found: Way, members: Members) -> Way:
        """Returns a way in which single factors are summed first, or are not, where that is cheaper."""
        if not members & (members - 1):
            return found
        for one in bits_of(members):
            if one in found.made:
                fewer = tuple(part for part in found.made if part != one)
                found = self._with_parts(found, members, fewer, _UNSUMMED) or found
            elif one & found.read and not self._is_read(one):
                found = self._with_parts(found, members, (*found.made, one)) or found
        return found

    def in_one_nest(self, members: Members) -> Way:
        """Returns the way without parts: one loop nest over all factors of a set."""
        operands = [self._relations[one] for one in bits_of(members)]
        nest = self.nests.exact(operands, self.kept(members), array=self.is_array(members))
        if not self.is_array(members) and self._fills_array(members, nest):
            nest = self.nests.exact(operands, self.kept(members), array=True)
        return self._way(members, members, (), operands, nest)

    def is_array(self, members: Members) -> bool:
        """Returns whether the result of a set is an array although loops could leave elements out, as far as known."""
        return self._arrays.get(members, False)

    def _fills_array(self, part: Members, nest: NestTime) -> bool:
        """Returns whether a part is an array, as its loops would fill most of one, and memory has room for that."""
        found = self._arrays.get(part)
        if found is None:
            kept = self.kept(part)
            space = self.nests.estimates.space(kept)
            fills = nest.entries > _FULL * space if nest.sparse else bool(nest.copied)
            full = self._has_arrays and fills
            found = self._arrays[part] = full and self._fits(EntrySet(kept, space, False, {}, {}))
        return found

    def _is_read(self, part: Members) -> bool:
        """Returns whether a part is a factor that is read as it is: no variable is summed over in it alone."""
        return not part & (part - 1) and bool(part & self._plain)

    def _cheaper(self, found: Way, members: Members, parts: Sequence[Members]) -> Way | None:
        """Returns the way with some parts, if it is cheaper than another.

        Single factors of which variables are summed over are parts, or they are read as they are.
        """
        everything, *others = self._choices(parts)
        better = self._with_parts(found, members, everything)
        for made in others:
            better = self._with_parts(better or found, members, made, _UNSUMMED) or better
        return better

    def _choices(self, parts: Sequence[Members]) -> list[tuple[Members, ...]]:
        """Returns which of some parts are made: all that are sums, and of few factors all but some single ones."""
        made = tuple([part for part in parts if not self._is_read(part)])
        fewer = without_some(made) if self.whole.bit_count() <= PARTITIONED else ()
        return [made, *(without_alike(fewer, self._alike) if self._alike else fewer)]

    def _with_parts(
        self, found: Way, members: Members, made: tuple[Members, ...], noticed: float = _NOTICED
    ) -> Way | None:
        """Returns the way in which some parts are made and other factors read, if it is cheaper than another."""
        self.nests.work += 1
        most, below, seen, again = found.nanoseconds * noticed, 0.0, 0, False
        sizes = {part.bit_count() for part in made}
        may_be_equal = len(sizes) < len(made) or self._is_made is not None
        for part in made:
            is_made = False
            if may_be_equal:
                number, is_made = self._keys.get(part) or self._numbered(part)
                if seen >> number & 1:
                    again = True
                    continue
                seen |= 1 << number
            way = self.best(part)
            below += 0.0 if is_made else way.nanoseconds
            if below >= most or not self._fits(way.result):
                return None
        read = members & ~sum(made)
        operands = [self._relations[one] for one in bits_of(read)]
        operands += self._results_of(made) if again else [self.best(part).result for part in made]
        nest = self.nests.of(operands, self.kept(members), most - below, array=self.is_array(members))
        if nest is None or below + nest.nanoseconds >= most:
            return None
        return self._way(members, read, made, operands, nest, below)

    def _results_of(self, made: tuple[Members, ...]) -> list[EntrySet]:
        """Returns the results of parts, one object where they are equal at the same variables."""
        if self._occurrence is None:
            return [self.best(part).result for part in made]
        found: dict[Hashable, EntrySet] = {}
        return [found.setdefault(self._occurrence(part), self.best(part).result) for part in made]

    def _numbered(self, part: Members) -> tuple[int, bool]:
        key = self._key(part)
        is_made = self._is_made is not None and self._is_made(key)
        found = self._keys[part] = self._numbers.setdefault(key, len(self._numbers)), is_made
        return found

    def _way(
        self,
        members: Members,
        read: Members,
        made: tuple[Members, ...],
        operands: Sequence[EntrySet],
        nest: NestTime,
        below: float = 0.0,
    ) -> Way:
        result = result_of(operands, self.kept(members), nest)
        return Way(below + nest.nanoseconds, result, read, made, nest.by_blas)

    # -- which parts ---------------------------------------------------------------------------------------------

    @cached_property
    def _alike(self) -> dict[Members, int]:
        """Returns by factor a number that it shares with those that may change places with it, if there are any."""
        return interchangeable(self._relations, self._result, self._key)

    def _partitions(self, members: Members) -> Iterator[Sequence[Members]]:
        found = self._all_partitions(members)
        return without_alike(found, self._alike) if self._alike else found

    def _all_partitions(self, members: Members) -> Iterator[Sequence[Members]]:
        singles = bits_of(members)
        if len(singles) == 1:
            return
        if members & ~self._plain:
            yield singles
        if len(singles) <= PARTITIONED:
            yield from self._set_partitions(singles)
        else:
            yield from self._halves_and_rests(singles)

    def _set_partitions(self, singles: Sequence[Members]) -> Iterator[Sequence[Members]]:
        for partition in PARTITIONS[len(singles)]:
            parts = [sum([singles[place] for place in part]) for part in partition]
            if all(map(self._is_part, parts)):
                yield parts

    def _halves_and_rests(self, singles: Sequence[Members]) -> Iterator[Sequence[Members]]:
        """Yields two parts, each made first, and one part that is made first with all others as they are."""
        members = sum(singles)
        for size in range(2, len(singles)):
            for chosen in itertools.combinations(singles, size):
                part = sum(chosen)
                if self._is_part(part):
                    rest = members ^ part
                    if rest & (rest - 1) and chosen[0] == singles[0] and self._is_part(rest):
                        yield [part, rest]
                    yield [part, *bits_of(rest)]

    def _is_part(self, part: Members) -> bool:
        """Returns whether a set may be a part: a factor, or some that variables link, if there is time to plan it."""
        if not part & (part - 1):
            return True
        return (self._linked.get(part) or self._is_linked(part)) and (
            part in self._ways or part in self._joined or self.nests.work < self._end
        )

    def _is_linked(self, members: Members) -> bool:
        """Returns whether variables link all factors of a set: a product of others is larger than both."""
        found = self._linked.get(members)
        if found is None:
            first, *left = (self._relations[one].variables for one in bits_of(members))
            reached = first
            while left:
                apart = [own for own in left if own and not own & reached]
                if len(apart) == len(left):
                    break
                for own in left:
                    reached |= own if not own or own & reached else 0
                left = apart
            found = self._linked[members] = not left
        return found

    # -- many factors --------------------------------------------------------------------------------------------

    def _join_pairs(self) -> None:
        """Finds a way for many factors: the cheapest pair of factors or parts is joined, until all are one."""
        left, found = list(bits_of(self.whole)), dict[Members, Way]()
        while len(left) > 1:
            pairs = [(a, b) for a, b in itertools.combinations(left, 2) if self._is_linked(a | b)]
            for a, b in pairs:
                if a | b not in found:
                    one_nest = self.in_one_nest(a | b)
                    found[a | b] = self._cheaper(one_nest, a | b, (a, b)) or one_nest
            if not pairs:
                break
            pair = min((a | b for a, b in pairs), key=lambda both: found[both].nanoseconds)
            self._joined[pair] = found[pair]
            left = [*(one for one in left if not one & pair), pair]

    def _find_small_sets(self) -> None:
        """Finds the ways of sets, of small ones first, which larger ones have as parts, while there is time."""
        singles = list(bits_of(self.whole))
        for size in range(2, len(singles)):
            for chosen in itertools.combinations(singles, size):
                if self.nests.work >= self._end:
                    return
                if self._is_linked(sum(chosen)):
                    self.best(sum(chosen))


def result_of(operands: Sequence[EntrySet], kept: int, nest: NestTime) -> EntrySet:
    """Returns the result of a loop nest as an operand of another.

    Args:
        operands: the operands of the nest.
        kept: the variables of its result.
        nest: what it takes.
    """
    operands = with_copies(operands, nest.copied)
    inherits = [one for one in operands if one.sparse and one.variables == kept]
    # Entries are those of an operand that has all variables, and so are their degrees.
    largest, squares = (inherits[0].largest, inherits[0].squares) if inherits else ({}, {})
    sparse = [one for one in operands if one.sparse] if nest.sparse else []
    order = order_left(sparse, kept) if sparse else None
    # Arrays beside it change its values, not where it has entries.
    pattern = sparse[0].pattern if inherits and len(sparse) == 1 else None
    return EntrySet(kept, nest.entries, nest.sparse, largest, squares, order, nest.most, pattern=pattern)
