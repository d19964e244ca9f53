"""Python's operators on MLIR's values: `x * x + 1` emits operations at the insertion point."""

from __future__ import annotations

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType
from mlir_sparse.lower import arithmetic_ops, truth_ops
from mlir_sparse.lower.mlir_types import element_type
from mlir_sparse.notation import BinaryOp

__all__ = ["Scalar", "Truth", "angle_of", "choose", "parts_of"]


@dataclass(frozen=True, slots=True)
class Truth:
    """A value of one bit."""

    value: ir.Value

    def __and__(self, other: Truth) -> Truth:
        return Truth(truth_ops.join(BinaryOp.AND, self.value, other.value))

    def __or__(self, other: Truth) -> Truth:
        return Truth(truth_ops.join(BinaryOp.OR, self.value, other.value))

    def __xor__(self, other: Truth) -> Truth:
        return Truth(arithmetic_ops.operation("arith.xori", self.value.type, self.value, other.value))

    def __invert__(self) -> Truth:
        return Truth(truth_ops.invert(self.value))


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value and its element type; operators turn numbers into constants of that type."""

    value: ir.Value
    dtype: DType

    def like(self, number: float) -> Scalar:
        """Returns a constant of the same type."""
        return Scalar(arithmetic_ops.constant(number, self.dtype), self.dtype)

    def op(self, name: str, *others: Scalar | float) -> Scalar:
        """Returns the result of an operation on values of one type."""
        operands = [self.value, *(self._as_value(other) for other in others)]
        return Scalar(arithmetic_ops.operation(name, element_type(self.dtype), *operands), self.dtype)

    def _as_value(self, other: Scalar | float) -> ir.Value:
        return other.value if isinstance(other, Scalar) else arithmetic_ops.constant(other, self.dtype)

    def _joined(self, op: BinaryOp, other: Scalar | float) -> Scalar:
        return Scalar(arithmetic_ops.binary(op, self.value, self._as_value(other), self.dtype), self.dtype)

    def _compared(self, op: BinaryOp, other: Scalar | float) -> Truth:
        return Truth(truth_ops.compare(op, self.value, self._as_value(other), self.dtype))

    def __add__(self, other: Scalar | float) -> Scalar:
        return self._joined(BinaryOp.ADD, other)

    def __sub__(self, other: Scalar | float) -> Scalar:
        return self._joined(BinaryOp.SUB, other)

    def __mul__(self, other: Scalar | float) -> Scalar:
        return self._joined(BinaryOp.MUL, other)

    def __truediv__(self, other: Scalar | float) -> Scalar:
        return self._joined(BinaryOp.DIV, other)

    def __neg__(self) -> Scalar:
        return Scalar(arithmetic_ops.negate(self.value, self.dtype), self.dtype)

    def __lt__(self, other: Scalar | float) -> Truth:
        return self._compared(BinaryOp.LT, other)

    def __le__(self, other: Scalar | float) -> Truth:
        return self._compared(BinaryOp.LE, other)

    def __gt__(self, other: Scalar | float) -> Truth:
        return self._compared(BinaryOp.GT, other)

    def __ge__(self, other: Scalar | float) -> Truth:
        return self._compared(BinaryOp.GE, other)

    def equals(self, other: Scalar | float) -> Truth:
        """Returns whether two values are equal; NaN equals nothing."""
        return self._compared(BinaryOp.EQ, other)

    def differs(self, other: Scalar | float) -> Truth:
        """Returns whether two values differ; NaN differs from all."""
        return self._compared(BinaryOp.NE, other)


def choose(condition: Truth, then: Scalar, otherwise: Scalar) -> Scalar:
    """Returns one of two values of a type."""
    return Scalar(truth_ops.select(condition.value, then.value, otherwise.value, then.dtype), then.dtype)


def angle_of(y: Scalar, x: Scalar) -> Scalar:
    """Returns the angle of the point (x, y), of two zeros too: MLIR folds `math.atan2` of these to NaN.

    Constants stand where an operand has no entry, and may be found to be zeros by any pass.
    """
    origin = x.equals(0) & y.equals(0)
    return y.op("math.atan2", choose(origin, x.like(1).op("math.copysign", x), x))


def parts_of(z: Scalar) -> tuple[Scalar, Scalar]:
    """Returns the real and the imaginary part of a complex value."""
    part = z.dtype.part
    kind = element_type(part)
    return (
        Scalar(arithmetic_ops.operation("complex.re", kind, z.value), part),
        Scalar(arithmetic_ops.operation("complex.im", kind, z.value), part),
    )
