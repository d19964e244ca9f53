"""Sums of three terms and more inside of what is reduced, which the sparsifier crashes on.

In `sum(k : (A(i,k) * d(k) * E(j,k) + B(i,j) * E(j,k) + C(j,k) * B(i,j)) * P(i,j))` loops over a union come to entries
of some terms alone, and look an array, or the rows of a tensor, up beside no entry of the term that has them. Tensors
that have all variables in the same order are walked together, and not concerned.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from mlir_sparse.notation import Expr, accesses_of, children, free_indices, rebuild
from mlir_sparse.plan.rewrite.sum_of_terms import addends, stored_indices
from mlir_sparse.spec import depends_on

__all__ = ["without_wide_unions"]

_WIDEST = 2


def without_wide_unions(node: Expr, sparse: Collection[str], make: Callable[[Expr], Expr]) -> Expr:
    """Returns the payload of a reduction in which sums of more than two terms are made beforehand.

    Args:
        node: the payload.
        sparse: the tensors that leave out zeros.
        make: makes an expression of entries, in as many steps as it takes, and returns what reads it.
    """
    read = {access.subscripts for access in accesses_of(node) if access.tensor in sparse}
    if len(read) < 2 or _terms(node, sparse) <= _WIDEST:
        return node
    if len(addends(node)) == 1:
        return rebuild(node, tuple(without_wide_unions(child, sparse, make) for child in children(node)))
    covered = set(free_indices(node)) <= stored_indices(node, sparse)  # what is not would be made as an array
    return make(node) if covered else node


def _terms(node: Expr, sparse: Collection[str]) -> int:
    """Returns how many terms the sums in an expression unite, at most."""
    if not depends_on(node, sparse):
        return 0
    parts = [part for part, _ in addends(node)]
    if len(parts) > 1:
        return sum(max(_terms(part, sparse), 1) for part in parts)
    return sum(_terms(child, sparse) for child in children(node))
