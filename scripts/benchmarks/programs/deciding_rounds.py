"""Which calls of a whole statement are sampled: those whose ratio to ours may still be above or below a bound."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.libraries import BY_HAND, OFF, OURS
from benchmarks.paired_ratio import ENOUGH, paired_ratio
from benchmarks.programs.workload import Workload
from benchmarks.rounds import Entrant, Rounds, Samples, is_far_behind

__all__ = ["DUCKDB", "TO_HAND", "TO_OFF", "Question", "SameCode", "of_threads", "questions", "until_decided"]

# Times relative to the plans by hand, and to the statement as it is written.
TO_HAND, TO_OFF = 1.10, 1.03
DUCKDB = "DuckDB"
_FEW = 3
# How many times the seconds for a workload are spent at the most, where a bound is missed and may yet be met.
_LONGEST = 6


@dataclass(frozen=True, slots=True)
class SameCode:
    """Who runs the same machine code as we do on the same arrays, so that a ratio to us would tell of noise alone.

    Args:
        as_written: whether the statement as it is written does.
        by_hand: which plans by hand do, by their variants.
    """

    as_written: bool = False
    by_hand: Sequence[str] = ()

    def __contains__(self, entrant: Entrant) -> bool:
        if entrant.library == BY_HAND:
            return entrant.variant in self.by_hand
        return entrant.library == OFF and self.as_written


@dataclass(frozen=True, slots=True)
class Question:
    """Whether our time is at most so many times another's.

    Args:
        ours: our call.
        other: the other one.
        bound: how many times; None where the ratio is reported only.
    """

    ours: Entrant
    other: Entrant
    bound: float | None

    def is_open(self, samples: Samples, *, is_late: bool = False, is_over: bool = False) -> bool:
        """Returns whether more rounds are needed for an answer, or as many as there have to be at the least.

        Args:
            samples: the samples so far.
            is_late: whether more rounds are spent only on a bound that is missed so far.
            is_over: whether none are.
        """
        rounds, is_by_hand = len(samples[self.other]), self.other.library == BY_HAND
        if not rounds or (rounds < _FEW and (is_by_hand or not is_far_behind(self.other, samples))):
            return True
        if is_over or self.bound is None:
            return False
        ratio = paired_ratio(samples[self.ours], samples[self.other])
        if is_late and ratio.median <= self.bound:
            return False
        if is_by_hand and rounds < ENOUGH and not is_far_behind(self.other, samples):
            return True  # their mean is judged too
        return not ratio.is_decided(self.bound)


def questions(
    workload: Workload, entrants: Iterable[Entrant], threads: Sequence[int], same: SameCode
) -> list[Question]:
    """Returns what is asked of a workload, on each number of threads."""
    found = list[Question]()
    known = list(entrants)
    for number in threads:
        here = of_threads(known, number)
        ours = next(entrant for entrant in here if entrant.library == OURS)
        for entrant in here:
            if entrant.library != OURS:
                found += [Question(ours, entrant, bound) for bound in _bounds(workload, entrant, same)]
    return found


def _bounds(workload: Workload, entrant: Entrant, same: SameCode) -> Sequence[float | None]:
    bounds: Mapping[str, Sequence[float | None]] = {
        BY_HAND: (None if entrant in same else TO_HAND,),
        OFF: (None if entrant in same else TO_OFF, workload.gain and 1 / workload.gain),
        DUCKDB: (workload.database,),
    }
    return [bound for bound in bounds.get(entrant.library, ()) if bound is not None] or (None,)


def until_decided(asked: Sequence[Question], seconds: float) -> Rounds:
    """Returns what lets those take part whose questions are open: three rounds at the least if they are not far behind.

    Args:
        asked: the questions.
        seconds: after which there are no more rounds than that for what meets its bound; for what misses it so far
            there are until the interval decides, for a few times as many seconds at the most.
    """

    def next_round(samples: Samples, taken: float) -> Sequence[Entrant]:
        is_late, is_over = taken >= seconds, taken >= _LONGEST * seconds
        pairs = [(one.ours, one.other) for one in asked if one.is_open(samples, is_late=is_late, is_over=is_over)]
        return list(dict.fromkeys(entrant for pair in pairs for entrant in pair))

    return next_round


def of_threads(entrants: Iterable[Entrant], threads: int) -> list[Entrant]:
    """Returns the calls that count on some number of threads: a library's with so many, else with as many as it has."""
    most: dict[tuple[str, str], Entrant] = {}
    for entrant in entrants:
        key = entrant.library, entrant.variant
        if entrant.threads <= threads and (key not in most or most[key].threads < entrant.threads):
            most[key] = entrant
    return list(most.values())
