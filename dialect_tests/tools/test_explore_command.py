"""`mlir-sparse explore`: the page that it writes, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from dialect_tests.page_parser import parsed
from mlir_sparse.tools.cli import main

MODULE = """func.func @f(%x: f64) -> f64 {
  %0 = arith.addf %x, %x : f64
  %1 = arith.addf %x, %x : f64
  %2 = arith.mulf %0, %1 : f64
  return %2 : f64
}
"""
DEFECTS = Path(__file__).resolve().parent.parent / "defects"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.mlir").write_text(MODULE)


def explored(*arguments: str) -> list[str]:
    """Writes a page, and returns the passes on it."""
    result = CliRunner().invoke(main, ["explore", *arguments, "-o", "page.html"])
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("wrote page.html: ")
    return parsed(Path("page.html").read_text(encoding="utf-8")).names


@pytest.mark.usefixtures("module")
def test_a_statement_has_a_page() -> None:
    names = explored("y(i) = A(i,j) * x(j)", "-f", "A:CSR", "-t", "A:f32", "-t", "x:f32", "--schedule", "lanes=0")
    assert "sparsification-and-bufferization" in names
    assert names[-2:] == ["llvmir", "asm"]


@pytest.mark.usefixtures("module")
def test_a_module_has_a_page_of_the_passes_that_are_asked_for() -> None:
    assert explored("f.mlir", "--cse", "--convert-arith-to-llvm") == ["input", "cse", "convert-arith-to-llvm"]
    pipeline = "--pass-pipeline=builtin.module(func.func(canonicalize,cse),cse)"
    assert explored(pipeline, "f.mlir") == ["input", "canonicalize", "cse"]
    assert explored("f.mlir", "--entry", "f")[:3] == ["input", "symbol-privatize", "symbol-dce"]


@pytest.mark.usefixtures("module")
def test_a_failure_leaves_the_page_and_the_status_1() -> None:
    crashing = str(DEFECTS / "scalar_plus_sparse_segv.mlir")
    result = CliRunner().invoke(main, ["explore", crashing, "-o", "page.html"])
    assert result.exit_code == 1
    assert "error: expected the pass sparsification-and-bufferization to run, but the compiler was killed by SIG" in (
        result.stderr
    )
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("  reproduce: ")]
    Path(line.split()[-1]).unlink()
    assert parsed(Path("page.html").read_text()).names[-1] == "sparsification-and-bufferization"


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (["f.mlir"], 2, "Missing option '-o'"),
        (["-o", "p.html"], 2, "expected one NOTATION or MODULE, but got none"),
        (["f.mlir", "a = b", "-o", "p.html"], 2, "but got f.mlir and a = b"),
        (["a = b", "--cse", "-o", "p.html"], 2, "expected --cse with a module, but got NOTATION"),
        (["a = b", "--entry", "f", "-o", "p.html"], 2, "expected --entry with a module"),
        (["f.mlir", "-f", "A:CSR", "-o", "p.html"], 2, "expected no -f with a module"),
        (["f.mlir", "--target", "cuda", "-o", "p.html"], 2, "expected no --target with a module"),
        (["f.mlir", "--cse", "--mlir-timing", "-o", "p.html"], 2, "expected flags of passes, but got --mlir-timing"),
        (["f.mlir", "--not-a-pass", "-o", "p.html"], 1, "but got 'not-a-pass'"),
        (["f.mlir", "--entry", "g", "-o", "p.html"], 1, "expected a function of f.mlir, which has f, but got 'g'"),
        (["nothing.mlir", "-o", "p.html"], 1, "cannot use nothing.mlir"),
        (["f.mlir", "-o", "nowhere/p.html"], 1, "cannot use nowhere/p.html"),
        (["a = * b", "-o", "p.html"], 1, "notation:1:5: expected a tensor"),
        (["func.func @f( {", "-o", "p.html"], 1, "module:1:14: expected a module that MLIR accepts"),
    ],
)
def test_mistakes_are_named_and_leave_no_page(arguments: list[str], status: int, text: str) -> None:
    result = CliRunner().invoke(main, ["explore", *arguments])
    assert result.exit_code == status, result.output
    assert text in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr
    assert not Path("p.html").exists()
