"""Logarithms: a number is a power of 2 times one near 1, whose logarithm is that of (1 + s) / (1 - s), a polynomial."""

from __future__ import annotations

import math

from mlir_sparse.classes import dataclass
from mlir_sparse.pipeline.functions.digit_sums import DigitSum, polynomial, product
from mlir_sparse.pipeline.functions.real_values import Real, where

__all__ = ["log", "log1p", "log2", "log10", "log_in_digits"]


def _parts(x: Real) -> tuple[Real, Real]:
    """Returns n and f with x = 2^n (1 + f), and 1 + f between the roots of 1/2 and 2, of numbers that are normal."""
    form = x.format
    unit = form.bias << form.mantissa
    biased = (x.bits + (unit - form.root_of_half)) >> form.mantissa
    f = (x.bits - (biased << form.mantissa) + unit).real(x) - 1.0
    # Behind the point of 2^mantissa stands nothing: the lowest bits are a number.
    shifted = (biased | (form.bias + form.mantissa << form.mantissa)).real(x)
    return shifted - (2.0**form.mantissa + form.bias), f


def _parts_of_any(x: Real) -> tuple[Real, Real]:
    """Returns the same of positive numbers, those below the normal ones too."""
    tiny, places = x < x.format.least_normal, x.format.mantissa + 2
    exponent, f = _parts(where(tiny, x * 2.0**places, x))
    return where(tiny, exponent - float(places), exponent), f


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
        return cls._of(*_parts(x))

    @classmethod
    def of_any(cls, x: Real) -> _Logarithm:
        """Takes positive numbers apart, those below the normal ones too."""
        return cls._of(*_parts_of_any(x))

    @classmethod
    def _of(cls, exponent: Real, f: Real) -> _Logarithm:
        s = f / (f + 2.0)
        z = s * s
        half = f * 0.5 * f
        return cls(exponent, f, half, s * polynomial(z, f.format.logarithm).times_plus(z, half))

    @property
    def near(self) -> DigitSum:
        """Returns log(1 + f)."""
        lost = (self.f * -0.5).times_plus(self.f, self.half)
        total = DigitSum.of(self.f, -self.half)
        return DigitSum.of(total.value, total.rest + (lost + self.rest))


def _with_ends(x: Real, result: Real, pole: float = 0.0) -> Real:
    """Returns a logarithm with its values at infinity, at its pole, below that and for NaN."""
    inside = where(x < math.inf, result, x)
    outside = where(x.equals(pole), -math.inf, where(x < pole, math.nan, x))
    return where(x > pole, inside, outside)


def log(x: Real) -> Real:
    """Returns the natural logarithm."""
    parts = _Logarithm.of_any(x)
    ln2, rest = x.format.ln2_by_exponent
    small = parts.half - parts.exponent.times_plus(rest, parts.rest)
    return _with_ends(x, parts.exponent.times_plus(ln2, parts.f - small))


def log1p(x: Real) -> Real:
    """Returns the natural logarithm of 1 + x."""
    total = x + 1.0
    lost = where(x > 1.0, (x - total) + 1.0, x - (total - 1.0))
    parts = _Logarithm.of(total)
    ln2, rest = x.format.ln2_by_exponent
    small = parts.half - (parts.exponent.times_plus(rest, lost / total) + parts.rest)
    result = parts.exponent.times_plus(ln2, parts.f - small)
    return where(abs(x) < x.format.negligible, x, _with_ends(x, result, -1.0))


def log2(x: Real) -> Real:
    """Returns the logarithm to base 2; of powers of 2 it is exact."""
    return _log_to(x, x.format.over_ln2, (1.0, 0.0))


def log10(x: Real) -> Real:
    """Returns the logarithm to base 10; of powers of 10 it is exact."""
    return _log_to(x, x.format.over_ln10, x.format.log10_2_by_exponent)


def _log_to(x: Real, of_e: tuple[float, float], of_2: tuple[float, float]) -> Real:
    """Returns the logarithm to a base, given that of e and that of 2, each as a sum of two numbers."""
    parts = _Logarithm.of_any(x)
    near = parts.near
    value = product(near.value, of_e[0])
    rest = near.rest.times_plus(of_e[0], near.value.times_plus(of_e[1], value.rest))
    total = DigitSum.of(parts.exponent * of_2[0], value.value)
    return _with_ends(x, total.value + (total.rest + parts.exponent.times_plus(of_2[1], rest)))


def log_in_digits(x: Real) -> DigitSum:
    """Returns the logarithm of positive finite numbers in some more digits than their format has.

    What is left of each step is kept, up to terms that are small enough: a 50th of those before.
    """
    form = x.format
    exponent, f = _parts_of_any(x)
    over = DigitSum.of(f.like(2.0), f)
    inverse = f.like(1.0) / over.value
    value = f * inverse
    left = (-value).times_plus(over.value, f) - value * over.rest
    s = DigitSum(value, left * inverse)
    square = product(s.value, s.value)
    z = DigitSum(square.value, (s.value * 2.0).times_plus(s.rest, square.rest))
    third, rest_of_third = form.two_thirds
    tail = z.value * z.value * polynomial(z.value, form.logarithm_in_digits)
    cubic = product(z.value, third)
    cubic = DigitSum.of(cubic.value, z.rest.times_plus(third, z.value.times_plus(rest_of_third, cubic.rest + tail)))
    term = product(cubic.value, s.value)
    rest = cubic.rest.times_plus(s.value, cubic.value.times_plus(s.rest, term.rest))
    near = DigitSum.of(s.value * 2.0, term.value)
    ln2, rest_of_ln2 = form.ln2_by_exponent
    whole = DigitSum.of(exponent * ln2, near.value)
    rest = whole.rest + exponent.times_plus(rest_of_ln2, near.rest + s.rest.times_plus(2.0, rest))
    return DigitSum.of(whole.value, rest)
