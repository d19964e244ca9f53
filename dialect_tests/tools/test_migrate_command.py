"""`mlir-sparse migrate`: what it writes where, what it lists, and its exit status."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mlir_sparse.tools.cli import main

OLD = b'#A = #sparse_tensor.encoding<{ dimLevelType = ["dense"] }>\r\n// \xff \xc3\xa9\r\n'
TODAY = b"#A = #sparse_tensor.encoding<{ map = (d0) -> (d0 : dense) }>\r\n// \xff \xc3\xa9\r\n"
CHANGE = ':1: `dimLevelType = ["dense"]` -> `map = (d0) -> (d0 : dense)`\n'
LEFT = b"sparse_tensor.lex_insert %t, %i, %v : tensor<?xf64>, memref<?xindex>, f64\n"


def run(*arguments: str, content: bytes = b"") -> Result:
    return CliRunner().invoke(main, ["migrate", *arguments], input=content)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "old.mlir"
    path.write_bytes(OLD)
    return path


def test_text_goes_to_stdout_and_changes_to_stderr(old: Path) -> None:
    result = run(str(old))
    assert (result.exit_code, result.stdout_bytes, result.stderr) == (0, TODAY, f"{old}{CHANGE}")
    assert old.read_bytes() == OLD
    piped = run("-", "-q", content=OLD)
    assert (piped.exit_code, piped.stdout_bytes, piped.stderr) == (0, TODAY, "")


def test_files_are_written_and_changes_listed(old: Path, tmp_path: Path) -> None:
    target = tmp_path / "below" / "new.mlir"
    result = run(str(old), "-o", str(target))
    assert (result.exit_code, result.stdout, target.read_bytes()) == (0, f"{old}{CHANGE}", TODAY)
    result = run(str(old), "--in-place")
    assert (result.exit_code, result.stdout, old.read_bytes()) == (0, f"{old}{CHANGE}", TODAY)
    before = old.stat().st_mtime_ns, old.stat().st_ino
    result = run(str(old), "--in-place")
    assert (result.exit_code, result.output, (old.stat().st_mtime_ns, old.stat().st_ino)) == (0, "", before)


def test_check_writes_nothing(old: Path) -> None:
    result = run(str(old), "--check")
    assert (result.exit_code, result.stdout, old.read_bytes()) == (1, f"{old}{CHANGE}", OLD)
    old.write_bytes(TODAY)
    assert run(str(old), "--check").exit_code == 0


def test_a_folder_is_migrated_file_by_file(old: Path, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.mlir").write_bytes(TODAY)
    (tmp_path / "a" / "notes.txt").write_bytes(OLD)
    target = tmp_path.with_name(f"{tmp_path.name}-new")
    assert run(str(tmp_path), "-o", str(target)).stdout == f"{old}{CHANGE}"
    assert {path.relative_to(target).as_posix() for path in target.rglob("*.*")} == {"old.mlir", "a/b.mlir"}
    assert run(str(target), "--check").exit_code == 0
    assert "expected -o FOLDER" in run(str(tmp_path)).stderr


def test_what_is_left_is_named(old: Path) -> None:
    old.write_bytes(b"\n" + LEFT)
    result = run(str(old), "--in-place")
    assert (result.exit_code, result.stdout, old.read_bytes()) == (1, "", b"\n" + LEFT)
    assert result.stderr.startswith(f"{old}:2: sparse_tensor.lex_insert is left as it is: today it is %1 = tensor.")
    assert "left a place that is older" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("missing.mlir",), "missing.mlir"),
        (("-", "--in-place"), "expected a file for --in-place"),
        (("-", "--in-place", "--check"), "expected one of -o, --in-place and --check"),
    ],
)
def test_mistakes_are_one_message(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code in (1, 2)
    assert message in result.stderr
    assert isinstance(result.exception, SystemExit)


def test_bytecode_and_empty_folders_are_refused(tmp_path: Path) -> None:
    assert "expected .mlir files below" in run(str(tmp_path), "--check").stderr
    (tmp_path / "a.mlir").write_bytes(b"ML\xefR\x01")
    assert "bytecode" in run(str(tmp_path / "a.mlir")).stderr


def test_an_empty_file_stays_empty(old: Path) -> None:
    old.write_bytes(b"")
    result = run(str(old))
    assert (result.exit_code, result.output) == (0, "")
