"""The built-in operators on entries: masks, and selection by a condition."""

from __future__ import annotations

from dataclasses import replace

from mlir_sparse.notation.ast import Access, Apply, Call, Expr, Fold, Literal, children
from mlir_sparse.notation.operator import Operator
from mlir_sparse.notation.rebuild import rebuild

__all__ = ["MASK", "SELECT", "WITHOUT", "chosen_values", "condition_and_value", "is_mask", "with_value"]

MASK = Operator("if", ("mask", "value"), Access("value"))
"""Keeps entries of a value where a mask has one: `C(i,j) = value if M(i,j)`."""

WITHOUT = Operator("if not", ("mask", "value"), None, right=Access("value"))
"""Keeps entries of a value where a mask has none: `C(i,j) = value if not M(i,j)`."""

SELECT = Operator("select", ("value", "condition"), Access("value"))
"""Keeps entries of a value where a condition on it holds: `select(A(i,j), A(i,j) > 0)`."""


def is_mask(node: Expr) -> bool:
    """Returns whether a node is a value under a mask."""
    return isinstance(node, Apply) and node.operator in (MASK, WITHOUT)


def condition_and_value(node: Expr) -> tuple[Expr, Expr] | None:
    """Returns a mask or a condition, and the value whose entries it keeps; None for other expressions."""
    match node:
        case Apply(operator, (first, second)) if operator in (MASK, WITHOUT):
            return first, second
        case Apply(operator, (value, condition)) if operator == SELECT:
            return condition, value
        case _:
            return None


def chosen_values(node: Expr) -> Expr:
    """Returns an expression with choices of zero for what conditions drop: the values are the same.

    Loops on choices are those of arithmetic; entries that are dropped remain as zeros. Below an operator on entries
    conditions stay.

    >>> from mlir_sparse.notation.notation_parser import parse
    >>> print(chosen_values(parse("y(i) = sum(j : A(i,j) if A(i,j) > 1)").value))
    sum(j : where(A(i,j) > 1, A(i,j), 0))
    """
    match node:
        case Apply(operator, (value, condition)) if operator == SELECT:
            return Call("where", (condition, chosen_values(value), Literal(0)), node.span)
        case Access() | Literal() | Apply() | Fold():
            return node
        case _:
            operands = children(node)
            found = tuple(map(chosen_values, operands))
            return node if found == operands else rebuild(node, found)


def with_value(node: Expr, value: Expr) -> Apply:
    """Returns what keeps entries by the same mask or condition, of another value."""
    assert isinstance(node, Apply)
    first, second = node.arguments
    return replace(node, arguments=(value, second) if node.operator == SELECT else (first, value))
