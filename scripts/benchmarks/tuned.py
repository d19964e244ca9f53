"""The plan's choice against a tuned one: python -m benchmarks.tuned [word in a name ...]

With scripts/ on PYTHONPATH. Exits with 1 where the plan's choice takes more than 1.1 times the tuned time.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import click

import mlir_sparse as ms
from benchmarks.contests import CONTESTS, GROUPS, Contest
from benchmarks.libraries.own import TEXTS, set_threads, taken
from benchmarks.referee import kernel_of, operands_of
from benchmarks.shapes import SECTION
from benchmarks.shapes.shape_contests import DEFAULT_SIZE
from benchmarks.shapes.shape_contests import contests as shape_contests

BOUND = 1.10


def gap(contest: Contest, folder: Path, budget: float, details: bool) -> tuple[float, float, str]:
    """Returns the time of the plan's choice over that of the tuned one, the milliseconds of that, and its schedule."""
    text, out = TEXTS[kernel_of(contest.kernel).call]
    drawn = operands_of(contest.kernel, contest.source, folder)
    operands = {name: taken(one) for name, one in drawn.items()}
    found = ms.tune(text, tensors=operands, out=out, budget=budget, fresh=True, clock=time.thread_time)
    if details:
        click.echo(found)
    seconds = {row.candidate: row.seconds for row in found.table if row.seconds is not None}
    best = seconds[str(found.schedule)]
    return seconds["static"] / best, best * 1e3, str(found.schedule)


def contests_of(words: tuple[str, ...]) -> dict[str, Contest]:
    """Returns what has one of the words in its name and a text to tune: of the section of shapes if that is named."""
    known = shape_contests([DEFAULT_SIZE]) if SECTION in words else CONTESTS
    words = tuple(word for word in words if word != SECTION)
    return {
        name: contest
        for name, contest in known.items()
        if (SECTION in name or contest.group in GROUPS)
        and kernel_of(contest.kernel).call in TEXTS
        and (not words or any(word.lower() in name.lower() for word in words))
    }


@click.command()
@click.argument("words", nargs=-1)
@click.option("--seconds", default=10.0, show_default=True, help="How long to tune each.")
@click.option("--details", is_flag=True, help="Print each table.")
@click.option("--folder", type=click.Path(path_type=Path), help="Keep inputs here for the next run.")
def main(words: tuple[str, ...], seconds: float, details: bool, folder: Path | None) -> None:
    """Tunes every kernel of the benchmark, or of its section `shapes`, or what has one of WORDS in its name.

    On one thread and by the processor time of that, which others on the machine change least.
    """
    set_threads(1)
    os.environ["MLIR_SPARSE_CACHE"] = "off"  # records of an unquiet machine are no help to anyone
    worst: dict[str, list[float]] = {}
    click.echo(f"{'kernel, input':<44} {'tuned ms':>9} {'static':>7}  schedule")
    with tempfile.TemporaryDirectory() as own:
        place = folder or Path(own)
        place.mkdir(parents=True, exist_ok=True)
        for name, contest in contests_of(words).items():
            ratio, milliseconds, schedule = gap(contest, place, seconds, details)
            worst.setdefault(contest.group, []).append(ratio)
            click.echo(f"{name:<44} {milliseconds:>9.3f} {ratio:>7.2f}  {schedule}")
    for group, ratios in worst.items():
        click.echo(f"{group:<20} {statistics.geometric_mean(ratios):.2f}, at most {max(ratios):.2f}")
    sys.exit(any(ratio > BOUND for ratios in worst.values() for ratio in ratios))


if __name__ == "__main__":
    main()
