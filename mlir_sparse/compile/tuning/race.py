"""Times several ways to compute one thing against each other: interleaved, and without those that lose."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["LATE", "Contestant", "Prepared", "Watch", "race"]

LATE = "not timed: the budget was spent"

# Shorter calls are timed several at once: reading the clock takes its time too.
_SAMPLE = 2e-4
_MOST_CALLS = 1000
_ROUNDS = 15
# How far behind the best one may be to stay, after how many rounds: three times, 1.6, a third, then a tenth.
_MARGIN = 0.1
_DOUBT = 2.0
# Its first call alone, made to check the result and so a slow one, shows that one is too far behind.
_HOPELESS = 5.0
# Where it is fast, calling it twice more costs nothing; this part of the budget is slow.
_SLOW = 0.01


@dataclass(slots=True)
class Watch:
    """The time that is left.

    Args:
        clock: returns seconds, from any start.
        budget: how many there are.
        progress: is told which part of them is spent.
    """

    clock: Callable[[], float]
    budget: float
    progress: Callable[[float], None] = lambda part: None
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Counts from now on."""
        self.started = self.clock()

    @property
    def spent(self) -> float:
        """Returns the part of the budget that is spent."""
        spent = (self.clock() - self.started) / self.budget if self.budget > 0 else math.inf
        self.progress(min(1.0, spent))
        return spent

    def seconds(self, call: Callable[[], object], calls: int = 1) -> float:
        """Returns how long a call takes."""
        start = self.clock()
        for _ in range(calls):
            call()
        return (self.clock() - start) / calls


@dataclass(frozen=True, slots=True)
class Prepared:
    """A contestant that has been compiled and computes what it should.

    Args:
        call: what to time.
        first: the seconds of the call that was checked.
    """

    call: Callable[[], object]
    first: float


@dataclass(slots=True, eq=False)
class Contestant:
    """One way to compute the thing.

    Args:
        what: what it is.
        prepare: compiles and checks it; returns None where it must not take part, with `note` saying why.
        samples: the seconds of a call, as measured in the race that runs or ran last.
        ratio: how its seconds compared with those of the first contestant, in that race.
        timed: how often it was timed in all races.
        note: why it was not timed, or not to the end.
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
        """Returns the seconds of the fastest call: what disturbs only adds, on a busy machine to most calls."""
        return min(self.samples, default=math.inf)

    def begin(self, watch: Watch, best: float = math.inf) -> bool:
        """Prepares it, and returns whether it is to be timed: not where it failed, or its first call was far behind."""
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
        """Takes it out of the race, and gives back what it holds."""
        self.call = None
        self.note = self.note or f"left after round {rounds} of {_ROUNDS}"


def race(contestants: Iterable[Contestant], watch: Watch, until: float) -> None:
    """Times contestants in turn, until one is left, or enough rounds, or the budget.

    The first one is always timed, and stays to the end. What was measured in other races does not count: the machine
    may have been busier then.

    Args:
        contestants: who takes part; the first is who the others are compared with.
        watch: the clock and the budget.
        until: the part of the budget after which to stop.
    """
    everyone = running = list(contestants)
    for one in everyone:
        one.samples = []
    for number in range(1, _ROUNDS + 1):
        # To and fro: what follows the same one every time may be served better than others.
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
    """Returns who may still win after a number of rounds."""
    bound = _least(running) * (1 + _MARGIN + _DOUBT / number**2)
    first, *others = running
    kept = [first]
    for one in others:
        if one.call is None or (one.samples and one.seconds > bound):
            one.leave(number)
        else:
            kept.append(one)
    return kept
