"""The standing: for each kernel the geometric mean over its inputs, against its bound."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.contests import GROUPS, WORST
from benchmarks.report import Row

__all__ = ["Standing", "markdown", "standings"]

_COLUMNS = (
    "kernel",
    "threads",
    "time / best peer",
    "of least times",
    "bound",
    "worst input",
    "time / roofline",
    "gain",
    "against each",
    "verdict",
)


@dataclass(frozen=True, slots=True)
class Standing:
    """A kernel on all its inputs, on some number of threads.

    Args:
        kernel: its name.
        threads: how many.
        mean: the geometric mean of the ratios to the best peer on each input.
        quiet: the same of least times.
        bound: the largest that will do; None to report only.
        worst, worst_source: the largest ratio, and the input it is of.
        peers: the geometric mean of the ratios to each peer, over the inputs it had a result for.
        aside: bounds for some of these.
        roofline: the geometric mean of our time by the machine's least.
        gain: the least gain by these threads on an input that must have one; None where there is none.
        needed: what it must reach.
        wrong: on how many inputs the result was wrong, or there was none.
    """

    kernel: str
    threads: int
    mean: float
    quiet: float
    bound: float | None
    worst: float
    worst_source: str
    peers: Mapping[str, float]
    aside: Mapping[str, float]
    roofline: float
    gain: float | None
    needed: float | None
    wrong: int

    @property
    def failures(self) -> list[str]:
        """Returns the missed bounds with the distance to them."""
        found = [f"{self.wrong} without a right result"] if self.wrong else []
        if self.bound is not None and self.mean > self.bound:
            found.append(f"mean {self.mean:.2f} > {self.bound:.2f}")
        if self.bound is not None and self.worst > WORST:
            found.append(f"{self.worst_source} {self.worst:.2f} > {WORST:.2f}")
        for library, bound in self.aside.items():
            if self.peers.get(library, 0.0) > bound:
                found.append(f"{library} {self.peers[library]:.2f} > {bound:.2f}")
        if self.gain is not None and self.needed is not None and self.gain < self.needed:
            found.append(f"gain {self.gain:.2f} < {self.needed:.2f}")
        return found


def standings(rows: Sequence[Row]) -> list[Standing]:
    """Returns one for each kernel and number of threads that there are rows of."""
    found = []
    for kernel in GROUPS:
        of_kernel = [row for row in rows if row.group == kernel]
        compared = [row for row in of_kernel if row.ratios]
        wrong = sum(row.verdict in ("WRONG", "NO RESULT") for row in of_kernel)
        found += [_standing(kernel, threads, compared, wrong) for threads in _threads(compared)]
    return found


def _threads(rows: Iterable[Row]) -> list[int]:
    return sorted({threads for row in rows for threads in row.ratios})


def _standing(kernel: str, threads: int, rows: Sequence[Row], wrong: int) -> Standing:
    group, worst = GROUPS[kernel], max(rows, key=lambda row: row.ratios[threads])
    gained = [row for row in rows if row.gain is not None and threads in row.speedups]
    peers: dict[str, list[float]] = {}
    for row in rows:
        for library, ratios in {**row.against, **row.aside}.items():
            peers.setdefault(library, []).append(ratios[threads])
    return Standing(
        kernel,
        threads,
        statistics.geometric_mean(row.ratios[threads] for row in rows),
        statistics.geometric_mean(row.quiet[threads] for row in rows),
        group.bound,
        worst.ratios[threads],
        worst.source,
        {library: statistics.geometric_mean(ratios) for library, ratios in peers.items()},
        group.aside or {},
        statistics.geometric_mean(row.roofline[threads] for row in rows),
        min((row.speedups[threads] for row in gained), default=None),
        gained[0].gain if gained else None,
        wrong,
    )


def markdown(found: Sequence[Standing]) -> str:
    """Returns a table: a line for each kernel and number of threads."""
    lines = [
        f"| {' | '.join(_COLUMNS)} |",
        "|---|--:|--:|--:|--:|---|--:|--:|---|---|",
    ]
    for standing in found:
        peers = ", ".join(f"{name} {ratio:.2f}" for name, ratio in _best_first(standing.peers))
        cells = (
            standing.kernel,
            str(standing.threads),
            f"{standing.mean:.2f}",
            f"{standing.quiet:.2f}",
            "" if standing.bound is None else f"{standing.bound:.2f}",
            f"{standing.worst:.2f} {standing.worst_source}",
            f"{standing.roofline:.1f}",
            "" if standing.gain is None else f"{standing.gain:.2f}",
            peers,
            ("; ".join(standing.failures) or "ok") if standing.bound is not None or standing.wrong else "",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _best_first(peers: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(peers.items(), key=lambda item: -item[1])
