"""Rounds of timed calls: what they find on clocks that are given, and what shows that a machine was shared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from mlir_sparse.compile.tuning.timed_rounds import TimedRounds, timed_rounds

MILLISECOND = 1_000_000


class Clocks:
    """A machine on which time goes by in calls alone.

    Args:
        waits: for each millisecond on the processor, the milliseconds that others have it.
    """

    def __init__(self, waits: float) -> None:
        self.waits, self.on_processor, self.went_by = waits, 0, 0

    def processor(self) -> int:
        return self.on_processor

    def wall(self) -> int:
        return self.went_by

    def call(self, milliseconds: Iterator[float]) -> Callable[[], None]:
        def run() -> None:
            time = int(next(milliseconds) * MILLISECOND)
            self.on_processor += time
            self.went_by += int(time * (1 + self.waits))

        return run


def always(milliseconds: float) -> Iterator[float]:
    return (milliseconds for _ in count())


def timed(clocks: Clocks, **milliseconds: Iterator[float]) -> TimedRounds:
    calls = {name: clocks.call(times) for name, times in milliseconds.items()}
    return timed_rounds(calls, 3, processor=clocks.processor, wall=clocks.wall)


def test_nothing_else_ran() -> None:
    found = timed(Clocks(0.05), short=always(1), long=always(30))
    assert found.medians == {"short": MILLISECOND, "long": 30 * MILLISECOND}
    assert found.share == pytest.approx(1 / 1.05)
    assert (found.spread, found.disturbance) == (1.0, "")


@pytest.mark.parametrize(("waits", "said"), [(0.5, "others had 33% of the"), (6.0, "others had 86% of the")])
def test_others_had_the_processor(waits: float, said: str) -> None:
    """The times of this thread on the processor are as they were: only the other clock shows it."""
    found = timed(Clocks(waits), short=always(1))
    assert found.medians == {"short": MILLISECOND}
    assert found.disturbance.startswith(said)


def test_rounds_differ() -> None:
    """Where others are on other processors, and take caches and memory from this one."""
    # One call that is not timed, then two of each round, of which the less counts; a long one once a round.
    short = iter([1.0, 1.0, 1.0, 1.5, 1.4, 2.0, 1.2])
    found = timed(Clocks(0.0), short=short, long=iter([30.0, 30.0, 45.0, 33.0]), steady=always(1))
    assert found.times["short"] == [MILLISECOND, 1.4 * MILLISECOND, 1.2 * MILLISECOND]
    assert found.medians["long"] == 33 * MILLISECOND
    assert found.spread == pytest.approx(1.4)
    assert found.disturbance == "calls took 1.40 times as long in one round as in another"


def test_one_call_among_many_may_differ() -> None:
    found = timed(Clocks(0.0), a=always(1), b=always(2), c=iter([30.0, 30.0, 90.0, 30.0]))
    assert found.disturbance == ""


def test_one_round_shows_no_spread() -> None:
    assert timed_rounds({"nothing": lambda: None}, 1, processor=lambda: 0, wall=lambda: 0).spread == 0.0
