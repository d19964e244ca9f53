"""A statement as parts that are made first and loops that read them: the way that a search found, written out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeGuard

from mlir_sparse._search import CopiedOperand, EntrySet, Mask
from mlir_sparse.dtypes import DType
from mlir_sparse.notation import Access, IndexVar, accesses_of
from mlir_sparse.plan.algebra.algebra_rules import ASSOCIATE, COPY, HOIST, IN_PLACE, KEEP_MASK, PUSH_SUMS
from mlir_sparse.plan.algebra.equal_parts import PartKey, key_of, name_of
from mlir_sparse.plan.algebra.estimates import MOST_BITS, bits_of, union
from mlir_sparse.plan.algebra.masked_functions import without_known_masks
from mlir_sparse.plan.algebra.mixed_sums import with_sums_made
from mlir_sparse.plan.algebra.normal_form import (
    NO_VARIABLES,
    Computed,
    Factor,
    NoNormalFormError,
    Opaque,
    ProductTerm,
    Sum,
    expression_of,
    variables_of,
)
from mlir_sparse.plan.algebra.part_loops import PartLoops
from mlir_sparse.plan.algebra.part_store import PartStore
from mlir_sparse.plan.algebra.product_search import Members, ProductSearch
from mlir_sparse.plan.algebra.tensor_facts import levels_of

__all__ = ["Statement"]

Variables = frozenset[IndexVar]

# A factor is computed for all of its places beforehand if loops would compute it this many times as often.
_OFTEN = 2.0
# Products of more factors have arrays over equal variables multiplied first: a search takes twice as long for each.
_MANY = 5


class Statement(PartStore):
    """A statement for which parts are made.

    `own_type` is the element type that all tensors have and the statement computes in, if that is one of BLAS's.
    `written` is the time of the sums inside of functions, as they are written. `instead` has the number of a product,
    and which of its ways to take in place of the cheapest; `searches` are those of the products so far, and `priced`
    is that of a product that was asked for its price, with its factors.
    """

    own_type: DType | None = None
    written = 0.0
    instead: tuple[int, int] | None = None
    searches: tuple[ProductSearch, ...] = ()
    priced: tuple[tuple[Factor, ...], ProductSearch] | None = None

    def nest(self, term: ProductTerm, kept: Variables, *, alone: bool = False, into_array: bool = False) -> ProductTerm:
        """Returns a product as one loop nest takes it, or BLAS, after making its parts.

        Args:
            term: the product.
            kept: the variables of its result.
            alone: whether it is the whole statement, which BLAS may compute without a part.
            into_array: whether its result is an array although loops could leave elements out.
        """
        factors = self._closed(self._one_way(term.factors), kept)
        if not term.bound:  # loops over the result take all factors, each once for each of its elements
            return ProductTerm(factors, term.bound, term.negative)
        scalars = tuple([factor for factor in factors if not variables_of(factor)])
        others = tuple([factor for factor in factors if variables_of(factor)]) if scalars else factors
        others = self._bundled(others, kept)
        search = self._searched(others, kept, into_array=into_array)
        if self.instead is not None and self.instead[0] == len(self.searches):
            search.take(self.instead[1])
        self.searches = (*self.searches, search)
        if search.best(search.whole).by_blas and not (alone and not scalars and not term.negative):
            return ProductTerm((*scalars, self._part_of(search, others, search.whole)), negative=term.negative)
        body = self._nest_of(search, others, search.whole)
        return ProductTerm((*scalars, *body.factors), body.bound, term.negative)

    def _bundled(self, factors: tuple[Factor, ...], kept: Variables) -> tuple[Factor, ...]:
        """Returns many factors with arrays over equal variables as one, so that the search has fewer."""
        if len(factors) <= _MANY:
            return factors
        together: dict[Variables, list[Factor]] = {}
        for factor in factors:
            if isinstance(factor, Access) and not self.relation(factor).sparse:
                together.setdefault(variables_of(factor), []).append(factor)
        places = self.estimates.join(self.relations(factors))
        found = list(factors)
        for several in together.values():
            if len(several) > 1:
                bundle = Opaque(expression_of([ProductTerm(tuple(several))]))
                found[found.index(several[0])] = self._hoisted(bundle, places, kept)
                for other in several[1:]:
                    found.remove(other)
        return tuple(found)

    def closed_sum(self, terms: tuple[ProductTerm, ...], computed: Computed) -> Access:
        """Returns a sum of products as a part that functions read.

        Args:
            terms: the products.
            computed: the element type that the functions compute in.
        """
        dtype = None if computed is None else computed(self.dtypes)
        before, self.dtype = self.dtype, None if dtype == self.own_type else dtype
        try:
            return self._closed_sum(terms)
        finally:
            self.dtype = before

    def _closed_sum(self, terms: tuple[ProductTerm, ...]) -> Access:
        self.written += sum(self.time_as_written(term, variables_of(term)) for term in terms)
        variables = NO_VARIABLES.union(*map(variables_of, terms))
        factor = self._sum(terms, variables)
        if isinstance(factor, Access):
            return factor
        return self.part([factor], variables, lambda: ((ProductTerm((factor,)),), self.array(variables)))

    def time_as_written(self, term: ProductTerm, kept: Variables) -> float:
        """Returns the time of a product in one loop nest, after one each for the sums in parentheses that it has."""
        return self.time_of_sums_in(term) + self.time(term.factors, kept, as_written=True).nanoseconds

    def time_of_sums_in(self, term: ProductTerm) -> float:
        """Returns the time of the sums in parentheses that a product has, one loop nest for each."""
        inner = [each for factor in term.factors if isinstance(factor, Sum) for each in factor.terms]
        return sum([self.time_as_written(each, variables_of(each)) for each in inner if each.bound])

    # -- products ------------------------------------------------------------------------------------------------

    def price(self, term: ProductTerm, kept: Variables, *, into_array: bool) -> float:
        """Returns the time of the cheapest way to compute a product by a search alone, that writes no part.

        Args:
            term: the product: of accesses with variables, of which some are summed over.
            kept: the variables of its result.
            into_array: whether its result is an array although loops could leave elements out.
        """
        search = self._searched(term.factors, kept, into_array=into_array)
        self.priced = term.factors, search
        return search.best(search.whole).nanoseconds

    def _searched(self, factors: tuple[Factor, ...], kept: Variables, *, into_array: bool) -> ProductSearch:
        # Ways to take in place of others change a search.
        if self.priced is not None and self.priced[0] is factors and self.instead is None and not self._made:
            return self.priced[1]
        return self.search(factors, kept, into_array=into_array)

    def search(self, factors: Sequence[Factor], kept: Variables, *, into_array: bool) -> ProductSearch:
        """Returns the search for the cheapest way to compute a product.

        Args:
            factors: its factors, each with variables.
            kept: the variables of the result.
            into_array: whether the result is an array although loops could leave elements out.
        """
        known: dict[Members, tuple[PartKey, tuple[IndexVar, ...]]] = {}
        if len(factors) > MOST_BITS:
            raise NoNormalFormError(f"it has more than {MOST_BITS} factors")
        # Sets of factors that all read other tensors are equal to no other set, nor to a part if there is none of them.
        names = [name_of(factor) if isinstance(factor, Access) else "=" for factor in factors]
        made = self.made_of(names)
        unlike = made == [] and len(set(names)) == len(factors)

        def occurrence(members: Members) -> tuple[PartKey, tuple[IndexVar, ...]]:
            if members not in known:
                chosen = [factor for place, factor in enumerate(factors) if members >> place & 1]
                kept = self.estimates.variables(search.kept(members))
                known[members] = key_of(chosen, kept, self.symmetric)
            return known[members]

        def key(members: Members) -> PartKey:
            return occurrence(members)[0]

        relations = [self.relation(factor) for factor in factors]
        bits = self.estimates.bits(kept)
        search = ProductSearch(
            relations,
            bits,
            self.nests,
            None if unlike else key,
            None if made == [] else self.has,
            self.part_room,
            has_arrays=self.has_arrays,
            occurrence=None if unlike else occurrence,
            names=[names.index(name) for name in names],
            made_names=made or (),
            any_size=bool(self._made),
            into_array=into_array,
        )
        return search

    def _nest_of(self, search: ProductSearch, factors: Sequence[Factor], members: Members) -> ProductTerm:
        way, kept = search.best(members), self.estimates.variables(search.kept(members))
        places: dict[int, Factor] = {part & -part: self._part_of(search, factors, part) for part in way.made}
        places |= {one: factors[one.bit_length() - 1] for one in bits_of(way.read)}
        body = tuple([places[one] for one in sorted(places)])
        nest = ProductTerm(body, NO_VARIABLES.union(*map(variables_of, body)) - kept)
        array = search.is_array(members)
        return self._in_order(self._with_made(nest, kept, array=array), kept)

    def _part_of(self, search: ProductSearch, factors: Sequence[Factor], members: Members) -> Access:
        def make() -> tuple[tuple[ProductTerm, ...], EntrySet]:
            if len(chosen) > 1:
                self.rules[ASSOCIATE] = None
            nest = self._nest_of(search, factors, members)
            if nest.bound:
                self.rules[PUSH_SUMS] = None
            return (nest,), search.best(members).result

        chosen = [factors[one.bit_length() - 1] for one in bits_of(members & search.whole)]
        return self.part(chosen, self.estimates.variables(search.kept(members)), make)

    def _with_made(self, nest: ProductTerm, kept: Variables, *, array: bool) -> ProductTerm:
        """Returns a nest that reads what is made for it: copies of operands, a product with a mask, where they pay."""
        bits = self.estimates.bits(kept)
        found = self.nests.exact(self.relations(nest.factors), bits, array=array)
        copied = found.copied
        if copied:
            nest = self._copied(nest, copied)
            found = self.nests.exact(self.relations(nest.factors), bits, array=array)
        mask = found.masked
        return nest if mask is None else self._masked(nest, mask, kept, array=array)

    def _copied(self, nest: ProductTerm, found: Sequence[CopiedOperand]) -> ProductTerm:
        """Returns a nest that reads operands from copies in other storage."""
        copies = {one.operand.number: one.copy for one in found}
        walked = [r for r in self.relations(nest.factors) if r.sparse and r.number not in copies]
        inner = variables_of(nest) - self.estimates.variables(union(walked))
        factors = tuple(
            self._copy(factor, copies[own], inner) if (own := self.relation(factor).number) in copies else factor
            for factor in nest.factors
        )
        return replace(nest, factors=factors)

    def _copy(self, factor: Factor, copy: EntrySet, inner: Variables) -> Access:
        self.rules[COPY] = None
        return self.part([factor], variables_of(factor), lambda: ((ProductTerm((factor,)),), copy), inner=inner)

    def _masked(self, nest: ProductTerm, found: Mask, kept: Variables, *, array: bool) -> ProductTerm:
        """Returns a nest in which a product with a mask is a part."""
        rest = list(nest.factors)
        chosen = [
            next(factor for factor in rest if self.relation(factor).number == each.number) for each in found.relations
        ]
        for factor in chosen:
            rest.remove(factor)  # another factor may be equal to the mask
        names = {self.estimates.bit(variable): variable for factor in chosen for variable in variables_of(factor)}
        rows, summed, columns = (names[bit] for bit in found.order)
        product = ProductTerm(tuple(self._turned(factor, found.order) for factor in chosen), frozenset({summed}))
        loops = PartLoops(self.nests.of_mask(found), (rows, summed, columns))
        self.rules[KEEP_MASK] = None
        part = self.part(chosen, frozenset({rows, columns}), lambda: ((product,), found.result), loops)
        return self._with_made(ProductTerm((*rest, part), nest.bound - {summed}), kept, array=array)

    # -- symmetric matrices --------------------------------------------------------------------------------------

    def _one_way(self, factors: tuple[Factor, ...]) -> tuple[Factor, ...]:
        """Returns factors in which a symmetric matrix that is read both ways at its variables is read one way."""
        if not self.symmetric:
            return factors
        seen: dict[tuple[str, Variables], Factor] = {}
        found = tuple(
            seen.setdefault((factor.tensor, variables_of(factor)), factor) if self._is_symmetric(factor) else factor
            for factor in factors
        )
        self.reads_transposes |= found != factors
        return found

    def _in_order(self, nest: ProductTerm, kept: Variables) -> ProductTerm:
        """Returns a nest that reads each symmetric matrix in the order of the loops."""
        if not self.symmetric or not any(map(self._is_symmetric, nest.factors)):
            return nest
        order = self.nests.loop_order(self.relations(nest.factors), self.estimates.bits(kept))
        return ProductTerm(tuple([self._turned(factor, order) for factor in nest.factors]), nest.bound, nest.negative)

    def _is_symmetric(self, factor: Factor) -> TypeGuard[Access]:
        return isinstance(factor, Access) and factor.tensor in self.symmetric

    def _turned(self, factor: Factor, order: Sequence[int]) -> Factor:
        """Returns a factor, one of a symmetric matrix with the variable of its outer level outside in some loops."""
        if not self._is_symmetric(factor):
            return factor
        dims, (row, column) = (
            levels_of(self.facts[factor.tensor].kind.encoding)[1],
            self.estimates.places(factor.indices),
        )
        if (order.index(row) < order.index(column)) == (dims == (0, 1)):
            return factor
        self.reads_transposes = True
        return Access(factor.tensor, factor.indices[::-1])

    # -- factors -------------------------------------------------------------------------------------------------

    def _closed(self, factors: tuple[Factor, ...], kept: Variables) -> tuple[Factor, ...]:
        """Returns factors that one loop nest takes: functions and sums of arrays are made first where that pays."""
        if all(isinstance(factor, Access) for factor in factors):
            return factors
        factors = without_known_masks(factors)
        factors = tuple(self._sum(f.terms, variables_of(f)) if isinstance(f, Sum) else f for f in factors)
        places = self.estimates.join(self.relations(factors))
        return tuple(self._hoisted(self._in_place(factor, places), places, kept) for factor in factors)

    def _in_place(self, factor: Factor, places: float) -> Factor:
        """Returns a function that reads sums of arrays and sparse tensors as arrays, if loops would read most of it."""
        if not isinstance(factor, Opaque) or self.own_type is None or self.relation(factor).sparse:
            return factor
        if self.space(variables_of(factor)) > _OFTEN * places or not self.reads_sparse(factor.body):
            return factor
        return Opaque(with_sums_made(factor.body, self._mixed_sum))

    def _mixed_sum(self, terms: tuple[ProductTerm, ...], even: bool) -> Access | None:
        """Returns the access of a part that is a sum of sparse tensors and an array with all variables, and others."""
        (walked, arrays), variables = self._sorted(terms), NO_VARIABLES.union(*map(variables_of, terms))
        if any(self.reads_sparse(expression_of([term])) for term in arrays):
            return None  # a function that has values where the tensor has none
        whole = [term for term in arrays if isinstance(term.factors[0], Access) and variables_of(term) == variables]
        result = self.array(variables).replaced(in_memory=True)
        if not walked or not whole or not self.part_room.fits(result, self.estimates):
            return None
        if even and whole[0].negative:
            terms = tuple(replace(term, negative=not term.negative) for term in terms)
        self.rules[IN_PLACE] = None
        return self.part([Sum(terms)], variables, lambda: (terms, result), self._added(walked, whole[0], result))

    def _added(self, walked: Sequence[ProductTerm], whole: ProductTerm, result: EntrySet) -> PartLoops:
        """Returns how sparse terms are added to an array: to the array of a part itself, else to a copy."""
        machine = self.nests.machine
        entries = sum(relation.entries for term in walked for relation in self.relations(term.factors))
        total = machine.call + entries * (machine.walk + machine.look_up)
        base = name_of(whole.factors[0])
        if any(part.target.tensor == base for part in self.parts):
            return PartLoops(total, base=base)
        return PartLoops(total + result.entries * (machine.lane + machine.fresh_write))

    def _sorted(self, terms: Sequence[ProductTerm]) -> tuple[list[ProductTerm], list[ProductTerm]]:
        """Returns the terms of which loops walk entries, and the others."""
        walked = [term for term in terms if any(relation.sparse for relation in self.relations(term.factors))]
        return walked, [term for term in terms if term not in walked]

    def _hoisted(self, factor: Factor, places: float, kept: Variables) -> Factor:
        """Returns a function or a sum of arrays as a part, if loops would compute it more often than it has places."""
        if isinstance(factor, Access) or not (variables := variables_of(factor)):
            return factor
        if variables <= kept or self.relation(factor).sparse:
            return factor
        if isinstance(factor, Opaque) and not accesses_of(factor.body):
            return factor
        if self.space(variables) * _OFTEN > places:
            return factor
        self.rules[HOIST] = None
        return self.part([factor], variables, lambda: ((ProductTerm((factor,)),), self.array(variables)))

    def _sum(self, terms: tuple[ProductTerm, ...], variables: Variables) -> Factor:
        """Returns a sum in parentheses: itself where it is one of arrays, else a part."""
        nests = tuple(self.nest(term, variables_of(term)) for term in terms)
        match nests:
            case (ProductTerm((Access() as whole,), bound, negative=False),) if not bound:
                return whole
        sparse = any(relation.sparse for term in nests for relation in self.relations(term.factors))
        if not sparse and not any(term.bound for term in nests):
            return Sum(nests)
        closed = tuple(self._without_sum(term) for term in nests)
        match closed:
            case (ProductTerm((Access() as whole,), negative=False),):
                return whole
        if not any(relation.sparse for term in closed for relation in self.relations(term.factors)):
            return Sum(closed)  # what reads it decides whether to make it first
        return self.part([Sum(closed)], variables, lambda: (closed, self._union(closed, variables)))

    def _union(self, terms: tuple[ProductTerm, ...], variables: Variables) -> EntrySet:
        """Returns what a sum of terms without sums is to estimates."""
        found = [self.relations(term.factors) for term in terms]
        bits = self.estimates.bits(variables)
        covering = [[r for r in each if r.sparse and not bits & ~r.variables] for each in found]
        if len(variables) < 2 or not all(covering):
            return self.array(variables)
        space = self.estimates.space(bits)
        entries = min(space, sum(map(self.estimates.join, found)))
        most = min(space, sum(min(r.at_most for r in each) for each in covering))
        return EntrySet(bits, entries, True, {}, {}, most=most)

    def _without_sum(self, term: ProductTerm) -> ProductTerm:
        """Returns a term without variables that are summed over, which a part has summed."""
        if not term.bound:
            return term
        kept = variables_of(term)

        def make() -> tuple[tuple[ProductTerm, ...], EntrySet]:
            made = self.time(term.factors, kept)
            result = EntrySet(self.estimates.bits(kept), made.entries, made.sparse, {}, {}, most=made.most)
            return (replace(term, negative=False),), result

        return ProductTerm((self.part(term.factors, kept, make),), frozenset(), term.negative)
