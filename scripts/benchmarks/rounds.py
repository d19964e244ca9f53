"""Who is sampled in each round of a contest, and when it ends."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.libraries import NEW, OURS

__all__ = ["Entrant", "Rounds", "Samples", "is_far_behind", "rounds_of", "until_time_is_up"]

_BEHIND, _FEW = 4.0, 3  # who takes so many times as long as we do is sampled so often only
_FAR_BEHIND = 20.0  # who takes so many times as long is sampled once


@dataclass(frozen=True, slots=True)
class Entrant:
    """A call that is sampled.

    Args:
        library: whose it is.
        variant: whether it writes in place or returns a new result.
        threads: how many it runs on.
    """

    library: str
    variant: str
    threads: int

    def __str__(self) -> str:
        new = ", new result" if self.library == OURS and self.variant == NEW else ""
        return f"{self.library}{new}" + (f", {self.threads} threads" if self.threads > 1 else "")


# Seconds a call, one a round, of everybody; who takes part in fewer rounds has the first of them.
Samples = Mapping[Entrant, Sequence[float]]
# From the samples so far and the seconds that they took to who is sampled in the next round: nobody after the last.
Rounds = Callable[[Samples, float], Sequence[Entrant]]


def rounds_of(samples: Samples) -> int:
    """Returns how many rounds there have been."""
    return max(map(len, samples.values()))


def until_time_is_up(seconds: float) -> Rounds:
    """Returns what lets everybody take part for some seconds, five rounds at the least.

    Where rounds take long three are enough. Who is far behind takes part in the first ones only.
    """

    def next_round(samples: Samples, taken: float) -> Sequence[Entrant]:
        rounds = rounds_of(samples)
        if taken >= seconds if rounds >= 5 else rounds >= _FEW and taken >= 4 * seconds:
            return ()
        return [entrant for entrant in samples if not is_far_behind(entrant, samples)]

    return next_round


def is_far_behind(entrant: Entrant, samples: Samples) -> bool:
    """Returns whether there are enough samples of a call that takes so much longer than ours."""
    taken = samples[entrant]
    if entrant.library == OURS or not taken:
        return False
    threads = (entrant.threads, 1)  # some have no more than one
    ours = [found for other, found in samples.items() if other.library == OURS and other.threads in threads and found]
    if not ours:
        return False
    behind = min(taken) / min(map(statistics.median, ours))
    return behind > _FAR_BEHIND or (behind > _BEHIND and len(taken) >= _FEW)
