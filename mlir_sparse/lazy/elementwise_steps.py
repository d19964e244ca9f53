"""Ufuncs of lazy expressions: each is one statement, with NumPy's element types and broadcasting."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from mlir_sparse.arrays.broadcast import broadcast_shape
from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType
from mlir_sparse.errors import DTypeError, OperandError, UnsupportedError
from mlir_sparse.lazy.recorded_statements import axis_names
from mlir_sparse.lazy.recorded_values import ArrayView, OperandValue, operand_view, recorded
from mlir_sparse.notation import FUNCTIONS, Binary, BinaryOp, Call, Expr, Literal, Negate

__all__ = ["as_view", "cast_view", "choose", "elementwise_step", "function_of", "is_number"]

_Make = Callable[..., Expr]


@dataclass(frozen=True, slots=True)
class _CallOf:
    """A call of a function of notation."""

    name: str

    def __call__(self, *arguments: Expr) -> Expr:
        return Call(self.name, arguments)


@dataclass(frozen=True, slots=True)
class _Elementwise:
    """A function of what a step reads, and of numbers in its text.

    Args:
        make: returns the expression.
        numbers: for each of its arguments the number that it is, None for one that is read.
    """

    make: _Make
    numbers: tuple[Literal | None, ...]

    def __call__(self, *reads: Expr) -> Expr:
        left = iter(reads)
        return self.make(*[next(left) if number is None else number for number in self.numbers])


_OPERATORS: dict[np.ufunc, _Make] = {
    np.add: partial(Binary, BinaryOp.ADD),
    np.subtract: partial(Binary, BinaryOp.SUB),
    np.multiply: partial(Binary, BinaryOp.MUL),
    np.true_divide: partial(Binary, BinaryOp.DIV),
    np.negative: Negate,
    np.positive: lambda operand: operand,
    np.less: partial(Binary, BinaryOp.LT),
    np.less_equal: partial(Binary, BinaryOp.LE),
    np.greater: partial(Binary, BinaryOp.GT),
    np.greater_equal: partial(Binary, BinaryOp.GE),
    np.equal: partial(Binary, BinaryOp.EQ),
    np.not_equal: partial(Binary, BinaryOp.NE),
    np.logical_and: partial(Binary, BinaryOp.AND),
    np.logical_or: partial(Binary, BinaryOp.OR),
}
# Functions whose values are NumPy's wherever they are defined.
_NAMES = (
    *("abs", "sign", "conj", "square", "sqrt", "cbrt", "floor", "ceil", "round", "trunc", "deg2rad", "rad2deg"),
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "logaddexp2"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("max", "min", "fmax", "fmin", "pow", "atan2", "hypot", "copysign", "heaviside"),
    *("isnan", "isinf", "isfinite", "signbit", "logical_not", "logical_xor"),
)
_CALLS: dict[np.ufunc, _Make] = {getattr(np, FUNCTIONS[name].numpy_name): _CallOf(name) for name in _NAMES}
# Of truth values these are logic; of integers they work on bits.
_BITWISE: dict[np.ufunc, tuple[_Make, _Make]] = {
    np.bitwise_and: (partial(Binary, BinaryOp.AND), _CallOf("bitwise_and")),
    np.bitwise_or: (partial(Binary, BinaryOp.OR), _CallOf("bitwise_or")),
    np.bitwise_xor: (_CallOf("logical_xor"), _CallOf("bitwise_xor")),
    np.invert: (_CallOf("logical_not"), _CallOf("invert")),
}
# Numbers that are part of the text of a kernel; others are operands, so that kernels serve all of them.
_WRITTEN = (-2, -1, 0, 1, 2, 0.5)


def is_number(source: Any) -> bool:
    """Returns whether an operand is one of Python's numbers, which take the element type of what they meet."""
    if type(source) is ArrayView:
        return False
    return isinstance(source, int | float | complex) and not isinstance(source, np.generic)


def as_view(source: Any) -> ArrayView:
    """Returns an operand as an array; numbers of Python's get the type that NumPy gives them."""
    return source if isinstance(source, ArrayView) else operand_view(source)


def elementwise_step(ufunc: np.ufunc, sources: Sequence[Any]) -> ArrayView:
    """Returns a ufunc of operands that broadcast.

    Args:
        ufunc: the ufunc.
        sources: views, arrays, tensors and numbers.

    Raises:
        UnsupportedError: for a ufunc that cannot be recorded, or not for these operands.
        ExtentError: for shapes that do not broadcast.
    """
    if ufunc is np.power and (instead := _instead_of_power(*sources)) is not None:
        return elementwise_step(instead, sources[:1])
    given = [source if is_number(source) else as_view(source) for source in sources]
    dtypes = _loop_types(ufunc, given)
    if ufunc is np.power and dtypes[-1].kind not in "fc":  # NumPy refuses negative powers of integers at run time
        raise UnsupportedError(
            f"expected powers of floating-point numbers, or squares, but got {dtypes[-1]}: "
            "call .compute() on the operands of np.power first"
        )
    make = _maker(ufunc, given)
    operands = [
        _number(one, dtype, ufunc) if is_number(one) else one for one, dtype in zip(given, dtypes, strict=False)
    ]
    _check_zeros(ufunc, given)
    return _broadcast(make, operands, dtypes[: len(given)], dtypes[len(given)], f"np.{ufunc.__name__}")


def _instead_of_power(base: Any, exponent: Any) -> np.ufunc | None:
    """Returns the ufunc that NumPy takes for a power: the root has -0.0 and NaN where the power has 0 and infinity."""
    if not isinstance(exponent, int | float | np.generic) or is_number(base):
        return None
    if is_number(exponent) and exponent == 2:
        return np.square
    return np.sqrt if exponent == 0.5 and as_view(base).dtype.kind in "fc" else None


def _loop_types(ufunc: np.ufunc, given: Sequence[Any]) -> tuple[np.dtype[Any], ...]:
    types = [
        type(one)
        if is_number(one) and type(one) is not bool
        else np.asarray(one).dtype
        if is_number(one)
        else one.dtype
        for one in given
    ]
    if ufunc.nout != 1 or ufunc.signature is not None:
        raise _unrecorded(f"np.{ufunc.__name__}")
    try:
        return tuple(ufunc.resolve_dtypes((*types, None)))
    except TypeError as error:
        raise OperandError(f"expected operands that np.{ufunc.__name__} takes, but got others: {error}") from None


def _maker(ufunc: np.ufunc, given: Sequence[Any]) -> _Make:
    if ufunc in _BITWISE:
        logic, bits = _BITWISE[ufunc]
        return (
            logic
            if all(isinstance(one, bool) or (not is_number(one) and one.dtype == np.bool_) for one in given)
            else bits
        )
    make = _OPERATORS.get(ufunc) or _CALLS.get(ufunc)
    if make is None:
        raise _unrecorded(f"np.{ufunc.__name__}")
    return make


def _unrecorded(what: str) -> UnsupportedError:
    return UnsupportedError(
        f"expected a function that lazy expressions record, but got {what}: call .compute() on its operands first"
    )


def _number(value: Any, dtype: np.dtype[Any], ufunc: np.ufunc) -> ArrayView | Literal:
    """Returns one of Python's numbers in the element type that the ufunc's loop has for it."""
    if type(value) is not bool and value in _WRITTEN and dtype.kind in "iufc" and not isinstance(value, complex):
        negative = value < 0 or (value == 0 and math.copysign(1, value) < 0)
        if not negative and (dtype.kind not in "iu" or isinstance(value, int)):
            return Literal(value)
    try:
        return operand_view(np.array(value, dtype))
    except OverflowError:
        raise DTypeError(f"expected a number that {dtype} holds for np.{ufunc.__name__}, but got {value}") from None


def _check_zeros(ufunc: np.ufunc, given: Sequence[Any]) -> None:
    """Refuses what is NaN where nothing is stored: loops over stored entries never go there."""
    if ufunc is not np.true_divide and ufunc is not np.multiply:
        return
    sparse = [not is_number(one) and one.is_sparse for one in given]
    if ufunc is np.true_divide and any(sparse):
        if sparse[1]:
            raise UnsupportedError(
                "expected a divisor without missing entries, whose quotients are not finite, but got a sparse one: "
                "call .compute() on the operands of np.divide first, or .to_numpy() on the divisor"
            )
        _check_scalar(ufunc, given[1], lambda value: value != 0 and not np.isnan(value), "nonzero")
    if ufunc is np.multiply and any(sparse):
        for one in given:
            _check_scalar(ufunc, one, lambda value: cmath.isfinite(value), "finite")


def _check_scalar(ufunc: np.ufunc, one: Any, holds: Callable[[Any], bool], rule: str) -> None:
    value = one if is_number(one) else _scalar(one)
    if value is not None and not holds(value):
        raise UnsupportedError(
            f"expected a {rule} number beside a sparse operand of np.{ufunc.__name__}, but got {value}, which makes "
            "every missing entry NaN: call .compute() on the sparse operand first"
        )


def _scalar(view: ArrayView) -> Any:
    """Returns the number that an operand is; None for other operands."""
    held = view.value.source if isinstance(view.value, OperandValue) else None
    return held[()] if isinstance(held, np.ndarray) and held.ndim == 0 else None


def _broadcast(
    make: _Make,
    operands: Sequence[ArrayView | Literal],
    dtypes: Sequence[np.dtype[Any]],
    wanted: np.dtype[Any],
    what: str,
) -> ArrayView:
    views = [one for one in operands if isinstance(one, ArrayView)]
    shape = broadcast_shape([view.shape for view in views], f"operands of {what}")
    output = axis_names(len(shape))
    labels = tuple([output[len(output) - view.ndim :] for view in views])
    value = _Elementwise(make, tuple([one if isinstance(one, Literal) else None for one in operands]))

    try:
        return recorded(views, labels, output, value, wanted, what)
    except UnsupportedError:
        # In the types of NumPy's loop, where a kernel would compute in smaller ones.
        pairs = [(one, dtype) for one, dtype in zip(operands, dtypes, strict=True) if isinstance(one, ArrayView)]
        if all(view.dtype == dtype for view, dtype in pairs):
            raise
        return recorded([cast_view(*pair) for pair in pairs], labels, output, value, wanted, what)


def cast_view(view: ArrayView, dtype: np.dtype[Any]) -> ArrayView:
    """Returns a view in an element type that has all its numbers: times one of that type.

    Raises:
        UnsupportedError: for a type that rounds.
    """
    if view.dtype == dtype:
        return view
    if not np.can_cast(view.dtype, dtype) or DType.of(dtype).is_narrow or dtype == np.bool_:
        raise UnsupportedError(
            f"expected an element type that holds all numbers of {view.dtype}, but got {dtype}: call .compute() first"
        )
    labels = axis_names(view.ndim)
    one = operand_view(np.ones((), dtype))
    return recorded([view, one], (labels, ()), labels, _OPERATORS[np.multiply], dtype, f"astype({dtype})")


def function_of(name: str, view: ArrayView, dtype: np.dtype[Any]) -> ArrayView:
    """Returns a function of notation of each element."""
    labels = axis_names(view.ndim)
    return recorded([view], (labels,), labels, _CallOf(name), dtype, f"np.{name}")


def choose(condition: Any, first: Any, second: Any) -> ArrayView:
    """Returns `np.where` of a condition and two operands."""
    test = as_view(condition)
    given = [source if is_number(source) else as_view(source) for source in (first, second)]
    wanted = np.result_type(*[one if is_number(one) else one.dtype for one in given])
    operands = [_number(one, wanted, np.add) if is_number(one) else one for one in given]
    dtypes = [test.dtype, wanted, wanted]
    return _broadcast(_CallOf("where"), [test, *operands], dtypes, wanted, "np.where")
