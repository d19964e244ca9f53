"""Powers with constant exponents are products, quotients and roots, and what `pow` of C gives at the ends."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import mlir_sparse as ms

EXPONENTS = ("2", "3", "-1", "0.5")
ENDS = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, -2.0, 5e-324, 1e-160, -1e-160, 1e160, -1e160, 1.7e308]


def power(x: np.ndarray, exponent: str) -> np.ndarray:
    return np.asarray(ms.evaluate(f"y(i) = pow(x(i), {exponent})", x=x))


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_ends_are_those_of_c(exponent: str) -> None:
    def expected(value: float) -> float:
        try:
            return math.pow(value, float(exponent))
        except OverflowError:
            return math.copysign(math.inf, value) if exponent == "3" else math.inf
        except ValueError:  # Python refuses what C gives a value
            return math.copysign(math.inf, value) if value == 0 else math.nan

    found = power(np.array(ENDS), exponent)
    np.testing.assert_array_equal(found, [expected(value) for value in ENDS])
    signs = [math.copysign(1, expected(value)) for value in ENDS if not math.isnan(expected(value))]
    assert [math.copysign(1, value) for value in found if not math.isnan(value)] == signs


@pytest.mark.parametrize("exponent", ["2", "3", "-1"])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_powers_are_near(exponent: str, dtype: str) -> None:
    draw = np.random.default_rng(3)
    x = (draw.standard_normal(2000) * 10.0 ** draw.integers(-9, 9, 2000)).astype(dtype)
    for value, found in zip(x, power(x, exponent), strict=True):
        exact = Fraction(float(value)) ** int(exponent)
        assert abs(Fraction(float(found)) - exact) <= Fraction(3, 2) * Fraction(float(np.spacing(abs(found))))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_narrow_numbers_are_rounded_once(exponent: str, dtype: type) -> None:
    x = np.linspace(0.25, 3, 60).astype(dtype)
    expected = (x.astype(np.float32) ** np.float32(exponent)).astype(dtype)
    np.testing.assert_array_equal(power(x, exponent).astype(np.float32), expected.astype(np.float32))


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_no_function_is_called(exponent: str) -> None:
    assert "powf" not in _linalg(exponent)
    assert "powf" in _linalg("2.5")


def _linalg(exponent: str) -> str:
    return ms.compile(f"B(i,j) = pow(A(i,j), {exponent})", A="f64[?,?] CSR", out="CSR").ir()
