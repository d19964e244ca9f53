"""Races on a clock of the test's own: who is timed how often, who leaves, and when all stops."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import repeat

import pytest

from mlir_sparse.compile.tuning.timed_race import LATE, Contestant, Prepared, Watch, race


class Clock:
    """Stands still but for what calls add."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def taking(self, seconds: Iterator[float] | float) -> Callable[[Contestant], Prepared]:
        """Returns what prepares a contestant whose calls take so long, one after the other."""
        times = repeat(seconds) if isinstance(seconds, float) else seconds

        def call() -> None:
            self.now += next(times)

        return lambda contestant: Prepared(call, 0.0)


def contestants(clock: Clock, *seconds: Iterator[float] | float) -> list[Contestant]:
    return [Contestant(name, clock.taking(one)) for name, one in zip("abcdefg", seconds, strict=False)]


def test_losers_leave_early_and_the_rest_are_timed_alike() -> None:
    clock = Clock()
    a, b, c, d = everyone = contestants(clock, 0.010, 0.008, 0.020, 0.100)
    race(everyone, Watch(clock, 100.0), 1.0)
    assert [a.timed, b.timed, c.timed, d.timed] == [15, 15, 2, 1]
    assert b.ratio == pytest.approx(0.8)
    assert d.note == "left after round 1 of 15"
    assert (c.call, d.call) == (None, None)
    assert a.note == b.note == ""


def test_the_first_stays_though_it_is_slow() -> None:
    clock = Clock()
    a, b = everyone = contestants(clock, 0.5, 0.001)
    race(everyone, Watch(clock, 100.0), 1.0)
    assert a.timed == b.timed == 15


def test_what_disturbs_a_few_calls_changes_nothing() -> None:
    clock = Clock()
    disturbed = (0.009 if n % 3 else 0.027 for n in range(100))
    _, b = everyone = contestants(clock, 0.010, disturbed)
    race(everyone, Watch(clock, 100.0), 1.0)
    assert b.ratio == pytest.approx(0.9)


def test_short_calls_are_timed_many_at_once() -> None:
    clock = Clock()
    (a,) = contestants(clock, 1e-5)
    race([a], Watch(clock, 100.0), 1.0)
    assert a.calls == 20
    assert a.seconds == pytest.approx(1e-5)


def test_the_budget_ends_a_race() -> None:
    clock = Clock()
    a, b, c = everyone = contestants(clock, 1.0, 1.0, 1.0)
    race(everyone, Watch(clock, 3.5), 1.0)
    assert [a.timed, b.timed, c.timed] == [1, 1, 0]
    assert c.note == LATE
    assert c.ratio == math.inf


def test_the_first_is_timed_whatever_the_budget() -> None:
    clock = Clock()
    a, b = everyone = contestants(clock, 1.0, 1.0)
    watch = Watch(clock, 0.1)
    clock.now += 5.0
    race(everyone, watch, 1.0)
    assert (a.timed, b.timed) == (1, 0)


def test_who_cannot_take_part_does_not() -> None:
    clock = Clock()

    def fails(contestant: Contestant) -> None:
        contestant.note = "no such loops"

    a, b = contestants(clock, 0.01), Contestant("b", fails)
    race([*a, b], Watch(clock, 100.0), 1.0)
    assert (b.timed, b.note) == (0, "no such loops")


def test_a_hopeless_first_call_is_the_last() -> None:
    clock = Clock()
    calls = []
    slow = Contestant("b", lambda _: Prepared(lambda: calls.append(1), 9.0))
    race([*contestants(clock, 0.01), slow], Watch(clock, 100.0), 1.0)
    assert calls == []
    assert slow.note == "left after its first call"
    assert slow.ratio == pytest.approx(900.0)


def test_progress_is_told_in_parts_of_the_budget() -> None:
    clock, told = Clock(), []
    race(contestants(clock, 0.5, 0.5), Watch(clock, 4.0, told.append), 1.0)
    assert told == sorted(told)
    assert told[0] == 0.0
    assert told[-1] == 1.0
