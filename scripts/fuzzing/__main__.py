"""Fuzzes in several processes and counts what came out: `scripts/fuzz --help`."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import click
from workers import Worker, serve

from dialect_tests.test_kernel_properties import STRATEGIES

# A batch is one process' work between two requests; a process that dies takes at most this many cases with it.
BATCH = 250
# A compilation takes a second at most, and the compiler's own limit is a minute: what takes this long hangs.
_TIMEOUT = 150.0
# Between the seed of a batch and that of what was left of it when its process died.
_AFTER_DEATH = 500_000
_BAD = ("wrong", "crash", "dead")
# What is drawn for each target: a GPU's kernels, which an emulator runs, are of one statement.
_DRAWN = {"cpu": tuple(STRATEGIES), "cuda": ("kernels", "foreign storage", "expressions")}


@dataclass(frozen=True, slots=True)
class Batch:
    """Cases of one strategy for a target, from one seed, each kernel on as many data."""

    target: str
    strategy: str
    seed: int
    cases: int
    variants: int


@dataclass
class Tally:
    """What became of the cases.

    Args:
        counts: how many had each verdict.
        refusals: how many were refused with each error.
        bad: verdict, case and reason of those that were neither right nor refused.
    """

    counts: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    bad: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, verdict: str, case: str, reason: str) -> None:
        """Counts a case."""
        self.counts[verdict] += 1
        if verdict == "refused":
            self.refusals[reason.partition(":")[0]] += 1
        if verdict in _BAD:
            self.bad.append((verdict, case, reason))


def _ask(worker: Worker, batch: Batch) -> Iterator[tuple[str, str, str]]:
    """Yields verdict, case and reason of each case; `dead` for the one that ended the process, or hung it."""
    worker.send([batch.target, batch.strategy, batch.seed, batch.cases, batch.variants])
    case, left = f"seed {batch.seed} of {batch.strategy}", batch.cases
    while (line := worker.line()) is not None:
        verdict, text = line
        if verdict == "end":
            return
        if verdict == "case":
            case = text
        else:
            left -= 1
            yield verdict, case, text
    yield "dead", case, worker.epitaph()
    if left > 1:
        yield from _ask(worker, replace(batch, seed=batch.seed + _AFTER_DEATH, cases=left - 1))


def _batches(target: str, cases: int, seed: int, variants: int) -> Iterator[Batch]:
    names = _DRAWN[target]
    number = 0
    while cases > 0:
        yield Batch(target, names[number % len(names)], seed * 1_000_000 + number, min(BATCH, cases), variants)
        cases -= BATCH
        number += 1


def _fuzz(batches: Iterator[Batch], cases: int, jobs: int) -> Tally:
    tally = Tally()
    with click.progressbar(length=cases, label="cases", file=sys.stderr) as bar:
        for outcome in serve(batches, _ask, module="fuzzing.worker", timeout=_TIMEOUT, jobs=jobs):
            tally.add(*outcome)
            bar.update(1)
    return tally


def _save(path: Path, tally: Tally, target: str, seed: int, variants: int, seconds: float) -> None:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    record = {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit.stdout.strip(),
        "target": target,
        "seed": seed,
        "variants": variants,
        "seconds": round(seconds),
        "verdicts": dict(sorted(tally.counts.items())),
        "refusals": dict(tally.refusals.most_common()),
        "bad": tally.bad,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=2) + "\n")
    click.echo(f"wrote {path}")


@click.command()
@click.option("--cases", default=2000, show_default=True, help="How many cases to run: a kernel on data each.")
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same cases.")
@click.option("--target", type=click.Choice(list(_DRAWN)), default="cpu", show_default=True, help="cuda: emulated.")
@click.option("--variants", default=8, show_default=True, help="On how many data each kernel runs, once compiled.")
@click.option("--jobs", default=2, show_default=True, help="Processes at once.")
@click.option("--save", type=click.Path(path_type=Path), help="A JSON file for the counts and what went wrong.")
def main(cases: int, seed: int, target: str, variants: int, jobs: int, save: Path | None) -> None:
    """Runs random kernels on random data in random storage, and compares each with the oracle.

    Exits with 1 where a result is wrong, the compiler died, or the process did.
    """
    start = time.monotonic()
    tally = _fuzz(_batches(target, cases, seed, variants), cases, jobs)
    seconds = time.monotonic() - start
    click.echo(", ".join(f"{tally.counts[verdict]} {verdict}" for verdict in ("right", "refused", *_BAD)))
    click.echo(f"refused by: {', '.join(f'{count} {name}' for name, count in tally.refusals.most_common())}")
    click.echo(f"{seconds:.0f} s")
    for verdict, case, reason in tally.bad:
        click.echo(f"{verdict}: {case}\n  {reason}")
    if save is not None:
        _save(save, tally, target, seed, variants, seconds)
    sys.exit(bool(tally.bad))


if __name__ == "__main__":
    main()
