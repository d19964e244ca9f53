"""`--optimize off` gives the IR of the statement as it is written, for the kernels of the FileCheck tests."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from mlir_sparse.tools.cli import main

ROOT = Path(__file__).parents[2] / "lit" / "lower"
RUN = re.compile(r"^// RUN: mlir-sparse (emit [^|\n\\]*)\|", re.MULTILINE)


def commands(path: Path) -> list[list[str]]:
    """Returns the commands of a FileCheck test that print IR for the processor."""
    found = [shlex.split(text) for text in RUN.findall(path.read_text())]
    return [one for one in found if "--target" not in one and "--optimize" not in one and "--stage" not in one[:-2]]


def emitted(*arguments: str) -> str:
    result = CliRunner().invoke(main, [*arguments])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("path", sorted(ROOT.glob("*.mlir")), ids=lambda path: path.stem)
def test_off_is_the_ir_of_types_that_decide_nothing(path: Path) -> None:
    for command in commands(path)[:1]:
        off, auto = emitted(*command, "--optimize", "off"), emitted(*command)
        explained = emitted(*command, "--stage", "explain", "--optimize", "off")
        assert "rewritten: " not in explained
        if off != auto:
            assert "rewritten: " in emitted(*command, "--stage", "explain")


def test_commands_are_found() -> None:
    assert sum(bool(commands(path)) for path in ROOT.glob("*.mlir")) > 30
