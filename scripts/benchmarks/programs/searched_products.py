"""How large the products are that planning a statement meets."""

from __future__ import annotations

from mlir_sparse.notation import Expr, free_indices, is_comprehension, parse, with_explicit_sums
from mlir_sparse.plan.algebra.normal_form import NoNormalFormError, NormalForm, ProductTerm, Sum, expression_of

__all__ = ["largest_product"]


def largest_product(text: str, *, cancels: bool) -> int:
    """Returns the number of factors of the largest product of a statement, all sums in parentheses multiplied out.

    Args:
        text: index notation.
        cancels: whether differences and squares of sums are multiplied out, as by `optimize="algebra"`.

    Returns:
        0 for what rules do not know, and for several statements.

    >>> largest_product("s = sum(i, j : (X(i,j) - sum(k : U(i,k) * V(j,k))) ** 2)", cancels=True)
    4
    """
    if is_comprehension(text):
        return 0
    sizes = [0]

    def closed(terms: tuple[ProductTerm, ...], _: object) -> Expr:
        sizes.extend(map(_size, terms))
        return expression_of(terms)

    assignment = with_explicit_sums(parse(text))
    extents = dict.fromkeys(assignment.indices, 0.0)
    form = NormalForm(lambda _: True, closed, extents, free_indices(assignment.value), cancels=cancels)
    try:
        sizes.extend(map(_size, form.of(assignment.value)))
    except NoNormalFormError:
        return 0
    return max(sizes)


def _size(term: ProductTerm) -> int:
    """Returns how many factors a product has, or a product inside of a sum that is one of them."""
    inside = [_size(each) for factor in term.factors if isinstance(factor, Sum) for each in factor.terms]
    return max([len(term.factors), *inside])
