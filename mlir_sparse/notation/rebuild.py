"""The accesses of an expression, and expressions with others in place of them or of children."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mlir_sparse.notation.ast import (
    Access,
    AffineSubscript,
    Binary,
    Expr,
    Fold,
    IndexVar,
    Literal,
    Negate,
    Reduce,
    Subscript,
    children,
    walk,
)

__all__ = ["accesses_of", "rebuild", "rename_variables", "replace_accesses", "substitute"]


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


def rename_variables(node: Expr, names: Mapping[IndexVar, IndexVar]) -> Expr:
    """Returns an expression with other index variables, free and bound; those without a name keep their own."""
    operands = tuple(rename_variables(child, names) for child in children(node))
    match node:
        case Access():
            return replace(node, subscripts=tuple(_subscript(s, names) for s in node.subscripts))
        case Reduce() | Fold():
            return replace(node, indices=tuple(names.get(index, index) for index in node.indices), body=operands[0])
        case _:
            return rebuild(node, operands)


def _subscript(subscript: Subscript, names: Mapping[IndexVar, IndexVar]) -> Subscript:
    match subscript:
        case IndexVar():
            return names.get(subscript, subscript)
        case AffineSubscript(terms):
            return replace(subscript, terms=tuple((factor, names.get(v, v)) for factor, v in terms))
        case Access():
            inner = rename_variables(subscript, names)
            assert isinstance(inner, Access)
            return inner
