"""A statement as parts that are made first and loops that read them: the way that a search found, written out."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from mlir_sparse.notation import Access, IndexVar, accesses_of
from mlir_sparse.plan.algebra.equal_parts import PartKey, key_of
from mlir_sparse.plan.algebra.estimates import EntrySet
from mlir_sparse.plan.algebra.normal_form import Factor, Opaque, ProductTerm, Sum, variables_of
from mlir_sparse.plan.algebra.part_store import PartStore
from mlir_sparse.plan.algebra.product_search import Members, ProductSearch

__all__ = ["Statement"]

Variables = frozenset[IndexVar]

# A factor is computed for all of its places beforehand if loops would compute it this many times as often.
_OFTEN = 2.0


class Statement(PartStore):
    """A statement for which parts are made.

    `written` is the time of the sums inside of functions, as they are written.
    """

    written = 0.0

    def nest(self, term: ProductTerm, kept: Variables) -> ProductTerm:
        """Returns a product as one loop nest takes it, after making its parts.

        Args:
            term: the product.
            kept: the variables of its result.
        """
        factors = self._closed(term, kept)
        scalars = tuple(factor for factor in factors if not variables_of(factor))
        others = tuple(factor for factor in factors if variables_of(factor))
        if not term.bound:  # loops over the result take all factors, each once for each of its elements
            return replace(term, factors=factors)
        search = self._search(others, kept)
        body = self._masked(self._nest_of(search, others, search.whole), kept)
        return ProductTerm((*scalars, *body.factors), body.bound, term.negative)

    def closed_sum(self, terms: tuple[ProductTerm, ...]) -> Access:
        """Returns a sum of products as a part that functions read."""
        self.written += sum(self.time_as_written(term, variables_of(term)) for term in terms)
        variables = frozenset[IndexVar]().union(*map(variables_of, terms))
        factor = self._sum(terms, variables)
        if isinstance(factor, Access):
            return factor
        return self.part([factor], variables, lambda: ((ProductTerm((factor,)),), self.array(variables)))

    def time_as_written(self, term: ProductTerm, kept: Variables) -> float:
        """Returns the time of a product in one loop nest, after one each for the sums in parentheses that it has."""
        inner = (each for factor in term.factors if isinstance(factor, Sum) for each in factor.terms)
        below = sum(self.time_as_written(each, variables_of(each)) for each in inner if each.bound)
        return below + self.time(term.factors, kept).nanoseconds

    # -- products ------------------------------------------------------------------------------------------------

    def _search(self, factors: Sequence[Factor], kept: Variables) -> ProductSearch:
        known: dict[Members, PartKey] = {}

        def key(members: Members) -> PartKey:
            if members not in known:
                known[members] = key_of([factors[one] for one in sorted(members)], search.kept(members))[0]
            return known[members]

        relations = [self.relation(factor) for factor in factors]
        search = ProductSearch(relations, kept, self.estimates, key, self.has, self.fits_alone)
        return search

    def _nest_of(self, search: ProductSearch, factors: Sequence[Factor], members: Members) -> ProductTerm:
        way, kept = search.best(members), search.kept(members)
        places: dict[int, Factor] = {min(part): self._part_of(search, factors, part) for part in way.made}
        places |= {one: factors[one] for one in way.read}
        body = tuple(places[one] for one in sorted(places))
        return ProductTerm(body, frozenset[IndexVar]().union(*map(variables_of, body)) - kept)

    def _part_of(self, search: ProductSearch, factors: Sequence[Factor], members: Members) -> Access:
        def make() -> tuple[tuple[ProductTerm, ...], EntrySet]:
            return (self._nest_of(search, factors, members),), search.best(members).result

        return self.part([factors[one] for one in sorted(members)], search.kept(members), make)

    def _masked(self, nest: ProductTerm, kept: Variables) -> ProductTerm:
        """Returns a nest with one matrix as the mask of the product of two others, which is a sparse part.

        Loops into a sparse result walk rows of the two and look the mask up, where those over a sum merge all three.
        """
        matrices = [
            f for f in nest.factors if isinstance(f, Access) and len(f.indices) == 2 and self.relation(f).sparse
        ]
        for mask, left, right in itertools.permutations(matrices, 3):
            (row, inner), (other, column) = left.indices, right.indices
            rest = tuple(f for f in nest.factors if f not in (mask, left, right))
            wanted = {row, column} == set(mask.indices) and not {row, column} <= kept
            if inner != other or inner in kept or not wanted or any(inner in variables_of(f) for f in rest):
                continue
            product = ProductTerm((mask, left, right), frozenset({inner}))
            result = replace(self.relation(mask), order=None)
            part = self.part(product.factors, variables_of(product), lambda: ((product,), result))  # noqa: B023
            return self._masked(ProductTerm((*rest, part), nest.bound - {inner}), kept)
        return nest

    # -- factors -------------------------------------------------------------------------------------------------

    def _closed(self, term: ProductTerm, kept: Variables) -> tuple[Factor, ...]:
        """Returns factors that one loop nest takes: functions and sums of arrays are made first where that pays."""
        factors = tuple(self._sum(f.terms, variables_of(f)) if isinstance(f, Sum) else f for f in term.factors)
        places = self.estimates.join(self.relations(factors))
        return tuple(self._hoisted(factor, places, kept) for factor in factors)

    def _hoisted(self, factor: Factor, places: float, kept: Variables) -> Factor:
        """Returns a function or a sum of arrays as a part, if loops would compute it more often than it has places."""
        variables = variables_of(factor)
        if isinstance(factor, Access) or not variables or variables <= kept or self.relation(factor).sparse:
            return factor
        if isinstance(factor, Opaque) and not accesses_of(factor.body):
            return factor
        if self.estimates.space(variables) * _OFTEN > places:
            return factor
        return self.part([factor], variables, lambda: ((ProductTerm((factor,)),), self.array(variables)))

    def _sum(self, terms: tuple[ProductTerm, ...], variables: Variables) -> Factor:
        """Returns a sum in parentheses: itself where it is one of arrays, else a part."""
        nests = tuple(self.nest(term, variables_of(term)) for term in terms)
        sparse = any(relation.sparse for term in nests for relation in self.relations(term.factors))
        if not sparse and not any(term.bound for term in nests):
            return Sum(nests)
        closed = tuple(self._without_sum(term) for term in nests)
        match closed:
            case (ProductTerm((Access() as whole,), negative=False),):
                return whole
        return self.part([Sum(closed)], variables, lambda: (closed, self._union(closed, variables)))

    def _union(self, terms: tuple[ProductTerm, ...], variables: Variables) -> EntrySet:
        """Returns what a sum of terms without sums is to estimates."""
        found = [self.relations(term.factors) for term in terms]
        covered = all(any(r.sparse and r.variables >= variables for r in each) for each in found)
        if len(variables) < 2 or not covered:
            return self.array(variables)
        space = self.estimates.space(variables)
        entries = min(space, sum(map(self.estimates.join, found)))
        most = min(space, sum(min(r.at_most for r in each if r.sparse and r.variables >= variables) for each in found))
        return EntrySet(variables, entries, True, {}, {}, most=most)

    def _without_sum(self, term: ProductTerm) -> ProductTerm:
        """Returns a term without variables that are summed over, which a part has summed."""
        if not term.bound:
            return term
        kept = variables_of(term)

        def make() -> tuple[tuple[ProductTerm, ...], EntrySet]:
            made = self.time(term.factors, kept)
            return (replace(term, negative=False),), EntrySet(kept, made.entries, made.sparse, {}, {}, most=made.most)

        return ProductTerm((self.part(term.factors, kept, make),), frozenset(), term.negative)
