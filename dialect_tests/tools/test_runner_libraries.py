"""`mlir-sparse runner --shared-libs`: LLVM's libraries are taken where they are there, before what is ours."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
llvm.func @newSparseTensor() -> i32
llvm.func @main() -> i32 {
  %0 = llvm.call @newSparseTensor() : () -> i32
  llvm.return %0 : i32
}
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    return path


def _run(*arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-c", "from mlir_sparse.tools.cli import main; main()", "runner", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout + ran.stderr


def test_a_library_of_llvms_that_is_there_is_loaded(program: Path, tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("expected a C compiler to make a library")
    source, library = tmp_path / "l.c", tmp_path / "libmlir_c_runner_utils.so.99"
    source.write_text("int newSparseTensor(void) { return 42; }\n")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    status, said = _run("-e", "main", "--entry-point-result=i32", f"--shared-libs={library}", str(program))
    assert (status, said.strip()) == (0, "42")


def test_one_that_is_not_there_stands_for_ours_and_the_way_out_is_named(program: Path) -> None:
    status, said = _run(
        "-e", "main", "--entry-point-result=i32", "--shared-libs=libmlir_c_runner_utils.so", str(program)
    )
    assert status == 1
    assert "but got no newSparseTensor: give LLVM's libmlir_c_runner_utils.so to --shared-libs" in said
