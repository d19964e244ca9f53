"""The scalar region of a `linalg.generic`, from an expression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from mlir_sparse.dtypes import DType
from mlir_sparse.lower import scalars
from mlir_sparse.notation import Access, Binary, BinaryOp, Call, Expr, Literal, Negate, Reduce, ReduceOp

__all__ = ["emit_payload"]


def emit_payload(
    body: Expr, arguments: Mapping[Access, tuple[Any, DType]], present: Any | None, combine: ReduceOp, dtype: DType
) -> Any:
    """Emits a payload at the insertion point.

    Args:
        body: the computation, free of reductions.
        arguments: the block argument and element type of each access.
        present: the output's block argument where the payload accumulates, else None.
        combine: the operator of the accumulation.
        dtype: the element type computed in.

    Returns:
        the value to yield.
    """
    if present is None:
        return _emit(body, arguments, dtype)
    if isinstance(body, Negate) and combine is ReduceOp.SUM:
        # One subtraction, in place of an addition of a negative: the form the sparsifier knows.
        return scalars.binary(BinaryOp.SUB, present, _emit(body.operand, arguments, dtype), dtype)
    return scalars.reduce(combine, present, _emit(body, arguments, dtype), dtype)


def _emit(node: Expr, arguments: Mapping[Access, tuple[Any, DType]], dtype: DType) -> Any:
    match node:
        case Access():
            value, source = arguments[node]
            return scalars.cast(value, source, dtype)
        case Literal(value):
            return scalars.constant(value, dtype)
        case Negate(operand):
            return scalars.negate(_emit(operand, arguments, dtype), dtype)
        case Binary(op, left, right):
            return scalars.binary(op, _emit(left, arguments, dtype), _emit(right, arguments, dtype), dtype)
        case Call(function, operands):
            return scalars.call(function, [_emit(operand, arguments, dtype) for operand in operands], dtype)
        case Reduce():
            raise AssertionError("reductions are loops of their own by now")
        case _:
            assert_never(node)
