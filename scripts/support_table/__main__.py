"""Tries every cell in processes of their own and writes the tables: `scripts/support --help`."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import click

from mlir_sparse import DTYPES
from support_table.cells import Cell, cells
from support_table.readme import write_readme
from support_table.tables import Outcome, json_text, markdown, read_outcomes

# The results that the README shows.
FOLDER = Path(__file__).parent / "results"
# A compilation takes a second at most; what takes this long hangs.
_TIMEOUT = 120.0


class _Process:
    """A worker, restarted when a cell ends it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def ask(self, cell: Cell) -> Outcome:
        """Returns what became of a cell; `crash` where it took its process with it, or time ran out."""
        if self._process is None:
            command = [sys.executable, "-m", "support_table.worker"]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        timer = threading.Timer(_TIMEOUT, self._process.kill)
        timer.start()
        print(json.dumps(cell.as_json()), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        timer.cancel()
        if answer:
            return Outcome(cell, *json.loads(answer))
        status = self._process.wait()
        self._process = None
        return Outcome(cell, "crash", f"the process ended with status {status}")

    def stop(self) -> None:
        """Ends the worker."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def _serve(waiting: queue.Queue[Cell], done: queue.Queue[Outcome]) -> None:
    process = _Process()
    try:
        while True:
            done.put(process.ask(waiting.get_nowait()))
    except queue.Empty:
        process.stop()


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
    waiting: queue.Queue[Cell] = queue.Queue()
    for cell in cells(formats, tuple(types.split(","))):
        waiting.put(cell)
    total, done = waiting.qsize(), queue.Queue[Outcome]()
    for _ in range(jobs):
        threading.Thread(target=_serve, args=(waiting, done), daemon=True).start()
    outcomes = []
    with click.progressbar(length=total, label="cells", file=sys.stderr) as bar:
        for _ in range(total):
            outcomes.append(done.get())
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
