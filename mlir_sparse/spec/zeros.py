"""The value of expressions at zeros, which decides where sparse iteration is correct.

A kernel may skip missing entries of a tensor only if the expression is zero where they are (Kjolstad et al. 2017,
section 4: products intersect, sums unite). So this evaluates expressions, as far as they are known, where the tensors
are zero: `A(i,j) > 0` is 0 there, `A(i,j) >= 0` is 1, `exp(A(i,j)) - 1` is 0, and `where(A(i,j) > 0, b(i), A(i,j))` is
0 for any b(i).
"""

from __future__ import annotations

import cmath
import operator
from collections.abc import Callable, Collection
from typing import Any, assert_never

from mlir_sparse.notation import (
    FUNCTIONS,
    Access,
    Apply,
    Binary,
    BinaryOp,
    Call,
    Expr,
    Fold,
    Literal,
    Negate,
    Reduce,
    walk,
)

__all__ = ["depends_on", "missing", "value_at_zero", "vanishes"]

Number = int | float | complex
Zeros = Collection[str | Access]

# The range of every element type: beyond it integers of 8 bits wrap around, and the value is unknown.
_SMALL = 127


def depends_on(node: Expr, tensors: Collection[str]) -> bool:
    """Returns whether a node reads any of the tensors."""
    return any(isinstance(below, Access) and below.tensor in tensors for below in walk(node))


def vanishes(node: Expr, zeros: Zeros) -> bool:
    """Returns whether a node is certainly zero where the given tensors or accesses are.

    >>> from mlir_sparse.notation import parse
    >>> [vanishes(parse(f"y(i) = {text}").value, {"a"}) for text in ("a(i) * b(i)", "a(i) + b(i)", "a(i) > 0")]
    [True, False, True]
    """
    return value_at_zero(node, zeros) == 0


def value_at_zero(node: Expr, zeros: Zeros) -> Number | None:
    """Returns the value of a node where the given tensors or accesses are zero; None if it is unknown.

    >>> from mlir_sparse.notation import parse
    >>> value_at_zero(parse("y(i) = cos(a(i)) + 1").value, {"a"})
    2
    """
    found = _value(node, zeros)
    return found if found is None or (cmath.isfinite(found) and abs(found) <= _SMALL) else None


def _value(node: Expr, zeros: Zeros) -> Number | None:
    match node:
        case Access(tensor):
            return 0 if tensor in zeros or node in zeros else None
        case Literal(value):
            return value
        case Negate(operand):
            value_ = value_at_zero(operand, zeros)
            return None if value_ is None else -value_
        case Reduce(_, _, body):
            # If all values are zero, the first greatest is at position 0.
            return 0 if vanishes(body, zeros) else None
        case Binary():
            return _joined(node, zeros)
        case Call():
            return _called(node, zeros)
        case Apply():
            return 0 if missing(node, zeros) else None
        case Fold(monoid):
            return 0 if missing(node, zeros) and monoid.gives_zero else None
        case _:
            assert_never(node)


def missing(node: Expr, absent: Zeros) -> bool:
    """Returns whether a node has no entry where the given tensors have none.

    For an operator its regions decide; arithmetic has an entry unless its zeros make it zero.

    >>> from mlir_sparse.notation import operator
    >>> a, b = Access("a"), Access("b")
    >>> both, either = operator(lambda x, y: x * y + 1), operator(lambda x, y: x + y, left="keep", right="keep")
    >>> missing(Apply(both, (a, b)), {"a"}), missing(Apply(either, (a, b)), {"a"})
    (True, False)
    """
    match node:
        case Apply(applied, (operand,)):
            return missing(operand, absent) and applied.absent is None
        case Apply(applied, (left, right)):
            gone = missing(left, absent), missing(right, absent)
            region = {(True, False): applied.right, (False, True): applied.left, (False, False): applied.overlap}
            return gone == (True, True) or region[gone] is None
        case Fold(_, _, body):
            return missing(body, absent)
        case Literal():
            return False
        case _:
            return vanishes(node, absent)


_OPERATORS: dict[BinaryOp, Callable[[Any, Any], Number]] = {
    BinaryOp.ADD: operator.add,
    BinaryOp.SUB: operator.sub,
    BinaryOp.MUL: operator.mul,
    BinaryOp.DIV: operator.truediv,
    BinaryOp.LT: operator.lt,
    BinaryOp.LE: operator.le,
    BinaryOp.GT: operator.gt,
    BinaryOp.GE: operator.ge,
    BinaryOp.EQ: operator.eq,
    BinaryOp.NE: operator.ne,
    BinaryOp.AND: lambda left, right: int(left != 0 and right != 0),
    BinaryOp.OR: lambda left, right: int(left != 0 or right != 0),
}


def _joined(node: Binary, zeros: Zeros) -> Number | None:
    left, right = value_at_zero(node.left, zeros), value_at_zero(node.right, zeros)
    match node.op:
        case BinaryOp.MUL | BinaryOp.AND if left == 0 or right == 0:
            return 0
        case BinaryOp.OR if left or right:
            return 1
        case BinaryOp.DIV if right == 0:
            return None
        case BinaryOp.DIV if left == 0 and right is None:
            return _divided(node.right, zeros)
        case _ if left is None or right is None:
            return None
        case BinaryOp.LT | BinaryOp.LE | BinaryOp.GT | BinaryOp.GE if isinstance(left + right, complex):
            return None
        case _:
            return _OPERATORS[node.op](left, right)


def _divided(divisor: Expr, zeros: Zeros) -> Number | None:
    """Returns the value of zero over a divisor: zero, unless the divisor may be zero too (0/0 is NaN)."""
    tied = any(isinstance(below, Access) and (below.tensor in zeros or below in zeros) for below in walk(divisor))
    return None if tied else 0


def _called(node: Call, zeros: Zeros) -> Number | None:
    values = [value_at_zero(argument, zeros) for argument in node.arguments]
    function = FUNCTIONS[node.function]
    match node.function, values:
        case "where", [condition, then, otherwise]:
            if condition is not None:
                return then if condition else otherwise
            return then if then == otherwise else None
        case "logical_not", [value] if value is not None:
            return int(value == 0)
        case "pow", [base, exponent] if base == 0 and isinstance(exponent, int | float) and exponent > 0:
            return 0
        case (("floor_divide" | "remainder" | "fmod"), [dividend, divisor]) if dividend == 0:
            return _divided(node.arguments[1], zeros) if divisor is None else 0 if divisor else None
        case _, _ if any(values[place] == 0 for place in function.zero_at):
            return 0
        case _, _ if function.zero_preserving and all(value == 0 for value in values):
            return 0
        case (("exp" | "exp2" | "cos" | "cosh" | "sinc" | "isfinite"), [value]) if value == 0:
            return 1
        case _:
            return None
