"""The formats of real numbers that functions are computed in, and what is known of each.

The coefficients are those that `scripts/fit-functions` prints.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal

from mlir_sparse.classes import dataclass

__all__ = ["FORMATS", "RealFormat"]

_EXACT = Context(prec=60)
_LN2 = _EXACT.ln(Decimal(2))
_LN10 = _EXACT.ln(Decimal(10))


@dataclass(frozen=True, slots=True)
class RealFormat:
    """A format of IEEE 754.

    Args:
        bits: the width of a number.
        mantissa: how many of them stand behind the point.
        bias: what is added to exponents.
        exponential: q(r) with exp(r) = 1 + r + r^2/2 + r^3 q(r) where 2 |r| is at most ln 2, that of r^0 first.
        logarithm: g(z) with log(1 + f) = f - f^2/2 + s (f^2/2 + z g(z)), where s = f / (2 + f) and z = s^2, for 1 + f
            between the root of 1/2 and that of 2.
        logarithm_in_digits: h(z) with log(1 + f) = 2s + s z (2/3 + z h(z)), closer.
    """

    bits: int
    mantissa: int
    bias: int
    exponential: tuple[float, ...]
    logarithm: tuple[float, ...]
    logarithm_in_digits: tuple[float, ...] = ()

    @property
    def rounder(self) -> float:
        """Returns what leaves no place for fractions when it is added to a number, which it rounds to an integer."""
        return 1.5 * 2.0**self.mantissa

    @property
    def least_normal(self) -> float:
        """Returns the least number with all bits of its mantissa."""
        return 2.0 ** (1 - self.bias)

    @property
    def negligible(self) -> float:
        """Returns a number whose square is lost when it is added to it."""
        return 2.0 ** -(self.mantissa + 2)

    @property
    def root_of_half(self) -> int:
        """Returns the bits of the root of 1/2: the exponent -1, and the mantissa of the root of 2."""
        return (self.bias - 1 << self.mantissa) + math.isqrt(2 << 2 * self.mantissa) - (1 << self.mantissa)

    @property
    def two_thirds(self) -> tuple[float, float]:
        """Returns 2/3 as a sum of two numbers, the first the nearest of the format."""
        return self._in_two(_EXACT.divide(Decimal(2), Decimal(3)))

    @property
    def ln2_by_exponent(self) -> tuple[float, float]:
        """Returns log 2 as a sum of two numbers, of which the first times any exponent has a place in the mantissa."""
        return self._in_two(_LN2, self.mantissa - 11)

    @property
    def log10_2_by_exponent(self) -> tuple[float, float]:
        """Returns log10 2 as a sum of two numbers, of which the first times any exponent has a place."""
        return self._in_two(_EXACT.divide(_LN2, _LN10), self.mantissa - 11)

    @property
    def ln2(self) -> tuple[float, float]:
        """Returns log 2 as a sum of two numbers, the first the nearest of the format."""
        return self._in_two(_LN2)

    @property
    def over_ln2(self) -> tuple[float, float]:
        """Returns 1 / log 2 as a sum of two numbers, the first the nearest of the format."""
        return self._in_two(_EXACT.divide(Decimal(1), _LN2))

    @property
    def over_ln10(self) -> tuple[float, float]:
        """Returns 1 / log 10 as a sum of two numbers, the first the nearest of the format."""
        return self._in_two(_EXACT.divide(Decimal(1), _LN10))

    def _in_two(self, number: Decimal, places: int | None = None) -> tuple[float, float]:
        """Returns a number near 1 as a sum of two, of which the first has some binary places."""
        scale = Decimal(2) ** (self.mantissa if places is None else places)
        high = _EXACT.divide(_EXACT.to_integral_value(_EXACT.multiply(number, scale)), scale)
        return float(high), float(_EXACT.subtract(number, high))


_SINGLE = RealFormat(
    bits=32,
    mantissa=23,
    bias=127,
    exponential=(
        *(0.1666666680583802, 0.0416664594796367, 0.008333275063027827, 0.0013935404723548963),
        0.00019913273138378603,
    ),
    logarithm=(0.666667764096001, 0.3997753757921539, 0.29871848770447523),
)
_DOUBLE = RealFormat(
    bits=64,
    mantissa=52,
    bias=1023,
    exponential=(
        *(0.16666666666666682, 0.0416666666666667, 0.008333333333316859, 0.0013888888888865054),
        *(0.0001984126989681895, 2.480158736531823e-05, 2.755723443809044e-06, 2.7557238503547045e-07),
        *(2.5112179241686506e-08, 2.092572854752627e-09),
    ),
    logarithm=(
        *(0.6666666666666734, 0.39999999999414343, 0.28571428742471283, 0.22222198563743284),
        *(0.18183564858533457, 0.15314035917812444, 0.14796105779095006),
    ),
    logarithm_in_digits=(
        *(0.40000000000002256, 0.28571428570099294, 0.22222222519971668, 0.18181784363051035),
        *(0.15386757510070365, 0.1325681376083762, 0.13196364306213992),
    ),
)

FORMATS = (_SINGLE, _DOUBLE)
