"""The bounds of a form, as expressions over the sizes of its dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from mlir_sparse.affine.affine_expr import AffineBinary, AffineExpr, AffineOp, Constant, Dim
from mlir_sparse.affine.integer_form import Atom, Form
from mlir_sparse.affine.simplify import add, ceildiv, floordiv, mul

__all__ = ["Bounds", "bounds_of", "scale"]

# The least value, and one more than the greatest.
Bounds: TypeAlias = tuple[AffineExpr, AffineExpr]


def bounds_of(form: Form, dims: Sequence[Bounds]) -> Bounds:
    """Returns the bounds of a form, given independent bounds of its dimensions.

    A digit inside a block has the bounds of the whole block, even where a tensor ends in the middle of a block.

    >>> from mlir_sparse.affine.affine_expr import Symbol
    >>> sizes = [(Constant(0), Symbol(0)), (Constant(0), Symbol(1))]
    >>> low, high = bounds_of(Form.of([(Dim(1), 1), (Dim(0), -1)]), sizes)
    >>> print(low, "to", high)
    -s0 + 1 to s1
    """
    low: AffineExpr = Constant(form.constant)
    high: AffineExpr = Constant(form.constant + 1)
    for atom, factor in form.terms:
        first, end = _atom_bounds(atom, dims)
        last = add(end, Constant(-1))
        least, most = (first, last) if factor > 0 else (last, first)
        low = add(low, scale(least, factor))
        high = add(high, scale(most, factor))
    return low, high


def _atom_bounds(atom: Atom, dims: Sequence[Bounds]) -> Bounds:
    if isinstance(atom, Dim):
        return dims[atom.position]
    if atom.high is not None:
        return Constant(0), Constant(atom.high // atom.low)
    low, high = bounds_of(atom.base, dims)
    return floordiv(low, Constant(atom.low)), ceildiv(high, Constant(atom.low))


def scale(expr: AffineExpr, factor: int) -> AffineExpr:
    """Returns an expression times a number, distributed over the terms of a sum so that constants fold.

    >>> from mlir_sparse.affine.affine_expr import Symbol
    >>> print(scale(add(Symbol(0), Constant(-1)), -1))
    -s0 + 1
    """
    match expr:
        case AffineBinary(AffineOp.ADD, left, right):
            return add(scale(left, factor), scale(right, factor))
        case _:
            return mul(expr, Constant(factor))
