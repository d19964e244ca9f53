"""How many places a join of tensors has, from sketches.

Entries are taken to be spread evenly and independently, corrected where two sparse tensors share a variable: there the
norms of their degrees say how many pairs of entries meet, exactly for a tensor with itself, and at most otherwise. No
estimate exceeds the bound by largest degrees (Deeds et al. 2025, section 5).

A variable is a bit, and a set of variables a number with their bits: a search asks for thousands of such sets.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from mlir_sparse.classes import dataclass
from mlir_sparse.notation import IndexVar
from mlir_sparse.plan.algebra.entry_patterns import EntryPattern, chance_of_cycles, chance_together

__all__ = ["EntrySet", "Estimates", "bits_of", "repeated", "union"]

# The bits of a set of variables.
Variables = int

# The largest logarithm of a float, nearly.
_GREATEST = 700.0


# Equal only to itself: a search asks for the same few again and again. Nothing changes one, but frozen ones take seven
# times as long to make.
@dataclass(slots=True, eq=False)
class EntrySet:
    """What a factor of a product is to its estimates: a set of entries over some variables.

    Args:
        variables: the variables.
        entries: how many entries there are, known or estimated.
        sparse: whether loops walk its entries; they look an array up.
        largest: by variable, the most entries that one coordinate of it has, where that is known.
        squares: the sum of the squares of these numbers over all coordinates, likewise.
        order: the variables of its levels, or of an array's dimensions, outermost first; None where storage is free to
            choose.
        most: the most entries that there can be; None where the number is known.
        in_memory: whether it is a tensor or a part, not an expression that loops compute.
        pattern: where a square matrix has entries, if that is known.
        source: the name of the tensor that it is an access of, and the variables of that, if it is one.
    """

    variables: Variables
    entries: float
    sparse: bool
    largest: Mapping[int, float]
    squares: Mapping[int, float]
    order: tuple[int, ...] | None = None
    most: float | None = None
    in_memory: bool = True
    pattern: EntryPattern | None = None
    source: tuple[str, tuple[int, ...]] | None = None

    @property
    def at_most(self) -> float:
        """Returns the most entries that there can be."""
        return self.entries if self.most is None else self.most

    def over(self, variables: Variables, often: float) -> EntrySet:
        """Returns these entries at each place of more variables, of which there are so many."""
        if variables == self.variables:
            return self
        return EntrySet(
            variables,
            self.entries * often,
            self.sparse,
            {v: number * often for v, number in self.largest.items()},
            {v: number * often**2 for v, number in self.squares.items()},
            self.order,
            None if self.most is None else self.most * often,
            self.in_memory,
            self.pattern,
            self.source,
        )

    def at(self, own: tuple[int, ...], variables: tuple[int, ...]) -> EntrySet:
        """Returns these entries at other variables than their own."""
        if own == variables:
            return self
        names = dict(zip(own, variables, strict=True))
        largest = {names[v]: number for v, number in self.largest.items()}
        squares = {names[v]: number for v, number in self.squares.items()}
        order = None if self.order is None else tuple(names[v] for v in self.order)
        return EntrySet(sum(variables), self.entries, self.sparse, largest, squares, order, self.most)


class Estimates:
    """Estimates for variables of given extents, which get their bits in the order in which they are asked for.

    Args:
        extents: the extent of each variable; there may be more later.
    """

    def __init__(self, extents: Mapping[IndexVar, float]) -> None:
        self._extents = extents
        self._bits: dict[IndexVar, int] = {}
        self._spaces: dict[Variables, float] = {0: 1.0}
        self._met: dict[tuple[EntrySet, ...], tuple[float, float]] = {}
        self._degrees: dict[tuple[EntrySet, int], tuple[float, float, float]] = {}

    # -- sets of variables ---------------------------------------------------------------------------------------

    def bit(self, variable: IndexVar) -> int:
        """Returns the bit of a variable."""
        found = self._bits.get(variable)
        if found is None:
            found = self._bits[variable] = 1 << len(self._bits)
            self._spaces[found] = self._extents[variable]
        return found

    def bits(self, variables: Collection[IndexVar]) -> Variables:
        """Returns a set of variables as a number."""
        found, known = 0, self._bits
        for variable in variables:
            bit = known.get(variable)
            if bit is None:  # sets have no order: bits, and so plans, would differ from process to process
                return sum({self.bit(each) for each in sorted(variables, key=lambda each: each.name)})
            found |= bit
        return found

    def variables(self, bits: Variables) -> frozenset[IndexVar]:
        """Returns the variables of a set."""
        return frozenset(variable for variable, bit in self._bits.items() if bit & bits)

    def space(self, variables: Variables) -> float:
        """Returns how many places an array over some variables has."""
        try:
            return self._spaces[variables]
        except KeyError:
            first = variables & -variables
            found = self._spaces[variables] = self._spaces[first] * self.space(variables ^ first)
            return found

    # -- joins ---------------------------------------------------------------------------------------------------

    def join(self, relations: Sequence[EntrySet]) -> float:
        """Returns at how many places all relations have an entry."""
        sparse = [relation for relation in relations if relation.sparse]
        return self.meet(sparse)[0] * self.space(union(relations) & ~union(sparse))

    def meet(self, sparse: Sequence[EntrySet]) -> tuple[float, float]:
        """Returns at how many places some sparse relations have an entry, and the most that there can be."""
        key = tuple(sparse)
        found = self._met.get(key)
        if found is None:
            found = self._met[key] = self._meeting(sparse)
        return found

    def _meeting(self, sparse: Sequence[EntrySet]) -> tuple[float, float]:
        sparse = _together(sparse) if len(sparse) > 1 else sparse
        variables = union(sparse)
        found, alone = self.space(variables), 0
        for relation in sparse:
            own = relation.variables
            space = self.space(own)
            if relation.entries < space or not space:
                found *= relation.entries / space if space else 0.0
            if not own & (own - 1):
                alone |= own
        most = self._bound(sparse, variables)
        if len(sparse) > 1:
            found *= self._skew(sparse, variables & ~alone)
        if len(sparse) > 2:
            found = self._in_cycles(found, sparse)
        return min(found, most), most

    def _in_cycles(self, places: float, sparse: Sequence[EntrySet]) -> float:
        """Returns at how many places matrices have entries, of which some may close circles with others."""
        patterns = [relation.pattern for relation in sparse if relation.pattern]
        if len(patterns) < 3:
            return places
        often, closing = chance_of_cycles(patterns)
        if not closing:
            return places
        return min(places * often, self.meet([relation for relation in sparse if relation.pattern not in closing])[0])

    def prefix(self, relations: Sequence[EntrySet], variables: Variables) -> float:
        """Returns how many places of some variables are left by the relations, each projected onto them."""
        found, several, spaces = self.space(variables), [], self._spaces
        for relation in relations:
            shared = relation.variables & variables
            if shared:
                space = spaces.get(shared) or self.space(shared)
                if relation.entries < space or not space:
                    found *= relation.entries / space if space else 0.0
                if shared & (shared - 1):
                    several.append(relation)
        return found * self._skew(several, variables) if len(several) > 1 else found

    def projected(self, places: float, variables: Variables) -> float:
        """Returns how many different places of some variables there are, of places over more."""
        space = self.space(variables)
        return min(places, space * -math.expm1(-places / space)) if space else 0.0

    def entries_of_sum(self, sparse: Sequence[EntrySet], places: float, kept: Variables) -> float:
        """Returns how many entries a sum has of products at some places.

        Args:
            sparse: the relations that meet there.
            places: at how many places they do.
            kept: the variables of the result.
        """
        for one, other in itertools.combinations(sparse, 2):
            share = _share_with_itself(one, other, kept)
            if share:
                # Each entry meets itself: on the diagonal, which has few places.
                diagonal = self.projected(places * share, kept & ~(one.variables & ~other.variables))
                return min(self.space(kept), diagonal + self.projected(places * (1 - share), kept))
        return self.projected(places, kept)

    def _skew(self, relations: Sequence[EntrySet], variables: Variables) -> float:
        """Returns how many times more pairs meet than if entries were spread evenly."""
        found = 1.0
        for variable in bits_of(variables & repeated(relations)):
            meeting, extent = [r for r in relations if r.squares.get(variable)], self._spaces[variable]
            if len(meeting) < 2 or not extent or not all(relation.entries for relation in meeting):
                continue
            # By logarithms: products of many numbers may leave the range of floats.
            gain = self._gain(meeting, variable, extent)
            if gain > 0.0:
                found *= math.exp(min(_GREATEST, gain))
        return found

    def _gain(self, meeting: Sequence[EntrySet], variable: int, extent: float) -> float:
        """Returns the logarithm of how many times more tuples of entries meet than if entries were spread evenly.

        No sum over products of degrees exceeds the geometric mean of the sums of their powers (Hoelder's inequality).
        The sum of squares is known; of other powers a number between the bounds that squares and the largest degree
        give.
        """
        count, found = len(meeting), -math.log(extent)
        for relation in meeting:
            logarithms = self._degrees.get((relation, variable))
            if logarithms is None:
                logarithms = self._degrees[relation, variable] = _logarithms(relation, variable, extent)
            squares, mean, power = logarithms
            found += (squares + (count - 2) * power) / count - mean
        return found

    def _bound(self, relations: Sequence[EntrySet], variables: Variables) -> float:
        """Returns the most places there can be: entries of one relation, times degrees of those joined to it."""
        best = math.inf
        for first in relations:
            places, reached = first.entries if first.most is None else first.most, first.variables
            left = [relation for relation in relations if relation is not first] if len(relations) > 1 else []
            while left and places < best:
                factor, other = _least_factor(left, reached)
                if other is None:
                    break
                places *= factor
                reached |= other.variables
                left.remove(other)
            if places < best:
                best = min(best, places * self.space(variables & ~reached))
        return best


@lru_cache(maxsize=4096)
def bits_of(variables: Variables) -> tuple[int, ...]:
    """Returns the variables of a set.

    >>> bits_of(0b1101)
    (1, 4, 8)
    """
    return tuple(1 << place for place in range(variables.bit_length()) if variables >> place & 1)


def union(relations: Iterable[EntrySet]) -> Variables:
    """Returns the variables of some relations."""
    found = 0
    for relation in relations:
        found |= relation.variables
    return found


def _logarithms(relation: EntrySet, variable: int, extent: float) -> tuple[float, float, float]:
    """Returns the logarithms of the sum of squared degrees, of their mean, and of what another power multiplies."""
    squares, mean = math.log(relation.squares[variable]), math.log(relation.entries / extent)
    most = math.log(max(relation.largest[variable], 1.0))
    least = squares - math.log(relation.entries)
    return squares, mean, (most + least) / 2


def _share_with_itself(one: EntrySet, other: EntrySet, kept: Variables) -> float:
    """Returns the share of pairs of two accesses that are an entry with itself, as in `A(i,j) * A(i,k)`; else 0."""
    if one.source is None or other.source is None or one.source[0] != other.source[0]:
        return 0.0
    places = list(zip(one.source[1], other.source[1], strict=True))
    shared, apart = [a for a, b in places if a == b], [a | b for a, b in places if a != b]
    if len(shared) != 1 or len(apart) != 1 or apart[0] & ~kept or not (squares := one.squares.get(shared[0])):
        return 0.0
    return min(1.0, one.entries / squares)


def _together(sparse: Sequence[EntrySet]) -> Sequence[EntrySet]:
    """Returns relations with one in place of two matrices over the same variables: where both have entries."""
    patterned = [relation for relation in sparse if relation.pattern]
    for one, other in itertools.combinations(patterned, 2) if len(patterned) > 1 else ():
        if one.variables == other.variables and one.pattern and other.pattern:
            share = chance_together(one.pattern, other.pattern)
            rest = [relation for relation in sparse if relation is not one and relation is not other]
            return _together([*rest, _part_of(one, share)])
    return sparse


def _part_of(relation: EntrySet, share: float) -> EntrySet:
    """Returns a share of the entries of a relation."""
    squares = {v: number * share**2 for v, number in relation.squares.items()}
    return replace(relation, entries=relation.entries * share, squares=squares, most=relation.at_most)


def repeated(relations: Iterable[EntrySet]) -> Variables:
    """Returns the variables that more than one relation has."""
    once, again = 0, 0
    for relation in relations:
        again |= once & relation.variables
        once |= relation.variables
    return again


def _least_factor(left: Sequence[EntrySet], reached: Variables) -> tuple[float, EntrySet | None]:
    """Returns how many times more places there are at most with one relation more, and which; that is first 1."""
    linked = None
    for relation in left:
        variables = relation.variables
        if not variables & ~reached:
            return 1.0, relation
        if linked is None and relation.largest:
            degrees = [d for v in bits_of(variables & reached) if (d := relation.largest.get(v))]
            linked = (min(degrees), relation) if degrees else None
    return linked or (1.0, None)
