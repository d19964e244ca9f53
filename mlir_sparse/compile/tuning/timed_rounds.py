"""Rounds of timed calls, and whether something else ran on the machine meanwhile."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mlir_sparse.classes import dataclass

__all__ = ["TimedRounds", "timed_rounds"]

# Each call is timed so many times in a round, of which the least counts: a machine is late, and never early. One of
# more nanoseconds than these is timed once.
_CALLS, _LONG = 2, 10_000_000
# Nothing else ran where calls had this share of the time that went by, and half of them took at most so many times as
# long in one round as in another. With seven programs for each processor these were 0.15, and 1.12 to 1.23.
_SHARE, _SPREAD = 0.9, 1.1


@dataclass(frozen=True, slots=True)
class TimedRounds:
    """What calls took.

    Args:
        times: by name, what a call took in each round, in nanoseconds of this thread on the processor.
        share: the part of the time that went by in which this thread was on the processor.
    """

    times: Mapping[str, Sequence[float]]
    share: float

    @property
    def medians(self) -> Mapping[str, float]:
        """Returns the median over rounds of each call."""
        return {name: statistics.median(times) for name, times in self.times.items()}

    @property
    def spread(self) -> float:
        """Returns how many times as long calls took in one round as in another: the median of all calls."""
        return statistics.median(max(times) / max(1.0, min(times)) for times in self.times.values())

    @property
    def disturbance(self) -> str:
        """Returns what shows that something else ran meanwhile; "" where nothing does."""
        if self.share < _SHARE:
            return f"others had {1 - self.share:.0%} of the processor's time"
        return f"calls took {self.spread:.2f} times as long in one round as in another" if self.spread > _SPREAD else ""


def timed_rounds(
    calls: Mapping[str, Callable[[], Any]],
    rounds: int,
    *,
    processor: Callable[[], int] = time.thread_time_ns,
    wall: Callable[[], int] = time.perf_counter_ns,
) -> TimedRounds:
    """Returns what calls take. A round makes all in turn, so that what slows the machine for a while slows all of them.

    Args:
        calls: the calls, by name.
        rounds: how many rounds are made, after one that is not timed.
        processor: the nanoseconds of this thread on the processor.
        wall: the nanoseconds that went by.
    """
    found: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    on_processor, went_by = processor(), wall()
    for _ in range(rounds):
        for name, call in calls.items():
            found[name].append(_least_time(call, processor))
    share = (processor() - on_processor) / max(1, wall() - went_by)
    return TimedRounds(found, min(1.0, share))


def _least_time(call: Callable[[], Any], processor: Callable[[], int]) -> float:
    times = [_time(call, processor)]
    while len(times) < _CALLS and times[0] < _LONG:
        times.append(_time(call, processor))
    return min(times)


def _time(call: Callable[[], Any], processor: Callable[[], int]) -> float:
    begin = processor()
    call()
    return processor() - begin
