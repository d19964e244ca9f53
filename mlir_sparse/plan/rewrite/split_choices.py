"""`where(c, a, b)` is `where(c, a, 0) + where(c, 0, b)`."""

from __future__ import annotations

from mlir_sparse.notation import Binary, BinaryOp, Call, Expr, Literal
from mlir_sparse.notation.laws import Law
from mlir_sparse.plan.rewrite.rewrite_rule import Context, Licence, Rule, WhyNot

__all__ = ["SPLIT_CHOICES"]


def _split(node: Expr, _: Context) -> Expr | WhyNot:
    match node:
        case Call("where", (condition, then, otherwise)) if not any(map(_is_zero, node.arguments)):
            first = Call("where", (condition, then, Literal(0)), node.span)
            second = Call("where", (condition, Literal(0), otherwise), node.span)
            return Binary(BinaryOp.ADD, first, second)
        case _:
            return WhyNot("it is no choice of two values")


def _is_zero(node: Expr) -> bool:
    return isinstance(node, Literal) and node.value == 0


SPLIT_CHOICES = Rule("split-choices", "chosen apart", (Law.ZERO,), Licence.SIGN_OF_ZERO, _split)
"""A choice among many sparse operands becomes a sum of choices, each among two."""
