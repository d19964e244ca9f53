"""The ways to compute a statement, each with what it takes by estimate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace

from mlir_sparse._search import NestTime
from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import INTEGER, WIDE_TYPES, DType
from mlir_sparse.notation import Assignment, IndexVar
from mlir_sparse.plan.algebra.algebra_rules import FACTOR, KEEP_MASK
from mlir_sparse.plan.algebra.equal_terms import with_equal_terms_joined
from mlir_sparse.plan.algebra.finite_values import makes_finite
from mlir_sparse.plan.algebra.known_parts import NOTHING_KNOWN, KnownParts
from mlir_sparse.plan.algebra.made_parts import TooLongError
from mlir_sparse.plan.algebra.masked_functions import mask_of, with_masks_inside
from mlir_sparse.plan.algebra.normal_form import (
    Factor,
    NoNormalFormError,
    ProductTerm,
    expression_of,
    variables_of,
)
from mlir_sparse.plan.algebra.part_store import PartStore
from mlir_sparse.plan.algebra.statement_forms import (
    OpenedForm,
    kept_form,
    keyed_sums,
    new_sums,
    opened_form,
    unseen,
    with_parts,
)
from mlir_sparse.plan.algebra.statement_parts import Statement
from mlir_sparse.plan.algebra.tensor_facts import TensorFacts
from mlir_sparse.spec import Rewriting, result_dtype

__all__ = ["StatementWay", "StatementWays"]

# Sums in parentheses are multiplied out or kept in this many ways at most.
_MOST = 64
# Further ways to multiply sums out are not looked at after so many ways to compute products.
_WORK = 1000
# Parts may take so many bytes, however small operands and result are; else as many as these, the result at most.
_ROOM = 64 << 20
# Where parts do not fit in memory together, one part may take these shares of it, one after the other.
_SHARES = (1.0, 0.5, 0.25)
# Of each product so many ways are looked at beside the cheapest, where all are asked for.
_RUNNERS_UP = 3


@dataclass(frozen=True, slots=True)
class StatementWay:
    """A way to compute a statement.

    Args:
        nests: the loop nests whose sum the result is.
        renamed: (name, name in the text) of each index variable that it calls otherwise.
        by_blas: whether BLAS computes the only nest.
        symmetric: the matrices that it takes to be their own transposes.
        nanoseconds: the time that it takes; infinite where its parts do not fit.
        as_written: the time of the statement as it is written, with the same sums multiplied out.
        nbytes: the bytes that its parts take.
        rules: the names of the rules that were used.
        changed: whether sums in parentheses are multiplied out or common factors pulled out.
        results: what each of the loop nests takes and gives whose sum the result is.
        parts: the parts that are made so far.
    """

    nests: tuple[ProductTerm, ...]
    renamed: tuple[tuple[str, str], ...]
    by_blas: bool
    nanoseconds: float
    as_written: float
    nbytes: float
    rules: tuple[str, ...]
    changed: bool
    results: tuple[NestTime, ...]
    parts: PartStore
    symmetric: tuple[str, ...] = ()

    @property
    def unbounded(self) -> float:
        """Returns the time that it takes, whether its parts fit or not."""
        return self.parts.nanoseconds + sum([result.nanoseconds for result in self.results])

    @property
    def rewriting(self) -> Rewriting:
        """Returns the statement rewritten; it is written down for the ways that are taken alone."""
        parts = tuple(self.parts.parts)
        return Rewriting(parts, expression_of(self.nests), self.renamed, self.by_blas, symmetric=self.symmetric)


@dataclass(frozen=True, slots=True)
class _Form:
    """A statement as a sum of products.

    Args:
        statement: the parts that functions and quotients in it read, and the rules that were used.
        terms: the products.
        renamed: (name, name in the text) of each index variable that it calls otherwise.
        choices: how many sums in parentheses could be multiplied out.
        changed: whether some are, equal terms are joined, or common factors are pulled out.
        as_written: the time of the products as they are written, with the same sums multiplied out.
        nests: what one loop nest for each of the products takes and gives.
    """

    statement: Statement
    terms: tuple[ProductTerm, ...]
    renamed: tuple[tuple[str, str], ...]
    choices: int
    changed: bool
    as_written: float
    nests: tuple[NestTime, ...]


class StatementWays:
    """The ways to compute a statement on data.

    Args:
        assignment: the statement with explicit sums.
        facts: what is known of each tensor that it reads.
        has_blas: whether BLAS may multiply arrays, as sums and products are those of numbers.
        earlier: what statements before have made, which it may read.
        cancels: whether terms may cancel others, and differences and squares be multiplied out.
        into_array: whether the result is an array although loops could leave elements out.

    Raises:
        NoNormalFormError: for what rules do not know.
    """

    def __init__(
        self,
        assignment: Assignment,
        facts: Mapping[str, TensorFacts],
        *,
        has_blas: bool = True,
        earlier: KnownParts = NOTHING_KNOWN,
        cancels: bool = False,
        into_array: bool = False,
    ) -> None:
        self._cancels = cancels
        self._plain = False
        self._into_array = into_array
        self._alone = not assignment.op.reads_target
        self._assignment, self._value = assignment, assignment.value
        self._kept = frozenset(assignment.target.indices)
        extents = _extents(assignment, facts)
        kept = kept_form(assignment, cancels=cancels)
        plain = self._plain = kept is not None and kept.is_plain
        self._has_parts_inside = kept is not None and bool(kept.closings)
        # Most statements have one element type, and types that are one object take no comparison.
        dtypes = set({id(one.kind.dtype): one.kind.dtype for one in facts.values()}.values())
        itemsize = max([_made_in(dtype).itemsize for dtype in dtypes], default=8)
        numbers, has_blas = has_blas, has_blas and len(dtypes) == 1 and dtypes <= set(WIDE_TYPES)
        operands, target = _bytes_of(facts), assignment.target.tensor
        self._empty = Statement(target, facts, extents, max(_ROOM, operands), itemsize, earlier, has_blas=has_blas)
        # Sums of products have the type of their factors.
        if has_blas and (plain or result_dtype(self._value, self._empty.dtypes) in dtypes):
            (self._empty.own_type,) = dtypes
        if into_array and assignment.target.indices:
            bits = tuple(map(self._empty.estimates.bit, assignment.target.indices))
            self._empty.nests.set_last(sum(set(bits)), bits[-1])
        self._first = self._form(0)
        # Parts that statements share are statements themselves, which have no masks.
        alone = has_blas and earlier is NOTHING_KNOWN and not plain
        masked = with_masks_inside(assignment.value, facts) if alone else assignment.value
        if masked is not assignment.value:
            written, self._assignment, self._value = self._first.as_written, replace(assignment, value=masked), masked
            self._empty.rules[KEEP_MASK] = None
            kept = kept_form(self._assignment, cancels=cancels)
            self._has_parts_inside = kept is not None and bool(kept.closings)
            self._first = replace(self._form(0), changed=True, as_written=written)
        results = self._first.nests
        # An array has zeros where a sparse result has no entries, and they meet what functions make there.
        finite = (plain or makes_finite(assignment.value)) and False not in [one.finite for one in facts.values()]
        full = numbers and finite and True not in [result.sparse for result in results]
        room = max(_ROOM, operands + itemsize * sum([result.most for result in results]))
        for statement in (self._empty, self._first.statement):
            statement.room = room
            statement.has_arrays = full
        if full:
            self._empty.nests.allow_copies(self._empty.part_room)
        self.as_written = self._first.as_written
        """The time of the statement as it is written."""

    def knowing(self, facts: Mapping[str, TensorFacts]) -> StatementWays:
        """Returns the ways where other matrices are their own transposes.

        Args:
            facts: what is known of each tensor: the same as before, but for which are symmetric.
        """
        other, first = copy(self), self._first
        other._empty = self._empty.knowing(facts)
        if first.statement.parts:
            statement = other._form(0).statement
        else:
            statement = other._empty.fork()
            statement.rules |= first.statement.rules
        other._first = replace(first, statement=statement)
        return other

    @property
    def terms(self) -> tuple[ProductTerm, ...]:
        """Returns the products whose sum the statement is, all sums in parentheses kept."""
        return self._first.terms

    def nest_of(self, factors: Sequence[Factor]) -> NestTime:
        """Returns what one loop nest over factors takes and gives."""
        return self._first.statement.time(factors, self._kept, array=self._into_array)

    @property
    def has_price(self) -> bool:
        """Returns whether a search alone finds the time of the cheapest way: that of one product of tensors."""
        term, *others = self._first.terms
        return not others and self._plain and bool(term.bound) and all(map(variables_of, term.factors))

    @property
    def price(self) -> float:
        """Returns the time of the cheapest way by a search alone, that writes no part, where it has a price.

        What is written takes as long, but for a few per cent: parts have an order there.
        """
        term, statement = self._first.terms[0], self._first.statement
        return statement.price(term, self._kept & variables_of(term), into_array=self._into_array)

    def cheapest(self) -> Iterator[StatementWay]:
        """Yields the cheapest way for each choice of sums to multiply out and factors to pull out; none comes first."""
        for form in self._forms():
            yield self._fitting(form, form.statement.fork())

    def shortest(self) -> list[StatementWay]:
        """Returns the cheapest ways, those that take least first, without some that take longer.

        Where the parts of a form alone take longer than another form does, as a sum of two matrices may, the rest of it
        is not planned. Of two forms the second, with a sum multiplied out, is looked at first.
        """
        forms: Iterable[tuple[int, _Form]] = enumerate(self._forms())
        if self._first.choices == 1:
            forms = reversed(list(forms))
        ways: list[tuple[int, StatementWay]] = []
        least = math.inf
        for number, form in forms:
            statement = form.statement.fork()
            statement.most = least
            with suppress(TooLongError):
                ways.append((number, self._fitting(form, statement)))
                least = min(least, ways[-1][1].nanoseconds)
        # Of ways that take as long the first form's comes first.
        return [way for _, way in sorted(ways, key=lambda one: (one[1].nanoseconds, one[0]))]

    def all(self) -> Iterator[StatementWay]:
        """Yields also the ways that come next in each form: with other parts of one of its products."""
        forms = []
        for form in self._forms():
            statement = form.statement.fork()
            yield self._fitting(form, statement)
            forms.append((form, statement))
        for form, statement in forms:
            for number in range(len(form.statement.searches), len(statement.searches)):
                for rank in range(1, min(len(statement.searches[number].ranked), _RUNNERS_UP + 1)):
                    other = form.statement.fork()
                    other.instead = number, rank
                    yield self._planned(form, other)

    def _forms(self) -> Iterator[_Form]:
        if self._first.choices == 0 and len(self._first.terms) == 1:  # nothing to multiply out, nor to pull out
            yield self._first
            return
        seen: set[object] = set()
        chosen, form, choices = 0, self._first, self._first.choices
        while True:
            for is_factored, terms in self._new_sums(chosen, form, seen):
                yield self._factored(form, terms) if is_factored else form
            chosen += 1
            if chosen >= min(1 << choices, _MOST) or self._empty.nests.work > _WORK:
                return
            try:
                form = self._form(chosen)
            except NoNormalFormError:  # a product does not use all variables that the sum around it is over
                continue
            choices = max(choices, form.choices)

    def _new_sums(self, chosen: int, form: _Form, seen: set[object]) -> Iterable[tuple[bool, tuple[ProductTerm, ...]]]:
        """Returns the sums of a form that no form before has, and whether common factors are pulled out of them."""
        if self._has_parts_inside:
            return unseen(keyed_sums(form.terms, alone=form.choices == 0), seen)
        return new_sums(self._assignment, chosen, cancels=self._cancels)

    def _factored(self, form: _Form, terms: tuple[ProductTerm, ...]) -> _Form:
        """Returns a form with common factors pulled out."""
        statement = form.statement.fork()
        statement.rules[FACTOR] = None
        return replace(form, statement=statement, terms=terms, changed=True)

    def _form(self, chosen: int) -> _Form:
        """Returns the statement with its sums in parentheses multiplied out as the bits of a number choose."""
        statement = self._empty.fork()
        found = self._opened(chosen, statement)
        times = [(statement.time_of_sums_in(term), self._nest_as_written(statement, term)) for term in found.terms]
        written = statement.written + sum([below + nest.nanoseconds for below, nest in times])
        statement.rules |= found.rules
        names = tuple([(name.name, inner.name) for name, inner in found.renamed.items()])
        nests = tuple([nest for _, nest in times])
        if found.joins:
            nests = tuple([self._nest_as_written(statement, term) for term in found.joined])
        return _Form(statement, found.joined, names, found.choices, chosen > 0 or found.joins, written, nests)

    def _nest_as_written(self, statement: Statement, term: ProductTerm) -> NestTime:
        """Returns what one loop nest over the factors of a product takes and gives."""
        return statement.time(term.factors, self._kept, as_written=True, array=self._into_array)

    def _opened(self, chosen: int, statement: Statement) -> OpenedForm:
        """Returns the statement with some of its sums in parentheses multiplied out.

        Sums inside of functions are parts, which a statement for these data makes.
        """
        found = opened_form(self._assignment, chosen, cancels=self._cancels)
        if found is None:
            raise NoNormalFormError("rules do not know what it computes")
        for name, written in found.renamed.items():
            self._empty.extents[name] = self._empty.extents[written]
        if not found.closings:
            return found
        terms = with_parts(found, statement.closed_sum)
        joined, rules = with_equal_terms_joined(terms, self._kept, cancels=self._cancels)
        return replace(found, terms=terms, joined=joined, rules={**found.rules, **rules}, joins=bool(rules))

    def _fitting(self, form: _Form, statement: Statement) -> StatementWay:
        """Returns the cheapest way whose parts fit in memory together, if there is one: of fewer and smaller parts.

        With fewer parts it takes no less: none is looked for where it takes longer than the statement may.
        """
        found, shares = self._planned(form, statement), iter(_SHARES)
        while found.nanoseconds == math.inf and (share := next(shares, None)) is not None:
            if found.unbounded > statement.most:
                raise TooLongError
            frugal = form.statement.frugal(share)
            frugal.most = statement.most
            found = self._planned(form, frugal)
        return found

    def _planned(self, form: _Form, statement: Statement) -> StatementWay:
        alone = self._alone and len(form.terms) == 1
        array = self._into_array
        own = [(term, self._kept & variables_of(term)) for term in form.terms]
        nests = tuple([statement.nest(term, kept, alone=alone, into_array=array) for term, kept in own])
        times = tuple([statement.time(term.factors, self._kept, array=array) for term in nests])
        if not self._plain and any(mask_of(factor) for term in nests for factor in term.factors):
            raise NoNormalFormError("a product has a mask that is none of its factors")
        total = statement.nanoseconds + sum([time.nanoseconds for time in times])
        nbytes = statement.nbytes(nests)
        by_blas = len(times) == 1 and times[0].by_blas
        return StatementWay(
            nests,
            form.renamed,
            by_blas,
            total if nbytes <= statement.room else math.inf,
            form.as_written,
            nbytes,
            tuple(rule.name for rule in statement.rules),
            form.changed,
            times,
            statement,
        )


def _made_in(dtype: DType) -> DType:
    """Returns the element type of parts: those in f16 and bf16 are made in f32, and truth values counted."""
    return INTEGER if dtype.is_truth else dtype.accumulated_in


def _bytes_of(facts: Mapping[str, TensorFacts]) -> float:
    """Returns how many bytes operands take."""
    sizes = [(one.sketch, one.kind.dtype.itemsize) for one in facts.values()]
    return sum([sketch.entries * (itemsize + 4 * bool(sketch.axes)) for sketch, itemsize in sizes])


def _extents(assignment: Assignment, facts: Mapping[str, TensorFacts]) -> dict[IndexVar, float]:
    # A variable of the result alone has the extent that `out=` gives it.
    found = dict.fromkeys(assignment.target.indices, 1.0)
    for access in assignment.reads:
        for subscript, extent in zip(access.subscripts, facts[access.tensor].sketch.shape, strict=True):
            if isinstance(subscript, IndexVar):
                found[subscript] = float(extent)
    return found
