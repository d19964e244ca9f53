"""Tries combinations in several processes and counts what came out: `scripts/combinations --help`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import click
from workers import Worker, serve

from combining.counts import Counts, Record
from dialect_tests.combinations import EXPRESSIONS, Combination, combinations

RESULTS = Path(__file__).parent / "results" / "combinations.json"
# A combination takes at most a second, and the compiler's limit is a minute: after this time a worker hangs.
_TIMEOUT = 150.0
# What the rejected share may be.
_RIGHT = 0.97


def _ask(worker: Worker, case: Combination) -> Iterator[tuple[Combination, str, str]]:
    """Yields the verdict on a combination; `dead` where it took its process with it."""
    worker.send([case.text, case.storage, case.out, case.dtype])
    answer = worker.line()
    yield (case, "dead", worker.epitaph()) if answer is None else (case, *answer)


def _shards(number: int) -> list[list[Combination]]:
    """Returns all combinations in as many shards, each a random sample of them."""
    every = [case for text in EXPRESSIONS for case in combinations(text)]
    Random(0).shuffle(every)
    return [every[first::number] for first in range(number)]


def _try(cases: list[Combination], label: str, jobs: int) -> Counts:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    counts = Counts(commit=commit.stdout.strip())
    with click.progressbar(length=len(cases), label=label, file=sys.stderr) as bar:
        for case, verdict, reason in serve(cases, _ask, module="combining.worker", timeout=_TIMEOUT, jobs=jobs):
            counts.add(case.text, str(case), verdict, reason)
            bar.update(1)
    return counts


@click.command()
@click.option("--shards", default=100, show_default=True, help="Into how many parts to divide the combinations.")
@click.option("--shard", "chosen", multiple=True, type=int, help="A part to try, from 0; all when none is named.")
@click.option("--afresh", is_flag=True, help="Try again what the file has counts of; it is left out otherwise.")
@click.option("--jobs", default=2, show_default=True, help="Processes at once.")
@click.option("--save", default=RESULTS, show_default=True, type=click.Path(path_type=Path), help="The file of counts.")
def main(shards: int, chosen: tuple[int, ...], afresh: bool, jobs: int, save: Path) -> None:
    """Tries every expression with every storage, and writes the counts after each shard: stop and go on at will.

    Exits with 1 where a result is wrong, the compiler or the process died, or less than 97 % are right.
    """
    record, parts = Record.read(save, shards), _shards(shards)
    for number in chosen or range(shards):
        if afresh or number not in record.counts:
            record.counts[number] = _try(parts[number], f"shard {number} of {shards}", jobs)
            record.write(save)
    total = record.total
    click.echo(f"{len(record.counts)} of {shards} shards: {total}")
    for case, verdict, reason in total.bad:
        click.echo(f"{verdict}: {case}\n  {reason.splitlines()[0]}")
    sys.exit(bool(total.bad) or total.share < _RIGHT)


if __name__ == "__main__":
    main()
