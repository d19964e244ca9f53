"""`sum(i : sum(j : a))` is `sum(i, j : a)`, and so is a fold of a fold by the same monoid."""

from __future__ import annotations

from dataclasses import replace

from mlir_sparse.notation import Expr, Fold, Reduce, ReduceOp, free_indices
from mlir_sparse.notation.laws import Law
from mlir_sparse.plan.rewrite.rewrite_rule import Context, Licence, Rule, WhyNot

__all__ = ["MERGE_SUMS"]


def _merged(node: Expr, _: Context) -> Expr | WhyNot:
    match node:
        case Reduce(ReduceOp.SUM, indices, Reduce(ReduceOp.SUM) as inner):
            if not set(indices) <= set(free_indices(inner)):
                return WhyNot("the inner sum does not use all variables that are summed over")
            return replace(inner, indices=(*indices, *inner.indices))
        case Fold(monoid, indices, Fold(known) as inner) if known == monoid:
            return replace(inner, indices=(*indices, *inner.indices))
        case _:
            return WhyNot("no sum stands directly inside of it")


MERGE_SUMS = Rule("merge-sums", "summed at once", (Law.SUM_ORDER,), Licence.REORDERS, _merged)
"""One loop nest runs over the variables of both."""
