"""What was measured of whole statements, taken together: their table, and a line for each number of threads."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.libraries import BY_HAND, OFF, OURS
from benchmarks.paired_ratio import PairedRatio
from benchmarks.programs.program_rows import COLUMNS, ProgramRow

__all__ = ["MEAN_TO_HAND", "Summary", "program_table", "summaries"]

# The time relative to the plans by hand, in the geometric mean.
MEAN_TO_HAND = 1.05


@dataclass(frozen=True, slots=True)
class Summary:
    """All workloads on one number of threads.

    Args:
        threads: how many.
        workloads: how many have a result.
        to_hand: the geometric mean of auto / hand, which is 1 where both are the same code.
        worst: the largest of them, and whose it is.
        to_off: the largest auto / off of two codes, and whose it is.
        faster: the geometric mean of off / auto, likewise.
        to_peer: the geometric mean of auto / the best peer.
        missed: how many workloads miss a bound.
    """

    threads: int
    workloads: int
    to_hand: PairedRatio
    worst: tuple[float, str]
    to_off: tuple[float, str]
    faster: float
    to_peer: float
    missed: int

    @property
    def misses(self) -> bool:
        """Returns whether a bound is missed, that of the mean among them."""
        return self.missed > 0 or self.to_hand.median > MEAN_TO_HAND

    def __str__(self) -> str:
        verdict = "met" if self.to_hand.median <= MEAN_TO_HAND else f"over {MEAN_TO_HAND:.2f}"
        mean = f"{self.to_hand.median:.3f} ({self.to_hand.low:.3f} to {self.to_hand.high:.3f})"
        return (
            f"{self.workloads} workloads on {self.threads}: auto / hand {mean} in the geometric mean "
            f"({verdict}), {self.worst[0]:.2f} at worst ({self.worst[1]}); off / auto {self.faster:.2f}; "
            f"auto / off {self.to_off[0]:.2f} at worst ({self.to_off[1]}); auto / best peer {self.to_peer:.2f}; "
            f"{self.missed} miss a bound"
        )


def summaries(rows: Sequence[ProgramRow]) -> list[Summary]:
    """Returns one for each number of threads."""
    threads = sorted({row.threads for row in rows if OURS in row.seconds})
    return [_summary(number, [row for row in rows if row.threads == number]) for number in threads]


def _summary(threads: int, rows: Sequence[ProgramRow]) -> Summary:
    found = [row for row in rows if OURS in row.seconds]
    to_hand, to_off = _ratios(found, BY_HAND), _ratios(found, OFF)
    peers = [row.ratios[peer].median for row in found if (peer := row.best_peer)]
    return Summary(
        threads,
        len(found),
        _mean([ratio for ratio, _ in to_hand]),
        _largest(to_hand),
        _largest([(ratio, name) for ratio, name in to_off if ratio is not _ONE]),
        1 / _mean([ratio for ratio, _ in to_off]).median,
        statistics.geometric_mean(peers) if peers else 0.0,
        sum(bool(row.missed) for row in rows),
    )


_ONE = PairedRatio(1.0, 1.0, 1.0, 0)  # of one code to itself


def _ratios(rows: Sequence[ProgramRow], other: str) -> list[tuple[PairedRatio, str]]:
    """Returns the ratios of our times by another contestant's, and whose they are."""
    return [
        (_ONE if other in row.same else row.ratios[other], row.name.partition(", ")[2])
        for row in rows
        if other in row.ratios
    ]


def _largest(ratios: Sequence[tuple[PairedRatio, str]]) -> tuple[float, str]:
    return max(((ratio.median, name) for ratio, name in ratios), default=(0.0, ""))


def _mean(ratios: Sequence[PairedRatio]) -> PairedRatio:
    """Returns the geometric mean, whose interval is as wide as those of ratios that err independently let it be."""
    if not ratios:
        return _ONE
    middle = statistics.geometric_mean(ratio.median for ratio in ratios)
    below = math.hypot(*(math.log(ratio.median / ratio.low) for ratio in ratios)) / len(ratios)
    above = math.hypot(*(math.log(ratio.high / ratio.median) for ratio in ratios)) / len(ratios)
    return PairedRatio(middle, middle * math.exp(-below), middle * math.exp(above), min(r.rounds for r in ratios))


# The programs that STOREL (Schleich et al. 2022) is measured on.
_STOREL = ("MMM", "SUMMM", "BATAX", "TTM", "MTTKRP")


def _fused(rows: Sequence[ProgramRow]) -> Iterator[str]:
    """Yields a table of factors over the one fused loop nest, which is what TACO makes of a statement."""
    others = (OURS, BY_HAND, "SciPy", "PyTorch")
    yield f"| times as fast as one fused nest | threads | {' | '.join(others)} |"
    yield f"|---|{'--:|' * (1 + len(others))}"
    for row in rows:
        name = row.name.partition(", ")[2]
        if OFF in row.ratios and name.startswith(_STOREL) and not name.startswith("TTM chain"):
            cells = ("" if factor is None else f"{factor:.2f}" for factor in map(row.gain, others))
            yield f"| {name} | {row.threads} | {' | '.join(cells)} |"


_NOTE = (
    "Ratios are medians over rounds that have both calls, with the interval that holds the median in 99 of 100 cases "
    "(of fewer than eight rounds: the least and the largest). A bound is missed where the median exceeds it. What runs "
    "the same code on the same arrays is not judged."
)


def program_table(rows: Sequence[ProgramRow]) -> str:
    """Returns the rows as a table in Markdown, and who was absent."""
    lines = [_NOTE, "", f"| {' | '.join(COLUMNS)} |", f"|---|{'--:|' * (len(COLUMNS) - 2)}---|"]
    lines += [f"| {' | '.join(row.cells())} |" for row in rows]
    lines += ["", *_fused(rows)]
    missing = sorted({f"{name}: {why}" for row in rows for name, why in row.absent.items() if "installed" in why})
    return "\n".join([*lines, "", *(f"{found}  " for found in map(str, summaries(rows))), *missing]) + "\n"
