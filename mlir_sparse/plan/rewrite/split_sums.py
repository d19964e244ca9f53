"""`sum(j : a - b)` is `sum(j : a) - sum(j : b)`."""

from __future__ import annotations

from dataclasses import replace

from mlir_sparse.notation import Expr, Reduce, ReduceOp, free_indices
from mlir_sparse.notation.laws import Law
from mlir_sparse.plan.rewrite.rewrite_rule import Context, Licence, Rule, WhyNot
from mlir_sparse.plan.rewrite.sum_of_terms import total

__all__ = ["SPLIT_SUMS"]


def _apart(node: Expr, context: Context) -> Expr | WhyNot:
    match node:
        case Reduce(ReduceOp.SUM, indices, body):
            terms = context.terms(body)
        case _:
            return WhyNot("it is no sum over index variables")
    if not all(set(indices) <= set(free_indices(term)) for term, _ in terms):
        return WhyNot("a term does not use all variables that are summed over")
    return total((replace(node, body=term), negative) for term, negative in terms)


SPLIT_SUMS = Rule("split-sums", "summed apart", (Law.SUM_ORDER, Law.MINUS), Licence.REASSOCIATES, _apart)
"""Each term has loops of its own, over its own entries."""
