"""What the RUN lines of a test print: lit runs them with a FileCheck that keeps its input."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from mlir_sparse.classes import dataclass
from mlir_sparse.errors import MissingPackageError, OperandError
from mlir_sparse.testing.checks import record_input

__all__ = ["RecordedRun", "passes_in_lit", "recorded_runs", "recorder"]

_PREFIXES = ("check-prefix", "check-prefixes")
_CONFIGURATIONS = ("lit.cfg.py", "lit.site.cfg.py", "lit.cfg", "lit.site.cfg")


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """What one use of FileCheck was given.

    Args:
        prefixes: those of its CHECK lines.
        output: its input.
    """

    prefixes: tuple[str, ...]
    output: str


def recorded_runs(path: Path) -> tuple[RecordedRun, ...]:
    """Returns what FileCheck is given by the RUN lines of a test, in their order.

    Raises:
        MissingPackageError: without lit.
        OperandError: for a test without a suite, whose commands fail, or which uses no FileCheck.
    """
    if not any((folder / name).exists() for folder in path.resolve().parents for name in _CONFIGURATIONS):
        raise OperandError(
            f"expected a lit.cfg.py beside {path} or above, but got none: mlir-sparse lit-init {path.parent}"
        )
    with tempfile.TemporaryDirectory(prefix="mlir-sparse-checks-") as folder:
        said = _lit(path, {record_input.FOLDER: folder})
        found = sorted(Path(folder).glob("*.json"))
        if not said.startswith("PASS") and "\nPASS: " not in said:
            raise OperandError(f"expected the commands of {path}'s RUN lines to succeed, but got:\n{said.strip()}")
        if not found:
            raise OperandError(
                f"expected a RUN line of {path} with FileCheck, and a lit.cfg.py that calls "
                "mlir_sparse.testing.lit.configure, but got none"
            )
        return tuple(_run(json.loads(one.read_text()), path) for one in found)


def passes_in_lit(path: Path) -> str | None:
    """Returns None for a test that passes, else what lit says of it."""
    said = _lit(path, {})
    return None if said.startswith("PASS") or "\nPASS: " in said else said


def recorder(python: str) -> str | None:
    """Returns the command that stands for FileCheck while runs are recorded, else None.

    Args:
        python: the command of Python.
    """
    return f"{python} {shlex.quote(record_input.__file__)}" if os.environ.get(record_input.FOLDER) else None


def _run(content: dict[str, object], path: Path) -> RecordedRun:
    """Returns a run from what was kept of it."""
    prefixes: list[str] = []
    arguments = list(map(str, content["arguments"]))  # type: ignore[call-overload]  # a list, as record_input wrote it
    left = iter(arguments)
    for word in left:
        name, separator, value = word.lstrip("-").partition("=")
        if word.startswith("-") and name in _PREFIXES:
            prefixes += (value if separator else next(left, "")).split(",")
        elif word.startswith("-") and name == "input-file":
            raise OperandError(f"expected FileCheck in {path} to read a pipe, but got {word}: write `... | FileCheck`")
    return RecordedRun(tuple(prefixes) or ("CHECK",), str(content["input"]))


def _lit(path: Path, environment: dict[str, str]) -> str:
    """Returns what lit prints of a test."""
    command = [sys.executable, "-c", "from lit.main import main; main()", "-v", "-j1", str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | environment)
    if "No module named 'lit'" in ran.stderr:
        raise MissingPackageError("expected the package lit, but got none: pip install lit")
    return ran.stdout + ran.stderr
