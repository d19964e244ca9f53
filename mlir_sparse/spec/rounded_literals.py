"""Literals rounded to the element type that they are computed in.

`1e-50` is zero in f32, and `1e-8` in f16, as in NumPy. Whether an expression is zero where nothing is stored is decided
on the text, which therefore must have the numbers that kernels compute with: in f32 a zero is `>= 1e-50`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import copysign

from mlir_sparse.dtypes import DType
from mlir_sparse.notation import (
    Apply,
    Binary,
    BinaryOp,
    Call,
    Expr,
    Fold,
    Literal,
    Reduce,
    ReduceOp,
    children,
    is_mask,
    rebuild,
    walk,
)
from mlir_sparse.spec.computed_type import inner_dtypes, operand_dtype, result_dtype, starts_anew

__all__ = ["round_literals"]


def round_literals(value: Expr, dtypes: Mapping[str, DType], dtype: DType) -> Expr:
    """Returns an expression with zeros for literals that round to zero in their element type.

    Args:
        value: the right side of an assignment, every reduction explicit.
        dtypes: the element type of every tensor in it.
        dtype: the element type of the result.

    >>> from mlir_sparse.notation import parse
    >>> f32, value = DType("f32"), parse("y(i) = 1e-50 * x(i) + (z(i) > 1e-50)").value
    >>> print(round_literals(value, {"x": f32, "z": DType("f64")}, f32))
    0.0 * x(i) + (z(i) > 1e-50)
    """
    if not any(isinstance(node, Literal) and isinstance(node.value, float | complex) for node in walk(value)):
        return value
    if dtype.is_storage or any(kind.is_storage for kind in dtypes.values()):
        return value  # which is computed in f32: literals are rounded there
    # Sums and products of f16 and bf16 are computed in f32, and so is the whole expression around them.
    sums = any(isinstance(node, Reduce | Fold) for node in walk(value))
    return _rounded_node(value, dtypes, dtype.accumulated_in if sums else dtype)


def _rounded_node(node: Expr, dtypes: Mapping[str, DType], dtype: DType | None) -> Expr:
    """Returns a node with rounded literals; None for the element type if it may be wider."""
    if isinstance(node, Literal):
        return node if dtype is None else _rounded(node, dtype)
    below = children(node)
    kinds = _kinds(node, below, dtypes, dtype)
    operands = tuple(_rounded_node(child, dtypes, kind) for child, kind in zip(below, kinds, strict=True))
    return node if all(new is old for new, old in zip(operands, below, strict=True)) else rebuild(node, operands)


def _kinds(
    node: Expr, below: tuple[Expr, ...], dtypes: Mapping[str, DType], dtype: DType | None
) -> Sequence[DType | None]:
    """Returns the element type in which each operand of a node is computed."""
    match node:
        case Apply() if is_mask(node):
            return None, dtype
        case Apply() | Fold():
            kinds = [result_dtype(child, dtypes) for child in below]
            return [None if kind.is_narrow else kind for kind in kinds]
        case (
            Binary(BinaryOp.AND | BinaryOp.OR)
            | Call("logical_not")
            | Reduce(ReduceOp.OR | ReduceOp.AND | ReduceOp.COUNT)
        ):
            return [operand_dtype((child,), dtypes) for child in below]
        case Call("where", (condition, _, _)):
            return operand_dtype((condition,), dtypes), dtype, dtype
        case _ if starts_anew(node):
            return inner_dtypes(node, dtypes)
        case _:
            return [dtype] * len(below)


def _rounded(node: Literal, dtype: DType) -> Literal:
    if dtype.is_exact or isinstance(node.value, int):
        return node
    least = 2.0 ** (dtype.part.quantum - 1)  # half of the least positive number: this and smaller numbers round to zero
    if isinstance(node.value, float):
        rounded: float | complex = _part(node.value, least)
    else:
        rounded = complex(_part(node.value.real, least), _part(node.value.imag, least))
    return node if rounded == node.value else replace(node, value=rounded)


def _part(value: float, least: float) -> float:
    return copysign(0.0, value) if abs(value) <= least else value
