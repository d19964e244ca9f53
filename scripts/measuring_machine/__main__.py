"""Prints the times of steps on this machine beside those that plans go by, or writes them for plans."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path

from benchmarks.machine import machine

import mlir_sparse as ms
from measuring_machine.fitted_times import fitted, module_of
from measuring_machine.makes_of_processors import between_makes
from measuring_machine.timed_kernels import Kernels
from mlir_sparse.plan.algebra.measured_times import MACHINE

_MODULE = Path(__file__).resolve().parents[2] / "mlir_sparse" / "plan" / "algebra" / "measured_times.py"


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/measure-machine", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="how often each kernel is timed; medians count")
    parser.add_argument("--write", action="store_true", help="write the table that plans go by")
    given = parser.parse_args()
    ms.set_num_threads(1)
    kernels = Kernels.of_this_machine()
    here = machine()
    processor = f"{here['processor']}, family {here['family']}"
    times = fitted(kernels.timed(given.rounds), kernels.entries, kernels.products, processor)
    for field in fields(times):
        print(f"{field.name:14} {getattr(times, field.name)!s:24.24} {getattr(MACHINE, field.name)}")
    if given.write:
        _MODULE.write_text(module_of(between_makes(times)))


if __name__ == "__main__":
    main()
