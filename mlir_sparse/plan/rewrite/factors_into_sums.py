"""`sum(j : a) * b` is `sum(j : a * b)`, where b does not use j."""

from __future__ import annotations

from dataclasses import replace

from mlir_sparse.notation import Binary, BinaryOp, Expr, Reduce, ReduceOp, free_indices
from mlir_sparse.notation.laws import Law
from mlir_sparse.plan.rewrite.rewrite_rule import MADE_FIRST, Context, Licence, Rule, WhyNot

__all__ = ["FACTORS_INTO_SUMS"]


def _moved_in(node: Expr, _: Context) -> Expr | WhyNot:
    match node:
        case Binary(BinaryOp.MUL, Reduce(), Reduce()):
            return WhyNot("of a product of two sums, each is taken by itself")
        case Binary(BinaryOp.MUL, Reduce() as reduced, factor):
            body = replace(node, left=reduced.body)
        case Binary(BinaryOp.MUL, factor, Reduce() as reduced):
            body = replace(node, right=reduced.body)
        case _:
            return WhyNot(MADE_FIRST)
    if reduced.op is not ReduceOp.SUM:
        return WhyNot("a factor goes into sums only")
    if set(reduced.indices) & set(free_indices(factor)):
        return WhyNot("the factor beside the sum has an index variable of the same name")
    return replace(reduced, body=body)


FACTORS_INTO_SUMS = Rule(
    "factors-into-sums", "multiplied out", (Law.LEFT, Law.RIGHT), Licence.ROUNDS_OTHERWISE, _moved_in
)
"""One loop nest multiplies and sums, where that is no more work than the sum first."""
