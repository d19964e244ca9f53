"""Functions of complex numbers from functions of their parts.

The inverse functions are Kahan's ("Branch cuts for complex elementary functions", 1987). They are accurate near the
branch points, and the sign of a zero chooses the side of a cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from mlir_sparse.lower.arithmetic_ops import operation
from mlir_sparse.lower.formula_ops import Scalar, Truth, choose, parts_of
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
    return _complex(real.op("math.atan2", a * c - b * d), (a * d - b * c).op("math.asinh"), z)


def _acos(z: Scalar) -> Scalar:
    (a, b), (c, d) = _roots(z)
    return _complex(a.op("math.atan2", c) * 2, (c * b - d * a).op("math.asinh"), z)


def _acosh(z: Scalar) -> Scalar:
    real, imaginary = parts_of(z)
    a, b = parts_of(_complex(real - 1, imaginary, z).op("complex.sqrt"))
    c, d = parts_of(_complex(real + 1, imaginary, z).op("complex.sqrt"))
    return _complex((a * c + b * d).op("math.asinh"), b.op("math.atan2", c) * 2, z)


def _atanh(z: Scalar) -> Scalar:
    real, imaginary = parts_of(z)
    below = real.like(1) - real
    square = imaginary * imaginary
    ratio = real * 4 / (below * below + square)
    angle = (imaginary * 2).op("math.atan2", below * (real + 1) - square)
    return _complex(ratio.op("math.log1p") * 0.25, angle * 0.5, z)


def _sinh(z: Scalar) -> Scalar:
    x, y = parts_of(z)
    return _complex(x.op("math.sinh") * y.op("math.cos"), x.op("math.cosh") * y.op("math.sin"), z)


def _cosh(z: Scalar) -> Scalar:
    x, y = parts_of(z)
    return _complex(x.op("math.cosh") * y.op("math.cos"), x.op("math.sinh") * y.op("math.sin"), z)


def _round(z: Scalar) -> Scalar:
    x, y = parts_of(z)
    return _complex(x.op("math.roundeven"), y.op("math.roundeven"), z)


def _modulus(z: Scalar) -> Scalar:
    part = z.dtype.part
    return Scalar(operation("complex.abs", element_type(part), z.value), part)


def _angle(z: Scalar) -> Scalar:
    x, y = parts_of(z)
    return y.op("math.atan2", x)


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
    "exp2": lambda z: _scaled(z, math.log(2)).op("complex.exp"),
    "log2": lambda z: _scaled(z.op("complex.log"), 1 / math.log(2)),
    "log10": lambda z: _scaled(z.op("complex.log"), 1 / math.log(10)),
    "sinh": _sinh,
    "cosh": _cosh,
    "asin": _asin,
    "acos": _acos,
    "atan": lambda z: _over_i(_atanh(_times_i(z))),
    "asinh": lambda z: _over_i(_asin(_times_i(z))),
    "acosh": _acosh,
    "atanh": _atanh,
}
