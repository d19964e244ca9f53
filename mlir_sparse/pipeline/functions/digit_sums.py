"""What functions are made of: polynomials, and sums of two numbers that have more digits than one."""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse.classes import dataclass
from mlir_sparse.pipeline.functions.real_values import Real, where

__all__ = ["DigitSum", "between", "polynomial", "product", "rounded"]


def polynomial(x: Real, coefficients: Sequence[float]) -> Real:
    """Returns the value of a polynomial: pairs of terms first, so that no sum waits for all before it."""
    terms = [x.like(coefficient) for coefficient in coefficients]
    while True:
        pairs = [high.times_plus(x, low) for low, high in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + terms[2 * len(pairs) :]
        if len(terms) == 1:
            return terms[0]
        x = x * x


def rounded(x: Real) -> Real:
    """Returns the nearest integers of numbers far below the format's `rounder`."""
    return (x + x.format.rounder) - x.format.rounder


def between(x: Real, low: float, high: float) -> Real:
    """Returns numbers, or the nearest that is neither below one nor above another; NaN stays."""
    return where(x < low, low, where(x > high, high, x))


@dataclass(frozen=True, slots=True)
class DigitSum:
    """A number of more digits than its format has.

    Args:
        value: the nearest number of the format.
        rest: what is to be added.
    """

    value: Real
    rest: Real

    @classmethod
    def of(cls, large: Real, small: Real) -> DigitSum:
        """Returns the sum of two numbers, of which the first is 0 or the larger."""
        total = large + small
        return cls(total, (large - total) + small)

    @classmethod
    def of_any(cls, one: Real, other: Real) -> DigitSum:
        """Returns the sum of two numbers, of which either is the larger."""
        total = one + other
        rest = total - one
        return cls(total, (one - (total - rest)) + (other - rest))


def product(left: Real, right: Real | float) -> DigitSum:
    """Returns a product with all its digits."""
    value = left * right
    return DigitSum(value, left.times_plus(right, -value))
