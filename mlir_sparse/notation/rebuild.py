"""Nodes with other children."""

from __future__ import annotations

from dataclasses import replace

from mlir_sparse.notation.ast import Access, Binary, Expr, Fold, Literal, Negate, Reduce

__all__ = ["rebuild"]


def rebuild(node: Expr, operands: tuple[Expr, ...]) -> Expr:
    """Returns a node with other children."""
    match node:
        case Negate():
            return replace(node, operand=operands[0])
        case Binary():
            return replace(node, left=operands[0], right=operands[1])
        case Reduce() | Fold():
            return replace(node, body=operands[0])
        case Access() | Literal():
            return node
        case _:
            return replace(node, arguments=operands)
