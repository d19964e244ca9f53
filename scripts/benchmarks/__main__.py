"""Runs measurements and prints them as a table: `scripts/bench --help`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import click

from benchmarks.before import SLOWER, changed
from benchmarks.contestant import CLOCKS
from benchmarks.contests import CONTESTS, Contest
from benchmarks.figures import FIGURES
from benchmarks.libraries import BEFORE, BY_HAND, LIBRARIES, OFF, OURS, PROGRAM_PEERS
from benchmarks.match import Match, NoResultError, roofline
from benchmarks.plot import plot
from benchmarks.programs import WORKLOADS
from benchmarks.programs.deciding_rounds import SameCode, questions, until_decided
from benchmarks.programs.program_rows import ProgramRow, missing_program, program_header, program_row
from benchmarks.programs.program_summary import program_table, summaries
from benchmarks.report import Row, figure_row, header, missing_row, row_of, save, save_programs
from benchmarks.roofline import Roofline
from benchmarks.rounds import until_time_is_up
from benchmarks.standing import markdown, standings

_CHOICES = [name for name in LIBRARIES if name not in (OURS, BEFORE)]
_PEERS = [name for name in _CHOICES if name not in (OFF, BY_HAND, "DuckDB")]  # those have whole statements only
_QUICK = 0.5  # seconds a contest
_LONGER = 8  # as many seconds a statement at the most
_WHOLE = "1"  # what the extents of statements' inputs are divided by


@click.command()
@click.argument("words", nargs=-1)
@click.option("--kernel", "kernels", multiple=True, help="Only kernels with this in their name; may be repeated.")
@click.option("--input", "sources", multiple=True, help="Only inputs with this in their name; may be repeated.")
@click.option("--threads", default="1 2", show_default=True, help="Numbers of threads to measure.")
@click.option("--peers", multiple=True, type=click.Choice(_CHOICES))
@click.option(
    "--against",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Another checkout that scripts/setup was run in: measure beside its package, and beside no others.",
)
@click.option(
    "--seconds",
    default=5.0,
    show_default=True,
    help=f"How long to time one contest. A whole statement takes until its bounds are decided, {_LONGER} times as long "
    "at the most, longer where one is missed so far.",
)
@click.option("--quick", is_flag=True, help=f"Time each contest for {_QUICK} s: for a first look.")
@click.option("--each", is_flag=True, help="Print the median and the least of every library too.")
@click.option("--clock", type=click.Choice(list(CLOCKS)), default="wall", help="On a busy machine: the processor's.")
@click.option("--save/--no-save", "saved", default=False, help="Write scripts/benchmarks/results/DATE-COMMIT.*.")
@click.option("--folder", type=click.Path(path_type=Path), help="Keep inputs here for the next run.")
def main(
    words: tuple[str, ...],
    kernels: tuple[str, ...],
    sources: tuple[str, ...],
    threads: str,
    peers: tuple[str, ...],
    against: Path | None,
    seconds: float,
    quick: bool,
    each: bool,
    clock: str,
    saved: bool,
    folder: Path | None,
) -> None:
    """Measures everything, or the contests with one of WORDS in their names.

    Exits with 1 if a result is wrong or a bound is exceeded.
    """
    numbers = sorted({int(number) for number in threads.replace(",", " ").split()})
    if clock != "wall" and numbers != [1]:
        raise click.UsageError(f"expected --threads 1 with the processor's clock, but got {threads}")
    figures = [name for name in FIGURES if _chosen(name, words) and not (kernels or sources)]
    contests = [
        name
        for name, contest in CONTESTS.items()
        if _chosen(name, words) and _chosen(contest.kernel, kernels) and _chosen(contest.source, sources)
    ]
    programs = [name for name in WORKLOADS if _chosen(name, words) and not (kernels or sources or against)]
    rooflines = {number: roofline(number) for number in numbers} if contests else {}
    click.echo(header(numbers))
    rows: list[Row] = []
    for row in _figures(figures, clock):
        rows.append(row)
        click.echo(str(row))
    with tempfile.TemporaryDirectory() as scratch:
        others = peers if against else peers or _PEERS
        match = Match([OURS, *others], folder or Path(scratch), numbers, clock, against)
        try:
            for name in contests:
                contest = CONTESTS[name]
                if against:
                    contest = replace(contest, bound=SLOWER, gain=None)
                rows.append(_contest(match, name, contest, _QUICK if quick else seconds, rooflines))
                click.echo(str(rows[-1]) + (rows[-1].details if each else ""))
        finally:
            match.stop()
        found = _programs(programs, peers, folder or Path(scratch), numbers, clock, _QUICK if quick else seconds, each)
    standing = [] if against else standings(rows)
    if against:
        click.echo(f"\n{changed(rows)}")
    if standing:
        click.echo(f"\n{markdown(standing)}")
    for summary in summaries(found):
        click.echo(f"\n{summary}")
    if saved and found:
        click.echo(str(save_programs(found, program_table(found))))
    if saved and rows:
        path = save(rows, rooflines, [asdict(one) for one in standing])
        path.with_suffix(".md").write_text(markdown(standing))
        plot(standing, path.with_suffix(".svg"))
        click.echo(str(path))
    over = any(row.verdict not in ("", "ok") for row in rows) or any(one.misses for one in summaries(found))
    sys.exit(over or any(one.failures for one in standing))


def _contest(match: Match, name: str, contest: Contest, seconds: float, rooflines: Mapping[int, Roofline]) -> Row:
    try:
        outcome = match.play(contest.kernel, contest.source, until_time_is_up(seconds))
    except NoResultError as error:
        return missing_row(name, contest, str(error))
    return row_of(name, contest, outcome, rooflines)


def _programs(
    names: Sequence[str],
    peers: Sequence[str],
    folder: Path,
    threads: list[int],
    clock: str,
    seconds: float,
    each: bool,
) -> list[ProgramRow]:
    """Measures whole statements, and prints a row for each and each number of threads."""
    if names:
        click.echo(f"\n{program_header()}")
    match, found = Match([OURS, *(peers or PROGRAM_PEERS)], folder, threads, clock), list[ProgramRow]()
    try:
        for name in names:
            for row in _program(match, name, threads, seconds):
                found.append(row)
                click.echo(f"{row}\n{row.details}" if each else str(row))
    finally:
        match.stop()
    return found


def _program(match: Match, name: str, threads: Sequence[int], seconds: float) -> list[ProgramRow]:
    workload = WORKLOADS[name]
    try:
        entered = match.entered(name, _WHOLE)
    except NoResultError as error:
        return [missing_program(name, workload, str(error), number) for number in threads]
    account = match.account(name, _WHOLE)
    same = SameCode(account["as_written"], account["as_by_hand"])
    asked = questions(workload, entered.samples, threads, same)
    outcome = match.sampled(entered, until_decided(asked, _LONGER * seconds), times=1)
    return [program_row(name, workload, outcome, account, number, same) for number in threads]


def _chosen(name: str, words: Sequence[str]) -> bool:
    return not words or any(word.lower() in name.lower() for word in words)


def _figures(names: Sequence[str], clock: str) -> Iterator[Row]:
    for name in names:
        figure = FIGURES[name]
        yield figure_row(name, figure.unit, figure.measure(clock), figure.bound)


if __name__ == "__main__":
    main()
