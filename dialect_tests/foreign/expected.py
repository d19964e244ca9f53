"""The checked list of a suite: which of its calls are refused, left out or differ, and why; both ways.

A file `expected/SUITE.toml` has the least number of calls that agree, tests that the library itself
fails here, and entries: an outcome, the operations it is about and what shows it (regular
expressions), why, and, where this package means something else by design, the words of README.md
that say so.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialect_tests.foreign.shadow import Outcome

FOLDER = Path(__file__).parent / "expected"
README = Path(__file__).resolve().parents[2] / "README.md"
# What no entry excuses, and what the docs must bear out.
_BY_DESIGN = {Outcome.AS_NUMPY, Outcome.DIFFERS}
_NEVER = {Outcome.WRONG, Outcome.UNNAMED}


@dataclass(frozen=True, slots=True)
class Entry:
    """One kind of calls that are not as the library's, and why.

    Args:
        outcome: what comes of them.
        why: the reason.
        detail: what the verdict says, from its beginning; anything where empty.
        operations: the operations, in full; any where empty.
        docs: words of README.md, needed where results are not the library's.
    """

    outcome: Outcome
    why: str
    detail: str = ""
    operations: str = ".*"
    docs: str = ""

    def covers(self, call: dict[str, Any]) -> bool:
        """Returns whether a row of a report is of this kind."""
        return (
            call["outcome"] == self.outcome.value
            and re.fullmatch(self.operations, call["operation"]) is not None
            and re.match(self.detail, call["detail"]) is not None
        )


@dataclass(frozen=True, slots=True)
class Expected:
    """What a suite is expected to show.

    Args:
        agreed: how many calls agree at least.
        failing: how many tests the library fails itself, at most.
        entries: see `Entry`.
    """

    agreed: int
    failing: int
    entries: tuple[Entry, ...]

    @classmethod
    def of(cls, suite: str, folder: Path = FOLDER) -> Expected:
        """Returns the list of a suite.

        Raises:
            ValueError: for an entry that excuses what nothing excuses, or that the docs do not bear out.
        """
        given = tomllib.loads((folder / f"{suite}.toml").read_text())
        entries = tuple(Entry(Outcome(one.pop("outcome")), **one) for one in given.get("entry", []))
        text = " ".join(README.read_text().split())
        for entry in entries:
            if entry.outcome in _NEVER | {Outcome.AGREED}:
                raise ValueError(f"expected an outcome that can be excused, but got {entry.outcome.value}: {entry.why}")
            if entry.outcome in _BY_DESIGN and not entry.docs:
                raise ValueError(f"expected the words of README.md that say so, but got none: {entry.why}")
            if entry.docs not in text:
                raise ValueError(f"expected words of README.md, but got {entry.docs!r}: {entry.why}")
        return cls(given["agreed"], given.get("failing", 0), entries)

    def faults(self, report: dict[str, Any], *, whole: bool = True) -> list[str]:
        """Returns what a report has that is not listed, and what is listed that it has not.

        Args:
            report: what the plugin wrote.
            whole: whether all tests ran that the list is about, so that unused entries tell something.
        """
        found = [_shown(call) for call in report["calls"] if not self._is_listed(call)]
        if whole:
            found += [
                f"listed, and never seen: {entry}"
                for entry in self.entries
                if not any(map(entry.covers, report["calls"]))
            ]
            agreed = counted(report["calls"], [Outcome.AGREED])
            if agreed < self.agreed:
                found.append(f"expected {self.agreed} calls or more that agree, but got {agreed}")
        if report["tests"]["failed"] > self.failing:
            found.append(f"expected {self.failing} tests or fewer that fail, but got {report['tests']['failed']}")
        return found

    def _is_listed(self, call: dict[str, Any]) -> bool:
        return Outcome(call["outcome"]) is Outcome.AGREED or any(entry.covers(call) for entry in self.entries)


def counted(calls: Iterable[dict[str, Any]], outcomes: Iterable[Outcome]) -> int:
    """Returns how many calls have one of some outcomes."""
    names = {outcome.value for outcome in outcomes}
    return sum(call["count"] for call in calls if call["outcome"] in names)


def _shown(call: dict[str, Any]) -> str:
    examples = "\n  ".join(call["examples"])
    return f"{call['outcome']}: {call['operation']}, {call['count']} calls: {call['detail']}\n  {examples}"
