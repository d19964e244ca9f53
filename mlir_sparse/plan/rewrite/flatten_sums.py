"""`a - (b - c)` is `a - b + c`."""

from __future__ import annotations

from mlir_sparse.notation import Binary, BinaryOp, Expr
from mlir_sparse.notation.laws import Law
from mlir_sparse.plan.rewrite.rewrite_rule import Context, Licence, Rule, WhyNot
from mlir_sparse.plan.rewrite.sum_of_terms import SUMS, is_elementwise

__all__ = ["FLATTEN_SUMS"]


def _flattened(node: Expr, context: Context) -> Expr | WhyNot:
    match node:
        case Binary(op, left, Binary(inner, first, second) as right) if op in SUMS and inner in SUMS:
            if context.rounds and is_elementwise(right):  # `a - (b - c)` need not be too large where `a - b` is
                return WhyNot("its parentheses say what is added first")
            last = BinaryOp.ADD if op is inner else BinaryOp.SUB
            return Binary(last, Binary(op, left, first), second)
        case _:
            return WhyNot("no sum stands in parentheses on its right")


FLATTEN_SUMS = Rule("flatten-sums", "added one by one", (Law.SUM_ORDER, Law.MINUS), Licence.REASSOCIATES, _flattened)
"""What is added to a sum that holds reductions is added to each of its terms."""
