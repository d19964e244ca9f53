"""Runs measurements and prints them as a table: `scripts/bench --help`."""

from __future__ import annotations

import sys

import click

from benchmarks.contests import CONTESTS, KERNELS, error_of
from benchmarks.figures import FIGURES
from benchmarks.peers import PEERS
from benchmarks.report import OURS, Row, header, row_of, save
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
    samples = interleaved(calls, seconds)
    value = max(ratio(samples, OURS, peer) for peer in calls if peer != OURS)
    return row_of(name, "s", samples, contest.bound, value, error)


if __name__ == "__main__":
    main()
