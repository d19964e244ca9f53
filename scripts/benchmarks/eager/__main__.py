"""Measures eager operations beside SciPy's and pydata/sparse's: `scripts/bench eager --help`."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import click

from benchmarks.eager.eager_operands import DTYPES, SIZES, STORAGES
from benchmarks.eager.eager_rounds import BOUND, EagerRow, cases, measured
from benchmarks.machine import commit, machine, processor_of, versions
from benchmarks.report import RESULTS

__all__ = ["main", "summary"]


@click.command()
@click.argument("words", nargs=-1)
@click.option("--sizes", default="8 x 8,1e4,1e6", show_default=True, help=f"Of {', '.join(SIZES)}.")
@click.option("--dtypes", default="f64", show_default=True, help=f"Of {', '.join(DTYPES)}.")
@click.option("--storages", default=",".join(STORAGES), show_default=True)
@click.option("--seconds", default=0.1, show_default=True, help="How long to time each case, seven rounds at least.")
@click.option("--over", is_flag=True, help="Print only cases over the bound.")
@click.option("--save/--no-save", "saved", default=False, help="Write scripts/benchmarks/results/DATE-COMMIT-eager.*.")
def main(
    words: tuple[str, ...], sizes: str, dtypes: str, storages: str, seconds: float, over: bool, saved: bool
) -> None:
    """Measures operations with one of WORDS in their names, by processor time, on one thread and in turn with a peer.

    Exits with 1 if a case takes more than its bound.
    """
    rows = []
    for case in cases(*(_listed(given) for given in (sizes, dtypes, storages))):
        if words and not any(word.lower() in case[0].lower() for word in words):
            continue
        rows.append(measured(*case, seconds))
        if rows[-1].missed or not over:
            click.echo(str(rows[-1]))
    click.echo(f"\n{summary(rows)}")
    if saved:
        click.echo(str(_save(rows)))
    sys.exit(any(row.missed for row in rows))


def _listed(given: str) -> list[str]:
    return [one.strip() for one in given.split(",")]


def summary(rows: Sequence[EagerRow]) -> str:
    """Returns the geometric mean of ratios by size, and how many are over the bound."""
    lines = []
    for size in SIZES:
        found = [row.ratio for row in rows if row.size == size and not row.absent]
        if found:
            mean = math.exp(sum(map(math.log, found)) / len(found))
            over = sum(ratio > BOUND for ratio in found)
            lines.append(
                f"{size}: {mean:.2f} of the peers' times in the geometric mean, {over} of {len(found)} cases "
                f"over {BOUND}"
            )
    return "\n".join(lines)


def _save(rows: Sequence[EagerRow]) -> Path:
    now, host = datetime.now(UTC), machine()
    record = {
        "date": now.isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": host,
        "versions": versions(),
        "results": [{**asdict(row), "missed": row.missed} for row in rows],
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{now:%Y-%m-%d}-{commit()}-eager.json"
    path.write_text(json.dumps(record, indent=2, allow_nan=False) + "\n")
    table = "\n".join(
        f"| {row.operation} | {row.storage} | {row.size} | {row.dtype} | {row.peer} | "
        f"{row.absent or f'{row.ours * 1e6:.1f} | {row.theirs * 1e6:.1f} | {row.ratio:.2f}'} |"
        for row in rows
    )
    head = "| operation | storage | size | type | peer | us | peer's us | ratio |\n|---|---|---|---|---|---|---|---|"
    path.with_suffix(".md").write_text(f"{processor_of(host)}\n\n{summary(rows)}\n\n{head}\n{table}\n")
    return path


if __name__ == "__main__":
    main()
