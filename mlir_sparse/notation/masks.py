"""The built-in operators on entries: masks, and selection by a condition."""

from __future__ import annotations

from mlir_sparse.notation.ast import Access, Apply, Expr
from mlir_sparse.notation.operator import Operator

__all__ = ["MASK", "SELECT", "WITHOUT", "is_mask"]

MASK = Operator("if", ("mask", "value"), Access("value"))
"""Keeps entries of a value where a mask has one: `C(i,j) = value if M(i,j)`."""

WITHOUT = Operator("if not", ("mask", "value"), None, right=Access("value"))
"""Keeps entries of a value where a mask has none: `C(i,j) = value if not M(i,j)`."""

SELECT = Operator("select", ("value", "condition"), Access("value"))
"""Keeps entries of a value where a condition on it holds: `select(A(i,j), A(i,j) > 0)`."""


def is_mask(node: Expr) -> bool:
    """Returns whether a node is a value under a mask."""
    return isinstance(node, Apply) and node.operator in (MASK, WITHOUT)
