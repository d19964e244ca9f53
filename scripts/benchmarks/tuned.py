"""The plan's choice against a tuned one: python -m benchmarks.tuned [word in a name ...]

With scripts/ on PYTHONPATH. Exits with 1 where the plan's choice takes more than 1.15 of the tuned time on some input.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import click

import mlir_sparse as ms
from benchmarks.contests import CONTESTS, GROUPS, Contest
from benchmarks.inputs import load
from benchmarks.kernels import KERNELS
from benchmarks.libraries.own import set_threads, taken

BOUND = 1.15

# What each call of KERNELS computes, and where to.
TEXTS: Mapping[str, tuple[str, str]] = {
    **{f"spmv-{s}": ("y(i) = A(i,j) * x(j)", "dense") for s in ("csr", "coo", "bsr", "ell", "dia")},
    **{f"mattransmul-{s}": ("y(j) = alpha * A(i,j) * x(i) + beta * z(j)", "dense") for s in ("csr", "csc")},
    "residual": ("y(i) = b(i) - A(i,j) * x(j)", "dense"),
    "spmm": ("Y(i,k) = A(i,j) * X(j,k)", "dense"),
    "sddmm": ("C(i,j) = S(i,j) * X(i,k) * Y(j,k)", "CSR"),
    "spgemm": ("C(i,j) = A(i,k) * B(k,j)", "CSR"),
    "add": ("C(i,j) = A(i,j) + B(i,j)", "CSR"),
    "add-three": ("D(i,j) = A(i,j) + B(i,j) + C(i,j)", "CSR"),
    **{f"ttv-{s}": ("A(i,j) = T(i,j,k) * v(k)", "DCSR") for s in ("csf", "coo")},
    **{f"ttm-{s}": ("A(i,j,l) = T(i,j,k) * M(k,l)", "CompressedCompressedDense") for s in ("csf", "coo")},
    **{f"mttkrp-{s}": ("A(i,r) = T(i,j,k) * B(j,r) * C(k,r)", "dense") for s in ("csf", "coo")},
    "innerprod": ("a = T(i,j,k) * U(i,j,k)", "dense"),
    "plus2": ("A(i,j,k) = T(i,j,k) + U(i,j,k)", "CSF"),
    "plus3": ("A(i,j,k) = T(i,j,k) + U(i,j,k) + V(i,j,k)", "CSF"),
}


def gap(contest: Contest, folder: Path, budget: float, details: bool) -> tuple[float, float, str]:
    """Returns the time of the plan's choice over that of the tuned one, the milliseconds of that, and its schedule."""
    kernel = KERNELS[contest.kernel]
    text, out = TEXTS[kernel.call]
    operands = {name: taken(one) for name, one in kernel.operands(load(contest.source, folder)).items()}
    found = ms.tune(text, tensors=operands, out=out, budget=budget, fresh=True, clock=time.thread_time)
    if details:
        click.echo(found)
    seconds = {row.candidate: row.seconds for row in found.table if row.seconds is not None}
    best = seconds[str(found.schedule)]
    return seconds["static"] / best, best * 1e3, str(found.schedule)


@click.command()
@click.argument("words", nargs=-1)
@click.option("--seconds", default=10.0, show_default=True, help="How long to tune each.")
@click.option("--details", is_flag=True, help="Print each table.")
@click.option("--folder", type=click.Path(path_type=Path), help="Keep inputs here for the next run.")
def main(words: tuple[str, ...], seconds: float, details: bool, folder: Path | None) -> None:
    """Tunes every kernel of the benchmark, or what has one of WORDS in its name.

    On one thread and by the processor time of that, which others on the machine change least.
    """
    set_threads(1)
    os.environ["MLIR_SPARSE_CACHE"] = "off"  # records of an unquiet machine are no help to anyone
    worst: dict[str, list[float]] = {}
    click.echo(f"{'kernel, input':<44} {'tuned ms':>9} {'static':>7}  schedule")
    with tempfile.TemporaryDirectory() as own:
        place = folder or Path(own)
        place.mkdir(parents=True, exist_ok=True)
        for name, contest in CONTESTS.items():
            if contest.group not in GROUPS or (words and not any(word.lower() in name.lower() for word in words)):
                continue
            ratio, milliseconds, schedule = gap(contest, place, seconds, details)
            worst.setdefault(contest.group, []).append(ratio)
            click.echo(f"{name:<44} {milliseconds:>9.3f} {ratio:>7.2f}  {schedule}")
    for group, ratios in worst.items():
        click.echo(f"{group:<20} {statistics.geometric_mean(ratios):.2f}, at most {max(ratios):.2f}")
    sys.exit(any(ratio > BOUND for ratios in worst.values() for ratio in ratios))


if __name__ == "__main__":
    main()
