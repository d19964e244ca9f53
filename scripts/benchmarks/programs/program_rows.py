"""What was measured of whole statements, against the bounds: a line for each."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.libraries import BY_HAND, OFF, OURS
from benchmarks.match import Outcome
from benchmarks.paired_ratio import PairedRatio, paired_ratio
from benchmarks.programs.deciding_rounds import DUCKDB, TO_HAND, TO_OFF, SameCode, of_threads
from benchmarks.programs.workload import Workload

__all__ = ["COLUMNS", "ProgramRow", "missing_program", "program_header", "program_row"]

# Milliseconds to plan, by the number of factors.
PLANNING: Mapping[int, float] = {3: 1.0, 5: 10.0}
TOLERANCE = 1e-11  # of the sum of the terms' absolute values, of which there are millions

COLUMNS = ("workload", "threads", "auto", "auto / hand", "off / auto", "auto / best peer", "plan ms", "bounds missed")


@dataclass(frozen=True, slots=True)
class ProgramRow:
    """A workload on one number of threads.

    Args:
        name: of the workload.
        threads: how many.
        seconds: the least, by contestant; by hand, those of the fastest plan.
        medians: of them, too.
        ratios: our time by another contestant's, from the rounds that have both.
        same: who runs the same machine code as we do, on the same arrays: their ratio is not judged.
        bounds: what was asked for: `off / auto` at least, and `auto / DuckDB` at most, where there are such.
        factors: how many accesses the statement has, or the largest product that the search meets after sums are
            multiplied out, whichever is more: planning takes as long as that asks for.
        planning: milliseconds that planning takes; None where data is not all there at the start.
        algebra: what `explain()` says of the plan.
        error: the largest relative error of all.
        absent: why others did not take part.
    """

    name: str
    threads: int
    seconds: Mapping[str, float]
    medians: Mapping[str, float] = field(default_factory=dict)
    ratios: Mapping[str, PairedRatio] = field(default_factory=dict)
    same: Sequence[str] = ()
    bounds: Mapping[str, float] = field(default_factory=dict)
    factors: int = 0
    planning: float | None = None
    algebra: Sequence[str] = ()
    error: float = 0.0
    absent: Mapping[str, str] = field(default_factory=dict)

    @property
    def best_peer(self) -> str | None:
        """Returns the fastest other library."""
        peers = [name for name in self.ratios if name not in (OFF, BY_HAND)]
        return max(peers, key=lambda name: self.ratios[name].median) if peers else None

    def gain(self, other: str) -> float | None:
        """Returns how many times as fast as the statement as it is written another contestant is."""
        if OFF not in self.ratios or other not in (OURS, *self.ratios):
            return None
        return (1.0 if other == OURS else self.ratios[other].median) / self.ratios[OFF].median

    @property
    def missed(self) -> list[str]:
        """Returns the bounds that are missed, with the distance to them and the interval that the ratio is in."""
        if OURS in self.absent:
            return [f"no result: {self.absent[OURS]}"]
        found = [] if self.error < TOLERANCE else [f"WRONG: error {self.error:.1e}"]
        found += self._over("auto / hand", BY_HAND, TO_HAND)
        found += self._over("auto / off", OFF, TO_OFF)
        found += self._over(f"auto / {DUCKDB}", DUCKDB, self.bounds.get(DUCKDB))
        planning = self._planning_bound
        if self.planning is not None and planning is not None and self.planning > planning:
            found.append(f"planning {self.planning:.2f} > {planning:.2f}")
        return found + self._too_small_a_gain()

    @property
    def _planning_bound(self) -> float | None:
        return next((bound for factors, bound in PLANNING.items() if self.factors <= factors), None)

    def _over(self, name: str, other: str, bound: float | None) -> list[str]:
        if bound is None or other in self.same:
            return []
        if other in self.absent:
            return [f"{name} not known: {self.absent[other]}"]
        ratio = self.ratios.get(other)
        return [f"{name} {ratio} > {bound:.2f}"] if ratio is not None and ratio.median > bound else []

    def _too_small_a_gain(self) -> list[str]:
        needed, ratio = self.bounds.get(OFF), self.ratios.get(OFF)
        if needed is None or ratio is None or 1 / ratio.median >= needed:
            return []
        gain = ratio.inverse()
        return [f"off / auto {gain.median:.1f} ({gain.low:.1f} to {gain.high:.1f}) < {needed:g}"]

    @property
    def verdict(self) -> str:
        """Returns `ok`, or what is missed."""
        return "; ".join(self.missed) or "ok"

    def cells(self) -> tuple[str, ...]:
        """Returns what stands in the table."""
        peer, gain = self.best_peer, self.gain(OURS)
        needed = f" ({self.bounds[OFF]:g})" if OFF in self.bounds else ""
        return (
            self.name.partition(", ")[2],
            str(self.threads),
            f"{1e3 * self.seconds[OURS]:.3g} ms" if OURS in self.seconds else "",
            "same code" if BY_HAND in self.same else str(self.ratios.get(BY_HAND, "")),
            "same code" if OFF in self.same else "" if gain is None else f"{gain:.1f}{needed}",
            f"{self.ratios[peer].median:.2f} {peer}" if peer else "",
            "" if self.planning is None else f"{self.planning:.2f}",
            self.verdict,
        )

    @property
    def details(self) -> str:
        """Returns the least time of each contestant and the ratio to it, then who is absent and why, then the plan."""
        times = (
            f"    {who:<12}{1e3 * least:10.3f} ms" + (f"  {self._ratio(who)}" if who in self.ratios else "")
            for who, least in self.seconds.items()
        )
        return "\n".join([*times, *(f"    {who}: {why}" for who, why in self.absent.items()), *self.algebra])

    def _ratio(self, other: str) -> str:
        ratio = self.ratios[other]
        return f"{ratio}, {ratio.rounds} rounds{', same code' * (other in self.same)}"

    def __str__(self) -> str:
        name, threads, *others, verdict = self.cells()
        return f"{name:<34}{threads:>2}" + "".join(f"{cell:>26}" for cell in others) + f"  {verdict}"


def program_header() -> str:
    """Returns the first line of the rows as text."""
    return f"{'':<36}" + "".join(f"{name:>26}" for name in COLUMNS[2:-1]) + f"  {COLUMNS[-1]}"


def program_row(
    name: str, workload: Workload, outcome: Outcome, account: Mapping[str, Any], threads: int, same: SameCode
) -> ProgramRow:
    """Returns the row of a workload on some number of threads; who has one thread only counts with that."""
    found = of_threads(outcome.samples, threads)
    ours = next(entrant for entrant in found if entrant.library == OURS)
    others = [entrant for entrant in found if entrant is not ours]
    ratios = {entrant: paired_ratio(outcome.samples[ours], outcome.samples[entrant]) for entrant in others}
    # The plan by hand that we are slowest beside; another one counts than that with our code, where it is faster.
    others.sort(key=lambda entrant: 1.0 if entrant in same else ratios[entrant].median)
    counting = {entrant.library: entrant for entrant in (ours, *others)}
    bounds = {OFF: workload.gain, DUCKDB: workload.database}
    return ProgramRow(
        name,
        threads,
        {library: min(outcome.samples[entrant]) for library, entrant in counting.items()},
        {library: statistics.median(outcome.samples[entrant]) for library, entrant in counting.items()},
        {library: ratios[entrant] for library, entrant in counting.items() if entrant is not ours},
        [library for library, entrant in counting.items() if entrant in same],
        {key: bound for key, bound in bounds.items() if bound is not None},
        workload.factors,
        account.get("milliseconds"),
        account.get("algebra", ()),
        outcome.error,
        outcome.absent,
    )


def missing_program(name: str, workload: Workload, reason: str, threads: int) -> ProgramRow:
    """Returns the row of a workload that we have no result of."""
    return ProgramRow(name, threads, {}, factors=workload.factors, absent={OURS: reason})
