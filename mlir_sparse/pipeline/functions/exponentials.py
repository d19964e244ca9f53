"""Exponential functions: the argument is an exponent of 2 and a number near 0, where a polynomial serves."""

from __future__ import annotations

import math

from mlir_sparse.pipeline.functions.digit_sums import DigitSum, between, polynomial, rounded
from mlir_sparse.pipeline.functions.real_format import RealFormat
from mlir_sparse.pipeline.functions.real_values import Real, where

__all__ = ["exp", "exp2", "exp_of_sum", "expm1", "tanh"]


def _power_of_two(exponent: Real) -> Real:
    """Returns 2 to the power of integers, for which there are normal numbers."""
    form = exponent.format
    return (((exponent + form.rounder).bits << form.mantissa) + (form.bias << form.mantissa)).real(exponent)


def _scaled(x: Real, exponent: Real) -> Real:
    """Returns numbers times 2 to the power of integers, which may be twice as far from 0 as exponents are."""
    half = rounded(exponent * 0.5)
    return x * _power_of_two(half) * _power_of_two(exponent - half)


def _cubic_rest(r: Real) -> Real:
    """Returns (exp(r) - 1 - r) / r^2 - 1/2, for |r| up to half of log 2."""
    return r * polynomial(r, r.format.exponential)


def _exponents(form: RealFormat) -> tuple[float, float]:
    """Returns two exponents: 2 to the power of the first is 0 in a format, and to that of the second infinite."""
    return -(form.bias + form.mantissa + 1.0), form.bias + 2.0


def _limited(x: Real) -> Real:
    """Returns numbers, or the nearest of which the exponential is 0 or infinite as well."""
    low, high = (math.log(2) * exponent for exponent in _exponents(x.format))
    return between(x, low, high)


def _reduced(x: Real) -> tuple[Real, DigitSum]:
    """Returns n and r with x = n log 2 + r, and |r| up to half of log 2."""
    exponent = rounded(x * (1 / math.log(2)))
    ln2, rest = x.format.ln2_by_exponent
    above = exponent.times_plus(-ln2, x)
    r = exponent.times_plus(-rest, above)
    return exponent, DigitSum(r, exponent.times_plus(-rest, above - r))


def _power_of(exponent: Real, r: DigitSum) -> Real:
    """Returns 2^n exp(r)."""
    one = DigitSum.of(r.value.like(1.0), r.value)
    rest = (_cubic_rest(r.value) + 0.5).times_plus(r.value * r.value, r.rest)
    return _scaled(one.value + (one.rest + rest), exponent)


def exp(x: Real) -> Real:
    """Returns e to the power of numbers."""
    return _power_of(*_reduced(_limited(x)))


def exp_of_sum(x: DigitSum) -> Real:
    """Returns e to the power of numbers of more digits than their format has."""
    near = _limited(x.value)
    exponent, r = _reduced(near)
    # What was limited has no further digits; those of infinities are NaN.
    rest = where(near.equals(x.value), r.rest + x.rest, r.rest)
    return _power_of(exponent, DigitSum.of_any(r.value, rest))


def exp2(x: Real) -> Real:
    """Returns 2 to the power of numbers."""
    x = between(x, *_exponents(x.format))
    exponent = rounded(x)
    ln2, rest = x.format.ln2
    distance = x - exponent
    r = distance * ln2
    return _power_of(exponent, DigitSum(r, distance.times_plus(rest, distance.times_plus(ln2, -r))))


def _half_expm1(x: Real) -> DigitSum:
    """Returns (exp(x) - 1) / 2."""
    form = x.format
    exponent, r = _reduced(between(x, -(form.mantissa + 6) * math.log(2), (form.bias + 1.25) * math.log(2)))
    half = r.value * 0.5
    square = half * r.value
    lost = half.times_plus(r.value, -square) + r.rest
    power = DigitSum.of(r.value, square)
    rest = (r.value * r.value).times_plus(_cubic_rest(r.value), power.rest + lost)
    scale = _power_of_two(exponent - 1.0)
    less = DigitSum.of_any(scale, scale.like(-0.5))
    value = scale.times_plus(power.value, less.value)
    lost = scale.times_plus(power.value, less.value - value) + less.rest
    return DigitSum.of(value, scale.times_plus(rest, lost))


def expm1(x: Real) -> Real:
    """Returns e to the power of numbers, less 1."""
    half = _half_expm1(x)
    return where(abs(x) < x.format.negligible, x, half.value * 2.0)


def tanh(x: Real) -> Real:
    """Returns e / (e + 2) for e = exp(2x) - 1, its quotient mended by what is left of the division."""
    size = abs(x)
    half = _half_expm1(where(size > 0.5 * x.format.mantissa, 0.5 * x.format.mantissa, size) * 2.0)
    over = DigitSum.of_any(half.value.like(1.0), half.value)
    inverse = over.value.like(1.0) / over.value
    quotient = half.value * inverse
    left = (-quotient).times_plus(over.value, half.value) + (half.rest - quotient * (over.rest + half.rest))
    return where(size < x.format.negligible, x, left.times_plus(inverse, quotient).signed_as(x))
