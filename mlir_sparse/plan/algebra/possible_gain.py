"""Whether another way to compute a statement could be faster: what is asked of each statement, before any search."""

from __future__ import annotations

import itertools
from collections.abc import Collection

from mlir_sparse.notation import Access, Assignment, Reduce, walk
from mlir_sparse.plan.algebra.common_factors import factored
from mlir_sparse.plan.algebra.normal_form import ProductTerm, Sum, variables_of
from mlir_sparse.plan.algebra.statement_forms import kept_form

__all__ = ["may_gain"]


def may_gain(assignment: Assignment, arrays: Collection[str] = (), *, cancels: bool = False) -> bool:
    """Returns whether another way to compute a statement could be faster: whether rules apply to it at all.

    Args:
        assignment: the statement with explicit sums.
        arrays: the names of operands that BLAS takes.
        cancels: whether terms may cancel others, and differences and squares be multiplied out.
    """
    form = kept_form(assignment, cancels=cancels)
    if form is None:
        return False
    terms = form.terms
    # What takes least to ask, and holds most often, comes first.
    if any(map(_is_open, terms)) or (cancels and form.choices) or form.joins:
        return True
    if arrays and any(_multiplies(term, arrays) for term in (*terms, *form.inside)):
        return True
    return (len(terms) > 1 and any(True for _ in factored(terms))) or _sums_in(assignment)


def _multiplies(term: ProductTerm, arrays: Collection[str]) -> bool:
    """Returns whether a product has two arrays, with rows, columns and a sum over what both have."""
    found = [factor for factor in term.factors if isinstance(factor, Access) and factor.tensor in arrays]
    pairs = ((frozenset(a.indices), frozenset(b.indices)) for a, b in itertools.combinations(found, 2))
    below = (each for factor in term.factors if isinstance(factor, Sum) for each in factor.terms)
    products = any(one & other & term.bound and one - other and other - one for one, other in pairs)
    return products or any(_multiplies(each, arrays) for each in below)


def _is_open(term: ProductTerm) -> bool:
    """Returns whether a product has three factors, a sum or a function among them, or sums inside of one factor."""
    own = [variables for factor in term.factors if (variables := variables_of(factor))]
    if len(own) != 2:
        return len(own) > 2
    functions = any(not isinstance(factor, Access) and variables_of(factor) for factor in term.factors)
    return functions or bool((own[0] ^ own[1]) & term.bound)


def _sums_in(assignment: Assignment) -> bool:
    """Returns whether functions or quotients have sums of products inside of them."""
    nodes = [node for node in walk(assignment.value) if isinstance(node, Reduce)]
    return len(nodes) > 1
