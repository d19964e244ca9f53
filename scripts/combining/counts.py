"""Counts of the outcomes of combinations, by shard."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["BAD", "Counts", "Record"]

BAD = ("wrong", "crash", "dead")


@dataclass
class Counts:
    """The outcomes of some combinations.

    Args:
        verdicts: how many had each.
        refused: for each expression, how many were refused with each error.
        bad: combination, verdict and reason of those that were neither right nor refused.
        commit: what was tried.
    """

    verdicts: Counter[str] = field(default_factory=Counter)
    refused: dict[str, Counter[str]] = field(default_factory=dict)
    bad: list[tuple[str, str, str]] = field(default_factory=list)
    commit: str = ""

    def add(self, text: str, case: str, verdict: str, reason: str) -> None:
        """Counts a combination of an expression."""
        self.verdicts[verdict] += 1
        if verdict == "refused":
            self.refused.setdefault(text, Counter())[reason.splitlines()[0]] += 1
        if verdict in BAD:
            self.bad.append((case, verdict, reason))

    def __add__(self, other: Counts) -> Counts:
        texts = dict.fromkeys((*self.refused, *other.refused))
        refused = {text: self.refused.get(text, Counter()) + other.refused.get(text, Counter()) for text in texts}
        return Counts(self.verdicts + other.verdicts, refused, self.bad + other.bad)

    @property
    def share(self) -> float:
        """Returns the share of right ones among the combinations whose result fits the wanted storage."""
        possible = self.verdicts.total() - self.verdicts["no room"]
        return self.verdicts["right"] / possible if possible else 1.0

    def __str__(self) -> str:
        counted = (f"{self.verdicts[verdict]} {verdict}" for verdict in ("right", "refused", "no room", *BAD))
        return f"{', '.join(counted)}: {100 * self.share:.2f} % right"


@dataclass
class Record:
    """The counts of the shards tried so far.

    Args:
        shards: into how many the cross is divided.
        counts: by number of the shard.
    """

    shards: int
    counts: dict[int, Counts] = field(default_factory=dict)

    @property
    def total(self) -> Counts:
        """Returns the counts of all shards together."""
        return sum(self.counts.values(), Counts())

    @staticmethod
    def read(path: Path, shards: int) -> Record:
        """Returns what a file holds of the same division; an empty record otherwise."""
        known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        if known.get("shards") != shards:
            return Record(shards)
        return Record(shards, {int(number): _counts(found) for number, found in known["counts"].items()})

    def write(self, path: Path) -> None:
        """Writes the record as JSON."""
        total = self.total
        summary = {"tried": total.verdicts.total(), "right": round(total.share, 5), **total.verdicts}
        shards = {str(number): vars(self.counts[number]) for number in sorted(self.counts)}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"total": summary, "shards": self.shards, "counts": shards}, indent=1) + "\n")


def _counts(found: dict[str, Any]) -> Counts:
    refused = {text: Counter(counts) for text, counts in found["refused"].items()}
    bad = [(case, verdict, reason) for case, verdict, reason in found["bad"]]
    return Counts(Counter(found["verdicts"]), refused, bad, found["commit"])
