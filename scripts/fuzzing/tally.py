"""The outcomes of cases, counted and saved."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

__all__ = ["DECLINED", "Tally", "report", "save", "told"]

DECLINED = "declined"
"""The verdict on a variant that is refused by name, as it may be: no case of its own."""

_BAD = ("wrong", "crash", "dead")


@dataclass
class Tally:
    """The outcomes of the cases.

    Args:
        counts: how many had each verdict.
        refusals: how many were refused with each error.
        declined: how many variants were refused, by variant and error.
        bad: verdict, case and reason of those that were neither right nor refused.
    """

    counts: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    declined: Counter[str] = field(default_factory=Counter)
    bad: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, verdict: str, case: str, reason: str) -> bool:
        """Counts a case, or a variant that was refused; returns whether it is neither right nor refused."""
        if verdict == DECLINED:
            self.declined[reason] += 1
            return False
        self.counts[verdict] += 1
        if verdict == "refused":
            self.refusals[reason.partition(":")[0]] += 1
        if verdict in _BAD:
            self.bad.append((verdict, case, reason))
        return verdict in _BAD


def told(verdict: str, case: str, reason: str) -> str:
    """Returns what is said of a case."""
    return f"{verdict}: {case}\n  {reason}"


def report(tally: Tally, seconds: float) -> Iterator[str]:
    """Yields the lines that say what came out."""
    yield ", ".join(f"{tally.counts[verdict]} {verdict}" for verdict in ("right", "refused", *_BAD))
    yield f"refused by: {', '.join(f'{count} {name}' for name, count in tally.refusals.most_common())}"
    declined = (f"{count} {name}" for name, count in tally.declined.most_common())
    yield f"variants refused: {', '.join(declined) or 'none'}"
    yield f"{seconds:.0f} s"
    yield from (told(*one) for one in tally.bad)


def save(path: Path, tally: Tally, asked: Mapping[str, Any], seconds: float) -> None:
    """Writes the outcomes as JSON.

    Args:
        path: the file.
        tally: what came out.
        asked: the options of the run.
        seconds: how long it took.
    """
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    record = {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit.stdout.strip(),
        **asked,
        "seconds": round(seconds),
        "verdicts": dict(sorted(tally.counts.items())),
        "refusals": dict(tally.refusals.most_common()),
        "declined": dict(tally.declined.most_common()),
        "bad": tally.bad,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=2) + "\n")
