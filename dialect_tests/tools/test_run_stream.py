"""`run --memory` on files that are read in parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import mlir_sparse as ms
from mlir_sparse.tools.cli import main

SPMV = "y(i) = A(i,j) * x(j)"
D = np.where(np.random.default_rng(0).random((300, 200)) < 0.1, 1.5, 0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "parts").mkdir()
    whole = ms.tensor(D, "CSR")
    ms.write(tmp_path / "a.npz", whole)
    for number in range(3):
        ms.write(tmp_path / "parts" / f"{number}.npz", whole[100 * number : 100 * number + 100])
    ms.write(tmp_path / "a.mtx", whole)
    ms.write(tmp_path / "x.ttx", np.ones(200))
    return tmp_path


@pytest.mark.parametrize("name", ["a.npz", "parts", "a.mtx"])
def test_the_result_is_that_of_the_whole(name: str, folder: Path) -> None:
    arguments = ["run", SPMV, "-i", f"A={folder / name}", "-g", "x=ones", "-o", f"y={folder / 'y.ttx'}"]
    ran = CliRunner().invoke(main, [*arguments, "--memory", "8KiB"])
    assert ran.exit_code == 0, ran.output
    assert "in parts along dimension 0" in ran.output
    np.testing.assert_allclose(ms.read(folder / "y.ttx"), D.sum(axis=1))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--memory", "lots"], "expected --memory as a number of bytes"),
        (["--memory", "8KiB", "--verify"], "expected no --verify with --memory"),
        (["--memory", "8KiB", "-f", "A:CSR"], "read as stored"),
        (["--memory", "8KiB", "-s", "A=9x9"], "expected 'A' to be 9x9"),
        (["--memory", "8"], "give more memory"),
    ],
)
def test_what_cannot_be_is_refused(more: list[str], message: str, folder: Path) -> None:
    ran = CliRunner().invoke(main, ["run", SPMV, "-i", f"A={folder / 'a.npz'}", "-g", "x=ones", *more])
    assert ran.exit_code in (1, 2)
    assert message in ran.stderr


@pytest.mark.parametrize("memory", ["8KiB", "8e3"])
def test_a_file_that_is_not_there_is_named(memory: str, folder: Path) -> None:
    files = ["-i", f"A={folder / 'nothing'}", "-i", f"x={folder / 'x.ttx'}"]
    ran = CliRunner().invoke(main, ["run", SPMV, *files, "--memory", memory])
    assert ran.exit_code in (1, 2)
    assert "nothing: No such file" in ran.stderr


def test_of_several_text_files_the_largest_is_read_in_parts(folder: Path) -> None:
    files = ["-i", f"x={folder / 'x.ttx'}", "-i", f"A={folder / 'a.mtx'}", "-o", f"y={folder / 'y.ttx'}"]
    ran = CliRunner().invoke(main, ["run", SPMV, *files, "--memory", "8KiB"])
    assert ran.exit_code == 0, ran.output
    assert ran.output.count("in parts along dimension") == 1
    np.testing.assert_allclose(ms.read(folder / "y.ttx"), D.sum(axis=1))


def test_statements_of_a_comprehension_are_streamed(folder: Path) -> None:
    text = "def f(double(M,K) A, double(K) x) -> (s, z) { y(i) = A(i,j) * x(j); z(i) = y(i) * y(i); s +=! z(i) }"
    files = ["-i", f"A={folder / 'a.npz'}", "-g", "x=ones", "-o", f"z={folder / 'z.ttx'}"]
    ran = CliRunner().invoke(main, ["run", text, *files, "--memory", "8KiB"])
    assert ran.exit_code == 0, ran.output
    np.testing.assert_allclose(ms.read(folder / "z.ttx"), D.sum(axis=1) ** 2)


def test_optimize_is_heard(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[object]()
    run = ms.stream
    monkeypatch.setattr(ms, "stream", lambda *args, **named: asked.append(named["optimize"]) or run(*args, **named))
    for options in ([], ["--optimize", "off"]):
        arguments = ["run", SPMV, "-i", f"A={folder / 'a.npz'}", "-g", "x=ones", "--memory", "8KiB", *options]
        assert CliRunner().invoke(main, arguments).exit_code == 0
    assert asked == [None, "off"]
