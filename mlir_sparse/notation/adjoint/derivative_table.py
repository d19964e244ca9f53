"""The derivatives of scalar functions, as index notation: one table, by the name of the function.

A derivative is a formula over the arguments a, b, c and the cotangent g of the result: what the argument's cotangent
gets. Where a function has none, its subgradient is PyTorch's.
"""

from __future__ import annotations

from functools import cache

from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DTYPES, DType
from mlir_sparse.notation.ast import Access, Expr
from mlir_sparse.notation.notation_parser import parse
from mlir_sparse.notation.rebuild import substitute

__all__ = ["DERIVATIVES", "HOLOMORPHIC", "OF_PARTS", "Derivative", "derivative"]

_OF_INTEGERS = "it is a function of integers"


@dataclass(frozen=True, slots=True)
class Derivative:
    """The derivatives of a function.

    Args:
        formulas: for each argument, its cotangent; None where the function is constant in it nearly everywhere.
        reason: why there are none; empty where there are.
    """

    formulas: tuple[str | None, ...]
    reason: str = ""


def _of(*formulas: str | None) -> Derivative:
    return Derivative(formulas)


_STEPS = _of(None)
_TWO_STEPS = _of(None, None)
_BITS = Derivative((), _OF_INTEGERS)


def _of_cast(dtype: DType) -> Derivative:
    if dtype.is_truth:
        return _STEPS
    return _of("g") if dtype.is_real else Derivative((), f"it gives {_GIVEN[dtype.kind]}")


_GIVEN = {"i": "integers", "c": "complex numbers"}

DERIVATIVES: dict[str, Derivative] = {
    "abs": _of("g * sign(a)"),
    "sign": _STEPS,
    "conj": _of("g"),
    "real": _of("g"),
    "imag": _STEPS,
    "angle": _STEPS,
    "relu": _of("where(a > 0, g, 0)"),
    "square": _of("2 * g * a"),
    "reciprocal": _of("-g / square(a)"),
    "floor": _STEPS,
    "ceil": _STEPS,
    "round": _STEPS,
    "trunc": _STEPS,
    "sqrt": _of("0.5 * g / sqrt(a)"),
    "rsqrt": _of("-0.5 * g * rsqrt(a) / a"),
    "cbrt": _of("g / (3 * square(cbrt(a)))"),
    "exp": _of("g * exp(a)"),
    "exp2": _of("0.6931471805599453 * g * exp2(a)"),
    "expm1": _of("g * exp(a)"),
    "log": _of("g / a"),
    "log2": _of("1.4426950408889634 * g / a"),
    "log10": _of("0.4342944819032518 * g / a"),
    "log1p": _of("g / (1 + a)"),
    "sin": _of("g * cos(a)"),
    "cos": _of("-g * sin(a)"),
    "tan": _of("g * (1 + square(tan(a)))"),
    "asin": _of("g / sqrt(1 - square(a))"),
    "acos": _of("-g / sqrt(1 - square(a))"),
    "atan": _of("g / (1 + square(a))"),
    "sinh": _of("g * cosh(a)"),
    "cosh": _of("g * sinh(a)"),
    "tanh": _of("g * (1 - square(tanh(a)))"),
    "asinh": _of("g / sqrt(1 + square(a))"),
    # One root of the product would have the other sign where the real part of a complex number is negative.
    "acosh": _of("g / (sqrt(a - 1) * sqrt(a + 1))"),
    "atanh": _of("g / (1 - square(a))"),
    "erf": _of("1.1283791670955126 * g * exp(-square(a))"),
    # The quotient is 0/1 at zero, so that no NaN is left there.
    "sinc": _of("g * (cos(3.141592653589793 * a) - sinc(a)) / where(a == 0, 1, a)"),
    "deg2rad": _of("0.017453292519943295 * g"),
    "rad2deg": _of("57.29577951308232 * g"),
    "max": _of("where(a > b, g, where(a == b, 0.5 * g, 0))", "where(b > a, g, where(a == b, 0.5 * g, 0))"),
    "min": _of("where(a < b, g, where(a == b, 0.5 * g, 0))", "where(b < a, g, where(a == b, 0.5 * g, 0))"),
    "fmax": _of("where(a >= b | isnan(b), g, 0)", "where(a >= b | isnan(b), 0, g)"),
    "fmin": _of("where(a <= b | isnan(b), g, 0)", "where(a <= b | isnan(b), 0, g)"),
    "pow": _of("where(b == 0, 0, g * b * pow(a, b - 1))", "where(a == 0, 0, g * pow(a, b) * log(where(a == 0, 1, a)))"),
    "atan2": _of("g * b / (square(a) + square(b))", "-g * a / (square(a) + square(b))"),
    "hypot": _of("g * a / hypot(a, b)", "g * b / hypot(a, b)"),
    "copysign": _of("g * sign(a) * copysign(1.0, b)", None),
    "heaviside": _of(None, "where(a == 0, g, 0)"),
    "logaddexp": _of("g / (1 + exp(b - a))", "g / (1 + exp(a - b))"),
    "logaddexp2": _of("g / (1 + exp2(b - a))", "g / (1 + exp2(a - b))"),
    "floor_divide": _TWO_STEPS,
    "remainder": _of("g", "-g * floor_divide(a, b)"),
    "fmod": _of("g", "-g * trunc(a / b)"),
    "bitwise_and": _BITS,
    "bitwise_or": _BITS,
    "bitwise_xor": _BITS,
    "invert": _BITS,
    "left_shift": _BITS,
    "right_shift": _BITS,
    "where": _of(None, "where(a != 0, g, 0)", "where(a != 0, 0, g)"),
    "stored": _of("g"),
    "logical_not": _STEPS,
    "logical_xor": _TWO_STEPS,
    "isnan": _STEPS,
    "isinf": _STEPS,
    "isfinite": _STEPS,
    "signbit": _STEPS,
    **{dtype.name: _of_cast(dtype) for dtype in DTYPES if not dtype.is_storage},
}
"""Every function of notation, each with the cotangents of its arguments."""

HOLOMORPHIC = frozenset(
    {"square", "reciprocal", "sqrt", "rsqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos",
     "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "pow", "stored", "where"}
)  # fmt: skip
"""Functions whose derivative of complex numbers is that of real ones."""

OF_PARTS: dict[str, str] = {
    "conj": "conj(g)",
    "real": "g",
    "imag": "1.0j * g",
    "abs": "g * sign(a)",
    "angle": "where(a == 0, 0, 1.0j * g / conj(where(a == 0, 1, a)))",
    "sign": "where(a == 0, 0, (g - real(g * conj(sign(a))) * sign(a)) / abs(where(a == 0, 1, a)))",
}
"""Functions of the parts of complex numbers: what the argument gets, where a cotangent is the derivative of a loss by
the real part plus 1j times that by the imaginary part, as in PyTorch. That of a real result is real."""

_ARGUMENTS = "abc"


@cache
def _formula(text: str) -> Expr:
    return parse(f"result = {text}").value


def derivative(
    function: str, argument: int, arguments: tuple[Expr, ...], cotangent: Expr, of_parts: bool = False
) -> Expr | None:
    """Returns the cotangent of an argument of a function; None where the function is constant in it.

    Args:
        function: a function with derivatives.
        argument: which of its arguments.
        arguments: all of them.
        cotangent: that of the result.
        of_parts: whether the function is one of the parts of a complex number, in OF_PARTS.

    >>> print(derivative("exp", 0, (Access("x"),), Access("dy")))
    dy * exp(x)
    """
    text = OF_PARTS[function] if of_parts else DERIVATIVES[function].formulas[argument]
    if text is None:
        return None
    values: dict[Access, Expr] = {Access("g"): cotangent}
    values |= {Access(name): value for name, value in zip(_ARGUMENTS, arguments, strict=False)}
    return substitute(_formula(text), values)
