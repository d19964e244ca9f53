"""Truth values in MLIR: comparisons, logic and choices, on values of one bit."""

from __future__ import annotations

from mlir_sparse._mlir import ir
from mlir_sparse.dtypes import DType
from mlir_sparse.lower.arithmetic_ops import cast, constant, operation
from mlir_sparse.lower.mlir_types import element_type
from mlir_sparse.notation import BinaryOp

__all__ = ["compare", "compare_signs", "invert", "join", "nonzero", "number", "select"]

# The numbers of MLIR's predicates. They are ordered but for `!=`: NaN equals, precedes and follows nothing.
_FLOAT = {"==": 1, ">": 2, ">=": 3, "<": 4, "<=": 5, "!=": 13}
_INTEGER = {"==": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
_UNSIGNED = {"==": 0, "!=": 1, "<": 6, "<=": 7, ">": 8, ">=": 9}
_COMPLEX = {"==": "complex.eq", "!=": "complex.neq"}


_ABOVE = (BinaryOp.GT, BinaryOp.GE, BinaryOp.NE)
_BELOW = (BinaryOp.LT, BinaryOp.LE, BinaryOp.NE)


def _bit() -> ir.Type:
    return ir.IntegerType.get_signless(1)


def compare(op: BinaryOp, left: ir.Value, right: ir.Value, dtype: DType) -> ir.Value:
    """Returns whether a comparison holds of two values of an element type; complex numbers have no order."""
    if dtype.is_complex:
        return operation(_COMPLEX[op.value], _bit(), left, right)
    integers = _UNSIGNED if dtype.is_unsigned else _INTEGER
    name, predicates = ("arith.cmpf", _FLOAT) if dtype.is_real else ("arith.cmpi", integers)
    predicate = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicates[op.value])
    return operation(name, _bit(), left, right, predicate=predicate)


def compare_signs(op: BinaryOp, left: ir.Value, right: ir.Value, dtypes: tuple[DType, DType]) -> ir.Value:
    """Returns whether a comparison holds of integers without and with a sign, as numbers.

    Args:
        op: the comparison.
        left: an integer.
        right: another.
        dtypes: their types; one is unsigned, and no narrower than the other.
    """
    wide = dtypes[0] if dtypes[0].is_unsigned else dtypes[1]
    alike = compare(op, cast(left, dtypes[0], wide), cast(right, dtypes[1], wide), wide)
    signed, dtype = (right, dtypes[1]) if dtypes[0].is_unsigned else (left, dtypes[0])
    negative = compare(BinaryOp.LT, signed, constant(0, dtype), dtype)
    above = _ABOVE if dtypes[0].is_unsigned else _BELOW  # the left one is, where the other side is negative
    beyond = operation("arith.constant", _bit(), value=ir.IntegerAttr.get(_bit(), int(op in above)))
    return operation("arith.select", _bit(), negative, beyond, alike)


def nonzero(value: ir.Value, dtype: DType) -> ir.Value:
    """Returns whether a value is not zero; NaN is not."""
    return compare(BinaryOp.NE, value, constant(0, dtype), dtype)


def join(op: BinaryOp, left: ir.Value, right: ir.Value) -> ir.Value:
    """Returns two truth values joined by `&` or `|`."""
    return operation("arith.andi" if op is BinaryOp.AND else "arith.ori", _bit(), left, right)


def invert(value: ir.Value) -> ir.Value:
    """Returns a truth value negated."""
    one = operation("arith.constant", _bit(), value=ir.IntegerAttr.get(_bit(), 1))
    return operation("arith.xori", _bit(), value, one)


def select(condition: ir.Value, then: ir.Value, otherwise: ir.Value, dtype: DType) -> ir.Value:
    """Returns one of two values of an element type."""
    return operation("arith.select", element_type(dtype), condition, then, otherwise)


def number(value: ir.Value, dtype: DType) -> ir.Value:
    """Returns a truth value as 0 or 1 of an element type."""
    if dtype.is_exact:
        return operation("arith.extui", element_type(dtype), value)
    if dtype.is_real:
        return operation("arith.uitofp", element_type(dtype), value)
    return select(value, constant(1, dtype), constant(0, dtype), dtype)
