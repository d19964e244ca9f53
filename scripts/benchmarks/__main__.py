"""Runs measurements and prints them as a table: `scripts/bench --help`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial

import click

from benchmarks.contests import CONTESTS, KERNELS, error_of
from benchmarks.figures import FIGURES
from benchmarks.peers import PEERS, THREADED, Call
from benchmarks.report import OURS, Row, header, on_threads, row_of, save, threaded_row
from benchmarks.timing import interleaved, ratio


@click.command()
@click.argument("words", nargs=-1)
@click.option("--seconds", default=5.0, show_default=True, help="How long to time one contest.")
@click.option("--save/--no-save", "saved", default=False, help="Write scripts/benchmarks/results/DATE-COMMIT.json.")
def main(words: tuple[str, ...], seconds: float, saved: bool) -> None:
    """Measures everything, or what has one of WORDS in its name.

    Exits with 1 where a result is wrong or a bound is not kept.
    """
    rows: list[Row] = []
    click.echo(header())
    for name in [*FIGURES, *CONTESTS]:
        if words and not any(word.lower() in name.lower() for word in words):
            continue
        rows.append(_figure(name) if name in FIGURES else _contest(name, seconds))
        click.echo(str(rows[-1]))
    if saved:
        click.echo(f"\n{save(rows)}")
    sys.exit(any(row.verdict not in ("", "ok") for row in rows))


def _figure(name: str) -> Row:
    figure = FIGURES[name]
    return row_of(name, figure.unit, {OURS: figure.measure()}, figure.bound)


def _contest(name: str, seconds: float) -> Row:
    contest = CONTESTS[name]
    kernel, operands = KERNELS[contest.kernel], contest.operands()
    calls = {OURS: kernel.prepare(operands)}
    calls |= {peer: kernels[contest.kernel](operands) for peer, kernels in PEERS.items() if contest.kernel in kernels}
    error = max(error_of(kernel, operands, call()) for call in calls.values())
    if contest.threads:
        samples = interleaved(_on_threads(calls, contest.threads), seconds)
        return threaded_row(name, samples, contest.bound, contest.threads, error, gains=contest.gains)
    samples = interleaved(calls, seconds)
    value = max(ratio(samples, OURS, peer) for peer in calls if peer != OURS)
    return row_of(name, "s", samples, contest.bound, value, error)


def _on_threads(calls: Mapping[str, Call], threads: Sequence[int]) -> dict[str, Call]:
    """Returns the calls that threads matter to once for each number of them, the others once."""
    made = {}
    for name, call in calls.items():
        numbers = threads if name == OURS or name in THREADED else threads[:1]
        for number in numbers:
            made[on_threads(name, number)] = partial(_with_threads, call, number)
    return made


def _with_threads(call: Call, number: int) -> object:
    os.environ["MLIR_SPARSE_NUM_THREADS"] = str(number)  # read anew by every conversion
    return call()


if __name__ == "__main__":
    main()
