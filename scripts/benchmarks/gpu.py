"""Measures kernels on a GPU: each checked against the host, then timed beside cuSPARSE, PyTorch and cuBLAS.

scripts/bench-gpu [--tune] [--save] [word in a name ...]      on a machine with a GPU
scripts/bench-gpu --chip sm_90 --prepare FILE                 compiles the kernels on another machine
scripts/bench-gpu --kernels FILE                              takes them from there: no MLIR is needed
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

import mlir_sparse as ms
from benchmarks import gpu_goals, gpu_prepare
from benchmarks.gpu_cases import CASES
from benchmarks.gpu_checks import CHECKS
from benchmarks.gpu_measure import Result
from benchmarks.gpu_worker import Plan, apart, here
from mlir_sparse.device import cuda_libraries_found

RESULTS = Path(__file__).parent / "results"
_SECONDS = 0.3  # of one measurement; a quick one takes a tenth


@click.command()
@click.argument("words", nargs=-1)
@click.option("--quick/--no-quick", default=False, help="A tenth of the time for each measurement.")
@click.option("--tiny/--no-tiny", default=False, help="Small inputs instead, for a look at whether all works.")
@click.option("--tune/--no-tune", default=False, help="Time every way that a call may take, beside the one it takes.")
@click.option("--save/--no-save", "saved", default=False, help="Write the results as JSON, anew after each case.")
@click.option("--output", type=click.Path(path_type=Path), default=RESULTS, help="The folder to write them to.")
@click.option(
    "--budget", default=540.0, help="Seconds for all: checks come first, then what has a bound, then the rest."
)
@click.option("--prepare", type=click.Path(path_type=Path), help="Compile all kernels to a file, and stop.")
@click.option("--kernels", type=click.Path(path_type=Path, exists=True), help="Take the kernels from a file.")
@click.option("--chip", default="", help="The chip to compile for, such as sm_90; by default that of the device.")
@click.option("--apart/--together", "isolated", default=True, help="Whether a process of its own runs the cases.")
def main(
    words: tuple[str, ...],
    quick: bool,
    tiny: bool,
    tune: bool,
    saved: bool,
    output: Path,
    budget: float,
    prepare: Path | None,
    kernels: Path | None,
    chip: str,
    isolated: bool,
) -> None:
    """Measures all cases, or those with one of WORDS in their name; exits with 1 where a number is wrong."""
    until = time.time() + budget
    if prepare is not None:
        click.echo(f"{prepare}: {gpu_prepare.kept(prepare, chip or 'sm_80')} bytes")
        return
    try:
        cuda_libraries_found.load_driver()
    except ms.DeviceError as error:
        way_out = "run this on a machine with a GPU, or --prepare kernels for one"
        raise click.ClickException(f"{error}: {way_out}") from error
    with tempfile.TemporaryDirectory() as folder:
        if kernels is None:
            kernels = Path(folder, "kernels")
            gpu_prepare.kept(kernels, chip)
        seconds = _SECONDS / 10 if quick else _SECONDS
        plan = Plan(str(kernels), chosen(words, tiny), seconds, tune, until)
        run = _Run(output if saved else None)
        if isolated:
            apart(plan, run.tell)
        else:
            for event in here(plan):
                run.tell(event)
    wrong = [f"{result.verdict}: {name}" for name, result in run.results.items() if result.verdict != "ok"]
    click.echo("\n".join(["", *wrong, gpu_goals.choices(run.results)]))
    click.echo(f"\n{gpu_goals.table(run.head, run.results)}")
    sys.exit(run.failed)


def chosen(words: tuple[str, ...], tiny: bool) -> tuple[str, ...]:
    """Returns the names of checks and cases in their order: what is right, what has a bound, and the rest."""
    cases = {name: case for name, case in CASES.items() if ("tiny" in name) == tiny}
    order = sorted(cases, key=lambda name: (not cases[name].must, cases[name].seconds))
    names = (*(f"check {one}" for one in CHECKS), *order)
    return tuple(name for name in names if not words or any(word.lower() in name.lower() for word in words))


class _Run:
    """The results of a run so far, written after each event.

    Args:
        folder: the folder to write to, or None.
    """

    def __init__(self, folder: Path | None) -> None:
        self.head: dict[str, Any] = {}
        self.results: dict[str, Result] = {}
        self.failed = False
        self._folder = folder

    def tell(self, event: dict[str, Any]) -> None:
        """Records an event: the result of a case, or the end of a worker."""
        if "head" in event:
            self.head = event["head"]
            if "missing" in self.head:
                click.echo(json.dumps(self.head, indent=1))
        elif "result" in event:
            result = Result(**event["result"])
            self.results[result.name] = result
            self.failed |= result.verdict != "ok" and not result.verdict.startswith("not ")
            click.echo(str(result) if result.seconds or result.verdict != "ok" else f"{result.name}: ok")
        elif "broken" in event:
            self.failed = True
            click.echo(f"a process had to be started anew: {event['broken']}")
        self._keep()

    def _keep(self) -> None:
        if self._folder is None or not self.head:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"gpu-{self.head['date'][:10]}-{self.head['commit']}.json"
        made = {
            **self.head,
            "bounds": gpu_goals.table(self.head, self.results).splitlines(),
            "results": [asdict(result) for result in self.results.values()],
        }
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(made, indent=1) + "\n")
        partial.replace(path)


if __name__ == "__main__":
    main()
