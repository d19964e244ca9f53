"""Whether expressions make infinities or NaN of finite numbers: arrays may stand for sparse tensors where none does."""

from __future__ import annotations

from mlir_sparse.notation import Binary, BinaryOp, Call, Expr, Literal, walk

__all__ = ["makes_finite"]

# Functions that are finite for all finite arguments, and not by their range alone as `exp` is.
_FINITE = frozenset(("abs", "atan", "ceil", "conj", "cos", "erf", "floor", "imag", "max", "min", "real", "relu"))
_FINITE |= frozenset(("round", "sign", "sin", "square", "stored", "tanh", "trunc", "where"))


def makes_finite(node: Expr) -> bool:
    """Returns whether an expression makes no infinity and no NaN of finite numbers, but where products overflow.

    Where one is made beside a missing entry, loops over entries skip it; zero of an array times it is NaN.

    >>> from mlir_sparse.notation import parse
    >>> makes_finite(parse("y = A(i,j) * M(i,j) * abs(P(i,j))").value)
    True
    >>> makes_finite(parse("y = A(i,j) * M(i,j) * log(P(i,j))").value)
    False
    """
    return all(map(_is_finite, walk(node)))


def _is_finite(node: Expr) -> bool:
    match node:
        case Call("pow", (_, Literal(int(power)))):
            return power >= 0
        case Call(function):
            return function in _FINITE
        case Binary(BinaryOp.DIV, _, right):
            return isinstance(right, Literal) and right.value != 0
        case _:
            return True
