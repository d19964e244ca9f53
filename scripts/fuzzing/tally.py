"""What became of the cases, counted and kept."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

__all__ = ["Tally", "report", "save", "told"]

_BAD = ("wrong", "crash", "dead")


@dataclass
class Tally:
    """What became of the cases.

    Args:
        counts: how many had each verdict.
        refusals: how many were refused with each error.
        bad: verdict, case and reason of those that were neither right nor refused.
    """

    counts: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    bad: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, verdict: str, case: str, reason: str) -> bool:
        """Counts a case; returns whether it is neither right nor refused."""
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
    yield f"{seconds:.0f} s"
    yield from (told(*one) for one in tally.bad)


def save(path: Path, tally: Tally, asked: Mapping[str, Any], seconds: float) -> None:
    """Writes what came out as JSON.

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
        "bad": tally.bad,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=2) + "\n")
