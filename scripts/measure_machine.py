"""Prints the times of steps on this machine beside those that plans go by, or writes them as a profile."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path

from mlir_sparse.compile.tuning.tune_machine import measured_profile
from mlir_sparse.machine import PROFILES, machine_profile


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/measure-machine", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="how often each kernel is timed; medians count")
    parser.add_argument("--write", metavar="NAME", help="write the profile NAME that the package comes with")
    given = parser.parse_args()
    known, found = machine_profile(), measured_profile(given.rounds)
    print(f"{'':14} {found.processor!s:32} {known.processor}")
    for now, then in ((found.times, known.times), (found.figures, known.figures)):
        for field in fields(now):
            print(f"{field.name:14} {getattr(now, field.name)!s:32.32} {getattr(then, field.name)}")
    for name, choice in found.choices.items():
        print(f"{name}: {choice}")
    if given.write:
        Path(PROFILES, f"{given.write}.json").write_text(found.text)


if __name__ == "__main__":
    main()
