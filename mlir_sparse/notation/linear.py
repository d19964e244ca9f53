"""Arithmetic on subscripts: sums and multiples of index variables."""

from __future__ import annotations

from mlir_sparse.notation.ast import AffineSubscript, IndexVar, Subscript
from mlir_sparse.text.source import Span

__all__ = ["LARGEST_INTEGER", "add", "as_affine", "as_subscript", "scale"]

# What the 64-bit `index` type of the compiled loops can hold.
LARGEST_INTEGER = 2**63 - 1


def as_affine(subscript: Subscript | int) -> AffineSubscript:
    """Returns a variable or an integer as a sum of terms."""
    match subscript:
        case AffineSubscript():
            return subscript
        case IndexVar():
            return AffineSubscript(((1, subscript),), 0, subscript.span)
        case _:
            return AffineSubscript((), subscript)


def as_subscript(affine: AffineSubscript, span: Span | None = None) -> Subscript:
    """Returns a plain variable where the sum is no more than that, else the sum.

    >>> i = IndexVar("i")
    >>> as_subscript(add(as_affine(i), as_affine(0)))
    IndexVar(name='i')
    """
    match affine:
        case AffineSubscript(((1, variable),), 0):
            return IndexVar(variable.name, span or variable.span)
        case _:
            return AffineSubscript(affine.terms, affine.constant, span or affine.span)


def add(left: AffineSubscript, right: AffineSubscript) -> AffineSubscript:
    """Returns the sum; variables keep the order in which they came, and cancel.

    >>> i, k = IndexVar("i"), IndexVar("k")
    >>> print(add(scale(as_affine(i), 2), as_affine(k)))
    2*i + k
    """
    coefficients: dict[IndexVar, int] = {}
    for coefficient, variable in (*left.terms, *right.terms):
        coefficients[variable] = coefficients.get(variable, 0) + coefficient
    terms = tuple((coefficient, variable) for variable, coefficient in coefficients.items() if coefficient)
    return AffineSubscript(terms, left.constant + right.constant)


def scale(affine: AffineSubscript, factor: int) -> AffineSubscript:
    """Returns the multiple by an integer."""
    terms = tuple((factor * coefficient, variable) for coefficient, variable in affine.terms if factor)
    return AffineSubscript(terms, factor * affine.constant)
