"""The accesses of an expression, and expressions with others in place of them or of children."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mlir_sparse.notation.ast import Access, Binary, Expr, Fold, Literal, Negate, Reduce, children, walk

__all__ = ["accesses_of", "rebuild", "replace_accesses", "substitute"]


def accesses_of(node: Expr) -> tuple[Access, ...]:
    """Returns the distinct accesses of an expression, in the order of the text."""
    return tuple(dict.fromkeys(below for below in walk(node) if isinstance(below, Access)))


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


def substitute(node: Expr, instead: Mapping[Access, Expr]) -> Expr:
    """Returns an expression in which some accesses are replaced by expressions."""
    if isinstance(node, Access):
        return instead.get(node, node)
    return rebuild(node, tuple(substitute(child, instead) for child in children(node)))


def replace_accesses(node: Expr, names: Mapping[Access, str]) -> Expr:
    """Returns an expression in which some accesses read other tensors with the same subscripts."""
    return substitute(node, {access: replace(access, tensor=name) for access, name in names.items()})
