"""The normal forms of a statement: with sums in parentheses kept or multiplied out, and common factors pulled out.

They depend on its text alone, so that they are found once, and a plan for other data begins with them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from mlir_sparse.classes import dataclass
from mlir_sparse.notation import Access, Assignment, Expr, IndexVar, children, rebuild
from mlir_sparse.plan.algebra.algebra_rules import AlgebraRule
from mlir_sparse.plan.algebra.common_factors import factored
from mlir_sparse.plan.algebra.equal_terms import with_equal_terms_joined
from mlir_sparse.plan.algebra.normal_form import (
    Computed,
    Factor,
    NoNormalFormError,
    NormalForm,
    Opaque,
    ProductTerm,
    Sum,
    expression_of,
)

__all__ = ["OpenedForm", "kept_form", "keyed_sums", "new_sums", "opened_form", "unseen", "with_parts"]

# Sums of products, by what they have in common with those that differ in the order of terms and factors alone.
_Keyed = tuple[object, tuple[ProductTerm, ...]]


class Closing(NamedTuple):
    """A sum inside of a function.

    Args:
        terms: the products.
        computed: says which element type the function computes in.
        value: the sum as the function reads it: this object, and no equal one.
    """

    terms: tuple[ProductTerm, ...]
    computed: Computed
    value: Expr


@dataclass(frozen=True, slots=True)
class OpenedForm:
    """A statement as a sum of products.

    Args:
        terms: the products.
        joined: the products without equal ones.
        closings: the sums inside of functions, inner ones first.
        renamed: by new names the variables of the text.
        rules: the rules that were used.
        joins: whether there are equal ones.
        choices: how many sums in parentheses could be multiplied out.
    """

    terms: tuple[ProductTerm, ...]
    joined: tuple[ProductTerm, ...]
    closings: tuple[Closing, ...]
    renamed: Mapping[IndexVar, IndexVar]
    rules: Mapping[AlgebraRule, None]
    joins: bool
    choices: int

    @property
    def inside(self) -> Iterator[ProductTerm]:
        """Yields the products in sums inside of functions."""
        return (term for one in self.closings for term in one.terms)

    @property
    def is_plain(self) -> bool:
        """Returns whether it is a sum of products of accesses alone, without functions, quotients and sums in them."""
        return not self.closings and all(isinstance(factor, Access) for term in self.terms for factor in term.factors)


def kept_form(assignment: Assignment, *, cancels: bool) -> OpenedForm | None:
    """Returns a statement as a sum of products with its sums in parentheses kept; None for what rules do not know.

    Args:
        assignment: the statement with explicit sums.
        cancels: whether terms may cancel others, and differences and squares be multiplied out.
    """
    return opened_form(assignment, 0, cancels=cancels)


@lru_cache(maxsize=256)
def opened_form(assignment: Assignment, chosen: int, *, cancels: bool) -> OpenedForm | None:
    """Returns a statement as a sum of products; None for what rules do not know.

    Args:
        assignment: the statement with explicit sums.
        chosen: a number whose bits say which sums in parentheses are multiplied out.
        cancels: whether terms may cancel others, and differences and squares be multiplied out.
    """
    closings: list[Closing] = []

    def closed(terms: tuple[ProductTerm, ...], computed: Computed) -> Expr:
        closings.append(Closing(terms, computed, expression_of(terms)))
        return closings[-1].value

    extents = defaultdict[IndexVar, float](float)  # what there are is not known here
    free = assignment.target.indices
    form = NormalForm(lambda number: bool(chosen >> number & 1), closed, extents, free, cancels=cancels)
    try:
        terms = form.of(assignment.value)
    except NoNormalFormError:
        return None
    joined, rules = with_equal_terms_joined(terms, frozenset(free), cancels=cancels)
    used = form.rules | rules
    return OpenedForm(terms, joined, tuple(closings), form.renamed, used, bool(rules), form.choices)


def with_parts(form: OpenedForm, close: Callable[[tuple[ProductTerm, ...], Computed], Expr]) -> tuple[ProductTerm, ...]:
    """Returns the products of a form with parts in place of the sums inside of its functions.

    Args:
        form: the form.
        close: makes a sum of products a part of an element type; returns what reads it. Inner sums come first.
    """
    instead: dict[int, Expr] = {}
    for terms, computed, value in form.closings:
        instead[id(value)] = close(_with_instead(terms, instead), computed)
    return _with_instead(form.terms, instead)


def _with_instead(terms: tuple[ProductTerm, ...], instead: Mapping[int, Expr]) -> tuple[ProductTerm, ...]:
    return tuple([_term_with(term, instead) for term in terms])


def _term_with(term: ProductTerm, instead: Mapping[int, Expr]) -> ProductTerm:
    if all(isinstance(factor, Access) for factor in term.factors):
        return term
    return ProductTerm(tuple([_factor_with(f, instead) for f in term.factors]), term.bound, term.negative)


def _factor_with(factor: Factor, instead: Mapping[int, Expr]) -> Factor:
    if isinstance(factor, Opaque):
        return Opaque(_expression_with(factor.body, instead))
    return factor if isinstance(factor, Access) else Sum(_with_instead(factor.terms, instead))


def _expression_with(node: Expr, instead: Mapping[int, Expr]) -> Expr:
    found = instead.get(id(node))
    if found is not None:
        return found
    before = children(node)
    return rebuild(node, tuple([_expression_with(child, instead) for child in before])) if before else node


@lru_cache(maxsize=256)
def new_sums(assignment: Assignment, chosen: int, *, cancels: bool) -> tuple[tuple[bool, tuple[ProductTerm, ...]], ...]:
    """Returns the sums of products of a form that no form before it has, and whether common factors are pulled out.

    Args:
        assignment: the statement with explicit sums.
        chosen: the form, as for `opened_form`.
        cancels: as for `opened_form`.
    """
    earlier = (_sums(assignment, number, cancels=cancels) for number in range(chosen))
    seen = {key for sums in earlier for key, _ in sums}
    return tuple(unseen(_sums(assignment, chosen, cancels=cancels), seen))


@lru_cache(maxsize=256)
def _sums(assignment: Assignment, chosen: int, *, cancels: bool) -> tuple[_Keyed, ...]:
    form = opened_form(assignment, chosen, cancels=cancels)
    return () if form is None else tuple(keyed_sums(form.joined, alone=chosen == 0 and form.choices == 0))


def keyed_sums(terms: tuple[ProductTerm, ...], *, alone: bool) -> Iterator[_Keyed]:
    """Yields a sum of products, then those with ever more common factors pulled out.

    Args:
        terms: the products.
        alone: whether it is the only form of its statement, which needs no key.
    """
    sums = [terms, *factored(terms)]
    for one in sums:
        yield None if alone and len(sums) == 1 else _unordered(one), one


def unseen(sums: Iterable[_Keyed], seen: set[object]) -> Iterator[tuple[bool, tuple[ProductTerm, ...]]]:
    """Yields those of some sums that were not seen before, and whether common factors are pulled out of them.

    Args:
        sums: a form, and the same with common factors pulled out.
        seen: the keys of those before, to which theirs are added.
    """
    for place, (key, terms) in enumerate(sums):
        if key not in seen:
            seen.add(key)
            yield place > 0, terms


def _unordered(terms: tuple[ProductTerm, ...]) -> object:
    """Returns what sums of products have in common that differ in the order of terms and factors alone."""
    return tuple(sorted(((_factors(term), term.bound, term.negative) for term in terms), key=hash))


def _factors(term: ProductTerm) -> tuple[object, ...]:
    # Those that have equal hashes may stand in either order: such sums are looked at twice.
    return tuple(sorted((_unordered(f.terms) if isinstance(f, Sum) else f for f in term.factors), key=hash))
