"""Constructors of affine expressions that fold and reorder as MLIR's builders do.

Each follows the simplification of the operator in MLIR's `AffineExpr.cpp`: constants go right, symbols go right of
dimensions, neighbouring constants fold, and divisions by a known divisor disappear. Sums also lean left: their text is
MLIR's, and parses back to the same value.
"""

from __future__ import annotations

from math import gcd
from typing import assert_never

from mlir_sparse.affine.affine_expr import AffineBinary, AffineExpr, AffineOp, Constant, Dim, Symbol

__all__ = ["add", "binary", "ceildiv", "floordiv", "mod", "mul", "negate", "subtract"]


def binary(op: AffineOp, left: AffineExpr, right: AffineExpr) -> AffineExpr:
    """Returns the operator applied to both, simplified.

    >>> from mlir_sparse.affine.affine_expr import Dim
    >>> str(binary(AffineOp.ADD, Constant(4), Dim(0)))
    'd0 + 4'
    """
    match op:
        case AffineOp.ADD:
            return add(left, right)
        case AffineOp.MUL:
            return mul(left, right)
        case AffineOp.FLOORDIV:
            return floordiv(left, right)
        case AffineOp.CEILDIV:
            return ceildiv(left, right)
        case AffineOp.MOD:
            return mod(left, right)
        case _:
            assert_never(op)


def add(left: AffineExpr, right: AffineExpr) -> AffineExpr:
    """Returns left + right.

    >>> from mlir_sparse.affine.affine_expr import Dim
    >>> str(add(add(Dim(0), Constant(2)), Constant(3)))
    'd0 + 5'
    """
    match left, right:
        case Constant(a), Constant(b):
            return Constant(a + b)
        case Constant(), _:
            return add(right, left)
        case _ if left.is_symbolic and not right.is_symbolic:
            return add(right, left)
        case _, Constant(0):
            return left
        case AffineBinary(AffineOp.ADD, inner, Constant(a)), Constant(b):
            return add(inner, Constant(a + b))
        case _, AffineBinary(AffineOp.ADD, inner, last):
            # Sums lean left: a sum that leans right would print as text that parses to another value.
            return add(add(left, inner), last)
    return (
        _add_like_terms(left, right)
        or _add_remainder(left, right)
        or _add_to_last(left, right)
        or AffineBinary(AffineOp.ADD, *_in_order(left, right))
    )


def _in_order(left: AffineExpr, right: AffineExpr) -> tuple[AffineExpr, AffineExpr]:
    """Orders two variables: dimensions before symbols, then by position."""
    match left, right:
        case (Dim(a), Dim(b)) | (Symbol(a), Symbol(b)) if a > b:
            return right, left
        case Symbol(), Dim():
            return right, left
    return left, right


def _add_like_terms(left: AffineExpr, right: AffineExpr) -> AffineExpr | None:
    """Folds `e * a + e * b`, and moves the constant of `(e + a) + f` last."""
    (first, a), (second, b) = _coefficient(left), _coefficient(right)
    if first == second:
        return mul(first, Constant(a + b))
    match left:
        case AffineBinary(AffineOp.ADD, inner, Constant() as constant):
            return add(add(inner, right), constant)
    return None


def _coefficient(expr: AffineExpr) -> tuple[AffineExpr, int]:
    match expr:
        case AffineBinary(AffineOp.MUL, inner, Constant(value)):
            return inner, value
        case _:
            return expr, 1


def _add_remainder(left: AffineExpr, right: AffineExpr) -> AffineExpr | None:
    """Folds `e - (e floordiv q) * q` to `e mod q`."""
    match right:
        case AffineBinary(AffineOp.MUL, AffineBinary(AffineOp.MUL, quotient, divisor), Constant(-1)):
            pass
        case AffineBinary(AffineOp.MUL, quotient, factor):
            divisor = negate(factor)
        case _:
            return None
    if quotient == AffineBinary(AffineOp.FLOORDIV, left, divisor):
        return mod(left, divisor)
    return None


def _add_to_last(left: AffineExpr, right: AffineExpr) -> AffineExpr | None:
    """Folds a quotient into the last term of a sum, as in `(f + e) - (e floordiv q) * q`."""
    match left, right:
        case AffineBinary(AffineOp.ADD, rest, last), AffineBinary(AffineOp.MUL, AffineBinary(AffineOp.FLOORDIV), _):
            folded = _add_like_terms(last, right) or _add_remainder(last, right)
            return add(rest, folded) if folded is not None else None
    return None


def subtract(left: AffineExpr, right: AffineExpr) -> AffineExpr:
    """Returns left - right, which is left + right * -1.

    >>> from mlir_sparse.affine.affine_expr import Dim
    >>> str(subtract(Dim(0), Dim(1)))
    'd0 - d1'
    """
    return add(left, negate(right))


def negate(expr: AffineExpr) -> AffineExpr:
    """Returns -expr.

    >>> from mlir_sparse.affine.affine_expr import Dim
    >>> str(negate(Dim(0)))
    '-d0'
    """
    return mul(expr, Constant(-1))


def mul(left: AffineExpr, right: AffineExpr) -> AffineExpr:
    """Returns left * right; one of the two uses no dimension.

    >>> from mlir_sparse.affine.affine_expr import Dim
    >>> str(mul(Constant(3), Dim(0)))
    'd0 * 3'
    """
    match left, right:
        case Constant(a), Constant(b):
            return Constant(a * b)
        case Constant(), _:
            return mul(right, left)
        case _ if not right.is_symbolic and left.is_symbolic:
            return mul(right, left)
        case _, Constant(1):
            return left
        case _, Constant(0):
            return right
        case AffineBinary(AffineOp.MUL, inner, Constant(a)), Constant(b):
            return mul(inner, Constant(a * b))
        case AffineBinary(AffineOp.MUL, inner, Constant() as constant), _:
            return mul(mul(inner, right), constant)
    return AffineBinary(AffineOp.MUL, *_in_order(left, right))


def floordiv(left: AffineExpr, right: AffineExpr) -> AffineExpr:
    """Returns the quotient rounded towards minus infinity.

    >>> from mlir_sparse.affine.affine_expr import Dim
    >>> str(floordiv(mul(Dim(0), Constant(8)), Constant(4)))
    'd0 * 2'
    """
    match left, right:
        case AffineBinary(AffineOp.ADD, a, b), Constant(divisor) if divisor not in (0, 1):
            if _known_divisor(a) % divisor == 0 or _known_divisor(b) % divisor == 0:
                return add(floordiv(a, right), floordiv(b, right))
    return _quotient(AffineOp.FLOORDIV, left, right)


def ceildiv(left: AffineExpr, right: AffineExpr) -> AffineExpr:
    """Returns the quotient rounded towards plus infinity.

    >>> from mlir_sparse.affine.affine_expr import Dim
    >>> str(ceildiv(Dim(0), Constant(4)))
    'd0 ceildiv 4'
    """
    return _quotient(AffineOp.CEILDIV, left, right)


def _quotient(op: AffineOp, left: AffineExpr, right: AffineExpr) -> AffineExpr:
    """Returns a quotient, simplified where both ways to round agree."""
    quotient = AffineBinary(op, left, right)
    if not isinstance(right, Constant):
        return Constant(1) if left == right else quotient
    match left:
        case _ if right.value == 0:
            return quotient
        case Constant():
            return Constant(quotient.evaluate(()))
        case _ if right.value == 1:
            return left
        case AffineBinary(AffineOp.MUL, inner, Constant(value)) if value % right.value == 0:
            return mul(inner, Constant(value // right.value))
    return quotient


def mod(left: AffineExpr, right: AffineExpr) -> AffineExpr:
    """Returns the remainder of `floordiv`.

    >>> from mlir_sparse.affine.affine_expr import Dim
    >>> str(mod(add(mul(Dim(0), Constant(8)), Dim(1)), Constant(4)))
    'd1 mod 4'
    """
    if not isinstance(right, Constant):
        return Constant(0) if left == right else AffineBinary(AffineOp.MOD, left, right)
    if right.value < 1:
        return AffineBinary(AffineOp.MOD, left, right)
    divisor = right.value
    if isinstance(left, Constant):
        return Constant(left.value % divisor)
    if _known_divisor(left) % divisor == 0:
        return Constant(0)
    match left:
        case AffineBinary(AffineOp.ADD, a, b) if _known_divisor(a) % divisor == 0:
            return mod(b, right)
        case AffineBinary(AffineOp.ADD, a, b) if _known_divisor(b) % divisor == 0:
            return mod(a, right)
        case AffineBinary(AffineOp.MOD, inner, Constant(value)) if value >= 1 and value % divisor == 0:
            return mod(inner, right)
    return AffineBinary(AffineOp.MOD, left, right)


def _known_divisor(expr: AffineExpr) -> int:
    """Returns the largest integer known to divide the expression for all dimensions."""
    match expr:
        case Constant(value):
            return abs(value)
        case AffineBinary(AffineOp.MUL, left, right):
            return _known_divisor(left) * _known_divisor(right)
        case AffineBinary(AffineOp.ADD | AffineOp.MOD, left, right):
            return gcd(_known_divisor(left), _known_divisor(right))
        case AffineBinary(AffineOp.FLOORDIV | AffineOp.CEILDIV, left, Constant(value)) if value != 0:
            known = _known_divisor(left)
            return abs(known // value) if known % value == 0 else 1
        case _:
            return 1
