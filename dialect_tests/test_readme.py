"""The README is run: its Python by doctest, its shell sessions command by command, and what they print is compared.

In a `console` block a line that begins with `$ ` is a command, `> ` continues it, and what follows is its output.
`...` stands for any text, as in doctest: times and versions are not the same twice.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from support_table.cells import cells
from support_table.readme import tables_of
from support_table.tables import read_outcomes

from mlir_sparse import DTYPES

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Command:
    """A command of a shell session, and what it must print."""

    text: str
    output: str
    line: int


def blocks(language: str) -> list[tuple[int, str]]:
    """Returns (line, text) of the README's blocks in one language."""
    found = [(README[: m.start()].count("\n") + 2, m[2]) for m in BLOCK.finditer(README) if m[1] == language]
    assert found, f"the README has no {language} block"
    return found


def commands() -> list[Command]:
    """Returns the commands of all shell sessions, in order."""
    found: list[Command] = []
    for line, text in blocks("console"):
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            lines = part.splitlines(keepends=True)
            more = next((n for n, row in enumerate(lines[1:], 1) if not row.startswith("> ")), len(lines))
            command = lines[0] + "".join(row[2:] for row in lines[1:more])
            found.append(Command(command, "".join(lines[more:]), line))
    return found


def test_python() -> None:
    # A blank line would end an example's output; in a block of its own it can be written as it is.
    text = "\n".join(
        re.sub("^$", "<BLANKLINE>", block.rstrip("\n"), flags=re.M) + "\n" for _, block in blocks("python")
    )
    test = doctest.DocTestParser().get_doctest(text, {}, "README", "README.md", 0)
    assert test.examples
    reports: list[str] = []
    failures, _ = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=reports.append)
    assert not failures, "".join(reports)


def test_shell(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in commands():
        run = subprocess.run(
            ["bash", "-ec", command.text],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        told = f"README.md:{command.line}: {command.text}{run.stdout}"
        assert run.returncode == 0, told
        assert doctest.OutputChecker().check_output(command.output, run.stdout, FLAGS), told


@pytest.mark.parametrize("rank", [2, 3])
def test_the_tables_are_what_was_run(rank: int) -> None:
    known = read_outcomes((ROOT / "scripts/support_table/results/support.json").read_text())
    assert tables_of(known)[rank] in README
    assert {outcome.verdict for outcome in known} <= {"right", "refused"}
    assert {outcome.cell for outcome in known} == set(cells((), tuple(dtype.name for dtype in DTYPES)))


@pytest.mark.parametrize("script", re.findall(r"scripts/[\w-]+", README))
def test_the_scripts_it_names_exist(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)
