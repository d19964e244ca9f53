"""The functions of the notation in MLIR, with NumPy's meaning: NaN, signed zeros, integers divided by zero."""

from __future__ import annotations

import math
from collections.abc import Callable

from mlir_sparse._mlir import ir
from mlir_sparse.dtypes import TRUTH, DType
from mlir_sparse.lower import arithmetic_ops, complex_functions
from mlir_sparse.lower.arithmetic_ops import operation
from mlir_sparse.lower.constant_powers import constant_power
from mlir_sparse.lower.formula_ops import Scalar, Truth, angle_of, choose
from mlir_sparse.lower.mlir_types import element_type
from mlir_sparse.notation import FUNCTIONS

__all__ = ["call"]


def _named(dialect: str, names: str) -> dict[str, str]:
    """Returns the operations that have the names of their functions."""
    return {name: f"{dialect}.{name}" for name in names.split()}


# The functions of the notation that are one operation each.
_SINGLE = {
    "f": {
        **_named("math", "floor ceil trunc sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan"),
        **_named("math", "sinh cosh tanh asinh acosh atanh erf copysign"),
        "abs": "math.absf",
        "round": "math.roundeven",
        "max": "arith.maximumf",
        "min": "arith.minimumf",
        "fmax": "arith.maxnumf",
        "fmin": "arith.minnumf",
        "fmod": "arith.remf",
        "pow": "math.powf",
    },
    "i": {
        "abs": "math.absi",
        "max": "arith.maxsi",
        "min": "arith.minsi",
        "fmax": "arith.maxsi",
        "fmin": "arith.minsi",
        "pow": "math.ipowi",
        "bitwise_and": "arith.andi",
        "bitwise_or": "arith.ori",
        "bitwise_xor": "arith.xori",
    },
    "u": {"max": "arith.maxui", "min": "arith.minui", "fmax": "arith.maxui", "fmin": "arith.minui"},
    "c": _named("complex", "conj sqrt exp"),
}
# Functions that leave integers, or real numbers, as they are.
_UNCHANGED = {
    "i": frozenset({"floor", "ceil", "round", "trunc", "conj", "real"}),
    "f": frozenset({"conj", "real"}),
    "c": frozenset[str](),
}
# Functions whose results no type rounds.
_SELECTING = {"abs", "round", "floor", "ceil", "trunc", "max", "min", "fmax", "fmin", "copysign", "sign", "relu"}
_EXACT = _SELECTING | {name for name, function in FUNCTIONS.items() if function.result == "truth"}


def call(function: str, arguments: list[ir.Value], dtype: DType) -> ir.Value:
    """Returns a function of values of an element type that has it.

    Returns:
        a value of the same type; of the type of its parts, of one bit or of the type that the function is named by,
            where the function's table says so.
    """
    if FUNCTIONS[function].result == "cast":
        return _converted(Scalar(arguments[0], dtype), DType(function))
    kind = "i" if dtype.is_truth else dtype.kind  # the remaining functions take truth values as the integers 0 and 1
    if function in _UNCHANGED[kind] or (dtype.is_unsigned and function == "abs"):
        return arguments[0]
    scalars = [Scalar(argument, dtype) for argument in arguments]
    if function == "pow" and kind == "f" and (power := constant_power(scalars[0], arguments[1])) is not None:
        return power.value
    if kind == "f" and dtype.is_narrow and function not in _EXACT:
        # As NumPy does: MLIR's own expm1 of f16 is a difference of rounded numbers.
        wide = dtype.accumulated_in
        found = call(function, [arithmetic_ops.cast(argument, dtype, wide) for argument in arguments], wide)
        return arithmetic_ops.cast(found, wide, dtype)
    for family in ("u", kind) if dtype.is_unsigned else (kind,):
        if (name := _SINGLE[family].get(function)) is not None:
            return scalars[0].op(name, *scalars[1:]).value
        if (composed := _COMPOSED.get((family, function))) is not None:
            return composed(*scalars).value
    return _COMPOSED["", function](*scalars).value


def _converted(x: Scalar, target: DType) -> ir.Value:
    """Returns a value in another element type; NaN and numbers that an integer type does not hold give its least."""
    if not (x.dtype.is_real and target.is_integer):
        return arithmetic_ops.cast(x.value, x.dtype, target)
    if x.dtype.is_narrow:
        x = Scalar(arithmetic_ops.cast(x.value, x.dtype, x.dtype.accumulated_in), x.dtype.accumulated_in)
    least, greatest = (int(limit) for limit in target.limits)
    # The least number of 64 bits has no neighbour below it that f64 holds.
    above = x >= float(least) if least < -(2**32) else x > least - 1.0
    inside = above & (x < greatest + 1.0)
    within = choose(inside, x, x.like(0))
    name = "arith.fptoui" if target.is_unsigned else "arith.fptosi"
    whole = Scalar(arithmetic_ops.operation(name, element_type(target), within.value), target)
    return choose(inside, whole, whole.like(least)).value


def _call(function: str, *arguments: Scalar) -> Scalar:
    return Scalar(call(function, [argument.value for argument in arguments], arguments[0].dtype), arguments[0].dtype)


# -- real numbers -------------------------------------------------------------------------------------------------


def _float_sign(x: Scalar) -> Scalar:
    """Returns -1 or 1; zeros and NaN stay as they are."""
    return choose(x > 0, x.like(1), choose(x < 0, x.like(-1), x))


def _hypot(x: Scalar, y: Scalar) -> Scalar:
    """Returns the length of (x, y), scaled so that squares do not overflow; infinite where either is, NaN or not."""
    x, y = _call("abs", x), _call("abs", y)
    large, small = _call("fmax", x, y), _call("fmin", x, y)
    ratio = small / large
    length = large * _call("sqrt", ratio * ratio + 1)
    length = choose(large.equals(0), large, length)
    infinite = choose(large.equals(math.inf), large, length)
    nan = x.differs(x) | y.differs(y)
    return choose(nan & large.differs(math.inf), x + y, infinite)


def _logaddexp(x: Scalar, y: Scalar, base: str, rest: Callable[[Scalar], Scalar]) -> Scalar:
    """Returns the logarithm of a sum of two powers, from the larger exponent and its distance to the other."""
    large, small = _call("max", x, y), _call("min", x, y)
    below = _call(base, small - large)
    # Equal infinities have no difference.
    return choose(x.equals(y), x + rest(x.like(1)), large + rest(below))


def _log1p_2(x: Scalar) -> Scalar:
    return _call("log1p", x) * (1 / math.log(2))


def _heaviside(x: Scalar, at_zero: Scalar) -> Scalar:
    return choose(x.equals(0), at_zero, choose(x < 0, x.like(0), choose(x > 0, x.like(1), x)))


def _sinc(x: Scalar) -> Scalar:
    scaled = choose(x.equals(0), x.like(1.0e-20 if x.dtype.bits > 16 else 1.0e-4), x) * math.pi
    return choose(x.equals(0), x.like(1), _call("sin", scaled) / scaled)


def _divmod(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """Returns quotient and remainder as NumPy's `npy_divmod` does: the remainder has the divisor's sign."""
    rest = _call("fmod", x, y)
    quotient = (x - rest) / y
    moved = rest.differs(0) & ((y < 0) ^ (rest < 0))
    quotient = choose(moved, quotient - 1, quotient)
    rest = choose(rest.equals(0), _call("copysign", rest.like(0), y), choose(moved, rest + y, rest))
    down = _call("floor", quotient)
    whole = choose(quotient - down > 0.5, down + 1, down)
    whole = choose(quotient.equals(0), _call("copysign", x.like(0), x / y), whole)
    return choose(y.equals(0), x / y, whole), rest


def _bits_of(x: Scalar) -> Scalar:
    """Returns a real number's bits as an integer."""
    integer = DType(f"i{x.dtype.bits}")
    return Scalar(operation("arith.bitcast", element_type(integer), x.value), integer)


# -- integers -----------------------------------------------------------------------------------------------------


def _guarded(x: Scalar, y: Scalar, name: str, instead: Callable[[Scalar], Scalar]) -> Scalar:
    """Returns a division of integers: 0 for zero; for -1 `instead`, as the least integer would trap."""
    special = y.equals(0) | y.equals(-1)
    divided = x.op(name, choose(special, y.like(1), y))
    return choose(y.equals(0), x.like(0), choose(y.equals(-1), instead(x), divided))


def _unsigned_division(x: Scalar, y: Scalar, name: str) -> Scalar:
    """Returns a division of integers without a sign: 0 for zero."""
    zero = y.equals(0)
    return choose(zero, x.like(0), x.op(name, choose(zero, y.like(1), y)))


def _unsigned_power(x: Scalar, y: Scalar) -> Scalar:
    """Returns a power, by the square of that of half the exponent: MLIR reads exponents with a sign, as this one is."""
    root = x.op("math.ipowi", y.op("arith.shrui", 1))
    return root * root * choose(y.op("arith.andi", 1).differs(0), x, x.like(1))


def _integer_remainder(x: Scalar, y: Scalar) -> Scalar:
    rest = _guarded(x, y, "arith.remsi", lambda x: x.like(0))
    return choose(rest.differs(0) & ((y < 0) ^ (rest < 0)), rest + y, rest)


def _shifted(x: Scalar, by: Scalar, name: str, beyond: Scalar) -> Scalar:
    """Returns a shift; a negative number of bits, or more than there are, shifts all of them out."""
    bits = x.dtype.bits
    fits = by < bits if by.dtype.is_unsigned else (by >= 0) & (by < bits)
    return choose(fits, x.op(name, choose(fits, by, by.like(0))), beyond)


def _integer_reciprocal(x: Scalar) -> Scalar:
    """Returns 1/x rounded towards zero: 1 and -1 stay, all other integers give 0."""
    return choose(x.equals(1) | x.equals(-1), x, x.like(0))


def _angle(x: Scalar) -> Scalar:
    """Returns the angle of a real number: pi if its sign is minus, as that of -0.0, else 0."""
    return angle_of(x.like(0), x)


_Composed = Callable[..., Scalar | Truth]

_COMPOSED: dict[tuple[str, str], _Composed] = {
    ("f", "sign"): _float_sign,
    ("f", "hypot"): _hypot,
    ("f", "logaddexp"): lambda x, y: _logaddexp(x, y, "exp", lambda v: _call("log1p", v)),
    ("f", "logaddexp2"): lambda x, y: _logaddexp(x, y, "exp2", _log1p_2),
    ("f", "heaviside"): _heaviside,
    ("f", "sinc"): _sinc,
    ("f", "deg2rad"): lambda x: x * (math.pi / 180),
    ("f", "rad2deg"): lambda x: x * (180 / math.pi),
    ("f", "floor_divide"): lambda x, y: _divmod(x, y)[0],
    ("f", "remainder"): lambda x, y: _divmod(x, y)[1],
    ("f", "angle"): _angle,
    ("f", "atan2"): angle_of,
    ("f", "imag"): lambda x: x.like(0),
    ("", TRUTH.name): lambda x: x.differs(0),
    ("f", "isnan"): lambda x: x.differs(x),
    ("f", "isinf"): lambda x: _call("abs", x).equals(math.inf),
    ("f", "isfinite"): lambda x: _call("abs", x) < math.inf,
    ("f", "signbit"): lambda x: _bits_of(x) < 0,
    ("i", "sign"): lambda x: choose(x > 0, x.like(1), choose(x < 0, x.like(-1), x.like(0))),
    ("i", "floor_divide"): lambda x, y: _guarded(x, y, "arith.floordivsi", lambda x: -x),
    ("i", "remainder"): _integer_remainder,
    ("i", "fmod"): lambda x, y: _guarded(x, y, "arith.remsi", lambda x: x.like(0)),
    ("i", "reciprocal"): _integer_reciprocal,
    ("i", "invert"): lambda x: x.op("arith.xori", -1),
    ("i", "left_shift"): lambda x, by: _shifted(x, by, "arith.shli", x.like(0)),
    ("i", "right_shift"): lambda x, by: _shifted(x, by, "arith.shrsi", choose(x < 0, x.like(-1), x.like(0))),
    ("u", "pow"): _unsigned_power,
    ("u", "sign"): lambda x: choose(x.differs(0), x.like(1), x.like(0)),
    ("u", "floor_divide"): lambda x, y: _unsigned_division(x, y, "arith.divui"),
    ("u", "remainder"): lambda x, y: _unsigned_division(x, y, "arith.remui"),
    ("u", "fmod"): lambda x, y: _unsigned_division(x, y, "arith.remui"),
    ("u", "reciprocal"): lambda x: choose(x.equals(1), x, x.like(0)),
    ("u", "right_shift"): lambda x, by: _shifted(x, by, "arith.shrui", x.like(0)),
    ("i", "imag"): lambda x: x.like(0),
    ("i", "isnan"): lambda x: x.differs(x),
    ("i", "isinf"): lambda x: x.differs(x),
    ("i", "isfinite"): lambda x: x.equals(x),
    ("i", "signbit"): lambda x: x < 0,
    ("", "relu"): lambda x: _call("max", x, x.like(0)),
    ("", "square"): lambda x: x * x,
    ("", "reciprocal"): lambda x: x.like(1) / x,
    ("", "rsqrt"): lambda x: x.like(1) / _call("sqrt", x),
    ("", "logical_xor"): lambda x, y: x.differs(0) ^ y.differs(0),
    **{("c", name): function for name, function in complex_functions.COMPOSED.items()},
}
