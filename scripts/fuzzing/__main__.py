"""Fuzzes in several processes and counts the outcomes: `scripts/fuzz --help`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path

import click
from workers import Worker, serve

from fuzzing.subjects import NAMES, subject
from fuzzing.tally import DECLINED, Tally, report, save, told
from fuzzing.variants import HOW_MANY

# A batch is one process' work between two requests; a process that dies takes at most this many cases with it.
BATCH = 100
# A compilation takes a second at most, and the compiler's own limit is a minute: what takes this long hangs.
_TIMEOUT = 150.0
# Between the seed of a batch and that of what was left of it when its process died.
_AFTER_DEATH = 500_000


@dataclass(frozen=True, slots=True)
class Batch:
    """Cases of one subject for a target, from one seed, each kernel on as many data, and variants of them."""

    target: str
    subject: str
    seed: int
    cases: int
    data: int
    variants: str


def _ask(worker: Worker, batch: Batch) -> Iterator[tuple[str, str, str]]:
    """Yields verdict, case and reason of each case, and of variants that were declined.

    The verdict is `dead` for the case that ended the process, or hung it.
    """
    worker.send([batch.target, batch.subject, batch.seed, batch.cases, batch.data, batch.variants])
    case, left = f"seed {batch.seed} of {batch.subject}", batch.cases
    variant = ""
    while (line := worker.line()) is not None:
        verdict, text = line
        if verdict == "end":
            return
        if verdict == "case":
            case, variant = text, ""
        elif verdict == "variant":
            variant = f", variant {text!r}"
        else:
            left -= verdict != DECLINED
            yield verdict, case, text
    yield "dead", case + variant, worker.epitaph()
    if left > 1:
        yield from _ask(worker, replace(batch, seed=batch.seed + _AFTER_DEATH, cases=left - 1))


def _batches(pattern: Batch, names: Sequence[str]) -> Iterator[Batch]:
    """Yields batches of each subject in turn, each of as many cases as its share of all.

    Args:
        pattern: what all have, with the seed of the first and the number of cases of all.
        names: the subjects.
    """
    left = pattern.cases
    for number, name in enumerate(cycle(names)):
        part = min(left, max(1, round(BATCH * subject(pattern.target, name).share)))
        yield replace(pattern, subject=name, seed=pattern.seed + number, cases=part)
        left -= part
        if not left:
            return


def _fuzz(batches: Iterator[Batch], cases: int, jobs: int) -> Tally:
    tally = Tally()
    with click.progressbar(length=cases, label="cases", file=sys.stderr) as bar:
        for outcome in serve(batches, _ask, module="fuzzing.worker", timeout=_TIMEOUT, jobs=jobs):
            if tally.add(*outcome):
                click.echo(f"\n{told(*outcome)}", err=True)  # a long run is not waited for
            bar.update(outcome[0] != DECLINED)
    return tally


def _chosen(target: str, only: Sequence[str]) -> Sequence[str]:
    unknown = [name for name in only if name not in NAMES[target]]
    if unknown:
        raise click.BadParameter(f"expected of {', '.join(NAMES[target])}, but got {unknown[0]!r}", param_hint="--only")
    return only or NAMES[target]


@click.command()
@click.option("--cases", default=2000, show_default=True, help="How many cases to run: a kernel on data each.")
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same cases.")
@click.option("--target", type=click.Choice(list(NAMES)), default="cpu", show_default=True, help="cuda: emulated.")
@click.option("--only", multiple=True, help=f"A subject, again for more: {', '.join(NAMES['cpu'])}. All by default.")
@click.option("--data", default=8, show_default=True, help="On how many data each kernel runs, once compiled.")
@click.option("--variants", type=click.Choice(HOW_MANY), default="few", show_default=True, help="Of each case.")
@click.option("--jobs", default=2, show_default=True, help="Processes at once.")
@click.option("--save", "path", type=click.Path(path_type=Path), help="A JSON file for the counts and what went wrong.")
def main(
    cases: int,
    seed: int,
    target: str,
    only: tuple[str, ...],
    data: int,
    variants: str,
    jobs: int,
    path: Path | None,
) -> None:
    """Runs random kernels on random data in random storage, and compares each with the oracle.

    Each case also runs in variants, which must give the same result: other names, threads, storage and memory, from
    the cache
    on disk, from a file, in a forked child. A few variants of each case take three times as long as none, all of
    them ten
    times.

    Exits with 1 where a result is wrong, the compiler died, or the process did.
    """
    start = time.monotonic()
    pattern = Batch(target, "", seed * 1_000_000, cases, data, variants)
    tally = _fuzz(_batches(pattern, _chosen(target, only)), cases, jobs)
    seconds = time.monotonic() - start
    for line in report(tally, seconds):
        click.echo(line)
    if path is not None:
        save(path, tally, {"target": target, "seed": seed, "data": data, "variants": variants}, seconds)
        click.echo(f"wrote {path}")
    sys.exit(bool(tally.bad))


if __name__ == "__main__":
    main()
