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
from benchmarks.libraries import BEFORE, BY_HAND, FORCED, LIBRARIES, OFF, OURS, PROGRAM_PEERS
from benchmarks.match import Match, NoResultError, roofline
from benchmarks.plot import plot
from benchmarks.programs import WORKLOADS
from benchmarks.programs.deciding_rounds import SameCode, questions, until_decided
from benchmarks.programs.program_rows import ProgramRow, missing_program, program_header, program_row
from benchmarks.programs.program_summary import program_table, summaries
from benchmarks.report import RESULTS, Row, figure_row, header, missing_row, row_of, save, save_programs
from benchmarks.roofline import Roofline
from benchmarks.rounds import until_time_is_up
from benchmarks.shapes import SECTION
from benchmarks.shapes.shape_contests import DEFAULT_SIZE, FEW_PEERS, LARGE
from benchmarks.shapes.shape_contests import contests as shape_contests
from benchmarks.shapes.shape_inputs import size_of
from benchmarks.shapes.shape_summary import case_table, summarized
from benchmarks.shapes.side_by_side import side_by_side
from benchmarks.standing import markdown, standings
from mlir_sparse.machine import shipped_profiles

_CHOICES = [name for name in LIBRARIES if name not in (OURS, BEFORE, FORCED)]
_PEERS = [name for name in _CHOICES if name not in (OFF, BY_HAND, "DuckDB")]  # those have whole statements only
_SECONDS, _SHAPE_SECONDS = 5.0, 1.5
_QUICK = 0.5  # seconds a contest
_LONGER = 8  # as many seconds a statement at the most
_WHOLE = "1"  # what the extents of statements' inputs are divided by


def _known_profile(name: str) -> str:
    """Returns the name of a profile or of a file: kernels whose plans ask for no times would run with any."""
    if name not in shipped_profiles() and not Path(name).is_file():
        raise click.BadParameter(f"expected a file or one of {', '.join(shipped_profiles())}, but got {name}")
    return name


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
    type=float,
    help=f"How long to time one contest: by default {_SECONDS:.0f}, {_SHAPE_SECONDS} of `{SECTION}`. A whole statement "
    f"takes until its bounds are decided, {_LONGER} times as long at the most, longer where one is missed so far.",
)
@click.option(
    "--sizes",
    default=f"{DEFAULT_SIZE:.0e}",
    show_default=True,
    help=f"Entries of the inputs of `{SECTION}`, 1e3 to 1e8: from {LARGE:.0e} on only what streams, beside few.",
)
@click.option(
    "--profile",
    callback=lambda _, __, name: name and _known_profile(name),
    help="Measure this package by the profile of another machine too, a name or a file as in MLIR_SPARSE_MACHINE.",
)
@click.option("--show", is_flag=True, help="Print the saved results of all machines beside each other, and end.")
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
    seconds: float | None,
    sizes: str,
    profile: str | None,
    show: bool,
    quick: bool,
    each: bool,
    clock: str,
    saved: bool,
    folder: Path | None,
) -> None:
    """Measures everything but `shapes`, or the contests with one of WORDS in their names.

    `shapes` measures more kernels on inputs with the shape of real ones, in any size; words beside it choose among
    these. Exits with 1 if a result is wrong or a bound is exceeded.
    """
    if show:
        click.echo(side_by_side(RESULTS))
        return
    numbers = sorted({int(number) for number in threads.replace(",", " ").split()})
    if clock != "wall" and numbers != [1]:
        raise click.UsageError(f"expected --threads 1 with the processor's clock, but got {threads}")
    figures = [name for name in FIGURES if _chosen(name, words) and not (kernels or sources or SECTION in words)]
    in_section = SECTION in words
    words = tuple(word for word in words if word != SECTION)
    seconds = _QUICK if quick else seconds or (_SHAPE_SECONDS if in_section else _SECONDS)
    known = shape_contests(_numbers(sizes)) if in_section else CONTESTS
    contests = {
        name: contest
        for name, contest in known.items()
        if _chosen(name, words) and _chosen(contest.kernel, kernels) and _chosen(contest.source, sources)
    }
    programs = [
        name for name in WORKLOADS if _chosen(name, words) and not (kernels or sources or against or in_section)
    ]
    rooflines = {number: roofline(number) for number in numbers} if contests else {}
    click.echo(header(numbers))
    rows: list[Row] = []
    for row in _figures(figures, clock):
        rows.append(row)
        click.echo(str(row))
    with tempfile.TemporaryDirectory() as scratch:
        others = peers if against else peers or _PEERS
        match = Match([OURS, *others], folder or Path(scratch), numbers, clock, against, profile)
        try:
            for name, contest in contests.items():
                if against:
                    contest = replace(contest, bound=SLOWER, gain=None)
                rows.append(_contest(match, name, contest, seconds, rooflines))
                click.echo(str(rows[-1]) + (rows[-1].details if each else ""))
        finally:
            match.stop()
        found = _programs(programs, peers, folder or Path(scratch), numbers, clock, seconds, each)
    standing = [] if against or in_section else standings(rows)
    sums = summarized(rows) if in_section and not against else []
    if against:
        click.echo(f"\n{changed(rows)}")
    if standing:
        click.echo(f"\n{markdown(standing)}")
    for summary in (*sums, *summaries(found)):
        click.echo(f"\n{summary}")
    if saved and found:
        click.echo(str(save_programs(found, program_table(found))))
    if saved and sums:
        path = save(rows, rooflines, [{**asdict(one), "missed": one.failures} for one in sums], SECTION)
        path.with_suffix(".md").write_text(f"{header(numbers).splitlines()[0]}\n\n{case_table(rows)}")
        click.echo(str(path))
    elif saved and rows:
        path = save(rows, rooflines, [asdict(one) for one in standing])
        path.with_suffix(".md").write_text(markdown(standing))
        plot(standing, path.with_suffix(".svg"))
        click.echo(str(path))
    over = any(row.verdict not in ("", "ok") for row in rows) or any(one.misses for one in summaries(found))
    sys.exit(over or any(one.failures for one in (*standing, *sums)))


def _contest(match: Match, name: str, contest: Contest, seconds: float, rooflines: Mapping[int, Roofline]) -> Row:
    try:
        only = FEW_PEERS if size_of(contest.source) >= LARGE else ()
        outcome = match.play(contest.kernel, contest.source, until_time_is_up(seconds), only)
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


def _numbers(sizes: str) -> list[int]:
    try:
        return [int(float(size)) for size in sizes.replace(",", " ").split()]
    except ValueError:
        raise click.UsageError(f"expected numbers of entries in --sizes, as 1e3 1e6, but got {sizes}") from None


def _chosen(name: str, words: Sequence[str]) -> bool:
    return not words or any(word.lower() in name.lower() for word in words)


def _figures(names: Sequence[str], clock: str) -> Iterator[Row]:
    for name in names:
        figure = FIGURES[name]
        yield figure_row(name, figure.unit, figure.measure(clock), figure.bound)


if __name__ == "__main__":
    main()
