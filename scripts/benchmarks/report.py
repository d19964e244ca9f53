"""Results as lines of a table and as JSON."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.contests import Contest
from benchmarks.libraries import ASIDE, OURS
from benchmarks.machine import commit, machine, versions
from benchmarks.match import Outcome
from benchmarks.referee import kernel_of
from benchmarks.roofline import Roofline

__all__ = ["RESULTS", "Row", "amount", "figure_row", "header", "missing_row", "row_of", "save", "save_programs"]

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement.

    Args:
        name: of the contest or figure.
        unit: of the medians.
        medians: by library.
        minima: by library; what a quiet machine comes near.
        value: what is held against the bound: the ratio to the fastest peer, or our median.
        bound: the largest value that will do; None to report only.
        samples: how many each of our medians is of.
        group, source: the kernel and the input, where it is part of a group.
        error: the largest relative error; None where correctness is asserted on the way.
        ratios: to the fastest peer, by the number of threads.
        quiet: the same of least times, to the peer whose least is least.
        fastest: that peer of the medians, by the number of threads.
        against: ratios to each peer, by the number of threads.
        aside: likewise, to what is counted apart.
        speedups: of each number of threads over one, both ours.
        gain: what these must reach; None to report only.
        roofline: our time by the least that the machine needs, by the number of threads.
        absent: why libraries did not take part.
        tolerance: how large the error may be.
        loops: the time of the loop in numba by that in C, by the number of threads, where both are there.
    """

    name: str
    unit: str
    medians: Mapping[str, float]
    minima: Mapping[str, float]
    value: float
    bound: float | None
    samples: int
    group: str = ""
    source: str = ""
    error: float | None = None
    ratios: Mapping[int, float] = field(default_factory=dict)
    quiet: Mapping[int, float] = field(default_factory=dict)
    fastest: Mapping[int, str] = field(default_factory=dict)
    against: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    aside: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    speedups: Mapping[int, float] = field(default_factory=dict)
    gain: float | None = None
    roofline: Mapping[int, float] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    tolerance: float = 1e-13
    loops: Mapping[int, float] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """Returns `ok`, `over`, `gains little` (by more threads), `WRONG` or `NO RESULT`; nothing where none is due."""
        if OURS in self.absent:
            return "NO RESULT"
        if self.error is not None and not self.error <= self.tolerance:
            return "WRONG"
        if self.bound is None:
            return ""
        if self.value > self.bound or any(found > self.bound for found in self.ratios.values()):
            return "over"
        if self.gain is not None and any(found < self.gain for found in self.speedups.values()):
            return "gains little"
        return "ok"

    @property
    def details(self) -> str:
        """Returns the median and the least of each library, a line each, then who did not take part and why."""
        times = (
            f"    {name:<36}{amount(median, self.unit):>10}{amount(self.minima[name], self.unit):>10}"
            for name, median in self.medians.items()
        )
        return "\n" + "\n".join([*times, *(f"    {name}: {reason}" for name, reason in self.absent.items())])

    def __str__(self) -> str:
        if OURS in self.absent:
            return f"{self.name:<44}  {self.verdict}: {self.absent[OURS]}"
        ours = amount(next(iter(self.medians.values())), self.unit)
        if not self.ratios:
            bound = "" if self.bound is None else amount(self.bound, self.unit)
            return f"{self.name:<44}{ours:>10}{'':<26}{bound:>8}  {self.verdict}".rstrip()
        cells = "".join(f"{self.ratios[n]:>7.2f}{self.quiet[n]:>6.2f} {peer:<12}" for n, peer in self.fastest.items())
        gains = "".join(f"{found:>6.2f}" for found in self.speedups.values())
        bound = "" if self.bound is None else f"{self.bound:.2f}"
        least = "".join(f"{found:>6.1f}" for found in self.roofline.values())
        return f"{self.name:<44}{ours:>10}{cells}{bound:>6}{gains}{least}  {self.verdict}".rstrip()


def header(threads: Sequence[int]) -> str:
    """Returns the machine, whose load counts, and the table's first line."""
    host = machine()
    where = f"{host['processor']}, {host['cores']} cores, load {host['load']}, commit {commit()}"
    cells = "".join(f"{'ratio':>7}{'quiet':>6} {f'to ({n})':<12}" for n in threads)
    gains = "".join(f"{'gain':>6}" for n in threads if n > 1)
    least = "".join(f"{'roof':>6}" for _ in threads)
    return f"{where}\n\n{'':<44}{OURS:>10}{cells}{'bound':>6}{gains}{least}"


def amount(value: float, unit: str) -> str:
    """Returns a quantity in three digits."""
    if unit != "s":
        return f"{value:.2f} {unit}"
    scale, name = next(((s, n) for s, n in ((1, "s"), (1e-3, "ms")) if value >= s), (1e-6, "us"))
    return f"{value / scale:.3g} {name}" if value < 1000 * scale else f"{value / scale:.0f} {name}"


def figure_row(name: str, unit: str, samples: Sequence[float], bound: float | None) -> Row:
    """Returns a row of a single figure."""
    median = statistics.median(samples)
    return Row(name, unit, {OURS: median}, {OURS: min(samples)}, median, bound, len(samples))


def row_of(name: str, contest: Contest, outcome: Outcome, rooflines: Mapping[int, Roofline]) -> Row:
    """Returns a row of a contest on as many threads as there are rooflines.

    A peer that ran on as many threads is the one to beat there; of others the one run counts.
    """
    libraries = dict.fromkeys(e.library for e in outcome.samples if e.library != OURS)
    pairs = {library: {n: outcome.pair(library, n) for n in rooflines} for library in libraries}
    against = {library: {n: outcome.ratio(*pair) for n, pair in on.items()} for library, on in pairs.items()}
    peers = [library for library in libraries if library not in ASIDE]
    fastest = {n: max(peers, key=lambda peer: against[peer][n]) for n in rooflines} if peers else {}
    times = {n: outcome.samples[outcome.ours(n)] for n in rooflines}
    one = min(times)
    ratios = {n: against[peer][n] for n, peer in fastest.items()}
    quiet = {n: max(outcome.quiet_ratio(*pairs[peer][n]) for peer in peers) for n in ratios}
    return Row(
        name,
        "s",
        {str(entrant): statistics.median(found) for entrant, found in outcome.samples.items()},
        {str(entrant): min(found) for entrant, found in outcome.samples.items()},
        ratios[one] if ratios else statistics.median(times[one]),
        contest.bound if ratios else None,
        len(times[one]),
        contest.group,
        contest.source,
        outcome.error,
        ratios,
        quiet,
        fastest,
        {library: against[library] for library in peers},
        {library: against[library] for library in libraries if library in ASIDE},
        {n: outcome.ratio(outcome.ours(one), outcome.ours(n)) for n in times if n > one},
        contest.gain,
        {n: statistics.median(found) / rooflines[n].seconds(outcome.work) for n, found in times.items()},
        outcome.absent,
        kernel_of(contest.kernel).tolerance,
        {n: found for n in rooflines if (found := outcome.loops(n)) is not None},
    )


def missing_row(name: str, contest: Contest, reason: str) -> Row:
    """Returns a row of a contest that we have no result of."""
    return Row(name, "s", {}, {}, 0.0, contest.bound, 0, contest.group, contest.source, absent={OURS: reason})


def save(rows: Sequence[Row], rooflines: Mapping[int, Roofline], standing: Sequence[object], section: str = "") -> Path:
    """Writes the results beside the machine they were measured on."""
    now, name = datetime.now(UTC), commit()
    record = {
        "date": now.isoformat(timespec="seconds"),
        "commit": name,
        "machine": machine(),
        "versions": versions(),
        "rooflines": {threads: asdict(found) for threads, found in rooflines.items()},
        "standing": standing,
        "results": [{**asdict(row), "verdict": row.verdict} for row in rows],
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{now:%Y-%m-%d}-{name}{section and f'-{section}'}.json"
    path.write_text(json.dumps(_finite(record), indent=2, allow_nan=False) + "\n")
    return path


def save_programs(rows: Sequence[Any], table: str) -> Path:
    """Writes the results of whole statements, as data and as a table, beside the machine they were measured on."""
    now, name, host = datetime.now(UTC), commit(), machine()
    record = {
        "date": now.isoformat(timespec="seconds"),
        "commit": name,
        "machine": host,
        "versions": versions(),
        "results": [{**asdict(row), "missed": row.missed} for row in rows],
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{now:%Y-%m-%d}-{name}-programs.json"
    path.write_text(json.dumps(_finite(record), indent=2, allow_nan=False) + "\n")
    where = f"{host['processor']}, {host['cores']} cores, family {host['family']}, load {host['load']}, commit {name}"
    path.with_suffix(".md").write_text(f"{where}\n\n{table}")
    return path


def _finite(value: Any) -> Any:
    """Returns a value for JSON, which has no infinity: errors of wrong results."""
    match value:
        case float():
            return value if math.isfinite(value) else str(value)
        case dict():
            return {key: _finite(found) for key, found in value.items()}
        case list() | tuple():
            return [_finite(found) for found in value]
    return value
