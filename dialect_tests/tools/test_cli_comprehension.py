"""Comprehensions and ranges on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.tools.test_cli import MATRIX, refused, run

MV = "def mv(double(M,K) A, double(K) x) -> (C) { C(i) = 0  C(i) += A(i,k) * x(k) }"
POOL = "def pool(float(B,H) in) -> (out) { out(b,i) max=! in(b, 2*i + k) where k in 0:2 }"


@pytest.fixture
def matrix(tmp_path: Path) -> str:
    path = tmp_path / "a.mtx"
    path.write_text(MATRIX)
    return str(path)


def test_emit_prints_every_statement() -> None:
    printed = run("emit", MV, "-f", "A:CSR").stdout
    assert printed.startswith("// C(i) = 0\n#map")
    assert "// -----\n// C(i) += A(i,k) * x(k)\n#map" in printed
    assert "#sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>" in printed


def test_emit_takes_ranges() -> None:
    assert "affine_map<(d0, d1) -> (d0 * 2 + d1)>" in run("emit", "y(i) = x(2*i + k) where k in 0:2").stdout
    assert "affine_map<(d0) -> (d0 + 1)>" in run("emit", "y = x(i) where i in 1:3").stdout


def test_run_computes_and_checks_every_statement(matrix: str, tmp_path: Path) -> None:
    out = tmp_path / "c.ttx"
    options = ("-f", "A:CSR", "-i", f"A={matrix}", "-g", "x=arange", "-o", f"C={out}", "--verify", "--time", "2")
    report = run("run", MV, *options).stdout
    assert "C       f64[4] dense, 32 B" in report
    assert "check 1 passed: 4 values against NumPy, all equal" in report
    assert "check 2 passed: 4 values against NumPy, all equal" in report
    np.testing.assert_array_equal(ms.read(out, "dense").to_numpy(), [0.0, -4.0, 0.25, 16.0])


def test_run_takes_declared_types_and_sizes() -> None:
    report = run("run", POOL, "-s", "in=3x8", "-g", "in=random:seed=1", "--verify").stdout
    assert "in      f32[3,8] dense, 96 B" in report
    assert "out     f32[3,4] dense, 48 B" in report
    text = "def f(float(M,K) A, float(K,N) B) -> (C, D) { C(i,j) +=! A(i,k) * B(k,j)  D(i) +=! C(i,j) }"
    report = run("run", text, "-s", "A=3x2", "-s", "B=?x4", "-g", "A=ones", "-g", "B=ones", "-f", "C:CSR").stdout
    assert "C       f32[3,4] CSR, 12 entries" in report
    assert "D       f32[3] dense, 12 B" in report


def test_run_takes_ranges() -> None:
    report = run("run", "y(i) max=! x(2*i + k) where k in 0:3", "-s", "x=9", "-g", "x=random", "--verify").stdout
    assert "y       f64[4] dense" in report
    assert "check 1 passed" in report


def test_mistakes_are_one_message() -> None:
    assert "comprehension:1:7: expected one of the element types" in refused("emit", "def f(real x) -> (y) { y = x }")
    assert "expected -f to name one of A, x, C, but got 'B'" in refused("emit", MV, "-f", "B:CSR")
    assert "expected A of f64, as declared, but got f32" in refused("emit", MV, "-t", "A:f32")
    assert "expected the sizes M, K of 'A', but got none" in refused("run", MV, "-g", "A=ones", "-g", "x=ones")
    assert "expected -o to name the target 'C', but got 'x'" in refused(
        "run", MV, "-s", "A=2x2", "-g", "A=ones", "-g", "x=ones", "-o", "x=x.ttx"
    )
    assert "expected a range for index i" in refused(
        "run", "def f(float(N) x) -> (y) { y(i) = x(i + k) }", "-s", "x=4", "-g", "x=ones"
    )
