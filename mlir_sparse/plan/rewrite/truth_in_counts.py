"""`count(j : a)` is `sum(j : a != 0)`, and `or` and `and` are of `a != 0` as well."""

from __future__ import annotations

from dataclasses import replace

from mlir_sparse.notation import Binary, BinaryOp, Expr, Literal, Reduce, ReduceOp
from mlir_sparse.notation.laws import Law
from mlir_sparse.plan.rewrite.rewrite_rule import Context, Licence, Rule, WhyNot
from mlir_sparse.spec import gives_truth

__all__ = ["TRUTH_IN_COUNTS"]


def _of_truth(node: Expr, _: Context) -> Expr | WhyNot:
    match node:
        case Reduce(ReduceOp.COUNT | ReduceOp.OR | ReduceOp.AND as op, _, body):
            truth = body if gives_truth(body) else Binary(BinaryOp.NE, body, Literal(0))
            return replace(node, op=ReduceOp.SUM if op is ReduceOp.COUNT else op, body=truth)
        case _:
            return WhyNot("it does not ask whether values are zero")


TRUTH_IN_COUNTS = Rule("truth-in-counts", "counted", (Law.DEFINITION,), Licence.EXACT, _of_truth)
"""Loops sum and compare; they do not count."""
