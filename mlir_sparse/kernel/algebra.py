"""What zeros do to an expression: the ground on which sparse iteration stands.

A kernel may skip the entries that a tensor does not store only where the
expression is zero whenever they are (Kjolstad et al. 2017, section 4: products
intersect, sums unite).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import assert_never

from mlir_sparse.notation import FUNCTIONS, Access, Binary, BinaryOp, Call, Expr, Literal, Negate, Reduce, walk

__all__ = ["depends_on", "vanishes"]


def depends_on(node: Expr, tensors: Collection[str]) -> bool:
    """Returns whether a node reads any of the tensors."""
    return any(isinstance(below, Access) and below.tensor in tensors for below in walk(node))


def vanishes(node: Expr, zeros: Collection[str]) -> bool:
    """Returns whether a node is zero for certain when the tensors named are.

    >>> from mlir_sparse.notation import parse
    >>> vanishes(parse("y(i) = a(i) * b(i)").value, {"a"}), vanishes(parse("y(i) = a(i) + b(i)").value, {"a"})
    (True, False)
    """
    match node:
        case Access(tensor):
            return tensor in zeros
        case Literal(value):
            return value == 0
        case Negate(operand):
            return vanishes(operand, zeros)
        case Reduce(_, _, body):
            return vanishes(body, zeros)
        case Binary(BinaryOp.MUL, left, right):
            return vanishes(left, zeros) or vanishes(right, zeros)
        case Binary(BinaryOp.DIV, left, right):
            # 0/0 is not zero, so a divisor that vanishes as well decides nothing.
            return vanishes(left, zeros) and not depends_on(right, zeros) and not vanishes(right, zeros)
        case Binary(_, left, right):
            return vanishes(left, zeros) and vanishes(right, zeros)
        case Call(function, arguments):
            return bool(FUNCTIONS[function].zero_preserving) and all(vanishes(a, zeros) for a in arguments)
        case _:
            assert_never(node)
