"""The ratio of two calls' times, from rounds that have both."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

__all__ = ["ENOUGH", "PairedRatio", "paired_ratio"]

_MISSED = Fraction(1, 100)  # how often the interval may leave out the median that ever more rounds would come to
ENOUGH = 8  # rounds, from which on there is such an interval
# How far from a bound all the ratios of fewer rounds have to be: the factor, by the least number of rounds.
_CLEAR = ((3, 1.25), (1, 2.0))


@dataclass(frozen=True, slots=True)
class PairedRatio:
    """How many times as long one call takes as another.

    A slow spell of the machine slows both calls of a round and leaves their ratio. Rounds in which it begins or ends
    are outliers, which a median leaves out.

    Args:
        median: that of the ratios of all rounds.
        low: where the interval of the median begins, which holds in 99 of 100 cases whatever the distribution; it is
            that of the sign test, by ranks. Of fewer than eight rounds it is the least ratio.
        high: where it ends, likewise.
        rounds: how many.
    """

    median: float
    low: float
    high: float
    rounds: int

    def is_decided(self, bound: float) -> bool:
        """Returns whether the rounds suffice to say on which side of a bound the ratio is."""
        apart = 1.0 if self.rounds >= ENOUGH else next(factor for least, factor in _CLEAR if self.rounds >= least)
        return self.high * apart <= bound or self.low > bound * apart

    def inverse(self) -> PairedRatio:
        """Returns how many times as long the other call takes."""
        return PairedRatio(1 / self.median, 1 / self.high, 1 / self.low, self.rounds)

    def __str__(self) -> str:
        few = f" in {self.rounds}" if self.rounds < ENOUGH else ""
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f}{few})"


def paired_ratio(ours: Sequence[float], theirs: Sequence[float]) -> PairedRatio:
    """Returns the ratio of two calls' times.

    Args:
        ours: seconds of the one, by round.
        theirs: seconds of the other, from the first round on; rounds that only one of them has do not count.
    """
    ratios = sorted(mine / other for mine, other in zip(ours, theirs, strict=False))
    outside = _outside(len(ratios))
    return PairedRatio(statistics.median(ratios), ratios[outside], ratios[-1 - outside], len(ratios))


@cache
def _outside(rounds: int) -> int:
    """Returns how many ratios of each end are left out of the interval of their median.

    Each ratio is below the median that ever more rounds come to as often as a fair coin shows heads.
    """
    found, below = 0, 1
    while below <= _MISSED / 2 * 2**rounds:
        found += 1
        below += math.comb(rounds, found)
    return max(found - 1, 0)
