"""Tries every cell in processes of their own and writes the tables: `scripts/support --help`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
from workers import Worker, serve

from mlir_sparse import DTYPES
from support_table.cells import Cell, cells
from support_table.readme import write_readme
from support_table.tables import Outcome, json_text, markdown, read_outcomes

# The results that the README shows.
FOLDER = Path(__file__).parent / "results"
# A compilation takes at most a second; after this time a worker hangs.
_TIMEOUT = 120.0


def _ask(worker: Worker, cell: Cell) -> Iterator[Outcome]:
    """Yields what became of a cell; `crash` where it took its process with it, or time ran out."""
    worker.send(cell.as_json())
    answer = worker.line()
    yield Outcome(cell, "crash", worker.epitaph()) if answer is None else Outcome(cell, *answer)


def _write(folder: Path, outcomes: list[Outcome]) -> None:
    """Writes outcomes in the order of the formats, and what was known of others."""
    folder.mkdir(parents=True, exist_ok=True)
    known = folder / "support.json"
    tried = {outcome.cell for outcome in outcomes}
    kept = [o for o in read_outcomes(known.read_text()) if o.cell not in tried] if known.exists() else []
    places = {cell: place for place, cell in enumerate(cells((), tuple(d.name for d in DTYPES)))}
    whole = sorted((o for o in (*kept, *outcomes) if o.cell in places), key=lambda outcome: places[outcome.cell])
    known.write_text(json_text(whole))
    (folder / "support.md").write_text(markdown(whole))
    if folder == FOLDER:
        write_readme(whole)


@click.command()
@click.argument("formats", nargs=-1)
@click.option("--types", default=",".join(d.name for d in DTYPES), show_default=True, help="Element types.")
@click.option("--folder", default=FOLDER, show_default=True, type=click.Path(path_type=Path), help="Where to write.")
@click.option("--jobs", default=2, show_default=True, help="Processes at once.")
def main(formats: tuple[str, ...], types: str, folder: Path, jobs: int) -> None:
    """Tries FORMATS, or all of them, and writes support.md and support.json.

    What is known of formats that are not tried now is kept; the README's tables are made of the whole.
    Exits with 1 where a cell is wrong or crashed.
    """
    asked, outcomes = tuple(cells(formats, tuple(types.split(",")))), []
    with click.progressbar(length=len(asked), label="cells", file=sys.stderr) as bar:
        for outcome in serve(asked, _ask, module="support_table.worker", timeout=_TIMEOUT, jobs=jobs):
            outcomes.append(outcome)
            bar.update(1)
    _write(folder, outcomes)
    counts = Counter(outcome.verdict for outcome in outcomes)
    click.echo(", ".join(f"{counts[verdict]} {verdict}" for verdict in ("right", "refused", "wrong", "crash")))
    for outcome in outcomes:
        if outcome.verdict in ("wrong", "crash"):
            click.echo(f"{outcome.cell}: {outcome.verdict}: {outcome.reason}")
    click.echo(f"wrote {folder}/support.md and {folder}/support.json")
    sys.exit(counts["wrong"] + counts["crash"] > 0)


if __name__ == "__main__":
    main()
