"""`-(a * b)` is `-a * b`: the sign of a product goes to its sparse factor."""

from __future__ import annotations

from dataclasses import replace

from mlir_sparse.notation import Binary, BinaryOp, Call, Expr, Negate, children, walk
from mlir_sparse.notation.laws import Law
from mlir_sparse.plan.rewrite.rewrite_rule import Context, Licence, Rule, WhyNot
from mlir_sparse.spec import depends_on

__all__ = ["NEGATE_FACTORS"]


def _moved_in(node: Expr, context: Context) -> Expr | WhyNot:
    match node:
        case Negate(operand) if not isinstance(found := _negative(operand, context.sparse), Negate):
            return found
        case _:
            return WhyNot("no function of dense operands stands beside a sparse factor")


def _negative(node: Expr, sparse: frozenset[str]) -> Expr:
    """Returns a factor with the other sign."""
    match node:
        case Binary(BinaryOp.MUL | BinaryOp.DIV as op, left, right) if _reads_function(node, sparse):
            if op is BinaryOp.MUL and not depends_on(left, sparse):
                return replace(node, right=_negative(right, sparse))
            return replace(node, left=_negative(left, sparse))
        case _:
            return Negate(node)


def _reads_function(node: Expr, sparse: frozenset[str]) -> bool:
    """Returns whether a function of dense operands is among the factors of a sparse one."""
    if not depends_on(node, sparse):
        return any(isinstance(below, Call) for below in walk(node))
    return any(_reads_function(child, sparse) for child in children(node))


NEGATE_FACTORS = Rule("negate-factors", "negated", (Law.MINUS,), Licence.EXACT, _moved_in)
"""Subtracting a product with a function of dense operands, `y(i) - A(i,j) * exp(x(j))`, crashes the sparsifier."""
