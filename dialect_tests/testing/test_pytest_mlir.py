"""Files of MLIR with RUN lines as tests of pytest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mlir_sparse.testing.lit import write_suite

PASSES = "// RUN: mlir-sparse opt %s | FileCheck %s\n// CHECK: func.func @f\nfunc.func @f() { return }\n"
FILES = {
    "passes.mlir": PASSES,
    "fails.mlir": PASSES.replace("CHECK: func.func @f", "CHECK: func.func @g"),
    "needs.mlir": f"// REQUIRES: a-machine-of-the-moon\n{PASSES}",
    "expected.mlir": "// XFAIL: *\n" + PASSES.replace("CHECK: func.func @f", "CHECK: func.func @g"),
    "plain.mlir": "func.func @f() { return }\n",
    "shell.test": "RUN: mlir-sparse --version | FileCheck %s\nCHECK: version\n",
}


def _ran(folder: Path, *options: str) -> str:
    command = [sys.executable, "-m", "pytest", "-p", "mlir_sparse.testing.pytest_mlir", "-p", "no:cacheprovider", "-rA"]
    ran = subprocess.run([*command, *options, str(folder)], capture_output=True, text=True, cwd=folder, check=False)
    return ran.stdout + ran.stderr


def test_files_with_run_lines_are_tests(tmp_path: Path) -> None:
    pytest.importorskip("lit", reason="expected the package lit")
    write_suite(tmp_path)
    (tmp_path / "spmv.mlir").unlink()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    said = _ran(tmp_path)
    assert "2 passed" in said, said
    assert "1 failed" in said
    assert "1 skipped" in said
    assert "1 xfailed" in said
    assert "a-machine-of-the-moon" in said
    assert "CHECK: func.func @g" in said  # what FileCheck did not find
    assert "plain.mlir" not in said


def test_without_a_configuration_the_way_out_is_named(tmp_path: Path) -> None:
    pytest.importorskip("lit", reason="expected the package lit")
    (tmp_path / "passes.mlir").write_text(PASSES)
    said = _ran(tmp_path)
    assert f"mlir-sparse lit-init {tmp_path}" in said
    assert "def runtest" not in said  # no traceback
