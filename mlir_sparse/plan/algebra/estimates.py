"""How many places a join of tensors has, from sketches.

Entries are taken to be spread evenly and independently, corrected where two sparse tensors share a variable: there the
norms of their degrees say how many pairs of entries meet, exactly for a tensor with itself, and at most otherwise. No
estimate exceeds the bound by largest degrees (Deeds et al. 2025, section 5).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mlir_sparse.notation import IndexVar

__all__ = ["EntrySet", "Estimates", "can_be_met"]

Variables = frozenset[IndexVar]


@dataclass(frozen=True, slots=True)
class EntrySet:
    """What a factor of a product is to its estimates: a set of entries over some variables.

    Args:
        variables: the variables.
        entries: how many entries there are, known or estimated.
        sparse: whether loops walk its entries; they look an array up.
        largest: the most entries that one coordinate of a variable has, where that is known.
        squares: the sum of the squares of these numbers over all coordinates, likewise.
        order: the variables of its levels, outermost first; None where storage is free to choose.
        most: the most entries that there can be; None where the number is known.
    """

    variables: Variables
    entries: float
    sparse: bool
    largest: Mapping[IndexVar, float]
    squares: Mapping[IndexVar, float]
    order: tuple[IndexVar, ...] | None = None
    most: float | None = None

    @property
    def at_most(self) -> float:
        """Returns the most entries that there can be."""
        return self.entries if self.most is None else self.most


@dataclass(frozen=True, slots=True)
class Estimates:
    """Estimates for variables of given extents.

    Args:
        extents: the extent of each variable.
    """

    extents: Mapping[IndexVar, float]

    def space(self, variables: Iterable[IndexVar]) -> float:
        """Returns how many places an array over some variables has."""
        return math.prod(self.extents[variable] for variable in variables)

    def join(self, relations: Sequence[EntrySet]) -> float:
        """Returns at how many places all relations have an entry."""
        sparse = [relation for relation in relations if relation.sparse]
        variables = _union(relations)
        found = self.space(variables)
        for relation in sparse:
            found *= self._density(relation.entries, relation.variables)
        found *= self._skew(
            sparse, variables, frozenset(v for r in sparse if len(r.variables) < 2 for v in r.variables)
        )
        return min(found, self.bound(sparse, variables))

    def prefix(self, relations: Sequence[EntrySet], variables: Variables) -> float:
        """Returns how many places of some variables are left by the relations, each projected onto them."""
        found, several = self.space(variables), []
        for relation in relations:
            shared = relation.variables & variables
            if shared:
                found *= self._density(min(relation.entries, self.space(shared)), shared)
                several += [relation] if len(shared) > 1 else []
        return found * self._skew(several, variables)

    def steps(self, relations: Sequence[EntrySet], kept: Variables = frozenset()) -> float:
        """Returns the steps of loops over sparse relations, over all depths, in a good order that levels allow.

        Where rows of two relations meet, loops walk both: they take as many steps as both have entries.

        Args:
            relations: what the loops go over.
            kept: the variables of a sparse result, if there is one. A relation over just these is its mask, which is
                scattered and looked up.
        """
        variables = _union(relations)
        after = _predecessors([r.order for r in relations if r.order and len(r.order) > 1], variables)
        known: dict[Variables, float] = {}

        def places(chosen: Variables) -> float:
            if chosen not in known:
                known[chosen] = self.prefix(relations, chosen)
            return known[chosen]

        def trips(chosen: Variables, variable: IndexVar) -> float:
            rows = [r for r in relations if variable in r.variables and r.variables & chosen and r.variables != kept]
            if len(rows) < 2:
                return places(chosen | {variable})
            return places(chosen) * sum(self._degree(row, chosen) for row in rows)

        best = math.inf
        for first in sorted(variables, key=str):
            if after[first]:
                continue
            chosen, total = frozenset({first}), places(frozenset({first}))
            while len(chosen) < len(variables) and total < best:
                ready = sorted(_next(relations, variables, chosen, after), key=str)
                variable = min(ready, key=lambda v: trips(chosen, v))
                total += trips(chosen, variable)
                chosen |= {variable}
            best = min(best, total)
        return best

    def _degree(self, relation: EntrySet, chosen: Variables) -> float:
        """Returns how many entries a relation has at one place of some variables, for entries that meet it."""
        shared = relation.variables & chosen
        known = [relation.squares[v] for v in shared if relation.squares.get(v)]
        if len(shared) == 1 and known and relation.entries:
            return known[0] / relation.entries
        rows = min(relation.entries, self.space(shared))
        return relation.entries / rows if rows else 0.0

    def projected(self, places: float, variables: Variables) -> float:
        """Returns how many different places of some variables there are, of places over more."""
        space = self.space(variables)
        return min(places, space * -math.expm1(-places / space)) if space else 0.0

    def _density(self, entries: float, variables: Variables) -> float:
        space = self.space(variables)
        return min(1.0, entries / space) if space else 0.0

    def _skew(self, relations: Sequence[EntrySet], variables: Variables, but: Variables = frozenset()) -> float:
        """Returns how many times more pairs meet than if entries were spread evenly."""
        found = 1.0
        for variable in variables - but:
            meeting = [r for r in relations if variable in r.variables and r.squares.get(variable)]
            if len(meeting) < 2:
                continue
            # Cauchy and Schwarz; each relation beyond two adds a degree for each pair, at most its largest.
            count = len(meeting)
            pairs = math.sqrt(math.prod(r.squares[variable] for r in meeting))
            if count > 2:
                pairs *= math.prod(max(r.largest[variable], 1.0) for r in meeting) ** ((count - 2) / count)
            even = math.prod(r.entries for r in meeting) / self.extents[variable] ** (count - 1)
            found *= max(1.0, pairs / even) if even else 1.0
        return found

    def bound(self, relations: Sequence[EntrySet], variables: Variables) -> float:
        """Returns the most places there can be: entries of one relation, times degrees of those joined to it."""
        best = math.inf
        for first in relations:
            places, reached = first.at_most, first.variables
            left = [relation for relation in relations if relation is not first]
            while left:
                inside = [r for r in left if r.variables <= reached]
                linked = [r for r in left if any(v in reached and r.largest.get(v) for v in r.variables)]
                if not inside and not linked:
                    break
                other = (inside or linked)[0]
                if not inside:
                    places *= min(other.largest[v] for v in other.variables & reached if other.largest.get(v))
                reached |= other.variables
                left.remove(other)
            best = min(best, places * self.space(variables - reached))
        return best


def _union(relations: Iterable[EntrySet]) -> Variables:
    return frozenset[IndexVar]().union(*(relation.variables for relation in relations))


def _predecessors(orders: Sequence[tuple[IndexVar, ...]], variables: Variables) -> dict[IndexVar, frozenset[IndexVar]]:
    """Returns which variables come before each; none where the orders contradict each other."""
    before: dict[IndexVar, set[IndexVar]] = {variable: set() for variable in variables}
    if can_be_met(orders):
        for order in orders:
            for outer, inner in itertools.pairwise(order):
                before[inner].add(outer)
    return {variable: frozenset(outer) for variable, outer in before.items()}


def can_be_met(orders: Iterable[tuple[IndexVar, ...]]) -> bool:
    """Returns whether one order of loops follows several orders of levels."""
    edges = {pair for order in orders for pair in itertools.pairwise(order)}
    left = {variable for pair in edges for variable in pair}
    while left:
        free = {variable for variable in left if not any(b == variable and a in left for a, b in edges)}
        if not free:
            return False
        left -= free
    return True


def _next(
    relations: Sequence[EntrySet], variables: Variables, chosen: Variables, after: Mapping[IndexVar, Variables]
) -> Variables:
    """Returns which variables a loop may be over next: those that a relation links to the ones before, if any."""
    linked = frozenset(v for r in relations if r.variables & chosen for v in r.variables) - chosen or variables - chosen
    ready = frozenset(v for v in linked if after[v] <= chosen)
    return ready or frozenset(v for v in variables - chosen if after[v] <= chosen) or variables - chosen
