"""Which expressions have complex values, by the tensors that do: a chain rule conjugates those alone."""

from __future__ import annotations

from collections.abc import Collection

from mlir_sparse.dtypes import DType
from mlir_sparse.notation.ast import (
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
    ReduceOp,
)
from mlir_sparse.notation.masks import SELECT, is_mask
from mlir_sparse.notation.scalar_functions import FUNCTIONS

__all__ = ["is_complex", "real_part"]

_ARITHMETIC = (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.DIV)


def is_complex(node: Expr, complexes: Collection[str]) -> bool:
    """Returns whether an expression has complex values.

    Args:
        node: the expression.
        complexes: the tensors of complex numbers.

    >>> from mlir_sparse.notation import parse
    >>> [is_complex(parse(f"y(i) = {text}").value, {"z"}) for text in ("z(i) * x(i)", "abs(z(i))", "z(i) == x(i)")]
    [True, False, False]
    """
    match node:
        case Access(tensor):
            return tensor in complexes
        case Literal(value):
            return isinstance(value, complex)
        case Negate(operand):
            return is_complex(operand, complexes)
        case Binary(op, left, right):
            return op in _ARITHMETIC and (is_complex(left, complexes) or is_complex(right, complexes))
        case Call():
            return _is_complex_call(node, complexes)
        case Reduce(op, _, body):
            return op in (ReduceOp.SUM, ReduceOp.PRODUCT) and is_complex(body, complexes)
        case Apply() if is_mask(node):
            return is_complex(node.arguments[1], complexes)
        case Apply() if node.operator == SELECT:
            return is_complex(node.arguments[0], complexes)
        case Apply(_, arguments):
            return any(is_complex(one, complexes) for one in arguments)
        case Fold(_, _, body):
            return is_complex(body, complexes)


def _is_complex_call(node: Call, complexes: Collection[str]) -> bool:
    function = FUNCTIONS[node.function]
    if function.result == "cast":
        return DType(function.name).is_complex
    if function.result in ("real", "truth"):
        return False
    joining = node.arguments[1:] if function.name == "where" else node.arguments
    return any(is_complex(one, complexes) for one in joining)


def real_part(node: Expr, complexes: Collection[str]) -> Expr:
    """Returns the real part of an expression: itself where its values are real.

    >>> print(real_part(Access("z"), {"z"}), real_part(Access("x"), {"z"}))
    real(z) x
    """
    return Call("real", (node,)) if is_complex(node, complexes) else node
