"""Results as lines of a table and as JSON."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.machine import commit, machine, versions

__all__ = ["OURS", "Row", "header", "row_of", "save"]

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
    """

    name: str
    unit: str
    medians: Mapping[str, float]
    minima: Mapping[str, float]
    value: float
    bound: float | None
    samples: int
    error: float | None = None

    @property
    def verdict(self) -> str:
        """Returns `ok`, `over` or `WRONG`, or nothing where there is no bound."""
        if self.error is not None and not self.error < 1e-13:
            return "WRONG"
        if self.bound is None:
            return ""
        return "ok" if self.value <= self.bound else "over"

    def __str__(self) -> str:
        peers = ", ".join(f"{name} {_amount(m, self.unit)}" for name, m in self.medians.items() if name != OURS)
        versus = f"{self.value:.2f}" if peers else ""
        bound = "" if self.bound is None else (f"{self.bound:.2f}" if peers else _amount(self.bound, self.unit))
        ours = _amount(self.medians[OURS], self.unit)
        return f"{self.name:<38}{ours:>12}  {peers:<20}{versus:>6}{bound:>11}  {self.verdict}".rstrip()


def header() -> str:
    """Returns the machine, whose load counts, and the table's first line."""
    host = machine()
    where = f"{host['processor']}, {host['cores']} cores, load {host['load']}, commit {commit()}"
    return f"{where}\n\n{'':<38}{OURS:>12}  {'peers':<20}{'ratio':>6}{'bound':>11}"


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
