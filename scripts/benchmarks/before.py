"""Finds what has become slower than another checkout's package, measured in turn with it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchmarks.libraries import BEFORE
from benchmarks.report import Row

__all__ = ["SLOWER", "changed"]

SLOWER = 1.03  # ratio of times: the noise between two equal packages on a quiet machine


def changed(rows: Sequence[Row]) -> str:
    """Returns the geometric mean of time / time before on each number of threads, and a line for each that is slower.

    A contest counts as slower if both its medians and its least times are: a slow spell affects only one of them.
    """
    compared = [row for row in rows if BEFORE in row.against]
    threads = sorted({n for row in compared for n in row.against[BEFORE]})
    lines = [f"time / time before, {len(compared)} contests:"]
    for n in threads:
        mean = statistics.geometric_mean(row.against[BEFORE][n] for row in compared)
        lines.append(f"  on {n}: {mean:.3f}")
        lines += (
            f"    {row.against[BEFORE][n]:.2f} (of least times {row.quiet[n]:.2f})  {row.name}"
            for row in sorted(compared, key=lambda row: -row.against[BEFORE][n])
            if min(row.against[BEFORE][n], row.quiet[n]) > SLOWER
        )
    return "\n".join(lines)
