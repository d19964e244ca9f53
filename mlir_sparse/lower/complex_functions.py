"""Functions of complex numbers from functions of their parts.

The inverse functions and the tangents are Kahan's ("Branch cuts for complex elementary functions", 1987). They are
accurate near the branch points, and the sign of a zero chooses the side of a cut. MLIR's own lowering of the sine, the
tangent and the logarithms takes differences of numbers that are nearly equal: `complex.sin` of 3e-8i in f32 is 9e-8i.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from mlir_sparse.lower.arithmetic_ops import operation
from mlir_sparse.lower.formula_ops import Scalar, Truth, angle_of, choose, parts_of
from mlir_sparse.lower.mlir_types import element_type

__all__ = ["COMPOSED"]


def _complex(real: Scalar, imaginary: Scalar, like: Scalar) -> Scalar:
    value = operation("complex.create", element_type(like.dtype), real.value, imaginary.value)
    return Scalar(value, like.dtype)


def _scaled(z: Scalar, factor: float) -> Scalar:
    real, imaginary = parts_of(z)
    return _complex(real * factor, imaginary * factor, z)


def _times_i(z: Scalar) -> Scalar:
    real, imaginary = parts_of(z)
    return _complex(-imaginary, real, z)


def _over_i(z: Scalar) -> Scalar:
    real, imaginary = parts_of(z)
    return _complex(imaginary, -real, z)


def _around_one(z: Scalar) -> tuple[Scalar, Scalar]:
    """Returns the parts of 1 - z; an imaginary zero has the opposite sign of z's."""
    real, imaginary = parts_of(z)
    return real.like(1) - real, -imaginary


def _roots(z: Scalar) -> tuple[tuple[Scalar, Scalar], tuple[Scalar, Scalar]]:
    """Returns the parts of the square roots of 1 - z and 1 + z."""
    real, imaginary = parts_of(z)
    below = _complex(*_around_one(z), z).op("complex.sqrt")
    above = _complex(real + 1, imaginary, z).op("complex.sqrt")
    return parts_of(below), parts_of(above)


def _asin(z: Scalar) -> Scalar:
    (a, b), (c, d) = _roots(z)
    real, _ = parts_of(z)
    return _complex(angle_of(real, a * c - b * d), (a * d - b * c).op("math.asinh"), z)


def _acos(z: Scalar) -> Scalar:
    (a, b), (c, d) = _roots(z)
    return _complex(angle_of(a, c) * 2, (c * b - d * a).op("math.asinh"), z)


def _acosh(z: Scalar) -> Scalar:
    real, imaginary = parts_of(z)
    a, b = parts_of(_complex(real - 1, imaginary, z).op("complex.sqrt"))
    c, d = parts_of(_complex(real + 1, imaginary, z).op("complex.sqrt"))
    return _complex((a * c + b * d).op("math.asinh"), angle_of(b, c) * 2, z)


def _atanh(z: Scalar) -> Scalar:
    x, y = parts_of(z)
    right = x.op("math.absf")  # of the imaginary axis: the other half plane is its mirror image
    below = right.like(1) - right
    apart = _modulus(_complex(below, y, z))  # from the branch point
    close = apart < _near_zero(x)  # the square of which is none
    ratio = right * 4 / apart / apart
    real = choose(close, (right.like(math.log(2)) - apart.op("math.log")) * 0.5, ratio.op("math.log1p") * 0.25)
    angle = angle_of(y * 2, below * (right + 1) - y * y)
    return _complex(real.op("math.copysign", x), angle * 0.5, z)


def _near_zero(x: Scalar) -> float:
    return float(np.finfo(x.dtype.numpy).tiny ** 0.4)


def _grown(factor: Scalar, growing: Scalar) -> Scalar:
    """Returns a product, which is zero where the first factor is, also of an infinite one."""
    infinite = growing.op("math.absf").equals(math.inf)
    signed = choose(growing < 0, -factor, factor)
    return choose(factor.equals(0) & infinite, signed, factor * growing)


def _sinh(z: Scalar) -> Scalar:
    x, y = parts_of(z)
    return _complex(_grown(y.op("math.cos"), x.op("math.sinh")), _grown(y.op("math.sin"), x.op("math.cosh")), z)


def _cosh(z: Scalar) -> Scalar:
    x, y = parts_of(z)
    return _complex(_grown(y.op("math.cos"), x.op("math.cosh")), _grown(y.op("math.sin"), x.op("math.sinh")), z)


def _tanh(z: Scalar) -> Scalar:
    x, y = parts_of(z)
    tangent, sine = y.op("math.tan"), x.op("math.sinh")
    secant = tangent * tangent + 1
    below = secant * (sine * sine) + 1
    real, imaginary = secant * x.op("math.cosh") * sine / below, tangent / below
    # Far out the squares overflow; the tangent is 1 there, and its imaginary part all but none.
    far = x.op("math.absf") > 0.25 * math.log(np.finfo(x.dtype.numpy).max)
    decay = (-x.op("math.absf")).op("math.exp")
    rest = choose(y.op("math.absf") < math.inf, y.op("math.sin") * y.op("math.cos") * 4 * decay * decay, y * 0)
    return _complex(choose(far, x.like(1).op("math.copysign", x), real), choose(far, rest, imaginary), z)


def _expm1(z: Scalar) -> Scalar:
    x, y = parts_of(z)
    half = (y * 0.5).op("math.sin")
    real = _grown(y.op("math.cos"), x.op("math.expm1")) - half * half * 2
    return _complex(real, _grown(y.op("math.sin"), x.op("math.exp")), z)


def _log_of_modulus(x: Scalar, y: Scalar, less_one: Scalar) -> Scalar:
    """Returns the logarithm of the modulus of x + iy, given the modulus' square less one, which counts near one."""
    x, y = x.op("math.absf"), y.op("math.absf")
    large, small = x.op("arith.maximumf", y), x.op("arith.minimumf", y)
    ratio = choose(large.equals(0) | large.equals(math.inf), large.like(0), small / large)
    away = large.op("math.log") + (ratio * ratio).op("math.log1p") * 0.5
    real = choose((large >= 0.5) & (large <= 2), less_one.op("math.log1p") * 0.5, away)
    return choose(x.equals(math.inf) | y.equals(math.inf), large.like(math.inf), real)


def _log(z: Scalar) -> Scalar:
    x, y = parts_of(z)
    large = x.op("math.absf").op("arith.maximumf", y.op("math.absf"))
    small = x.op("math.absf").op("arith.minimumf", y.op("math.absf"))
    real = _log_of_modulus(x, y, (large - 1) * (large + 1) + small * small)
    return _complex(real, angle_of(y, x), z)


def _log1p(z: Scalar) -> Scalar:
    x, y = parts_of(z)
    above = x + 1
    # Left of -1/2 the sum is exact, and the square of the first factor small.
    square = choose(x > -0.5, x * (x + 2), (above - 1) * (above + 1)) + y * y
    return _complex(_log_of_modulus(above, y, square), angle_of(y, above), z)


def _round(z: Scalar) -> Scalar:
    x, y = parts_of(z)
    return _complex(x.op("math.roundeven"), y.op("math.roundeven"), z)


def _modulus(z: Scalar) -> Scalar:
    part = z.dtype.part
    return Scalar(operation("complex.abs", element_type(part), z.value), part)


def _angle(z: Scalar) -> Scalar:
    x, y = parts_of(z)
    return angle_of(y, x)


def _infinite(z: Scalar) -> Truth:
    x, y = parts_of(z)
    return x.op("math.absf").equals(math.inf) | y.op("math.absf").equals(math.inf)


def _finite(z: Scalar) -> Truth:
    x, y = parts_of(z)
    return (x.op("math.absf") < math.inf) & (y.op("math.absf") < math.inf)


def _nan(z: Scalar) -> Truth:
    x, y = parts_of(z)
    return x.differs(x) | y.differs(y)


def _sign(z: Scalar) -> Scalar:
    """Returns z over its modulus; of zero, zero."""
    x, y = parts_of(z)
    modulus = _modulus(z)
    zero = modulus.equals(0)
    by = choose(zero, modulus.like(1), modulus)
    return _complex(x / by, y / by, z)


def _pow(z: Scalar, exponent: Scalar) -> Scalar:
    """Returns a power; zero of zero for exponents with a positive real part, as in NumPy: zero has no angle."""
    modulus, (c, d) = _modulus(z), parts_of(exponent)
    x, y = parts_of(_log(z))
    product = _complex(c * x - d * y, c * y + d * x, z)
    # `complex.pow` takes the logarithm of the square of the modulus, which near one has lost digits.
    power = choose((modulus > 0.5) & (modulus < 2), product.op("complex.exp"), z.op("complex.pow", exponent))
    return choose(modulus.equals(0) & (c > 0), z.op("complex.sub", z), power)


COMPOSED: dict[str, Callable[..., Scalar | Truth]] = {
    "abs": _modulus,
    "sign": _sign,
    "real": lambda z: parts_of(z)[0],
    "imag": lambda z: parts_of(z)[1],
    "angle": _angle,
    "isnan": _nan,
    "isinf": _infinite,
    "isfinite": _finite,
    "round": _round,
    "pow": _pow,
    "exp2": lambda z: _scaled(z, math.log(2)).op("complex.exp"),
    "expm1": _expm1,
    "log": _log,
    "log1p": _log1p,
    "log2": lambda z: _scaled(_log(z), 1 / math.log(2)),
    "log10": lambda z: _scaled(_log(z), 1 / math.log(10)),
    "sin": lambda z: _over_i(_sinh(_times_i(z))),
    "cos": lambda z: _cosh(_times_i(z)),
    "tan": lambda z: _over_i(_tanh(_times_i(z))),
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _tanh,
    "asin": _asin,
    "acos": _acos,
    "atan": lambda z: _over_i(_atanh(_times_i(z))),
    "asinh": lambda z: _over_i(_asin(_times_i(z))),
    "acosh": _acosh,
    "atanh": _atanh,
}
