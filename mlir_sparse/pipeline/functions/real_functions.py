"""Functions of real numbers in arithmetic that vectors have: no branch, no table, no call.

An argument is taken apart into a power of 2 and a number near 1 or 0, where a polynomial serves; sums that lose digits
keep what they lost. (The method is that of all libraries of elementary functions: see Muller, "Elementary Functions",
2016, chapters 5 and 11.) NaN, infinities, zeros with their signs and numbers below the normal ones are those of
IEEE 754's functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from mlir_sparse.classes import dataclass
from mlir_sparse.pipeline.functions.real_format import RealFormat
from mlir_sparse.pipeline.functions.real_values import Real, where

__all__ = ["REAL_FUNCTIONS"]


def _polynomial(x: Real, coefficients: Sequence[float]) -> Real:
    """Returns the value of a polynomial: pairs of terms first, so that no sum waits for all before it."""
    terms = [x.like(coefficient) for coefficient in coefficients]
    while True:
        pairs = [high.times_plus(x, low) for low, high in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + terms[2 * len(pairs) :]
        if len(terms) == 1:
            return terms[0]
        x = x * x


def _rounded(x: Real) -> Real:
    """Returns the nearest integers of numbers far below the format's `rounder`."""
    return (x + x.format.rounder) - x.format.rounder


# -- powers -------------------------------------------------------------------------------------------------------


def _power_of_two(exponent: Real) -> Real:
    """Returns 2 to the power of integers, for which there are normal numbers."""
    form = exponent.format
    return (((exponent + form.rounder).bits << form.mantissa) + (form.bias << form.mantissa)).real(exponent)


def _scaled(x: Real, exponent: Real) -> Real:
    """Returns numbers times 2 to the power of integers, which may be twice as far from 0 as exponents are."""
    half = _rounded(exponent * 0.5)
    return x * _power_of_two(half) * _power_of_two(exponent - half)


def _between(x: Real, low: float, high: float) -> Real:
    """Returns numbers, or the nearest that is neither below one nor above another; NaN stays."""
    return where(x < low, low, where(x > high, high, x))


def _cubic_rest(r: Real) -> Real:
    """Returns (exp(r) - 1 - r) / r^2 - 1/2, for |r| up to half of log 2."""
    return r * _polynomial(r, r.format.exponential)


def _exponents(form: RealFormat) -> tuple[float, float]:
    """Returns two exponents: 2 to the power of the first is 0 in a format, and to that of the second infinite."""
    return -(form.bias + form.mantissa + 1.0), form.bias + 2.0


@dataclass(frozen=True, slots=True)
class _Sum:
    """A number of more digits than its format has.

    Args:
        value: the nearest number of the format.
        rest: what is to be added.
    """

    value: Real
    rest: Real

    @classmethod
    def of(cls, large: Real, small: Real) -> _Sum:
        """Returns the sum of two numbers, of which the first is 0 or the larger."""
        total = large + small
        return cls(total, (large - total) + small)

    @classmethod
    def of_any(cls, one: Real, other: Real) -> _Sum:
        """Returns the sum of two numbers, of which either is the larger."""
        total = one + other
        rest = total - one
        return cls(total, (one - (total - rest)) + (other - rest))


def _reduced(x: Real) -> tuple[Real, _Sum]:
    """Returns n and r with x = n log 2 + r, and |r| up to half of log 2."""
    exponent = _rounded(x * (1 / math.log(2)))
    ln2, rest = x.format.ln2_by_exponent
    above = exponent.times_plus(-ln2, x)
    r = exponent.times_plus(-rest, above)
    return exponent, _Sum(r, exponent.times_plus(-rest, above - r))


def _exp_of(exponent: Real, r: _Sum) -> Real:
    """Returns 2^n exp(r)."""
    one = _Sum.of(r.value.like(1.0), r.value)
    rest = (_cubic_rest(r.value) + 0.5).times_plus(r.value * r.value, r.rest)
    return _scaled(one.value + (one.rest + rest), exponent)


def _exp(x: Real) -> Real:
    low, high = (math.log(2) * exponent for exponent in _exponents(x.format))
    return _exp_of(*_reduced(_between(x, low, high)))


def _exp2(x: Real) -> Real:
    x = _between(x, *_exponents(x.format))
    exponent = _rounded(x)
    ln2, rest = x.format.ln2
    distance = x - exponent
    r = distance * ln2
    return _exp_of(exponent, _Sum(r, distance.times_plus(rest, distance.times_plus(ln2, -r))))


def _half_expm1(x: Real) -> _Sum:
    """Returns (exp(x) - 1) / 2."""
    form = x.format
    exponent, r = _reduced(_between(x, -(form.mantissa + 6) * math.log(2), (form.bias + 1.25) * math.log(2)))
    half = r.value * 0.5
    square = half * r.value
    lost = half.times_plus(r.value, -square) + r.rest
    power = _Sum.of(r.value, square)
    rest = (r.value * r.value).times_plus(_cubic_rest(r.value), power.rest + lost)
    scale = _power_of_two(exponent - 1.0)
    less = _Sum.of_any(scale, scale.like(-0.5))
    value = scale.times_plus(power.value, less.value)
    lost = scale.times_plus(power.value, less.value - value) + less.rest
    return _Sum.of(value, scale.times_plus(rest, lost))


def _expm1(x: Real) -> Real:
    half = _half_expm1(x)
    return where(abs(x) < x.format.negligible, x, half.value * 2.0)


def _tanh(x: Real) -> Real:
    """Returns e / (e + 2) for e = exp(2x) - 1, its quotient mended by what is left of the division."""
    size = abs(x)
    half = _half_expm1(where(size > 0.5 * x.format.mantissa, 0.5 * x.format.mantissa, size) * 2.0)
    over = _Sum.of_any(half.value.like(1.0), half.value)
    inverse = over.value.like(1.0) / over.value
    quotient = half.value * inverse
    left = (-quotient).times_plus(over.value, half.value) + (half.rest - quotient * (over.rest + half.rest))
    return where(size < x.format.negligible, x, left.times_plus(inverse, quotient).signed_as(x))


# -- logarithms ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Logarithm:
    """The logarithm of positive numbers in parts: log x = exponent log 2 + f - half + rest.

    Args:
        exponent: of 2.
        f: what a number between the roots of 1/2 and 2 has above 1.
        half: f^2 / 2.
        rest: what is left.
    """

    exponent: Real
    f: Real
    half: Real
    rest: Real

    @classmethod
    def of(cls, x: Real) -> _Logarithm:
        """Takes numbers apart that are normal."""
        form = x.format
        unit = form.bias << form.mantissa
        moved = x.bits + (unit - _bits_of_root(form.bits))
        biased = moved >> form.mantissa
        f = (x.bits - (biased << form.mantissa) + unit).real(x) - 1.0
        # Behind the point of 2^mantissa stands nothing: the lowest bits are a number.
        start = 2.0**form.mantissa
        exponent = (biased | (form.bias + form.mantissa << form.mantissa)).real(x) - (start + form.bias)
        s = f / (f + 2.0)
        z = s * s
        half = f * 0.5 * f
        return cls(exponent, f, half, s * _polynomial(z, form.logarithm).times_plus(z, half))

    @classmethod
    def of_any(cls, x: Real) -> _Logarithm:
        """Takes positive numbers apart, those below the normal ones too."""
        form = x.format
        tiny, places = x < form.least_normal, form.mantissa + 2
        found = cls.of(where(tiny, x * 2.0**places, x))
        return cls(where(tiny, found.exponent - float(places), found.exponent), found.f, found.half, found.rest)

    @property
    def near(self) -> _Sum:
        """Returns log(1 + f)."""
        lost = (self.f * -0.5).times_plus(self.f, self.half)
        total = _Sum.of(self.f, -self.half)
        return _Sum.of(total.value, total.rest + (lost + self.rest))


def _bits_of_root(bits: int) -> int:
    """Returns the bits of the root of 1/2."""
    return {32: 0x3F3504F3, 64: 0x3FE6A09E667F3BCD}[bits]


def _with_ends(x: Real, result: Real, pole: float = 0.0) -> Real:
    """Returns a logarithm with its values at infinity, at its pole, below that and for NaN."""
    inside = where(x < math.inf, result, x)
    outside = where(x.equals(pole), -math.inf, where(x < pole, math.nan, x))
    return where(x > pole, inside, outside)


def _log(x: Real) -> Real:
    parts = _Logarithm.of_any(x)
    ln2, rest = x.format.ln2_by_exponent
    small = parts.half - parts.exponent.times_plus(rest, parts.rest)
    return _with_ends(x, parts.exponent.times_plus(ln2, parts.f - small))


def _log1p(x: Real) -> Real:
    total = x + 1.0
    lost = where(x > 1.0, (x - total) + 1.0, x - (total - 1.0))
    parts = _Logarithm.of(total)
    ln2, rest = x.format.ln2_by_exponent
    small = parts.half - (parts.exponent.times_plus(rest, lost / total) + parts.rest)
    result = parts.exponent.times_plus(ln2, parts.f - small)
    return where(abs(x) < x.format.negligible, x, _with_ends(x, result, -1.0))


def _log_to(base: Callable[[Real], tuple[tuple[float, float], tuple[float, float]]]) -> Callable[[Real], Real]:
    """Returns the logarithm to a base.

    Args:
        base: gives the logarithm of e and that of 2, each in two parts.
    """

    def logarithm(x: Real) -> Real:
        (of_e, rest_of_e), (of_2, rest_of_2) = base(x)
        parts = _Logarithm.of_any(x)
        near = parts.near
        value = near.value * of_e
        rest = near.value.times_plus(of_e, -value) + near.rest.times_plus(of_e, near.value * rest_of_e)
        total = _Sum.of(parts.exponent * of_2, value)
        return _with_ends(x, total.value + (total.rest + parts.exponent.times_plus(rest_of_2, rest)))

    return logarithm


REAL_FUNCTIONS: Mapping[str, Callable[[Real], Real]] = {
    "math.exp": _exp,
    "math.exp2": _exp2,
    "math.expm1": _expm1,
    "math.log": _log,
    "math.log1p": _log1p,
    "math.log2": _log_to(lambda x: (x.format.over_ln2, (1.0, 0.0))),
    "math.log10": _log_to(lambda x: (x.format.over_ln10, x.format.log10_2_by_exponent)),
    "math.tanh": _tanh,
}
"""What replaces operations of MLIR's `math` on f32 and f64."""
