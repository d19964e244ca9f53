"""A sum of entries is a fold by `+`: `sum(j : f(A(i,j)))`."""

from __future__ import annotations

from mlir_sparse.notation import Apply, Expr, Fold, Reduce, ReduceOp
from mlir_sparse.notation.laws import Law
from mlir_sparse.notation.semiring import MONOIDS
from mlir_sparse.plan.rewrite.rewrite_rule import Context, Licence, Rule, WhyNot

__all__ = ["SUMS_AS_FOLDS"]


def _folded(node: Expr, _: Context) -> Expr | WhyNot:
    match node:
        case Reduce(ReduceOp.SUM, indices, Apply() as body):
            return Fold(MONOIDS["plus"], indices, body, node.span)
        case Reduce(ReduceOp.SUM, indices, Fold(monoid) as body) if monoid.gives_zero:
            return Fold(MONOIDS["plus"], indices, body, node.span)
        case _:
            return WhyNot("what is summed has a value everywhere")


SUMS_AS_FOLDS = Rule("sums-as-folds", "folded", (Law.DEFINITION, Law.ZERO), Licence.EXACT, _folded)
"""A fold with no entry adds its identity to a sum, as to all arithmetic: what it is zero for is no entry of the sum."""
