"""Races: interleaved timing of several ways to compute a result, which drops those that are clearly slower."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Any

from mlir_sparse.classes import dataclass

__all__ = ["LATE", "Contestant", "Prepared", "Watch", "race"]

LATE = "not timed: the budget was spent"

# Shorter calls are timed several at once, as reading the clock takes time too.
_SAMPLE = 2e-4
_MOST_CALLS = 1000
_ROUNDS = 15
# After n rounds a contestant may take 1 + _MARGIN + _DOUBT / n**2 times as long as the best.
_MARGIN = 0.1
_DOUBT = 2.0
# The first call, which checks the result and so is slow, may already show that a contestant is too far behind.
_HOPELESS = 5.0
# A first call of less than this part of the budget is fast: two more calls cost nothing.
_SLOW = 0.01


@dataclass(slots=True)
class Watch:
    """The time that is left.

    Args:
        clock: returns seconds, from any start.
        budget: the seconds to spend.
        progress: is called with the fraction that is spent.
    """

    clock: Callable[[], float]
    budget: float
    progress: Callable[[float], None] = lambda part: None
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Starts to count."""
        self.started = self.clock()

    @property
    def spent(self) -> float:
        """Returns the part of the budget that is spent."""
        spent = (self.clock() - self.started) / self.budget if self.budget > 0 else math.inf
        self.progress(min(1.0, spent))
        return spent

    def seconds(self, call: Callable[[], object], calls: int = 1) -> float:
        """Returns the seconds of a call."""
        start = self.clock()
        for _ in range(calls):
            call()
        return (self.clock() - start) / calls


@dataclass(frozen=True, slots=True)
class Prepared:
    """A contestant that is compiled and whose result is right: the call to time, and the seconds it took first."""

    call: Callable[[], object]
    first: float


@dataclass(slots=True, eq=False)
class Contestant:
    """One way to compute the result.

    Args:
        what: the candidate.
        prepare: compiles and checks it; returns None, and sets `note`, if it must not take part.
        samples: the measured seconds of a call in the latest race.
        ratio: its seconds relative to the first contestant's in that race.
        timed: the number of its measurements in all races.
        note: why it was not timed, or dropped.
    """

    what: Any
    prepare: Callable[[Contestant], Prepared | None]
    samples: list[float] = field(default_factory=list)
    ratio: float = math.inf
    timed: int = 0
    note: str = ""
    call: Callable[[], object] | None = None
    calls: int = 1

    @property
    def seconds(self) -> float:
        """Returns the seconds of the fastest call: disturbances only add time, on a busy machine to most calls."""
        return min(self.samples, default=math.inf)

    def begin(self, watch: Watch, best: float = math.inf) -> bool:
        """Prepares it, and returns whether to time it: not if it failed, or its first call was far behind."""
        if self.call is None and not self.note:
            prepared = self.prepare(self)
            if prepared is None:
                return False
            if prepared.first > max(_HOPELESS * best, _SLOW * watch.budget):
                self.samples.append(prepared.first)
                self.note = "left after its first call"
                return False
            self.call = prepared.call
            once = watch.seconds(self.call)
            self.calls = _MOST_CALLS if once <= 0 else max(1, min(_MOST_CALLS, math.ceil(_SAMPLE / once)))
        return self.call is not None

    def sample(self, watch: Watch) -> None:
        """Times it once more."""
        assert self.call is not None
        self.samples.append(watch.seconds(self.call, self.calls))

    def leave(self, rounds: int) -> None:
        """Drops it from the race, and frees its memory."""
        self.call = None
        self.note = self.note or f"left after round {rounds} of {_ROUNDS}"


def race(contestants: Iterable[Contestant], watch: Watch, until: float) -> None:
    """Times contestants in turn, until one is left, or enough rounds, or the budget.

    The first one is timed to the end. Measurements of other races do not count: the machine may have been busier then.

    Args:
        contestants: the contestants; the others are compared with the first.
        watch: the clock and the budget.
        until: the part of the budget after which to stop.
    """
    everyone = running = list(contestants)
    for one in everyone:
        one.samples = []
    for number in range(1, _ROUNDS + 1):
        # Alternate the direction: a contestant that always follows the same one may find its data in caches.
        for one in running if number % 2 else reversed(running):
            late = watch.spent >= until and not (one is running[0] and number == 1)
            if not late and one.begin(watch, _least(running)):
                one.sample(watch)
            elif one.call is None and not one.timed and not one.note:
                one.note = LATE
        running = _still(running, number)
        if len(running) < 2 or watch.spent >= until:
            break
    for one in everyone:
        one.timed += len(one.samples)
        one.ratio = one.seconds / everyone[0].seconds if one.samples and everyone[0].seconds > 0 else one.ratio


def _least(running: Iterable[Contestant]) -> float:
    return min((one.seconds for one in running), default=math.inf)


def _still(running: list[Contestant], number: int) -> list[Contestant]:
    """Returns the contestants that may still win after a number of rounds."""
    bound = _least(running) * (1 + _MARGIN + _DOUBT / number**2)
    first, *others = running
    kept = [first]
    for one in others:
        if one.call is None or (one.samples and one.seconds > bound):
            one.leave(number)
        else:
            kept.append(one)
    return kept
