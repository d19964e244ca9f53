"""The accesses of an expression, and expressions with others in place of them or of children."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mlir_sparse.notation.ast import (
    Access,
    AffineSubscript,
    Binary,
    Call,
    Expr,
    Fold,
    IndexVar,
    Literal,
    Negate,
    Reduce,
    Subscript,
    children,
)

__all__ = ["accesses_of", "rebuild", "rename_variables", "replace_accesses", "substitute"]


def accesses_of(node: Expr) -> tuple[Access, ...]:
    """Returns the distinct accesses of an expression, in the order of the text."""
    if isinstance(node, Access):
        return (node,)
    found: list[Access] = []
    left: list[Expr] = [node]  # as `walk` does, in less time: planning asks for those of thousands of expressions
    while left:
        below = left.pop()
        if isinstance(below, Access):
            found.append(below)
        elif isinstance(below, Binary):
            left += (below.right, below.left)
        elif not isinstance(below, Literal):
            left += children(below)[::-1]
    # Names take less time to compare than nodes.
    several = len({access.tensor for access in found}) < len(found)
    return tuple(dict.fromkeys(found) if several else found)


def rebuild(node: Expr, operands: tuple[Expr, ...]) -> Expr:
    """Returns a node with other children."""
    # Called by its constructor: `replace` takes three times as long, and rules rebuild each node of a statement.
    if isinstance(node, Binary):
        return Binary(node.op, operands[0], operands[1], node.span)
    if isinstance(node, (Access, Literal)):
        return node
    if isinstance(node, Reduce):
        return Reduce(node.op, node.indices, operands[0], node.span)
    if isinstance(node, Negate):
        return Negate(operands[0], node.span)
    if isinstance(node, Call):
        return Call(node.function, operands, node.span)
    return replace(node, body=operands[0]) if isinstance(node, Fold) else replace(node, arguments=operands)


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
    if isinstance(node, Access):
        return Access(node.tensor, tuple(_subscript(s, names) for s in node.subscripts), node.span)
    operands = tuple(rename_variables(child, names) for child in children(node))
    if isinstance(node, (Reduce, Fold)):
        return replace(node, indices=tuple(names.get(index, index) for index in node.indices), body=operands[0])
    return rebuild(node, operands)


def _subscript(subscript: Subscript, names: Mapping[IndexVar, IndexVar]) -> Subscript:
    if isinstance(subscript, IndexVar):
        return names.get(subscript, subscript)
    if isinstance(subscript, AffineSubscript):
        return replace(subscript, terms=tuple((factor, names.get(v, v)) for factor, v in subscript.terms))
    inner = rename_variables(subscript, names)
    assert isinstance(inner, Access)
    return inner
