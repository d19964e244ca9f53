"""Powers with real exponents, with all the values that IEEE 754 gives at the ends."""

from __future__ import annotations

import math

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.pipeline.functions.digit_sums import DigitSum, product
from mlir_sparse.pipeline.functions.exponentials import exp, exp_of_sum
from mlir_sparse.pipeline.functions.logarithms import log, log_in_digits
from mlir_sparse.pipeline.functions.real_values import Real, where

__all__ = ["power"]


def power(x: Real, y: Real) -> Real:
    """Returns numbers to the power of others, exp(y log |x|) with a sign; of f32 in f64, which has the digits."""
    if x.format.logarithm_in_digits:
        return _signed(_power_in_digits(abs(x), y), x, y)
    x, y, like = x.widened, y.widened, x
    return _signed(exp(log(abs(x)) * y), x, y).narrowed(like)


def _power_in_digits(size: Real, y: Real) -> Real:
    known = log_in_digits(size)
    value = where(size.equals(0.0), -math.inf, where(size < math.inf, known.value, size))
    exponent = product(value, y)
    return exp_of_sum(DigitSum(exponent.value, known.rest.times_plus(y, exponent.rest)))


def _signed(power_of_size: Real, x: Real, y: Real) -> Real:
    """Returns powers of numbers with a sign from those of their absolute values."""
    # 1 and -1 to the power of infinity too.
    magnitude = where(abs(x).equals(1.0), where(y.equals(y), 1.0, y), power_of_size)
    whole, half = y.floor.equals(y), y * 0.5
    negative = x.like(1.0).signed_as(x) < 0.0
    result = where(_both(negative, _both(whole, half.floor.differs(half))), -magnitude, magnitude)
    has_none = _both(x < 0.0, x > -math.inf)
    result = where(has_none, where(whole, result, math.nan), result)
    return where(y.equals(0.0), 1.0, where(x.equals(1.0), 1.0, result))


def _both(one: ir.Value, other: ir.Value) -> ir.Value:
    return build.bits_of("andi", one, other)
