"""Python's operators on numbers and vectors of f32 and f64, and on their bits: each emits one operation."""

from __future__ import annotations

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DTYPES
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.emit_vectors import splat_number
from mlir_sparse.pipeline.functions.real_format import FORMATS, RealFormat

__all__ = ["Bits", "Real", "real_format", "where"]

_PREDICATES = {"==": 1, ">": 2, "<": 4, "!=": 13}
"""What `arith.cmpf` calls comparisons; NaN fulfils the last one alone."""


_FORMATS = {dtype.mlir: form for dtype in DTYPES for form in FORMATS if (dtype.kind, dtype.bits) == ("f", form.bits)}

_WIDEST = max(_FORMATS, key=lambda name: _FORMATS[name].bits)


def real_format(kind: ir.Type) -> RealFormat | None:
    """Returns the format of numbers of a type, or of a vector's; None for all but f32 and f64."""
    if isinstance(kind, ir.VectorType):
        return None if kind.scalable else real_format(kind.element_type)
    return _FORMATS.get(str(kind))


def _constant(kind: ir.Type, number: float) -> ir.Value:
    if isinstance(kind, ir.VectorType):
        return splat_number(kind, number)
    value = ir.FloatAttr.get(kind, number) if build.is_float(kind) else ir.IntegerAttr.get(kind, int(number))
    return build.operation("arith.constant", kind, value=value)


def _like(kind: ir.Type, element: ir.Type) -> ir.Type:
    """Returns a type of as many numbers as another has."""
    return ir.VectorType.get(kind.shape, element) if isinstance(kind, ir.VectorType) else element


@dataclass(frozen=True, slots=True)
class Bits:
    """The bits of real numbers, as integers of their width.

    Args:
        value: an integer, or a vector of them.
    """

    value: ir.Value

    def _with(self, name: str, other: Bits | int) -> Bits:
        operand = other.value if isinstance(other, Bits) else _constant(self.value.type, _signed(other, self))
        return Bits(build.operation(name, self.value.type, self.value, operand))

    def __add__(self, other: Bits | int) -> Bits:
        return self._with("arith.addi", other)

    def __sub__(self, other: Bits | int) -> Bits:
        return self._with("arith.subi", other)

    def __or__(self, other: Bits | int) -> Bits:
        return self._with("arith.ori", other)

    def __lshift__(self, places: int) -> Bits:
        return self._with("arith.shli", places)

    def __rshift__(self, places: int) -> Bits:
        """Returns the bits moved down, zeros behind them."""
        return self._with("arith.shrui", places)

    def real(self, like: Real) -> Real:
        """Returns the real numbers that have these bits."""
        return Real(build.operation("arith.bitcast", like.value.type, self.value))


def _signed(number: int, like: Bits) -> int:
    kind = like.value.type
    width = build.width_of(kind.element_type if isinstance(kind, ir.VectorType) else kind)
    return number - (1 << width) if number >> (width - 1) else number


@dataclass(frozen=True, slots=True)
class Real:
    """Real numbers of f32 or f64; operators turn numbers into constants of that type.

    Args:
        value: a number, or a vector of them.
    """

    value: ir.Value

    @property
    def format(self) -> RealFormat:
        """Returns the format of the numbers."""
        found = real_format(self.value.type)
        if found is None:
            raise TypeError(f"expected numbers of f32 or f64, but got {self.value.type}")
        return found

    def like(self, number: float) -> Real:
        """Returns a constant of the same type."""
        return Real(_constant(self.value.type, number))

    def _value_of(self, other: Real | float) -> ir.Value:
        return other.value if isinstance(other, Real) else _constant(self.value.type, other)

    def _with(self, name: str, *others: Real | float) -> Real:
        return Real(build.operation(name, self.value.type, self.value, *map(self._value_of, others)))

    def _compared(self, sign: str, other: Real | float) -> ir.Value:
        word = build.word_type()
        truth = _like(self.value.type, ir.IntegerType.get_signless(1))
        predicate = ir.IntegerAttr.get(word, _PREDICATES[sign])
        return build.operation("arith.cmpf", truth, self.value, self._value_of(other), predicate=predicate)

    def __add__(self, other: Real | float) -> Real:
        return self._with("arith.addf", other)

    def __sub__(self, other: Real | float) -> Real:
        return self._with("arith.subf", other)

    def __mul__(self, other: Real | float) -> Real:
        return self._with("arith.mulf", other)

    def __truediv__(self, other: Real | float) -> Real:
        return self._with("arith.divf", other)

    def __neg__(self) -> Real:
        return self._with("arith.negf")

    def __abs__(self) -> Real:
        return self._with("math.absf")

    def __lt__(self, other: Real | float) -> ir.Value:
        return self._compared("<", other)

    def __gt__(self, other: Real | float) -> ir.Value:
        return self._compared(">", other)

    @property
    def floor(self) -> Real:
        """Returns the greatest integers that are not above the numbers."""
        return self._with("math.floor")

    @property
    def widened(self) -> Real:
        """Returns the numbers in the widest format."""
        return Real(build.operation("arith.extf", _like(self.value.type, ir.Type.parse(_WIDEST)), self.value))

    def narrowed(self, like: Real) -> Real:
        """Returns the numbers in the format of others, rounded."""
        return Real(build.operation("arith.truncf", like.value.type, self.value))

    def equals(self, other: Real | float) -> ir.Value:
        """Returns whether numbers are equal; NaN equals nothing."""
        return self._compared("==", other)

    def differs(self, other: Real | float) -> ir.Value:
        """Returns whether numbers differ; NaN differs from all."""
        return self._compared("!=", other)

    def times_plus(self, factor: Real | float, term: Real | float) -> Real:
        """Returns self * factor + term, rounded once."""
        return self._with("math.fma", factor, term)

    def signed_as(self, other: Real) -> Real:
        """Returns the numbers with the signs of others."""
        return self._with("math.copysign", other)

    @property
    def bits(self) -> Bits:
        """Returns the bits of the numbers."""
        kind = _like(self.value.type, ir.IntegerType.get_signless(self.format.bits))
        return Bits(build.operation("arith.bitcast", kind, self.value))


def where(truth: ir.Value, then: Real | float, otherwise: Real | float) -> Real:
    """Returns numbers of one or of the other, of which one at least is a Real, as each truth says."""
    if isinstance(then, Real):
        other = otherwise if isinstance(otherwise, Real) else then.like(otherwise)
        return Real(build.select(truth, then.value, other.value))
    assert isinstance(otherwise, Real)
    return Real(build.select(truth, otherwise.like(then).value, otherwise.value))
