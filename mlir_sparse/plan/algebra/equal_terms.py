"""Terms of a sum that are equal up to the names of variables: `t + t` as `2 * t`, and `t - t` as nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from mlir_sparse.notation import IndexVar, Literal
from mlir_sparse.plan.algebra.algebra_rules import ADD_EQUAL, CANCEL, AlgebraRule
from mlir_sparse.plan.algebra.equal_parts import key_of, name_of
from mlir_sparse.plan.algebra.normal_form import Opaque, ProductTerm

__all__ = ["with_equal_terms_joined"]


def with_equal_terms_joined(
    terms: tuple[ProductTerm, ...], kept: frozenset[IndexVar], *, cancels: bool
) -> tuple[tuple[ProductTerm, ...], dict[AlgebraRule, None]]:
    """Returns a sum of products without equal terms, and the rules that were used.

    Args:
        terms: the products.
        kept: the variables of the result.
        cancels: whether terms with a minus take equal ones away; the last term of a sum stays.
    """
    if len(terms) == 1:
        return terms, {}
    # Terms of unlike tensors are not equal, and most statements have no others.
    names = {tuple(sorted(map(name_of, term.factors))) for term in terms}
    if len(names) == len(terms):
        return terms, {}
    counts: dict[object, tuple[ProductTerm, int]] = {}
    rules: dict[AlgebraRule, None] = {}
    for term in terms:
        key = key_of(term.factors, kept - term.bound), cancels or term.negative
        first, count = counts.get(key, (term, 0))
        if count:
            rules[ADD_EQUAL if first.negative == term.negative else CANCEL] = None
        counts[key] = first, count + (1 if first.negative == term.negative else -1)
    found = tuple(_joined(counts.values()))
    return (found, rules) if found else (terms, {})


def _joined(counted: Iterable[tuple[ProductTerm, int]]) -> Iterator[ProductTerm]:
    for term, count in counted:
        if count < 0:
            term = replace(term, negative=not term.negative)
        if abs(count) > 1:
            term = replace(term, factors=(Opaque(Literal(abs(count))), *term.factors))
        if count:
            yield term
