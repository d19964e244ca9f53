"""Fits the polynomials that functions of real numbers are computed by, by Remez' exchange in 60 digits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal, getcontext
from itertools import groupby

_Function = Callable[[Decimal], Decimal]
_ROUNDS = 30
_LEVEL = Decimal("1.0001")  # errors are level where the greatest is no further above the least
_NEAR_ZERO = Decimal("1e-10")
_MARGIN = Decimal("1.0001")  # beyond the interval, for arguments that are rounded

getcontext().prec = 60


def main() -> None:
    half = Decimal(2).ln() / 2 * _MARGIN
    root = Decimal(2).sqrt()
    most = ((root - 1) / (root + 1)) ** 2 * _MARGIN
    for name, function, weight, low, high, degree in (
        ("f32 exponential", _exponential, _cube, -half, half, 4),
        ("f32 logarithm", _logarithm, _same, Decimal(0), most, 2),
        ("f64 exponential", _exponential, _cube, -half, half, 9),
        ("f64 logarithm", _logarithm, _same, Decimal(0), most, 6),
        ("f64 logarithm in digits", _logarithm_in_digits, _square, Decimal(0), most, 6),
    ):
        coefficients, error = fitted(function, weight, low, high, degree)
        print(f"{name}: {[*map(float, coefficients)]}  # wrong by at most 2^{math.log2(error):.1f}")


def _same(x: Decimal) -> Decimal:
    return x


def _square(x: Decimal) -> Decimal:
    return x * x


def _cube(x: Decimal) -> Decimal:
    return abs(x) ** 3


def _exponential(r: Decimal) -> Decimal:
    """Returns (exp(r) - 1 - r - r^2/2) / r^3."""
    if abs(r) < _NEAR_ZERO:
        return Decimal(1) / 6 + r / 24 + r * r / 120
    return (r.exp() - 1 - r - r * r / 2) / r**3


def _logarithm(z: Decimal) -> Decimal:
    """Returns (2 atanh(s) - 2s) / s^3, for z = s^2."""
    if z < _NEAR_ZERO:
        return Decimal(2) / 3 + z * 2 / 5 + z * z * 2 / 7
    s = z.sqrt()
    return (((1 + s) / (1 - s)).ln() - 2 * s) / (s * z)


def _logarithm_in_digits(z: Decimal) -> Decimal:
    """Returns (2 atanh(s) - 2s - 2/3 s^3) / s^5, for z = s^2."""
    if z < _NEAR_ZERO:
        return Decimal(2) / 5 + z * 2 / 7 + z * z * 2 / 9
    s = z.sqrt()
    return (((1 + s) / (1 - s)).ln() - 2 * s - 2 * s * z / 3) / (s * z * z)


def fitted(
    function: _Function, weight: _Function, low: Decimal, high: Decimal, degree: int
) -> tuple[list[Decimal], Decimal]:
    """Returns the polynomial p with the least greatest |weight (p - function)| between two numbers, and that error.

    Returns:
        the coefficients, that of x^0 first; the error.
    """
    count = degree + 2
    nodes = _nodes(low, high, [(2 * at + 1) / (2 * count) for at in range(count)])
    grid = _nodes(low, high, [at / (40 * count) for at in range(40 * count + 1)])
    for _ in range(_ROUNDS):
        rows = [[weight(x) * x**power for power in range(degree + 1)] for x in nodes]
        sides = [weight(x) * function(x) for x in nodes]
        *coefficients, level = _solved(
            [[*row, Decimal((-1) ** at), side] for at, (row, side) in enumerate(zip(rows, sides, strict=True))]
        )
        errors = [(x, weight(x) * (_value(coefficients, x) - function(x))) for x in grid]
        peaks = [
            max(group, key=lambda error: abs(error[1]))
            for _, group in groupby((error for error in errors if error[1]), key=lambda error: error[1] > 0)
        ]
        while len(peaks) > count:
            peaks.pop(0 if abs(peaks[0][1]) < abs(peaks[-1][1]) else -1)
        worst = max(abs(error) for _, error in peaks)
        if worst < abs(level) * _LEVEL or len(peaks) < count:
            break
        nodes = [x for x, _ in peaks]
    return coefficients, worst


def _nodes(low: Decimal, high: Decimal, parts: Sequence[float]) -> list[Decimal]:
    """Returns numbers between two, closer to each other near the ends."""
    return [(low + high) / 2 - (high - low) / 2 * Decimal(math.cos(math.pi * part)) for part in parts]


def _value(coefficients: Sequence[Decimal], x: Decimal) -> Decimal:
    total = Decimal(0)
    for coefficient in reversed(coefficients):
        total = total * x + coefficient
    return total


def _solved(rows: list[list[Decimal]]) -> list[Decimal]:
    """Returns the solution of linear equations, each a row with its right side behind it."""
    for at in range(len(rows)):
        pivot = max(range(at, len(rows)), key=lambda row: abs(rows[row][at]))
        rows[at], rows[pivot] = rows[pivot], rows[at]
        for row in range(len(rows)):
            if row != at:
                factor = rows[row][at] / rows[at][at]
                rows[row] = [one - factor * other for one, other in zip(rows[row], rows[at], strict=True)]
    return [row[-1] / row[at] for at, row in enumerate(rows)]


if __name__ == "__main__":
    main()
