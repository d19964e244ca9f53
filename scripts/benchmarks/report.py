"""Results as lines of a table and as JSON."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.machine import commit, machine, versions
from benchmarks.timing import ratio

__all__ = ["OURS", "Row", "header", "on_threads", "row_of", "save", "threaded_row"]

OURS = "mlir_sparse"
_RESULTS = Path(__file__).parent / "results"


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
        samples: how many each median is of.
        error: the largest relative error; None where correctness is asserted on the way.
        ratios: to the fastest peer, by the number of threads we ran on, where it was set.
        speedups: of each number of threads over one, both ours.
        gains: whether these must be more than 1.
    """

    name: str
    unit: str
    medians: Mapping[str, float]
    minima: Mapping[str, float]
    value: float
    bound: float | None
    samples: int
    error: float | None = None
    ratios: Mapping[int, float] = field(default_factory=dict)
    speedups: Mapping[int, float] = field(default_factory=dict)
    gains: bool = False

    @property
    def verdict(self) -> str:
        """Returns `ok`, `over`, `no faster` (on more threads) or `WRONG`, or nothing where there is no bound."""
        if self.error is not None and not self.error < 1e-13:
            return "WRONG"
        if self.bound is None:
            return ""
        if self.value > self.bound or any(found > self.bound for found in self.ratios.values()):
            return "over"
        return "no faster" if self.gains and min(self.speedups.values()) <= 1 else "ok"

    def __str__(self) -> str:
        others = ((name, median) for name, median in self.medians.items() if not name.startswith(OURS))
        peers = ", ".join(f"{name} {_amount(median, self.unit)}" for name, median in others)
        versus = f"{self.value:.2f}" if peers else ""
        bound = "" if self.bound is None else (f"{self.bound:.2f}" if peers else _amount(self.bound, self.unit))
        ours = _amount(self.medians[OURS], self.unit)
        more = "".join(
            f"{_amount(self.medians[on_threads(OURS, n)], self.unit):>10}{self.ratios[n]:>6.2f}{gained:>6.2f}"
            for n, gained in self.speedups.items()
        )
        return f"{self.name:<38}{ours:>12}  {peers:<20}{versus:>6}{bound:>11}{more:<22}  {self.verdict}".rstrip()


def header() -> str:
    """Returns the machine, whose load counts, and the table's first line."""
    host = machine()
    where = f"{host['processor']}, {host['cores']} cores, load {host['load']}, commit {commit()}"
    return (
        f"{where}\n\n{'':<38}{OURS:>12}  {'peers':<20}{'ratio':>6}{'bound':>11}{'2 threads':>10}{'ratio':>6}{'gain':>6}"
    )


def _amount(value: float, unit: str) -> str:
    if unit != "s":
        return f"{value:.2f} {unit}"
    scale, name = next(((s, n) for s, n in ((1, "s"), (1e-3, "ms")) if value >= s), (1e-6, "us"))
    return f"{value / scale:.3g} {name}" if value < 1000 * scale else f"{value / scale:.0f} {name}"


def row_of(
    name: str,
    unit: str,
    samples: Mapping[str, Sequence[float]],
    bound: float | None,
    value: float | None = None,
    error: float | None = None,
) -> Row:
    """Returns a row of samples by library; the value is our median where none is given."""
    medians = {library: statistics.median(found) for library, found in samples.items()}
    minima = {library: min(found) for library, found in samples.items()}
    return Row(name, unit, medians, minima, medians[OURS] if value is None else value, bound, len(samples[OURS]), error)


def on_threads(library: str, number: int) -> str:
    """Returns a library's name in samples on so many threads."""
    return library if number == 1 else f"{library}, {number} threads"


def threaded_row(
    name: str,
    samples: Mapping[str, Sequence[float]],
    bound: float | None,
    threads: Sequence[int],
    error: float,
    *,
    gains: bool,
) -> Row:
    """Returns a row of samples on several numbers of threads, the first of them one.

    A peer that ran on as many threads is the one to beat there; of others the one run counts.
    """
    row = row_of(name, "s", samples, bound, error=error)
    peers = {library.split(",")[0] for library in samples} - {OURS}

    def ratio_on(number: int) -> float:
        same = [on_threads(p, number) if on_threads(p, number) in samples else p for p in peers]
        return max(ratio(samples, on_threads(OURS, number), peer) for peer in same)

    ratios = {number: ratio_on(number) for number in threads}
    speedups = {number: ratio(samples, OURS, on_threads(OURS, number)) for number in threads if number > 1}
    return replace(row, value=ratios[threads[0]], ratios=ratios, speedups=speedups, gains=gains)


def save(rows: Sequence[Row]) -> Path:
    """Writes the results beside the machine they were measured on."""
    now, name = datetime.now(UTC), commit()
    record = {
        "date": now.isoformat(timespec="seconds"),
        "commit": name,
        "machine": machine(),
        "versions": versions(),
        "results": [{**asdict(row), "verdict": row.verdict} for row in rows],
    }
    _RESULTS.mkdir(exist_ok=True)
    path = _RESULTS / f"{now:%Y-%m-%d}-{name}.json"
    path.write_text(json.dumps(record, indent=2) + "\n")
    return path
