"""What the section's rows come to, against bounds that are the same for every kernel and on every machine."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.libraries import FORCED, OURS
from benchmarks.match import WRONG
from benchmarks.report import Row
from benchmarks.shapes.shape_contests import DEFAULT_SIZE, STREAMING, WORST_CASE
from benchmarks.shapes.shape_inputs import size_of

__all__ = ["ALL", "EACH", "GROWTH", "LOOPS", "ROOFLINE", "ShapeSummary", "case_table", "summarized"]

ALL, EACH = 0.75, 0.95  # of the best peer's time at most: the geometric mean of all kernels, and of each over inputs
ROOFLINE = 1.5  # what streams takes at most so many times what moving its bytes takes, from DEFAULT_SIZE entries on
GROWTH = 1.3  # the time of an entry by what moving it takes grows by at most so much from LEAST_GROWN entries on
LEAST_GROWN = 100_000
LOOPS = 1.10  # a loop in numba that takes longer than so many times that in C is named


@dataclass(frozen=True, slots=True)
class ShapeSummary:
    """The section on some number of threads.

    Args:
        threads: how many.
        kernels: the geometric mean of each kernel's ratios to the best peer, over its inputs.
        above: the cases that took longer than the best peer, worst first: the ratio, the case, the peer.
        roofline: of what streams, our time by the least that moving its bytes takes, by case.
        growth: by kernel and shape measured in several sizes, how many times as long an entry takes at the worst as at
            the best, by what moving it takes in caches or memory.
        loops: the cases whose loop in numba takes longer than that in C, worst first.
        forced: by kernel, the time by another machine's profile as a multiple of ours.
        wrong: the cases in which our result was wrong or there was none.
        wrong_peers: the peers with a wrong result, by case.
    """

    threads: int
    kernels: Mapping[str, float]
    above: Sequence[tuple[float, str, str]]
    roofline: Mapping[str, float]
    growth: Mapping[str, float]
    loops: Sequence[tuple[float, str]]
    forced: Mapping[str, float]
    wrong: Sequence[str]
    wrong_peers: Sequence[str]

    @property
    def mean(self) -> float:
        """Returns the geometric mean over the kernels, each of which counts once."""
        return statistics.geometric_mean(self.kernels.values()) if self.kernels else float("nan")

    @property
    def failures(self) -> list[str]:
        """Returns the bounds that are missed."""
        found = [f"{case}: wrong, or without a result" for case in self.wrong]
        if self.mean > ALL:
            found.append(f"all kernels: {self.mean:.2f} > {ALL}")
        found += [f"{kernel}: {mean:.2f} > {EACH}" for kernel, mean in _worst_first(self.kernels) if mean > EACH]
        found += [f"{case}: {ratio:.2f} > {WORST_CASE:.2f}" for ratio, case, _ in self.above if ratio > WORST_CASE]
        streamed, grown = _worst_first(self.roofline), _worst_first(self.growth)
        found += [f"{case}: {n:.2f} > {ROOFLINE} of the roofline" for case, n in streamed if n > ROOFLINE]
        found += [f"{case}: an entry takes {n:.2f} > {GROWTH} times" for case, n in grown if n > GROWTH]
        return found

    def __str__(self) -> str:
        lines = [f"{self.threads} thread{'s' * (self.threads > 1)}: {self.mean:.2f} of the best peer's time"]
        lines += [f"  {mean:5.2f}  {kernel}" for kernel, mean in _worst_first(self.kernels)]
        lines += _listed("longer than the best peer", [f"{r:5.2f}  {case}: {peer}" for r, case, peer in self.above])
        lines += _listed("by the roofline", [f"{n:5.2f}  {case}" for case, n in _worst_first(self.roofline)])
        lines += _listed("growth of an entry's time", [f"{n:5.2f}  {case}" for case, n in _worst_first(self.growth)])
        lines += _listed(f"numba by C above {LOOPS:.2f}", [f"{n:5.2f}  {case}" for n, case in self.loops if n > LOOPS])
        lines += _listed("by the other profile", [f"{n:5.2f}  {kernel}" for kernel, n in _worst_first(self.forced)])
        if self.forced:
            lines.append(f"  {statistics.geometric_mean(self.forced.values()):5.2f}  all kernels")
        lines += _listed("peers with a wrong result", list(self.wrong_peers))
        return "\n".join([*lines, *_listed("missed", self.failures)])


def _listed(title: str, lines: Sequence[str]) -> list[str]:
    return [f" {title}:", *(f"  {line}" for line in lines)] if lines else []


def _worst_first(found: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(found.items(), key=lambda item: -item[1])


def summarized(rows: Sequence[Row]) -> list[ShapeSummary]:
    """Returns a summary for each number of threads that there are rows of."""
    return [_summary(rows, threads) for threads in sorted({n for row in rows for n in row.roofline})]


def _summary(rows: Sequence[Row], threads: int) -> ShapeSummary:
    compared = [row for row in rows if threads in row.ratios]
    above = [(row.ratios[threads], row.name, row.fastest[threads]) for row in compared if row.ratios[threads] > 1]
    loops = [(row.loops[threads], row.name) for row in rows if threads in row.loops]
    wrong_peers = [
        f"{name} in {row.name}, {reason}"
        for row in rows
        for name, reason in row.absent.items()
        if reason.startswith(WRONG)
    ]
    return ShapeSummary(
        threads,
        _means((row.group, row.ratios[threads]) for row in compared),
        sorted(above, reverse=True),
        {row.name: row.roofline[threads] for row in rows if _streams(row) and size_of(row.source) >= DEFAULT_SIZE},
        _growth(rows, threads),
        sorted(loops, reverse=True),
        _means((row.group, 1 / row.aside[FORCED][threads]) for row in rows if FORCED in row.aside),
        [row.name for row in rows if OURS in row.absent or row.verdict == "WRONG"],
        wrong_peers,
    )


def _streams(row: Row) -> bool:
    return row.source.rpartition(", ")[0] in STREAMING.get(row.group, ())


def _means(found: Iterator[tuple[str, float]]) -> dict[str, float]:
    of_each: dict[str, list[float]] = defaultdict(list)
    for name, ratio in found:
        of_each[name].append(ratio)
    return {name: statistics.geometric_mean(ratios) for name, ratios in of_each.items()}


def _growth(rows: Sequence[Row], threads: int) -> dict[str, float]:
    sizes: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if _streams(row) and threads in row.roofline and size_of(row.source) >= LEAST_GROWN:
            sizes[f"{row.group}, {row.source.rpartition(', ')[0]}"].append(row.roofline[threads])
    return {name: max(found) / min(found) for name, found in sizes.items() if len(found) > 1}


def case_table(rows: Sequence[Row]) -> str:
    """Returns a table in markdown: a line for each case, with our time, and ratio and best peer by threads."""
    threads = sorted({n for row in rows for n in row.ratios})
    heads = [f"{n} thread{'s' * (n > 1)} | best peer | by roofline | numba by C" for n in threads]
    lines = [f"| kernel | input | ms | {' | '.join(heads)} |", f"|---|---|--:|{'--:|---|--:|--:|' * len(threads)}"]
    for row in rows:
        cells = [cell for n in threads for cell in _cells(row, n)]
        ours = f"{1e3 * next(iter(row.medians.values())):.3g}" if row.medians else row.verdict
        lines.append(f"| {row.group} | {row.source} | {ours} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cells(row: Row, threads: int) -> list[str]:
    if threads not in row.ratios:
        return ["", "", "", ""]
    loops = f"{row.loops[threads]:.2f}" if threads in row.loops else ""
    return [f"{row.ratios[threads]:.2f}", row.fastest[threads], f"{row.roofline[threads]:.1f}", loops]
