"""The cheapest way to compute one product: which of its factors make a part that is computed first.

Dynamic programming over sets of factors, as orders of joins are found in databases (Selinger et al. 1979). Of each set
it knows the cheapest loop nest over factors and over parts that are sets themselves. Sets that are equal up to the
names of variables are made once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import NamedTuple

from mlir_sparse.plan.algebra.estimates import EntrySet, bits_of
from mlir_sparse.plan.algebra.factor_partitions import PARTITIONED
from mlir_sparse.plan.algebra.factor_sets import Members
from mlir_sparse.plan.algebra.late_sums import LateParts, late_sums, least_of_loops
from mlir_sparse.plan.algebra.loop_times import NestTime
from mlir_sparse.plan.algebra.nest_results import result_of
from mlir_sparse.plan.algebra.nest_times import NestTimes
from mlir_sparse.plan.algebra.product_parts import ProductParts

__all__ = ["Members", "ProductSearch", "Way"]

# Up to PARTITIONED factors all partitions are tried, and whether each factor is summed first; beyond, pairs of parts,
# and one part with all others as they are. Up to the first number of factors no such way is left out. Beyond, pairs are
# joined first; then sets are searched up to the second number of factors, as long as no more ways than the third number
# are looked at.
_EXACT, _HALVED, _WORK = 6, 9, 1000
# After so many ways no sum is done later than it could be that was not looked at before.
_LATE = 300
# From this share of its elements on a part is an array.
_FULL = 0.25
# A plan must be so much cheaper than another to be taken in its place: estimates are no better.
_NOTICED = 0.999
# The same where a factor is summed in the loops that read it, which take longer than by estimate if anything.
_UNSUMMED = 0.95
# The same where a sum is done later than it could be: such plans were slower than others on data if they took from a
# half to 0.8 of their time by estimate.
_LATER = 0.5
# Ways that take so many times as long as a part may take have no say in which of them is taken.
_BEYOND = 1 / _UNSUMMED


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


class ProductSearch(ProductParts):
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
        super().__init__(relations, kept, key)
        self.nests = nests
        self._is_made = is_made
        # By set its key, as a number, and whether a set with that key is made already.
        self._keys: dict[Members, tuple[int, bool]] = {}
        self._numbers: dict[Hashable, int] = {}
        self._fits = fits
        self._has_arrays = has_arrays
        self._occurrence = occurrence
        self._arrays: dict[Members, bool] = {self.whole: into_array}
        self._ways: dict[Members, Way] = {}
        # By set a time that its cheapest way takes longer than.
        self._exceeded: dict[Members, float] = {}
        # By set those that are summed later; the least time of ways in which none is, once that is known.
        self._later: dict[Members, LateParts] = {}
        self._least = 0.0
        # The ways of sets that joining pairs came to, for those that are not searched.
        self._joined: dict[Members, Way] = {}
        # The work after which only ways that are known are taken.
        self._end = math.inf if len(relations) <= _EXACT else 0

    def best(self, members: Members) -> Way:
        """Returns the cheapest way to compute a set."""
        found = self._ways.get(members)
        if found is None:
            if members in self._joined and self.nests.work >= self._end:
                return self._joined[members]
            found = self._ways[members] = self._searched(members)
        return found

    def _best_within(self, members: Members, most: float) -> Way | None:
        """Returns the cheapest way to compute a set; None where that takes longer than a time."""
        found = self._ways.get(members)
        if found is None:
            if self._count > _EXACT:  # what is left out changes for how much there is time
                return self.best(members)
            if most <= self._exceeded.get(members, 0.0):
                return None
            found = self._searched(members, most * _BEYOND)
            if found.nanoseconds > most:
                self._exceeded[members] = most
                return None
            self._ways[members] = found
        return found

    @cached_property
    def ranked(self) -> tuple[Way, ...]:
        """Returns the cheapest way for each choice of what the last loop nest of the product reads, cheapest first."""
        best = self.best(self.whole)
        first = self.in_one_nest(self.whole)
        beyond = first._replace(nanoseconds=math.inf)
        made = (self.choices(parts)[0] for parts in self.partitions(self.whole))
        found = [first, *(self._with_parts(beyond, self.whole, parts) for parts in made)]
        others = {way.made: way for way in found if way is not None and way.made != best.made}
        return (best, *sorted(others.values(), key=lambda way: way.nanoseconds))

    def take(self, rank: int) -> None:
        """Takes another way than the cheapest to compute the product, by its place among `ranked`."""
        self._ways[self.whole] = self.ranked[rank]

    def _searched(self, members: Members, most: float = math.inf) -> Way:
        """Returns the cheapest way to compute a set, or one that takes a time or longer where all do."""
        found = self._summed_early(members, most)
        if members == self.whole and self._count <= PARTITIONED:
            return self._summed_later(found)
        return self._with_late_sums(found, members) if self._least else found

    def _summed_early(self, members: Members, most: float) -> Way:
        """Returns the cheapest way in which each part of the set is summed as far as it can be."""
        found = self.in_one_nest(members, most)
        if members == self.whole and members.bit_count() > _EXACT:
            self._join_pairs()
            joined = self._joined.get(members, found)
            found = joined if joined.nanoseconds < found.nanoseconds * _NOTICED else found
            if members.bit_count() > _HALVED:
                return self._cheaper(found, members, list(bits_of(members))) or found
            self._end = self.nests.work + _WORK
            self._find_small_sets()
        return self._in_parts(found, members)

    def _in_parts(self, found: Way, members: Members) -> Way:
        """Returns a way in which some sets are parts, where that is cheaper."""
        for parts in self.partitions(members):
            found = self._cheaper(found, members, parts) or found
        return self._refined(found, members)

    def _summed_later(self, early: Way) -> Way:
        """Returns a way in which parts are summed later than they could be, where that takes so much less.

        The best way in which none is says which are worth a look; sets without such a part keep the ways that they
        have.
        """
        self._least, ways = early.nanoseconds, {**self._ways, self.whole: early}
        known = sorted(ways | self._exceeded, key=int.bit_count)
        self._later = {part: self._later_than(part, ways.get(part)) for part in known}
        self._least *= any(self._later.values())
        if not self._least:
            return early
        self._end, found, again = self.nests.work + _LATE, early, False
        self._exceeded.clear()
        for members in known:
            if (way := ways.get(members)) is None:
                again |= self._best_within(members, self._least * _LATER) is not None
            else:
                found = self._in_parts(way, members) if again else way
                found = self._ways[members] = self._with_late_sums(found, members)
                again |= found is not way
        if found.nanoseconds < early.nanoseconds * _LATER:
            return found
        self._ways |= ways
        return early

    def _refined(self, found: Way, members: Members) -> Way:
        """Returns a way in which single factors are summed first, or are not, where that is cheaper."""
        factors, late = members & self.whole, self.late(members)
        if not factors & (factors - 1):
            return found
        for factor in bits_of(factors):
            one = self.keeping(factor, late)
            if one in found.made:
                fewer = tuple(part for part in found.made if part != one)
                found = self._with_parts(found, members, fewer, _UNSUMMED) or found
            elif factor & found.read and not self.is_read(one):
                found = self._with_parts(found, members, (*found.made, one)) or found
        return found

    def in_one_nest(self, members: Members, most: float = math.inf) -> Way:
        """Returns the way without parts, one loop nest over all factors of a set, or one that takes a time."""
        operands, kept = self.relations_of(members), self.kept(members)
        decides = self._decides_storage(members)
        nest = self.nests.of(operands, kept, math.inf if decides else most, array=self.is_array(members))
        if nest is None:
            return Way(most, operands[0], members & self.whole)
        if decides and self._fills_array(members, nest):
            nest = self.nests.exact(operands, kept, array=True)
        return self._way(members, members & self.whole, (), operands, nest)

    def is_array(self, members: Members) -> bool:
        """Returns whether the result of a set is an array although loops could leave elements out, as far as known."""
        return self._arrays.get(members, False)

    def _decides_storage(self, part: Members) -> bool:
        """Returns whether what its loops fill decides if a part is an array: it may be one, and memory has room."""
        kept = self.kept(part)
        if part in self._arrays or not kept & (kept - 1):  # results over one variable are arrays anyway
            return False
        space = self.nests.estimates.space(kept)
        if self._has_arrays and self._fits(EntrySet(kept, space, False, {}, {})):
            return True
        self._arrays[part] = False
        return False

    def _fills_array(self, part: Members, nest: NestTime) -> bool:
        """Returns whether a part is an array, as its loops would fill most of one."""
        space = self.nests.estimates.space(self.kept(part))
        found = self._arrays[part] = nest.entries > _FULL * space if nest.sparse else bool(nest.copied)
        return found

    def _cheaper(self, found: Way, members: Members, parts: Sequence[Members]) -> Way | None:
        """Returns the way with some parts, if it is cheaper than another.

        Single factors of which variables are summed over are parts, or they are read as they are.
        """
        everything, *others = self.choices(parts, self.late(members))
        better = self._with_parts(found, members, everything)
        for made in others:
            better = self._with_parts(better or found, members, made, _UNSUMMED) or better
        return better

    def _with_late_sums(self, found: Way, members: Members) -> Way:
        """Returns a way in which one of the parts, or the product, is summed later, where that is cheaper."""
        seen, noticed = set[int](), _LATER
        for later, least in self._later_than(members, found, alone=True):
            number = (self._keys.get(later) or self._numbered(later))[0]
            if number not in seen and least < found.nanoseconds * noticed:
                better = self._with_parts(found, members, (later,), noticed)
                found, noticed = (better, _NOTICED) if better else (found, noticed)
            seen.add(number)
        for parts in self.partitions(members):
            for made in self.choices(parts, self.late(members)):
                for place, part in enumerate(made):
                    others = made[:place] + made[place + 1 :]
                    for later, least in self._later_parts(part) if self.nests.work < self._end else ():
                        if self._all_within(others, found.nanoseconds * noticed - least):
                            better = self._with_parts(found, members, (*others, later), noticed)
                            found, noticed = (better, _NOTICED) if better else (found, noticed)
        return found

    def _all_within(self, parts: Sequence[Members], most: float) -> bool:
        """Returns whether some parts take less than a time together, each for itself."""
        for part in parts:
            way = self._best_within(part, most)
            most -= math.inf if way is None else way.nanoseconds
        return most > 0

    def _later_parts(self, part: Members) -> LateParts:
        if part not in self._later:
            self._later[part] = self._later_than(part, self._best_within(part, self._least * _LATER))
        return self._later[part]

    def _later_than(self, part: Members, way: Way | None, *, alone: bool = False) -> LateParts:
        """Returns a set with variables that are summed later, where plans may take less time than a way to compute it.

        Such a part saves time itself, or what reads it does, as it has fewer entries than an array has elements. No
        way is known of what takes too long.
        """
        kept = self.kept(part)
        summed = self.variables(part) & ~kept
        if not summed:
            return ()
        alone |= part == self.whole
        relations, space = self.relations_of(part), self.nests.estimates.space(kept)
        takes = self._exceeded.get(part, 0.0) if way is None else way.nanoseconds
        most, is_array = self._least if way is None else min(takes, self._least), way is None or not way.result.sparse
        if least_of_loops(relations, takes, space if kept and is_array else 0.0, self.nests) >= self._least * _LATER:
            return ()
        elements, gains = space if is_array and not alone else 0.0, 1 - _LATER
        late = late_sums(relations, kept, summed, self.nests, most, self._least, gains, alone=alone, elements=elements)
        return tuple([(self.keeping(part, one.variables & ~kept), least) for one, least in late if self._fits(one)])

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
            way = self.best(part) if is_made else self._best_within(part, most - below)
            if way is None or not self._fits(way.result):
                return None
            below += 0.0 if is_made else way.nanoseconds
            if below >= most:
                return None
        read = members & self.whole
        for part in made:
            read &= ~part
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

    def is_part(self, part: Members) -> bool:
        """Returns whether a set may be a part: a factor, or some that variables link, if there is time to plan it."""
        if not part & (part - 1):
            return True
        return (self._linked.get(part) or self.is_linked(part)) and (
            part in self._ways or part in self._joined or self.nests.work < self._end
        )

    # -- many factors --------------------------------------------------------------------------------------------

    def _join_pairs(self) -> None:
        """Finds a way for many factors: the cheapest pair of factors or parts is joined, until all are one."""
        left, found = list(bits_of(self.whole)), dict[Members, Way]()
        while len(left) > 1:
            pairs = [(a, b) for a, b in itertools.combinations(left, 2) if self.is_linked(a | b)]
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
        for members in self.linked_sets():
            if self.nests.work >= self._end:
                return
            self.best(members)
