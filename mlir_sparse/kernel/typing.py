"""The element type that an assignment computes in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

import numpy as np

from mlir_sparse.dtypes import DType
from mlir_sparse.notation import FUNCTIONS, Access, Binary, BinaryOp, Call, Expr, Literal, Negate, Reduce

__all__ = ["promote", "result_dtype"]

_FLOAT = DType("f64")
_COMPLEX = DType("c128")


def promote(left: DType, right: DType) -> DType:
    """Returns the type NumPy computes two types in (`numpy.result_type`); bf16 counts as f16, and the two meet in f32.

    >>> promote(DType("i32"), DType("f32")), promote(DType("bf16"), DType("f16"))
    (DType(name='f64'), DType(name='f32'))
    """
    try:
        return DType.of(np.result_type(left.numpy, right.numpy))
    except TypeError:  # NumPy knows no common type of bf16 and f16 or integers of 16 bits and more
        if {left.name, right.name} == {"bf16", "f16"}:
            return DType("f32")
        other = right if left.name == "bf16" else left
        return promote(DType("f16"), other)


def result_dtype(value: Expr, dtypes: Mapping[str, DType]) -> DType:
    """Returns the element type of an expression: NumPy's for its tensors, f64 where integers are divided.

    Literals are weak, as Python scalars are in NumPy: `2 * x` has the type of x,
    `0.5 * x` does too unless x holds integers.

    Args:
        value: the right side of an assignment.
        dtypes: the element type of every tensor in it.
    """
    found = _dtype(value, dtypes)
    return found if isinstance(found, DType) else {"i": DType("i64"), "f": _FLOAT, "c": _COMPLEX}[found]


# Literals have a kind ("i", "f" or "c") instead of a type until they meet a tensor.
_Weak = str


def _dtype(node: Expr, dtypes: Mapping[str, DType]) -> DType | _Weak:
    match node:
        case Access(tensor):
            return dtypes[tensor]
        case Literal(value):
            return "c" if isinstance(value, complex) else "f" if isinstance(value, float) else "i"
        case Negate(operand):
            return _dtype(operand, dtypes)
        case Reduce(_, _, body):
            return _dtype(body, dtypes)
        case Binary(op, left, right):
            joined = _join(_dtype(left, dtypes), _dtype(right, dtypes))
            return _inexact(joined) if op is BinaryOp.DIV else joined
        case Call(function, arguments):
            found = _dtype(arguments[0], dtypes)
            for argument in arguments[1:]:
                found = _join(found, _dtype(argument, dtypes))
            return found if FUNCTIONS[function].keeps_integers else _inexact(found)
        case _:
            assert_never(node)


def _kind(dtype: DType | _Weak) -> str:
    return dtype.kind if isinstance(dtype, DType) else dtype


def _inexact(dtype: DType | _Weak) -> DType | _Weak:
    return dtype if _kind(dtype) != "i" else _FLOAT if isinstance(dtype, DType) else "f"


def _join(left: DType | _Weak, right: DType | _Weak) -> DType | _Weak:
    if isinstance(left, DType) and isinstance(right, DType):
        return promote(left, right)
    if not isinstance(left, DType) and not isinstance(right, DType):
        return max(left, right, key="ifc".index)
    strong, weak = (left, _kind(right)) if isinstance(left, DType) else (right, _kind(left))
    assert isinstance(strong, DType)
    if "ifc".index(weak) <= "ifc".index(strong.kind):
        return strong
    if weak == "f":
        return _FLOAT
    return DType("c64") if strong.kind == "f" and strong.bits <= 32 else _COMPLEX
