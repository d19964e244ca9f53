"""Powers with the exponents that are written most, in operations of vectors: within 1.5 units in the last place."""

from __future__ import annotations

import math
from collections.abc import Callable

from mlir_sparse._mlir import ir
from mlir_sparse.lower import arithmetic_ops
from mlir_sparse.lower.formula_ops import Scalar, choose

__all__ = ["constant_power"]


def constant_power(base: Scalar, exponent: ir.Value) -> Scalar | None:
    """Returns a real number to the power of a constant; None where a function is to compute it.

    Args:
        base: the number; of a narrow type it is multiplied in the type that sums of it are in, and rounded once.
        exponent: the exponent, a value of the same type.
    """
    written = _POWERS.get(_constant(exponent))
    if written is None:
        return None
    if not base.dtype.is_narrow:
        return written(base)
    wide = base.dtype.accumulated_in
    found = written(Scalar(arithmetic_ops.cast(base.value, base.dtype, wide), wide))
    return Scalar(arithmetic_ops.cast(found.value, wide, base.dtype), base.dtype)


def _constant(value: ir.Value) -> float | None:
    """Returns the constant of floating point that a value is; None for others."""
    constant = None if isinstance(value.owner, ir.Block) else value.owner.operation
    if constant is None or constant.name != "arith.constant":
        return None
    attribute = constant.attributes["value"]
    return attribute.value if isinstance(attribute, ir.FloatAttr) else None


def _root(x: Scalar) -> Scalar:
    """Returns a power of a half, which differs from the root of -0 and of minus infinity: they are 0 and infinity."""
    return choose(x.equals(-math.inf), x.like(math.inf), (x + 0.0).op("math.sqrt"))


_POWERS: dict[float | None, Callable[[Scalar], Scalar]] = {
    2.0: lambda x: x * x,
    3.0: lambda x: x * x * x,
    -1.0: lambda x: x.like(1.0) / x,
    0.5: _root,
}
