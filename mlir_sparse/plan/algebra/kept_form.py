"""The normal form of a statement in which all sums in parentheses are kept: what planning begins with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache

from mlir_sparse.classes import dataclass
from mlir_sparse.notation import Access, Assignment, Expr, IndexVar
from mlir_sparse.plan.algebra.algebra_rules import AlgebraRule
from mlir_sparse.plan.algebra.equal_terms import with_equal_terms_joined
from mlir_sparse.plan.algebra.normal_form import NoNormalFormError, NormalForm, ProductTerm, expression_of

__all__ = ["KeptForm", "kept_form"]


@dataclass(frozen=True, slots=True)
class KeptForm:
    """A statement as a sum of products.

    Args:
        terms: the products.
        joined: the products without equal ones.
        inside: those in sums inside of functions.
        renamed: by new names the variables of the text.
        rules: the rules that were used.
        joins: whether there are equal ones.
        choices: how many sums in parentheses could be multiplied out.
    """

    terms: tuple[ProductTerm, ...]
    joined: tuple[ProductTerm, ...]
    inside: tuple[ProductTerm, ...]
    renamed: Mapping[IndexVar, IndexVar]
    rules: Mapping[AlgebraRule, None]
    joins: bool
    choices: int

    @property
    def is_plain(self) -> bool:
        """Returns whether it is a sum of products of accesses alone, without functions, quotients and sums in them."""
        return not self.inside and all(isinstance(factor, Access) for term in self.terms for factor in term.factors)


@lru_cache(maxsize=64)  # a statement is looked at whether there is anything to choose, and then planned
def kept_form(assignment: Assignment, *, cancels: bool) -> KeptForm | None:
    """Returns a statement as a sum of products; None for what rules do not know.

    Args:
        assignment: the statement with explicit sums.
        cancels: whether terms may cancel others, and differences and squares be multiplied out.
    """
    inside: list[ProductTerm] = []

    def closed(terms: tuple[ProductTerm, ...], _: object) -> Expr:
        inside.extend(terms)
        return expression_of(terms)

    extents = defaultdict[IndexVar, float](float)  # what there are is not known here
    form = NormalForm(lambda _: False, closed, extents, assignment.target.indices, cancels=cancels)
    try:
        terms = form.of(assignment.value)
    except NoNormalFormError:
        return None
    joined, rules = with_equal_terms_joined(terms, frozenset(assignment.target.indices), cancels=cancels)
    used = form.rules | rules
    return KeptForm(terms, joined, tuple(inside), form.renamed, used, bool(rules), form.choices)
