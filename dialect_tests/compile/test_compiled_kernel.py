"""What all compiled kernels have in common, and what some refuse by name."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.compile import CompiledKernel
from mlir_sparse.compile.gpu_kernel import GpuKernel

TYPES = {"A": "f64[?,?] CSR", "x": "f64[?]"}
SPMV = "y(i) = A(i,j) * x(j)"
KERNELS = {
    "cpu": lambda: ms.compile(SPMV, **TYPES),
    "gpu": lambda: ms.compile(SPMV, target="cuda:sm_90", **TYPES),
    "comprehension": lambda: ms.compile("def f(float(N) x) -> (y) { y(i) = 2 * x(i) }"),
}


@pytest.mark.parametrize("kind", KERNELS)
def test_every_kernel_is_asked_alike(kind: str) -> None:
    kernel = KERNELS[kind]()
    assert isinstance(kernel, CompiledKernel)
    assert str(kernel.output) in ("f64[?]", "f32[?]")
    assert "x" in kernel.explain()
    assert kernel.ir("notation").strip()


@pytest.mark.parametrize("kind", ["gpu", "comprehension"])
def test_what_a_kernel_cannot_do_is_refused_by_name(kind: str, tmp_path: Path) -> None:
    kernel, x = KERNELS[kind](), np.ones(3, np.float32)
    for ask in (lambda: kernel.assemble(x), lambda: kernel.compute(x, out=x), lambda: kernel.save(tmp_path / "k.msk")):
        with pytest.raises(ms.UnsupportedError, match=r"expected (a|one) kernel"):
            ask()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", [ms.Kernel, ms.ComprehensionKernel, GpuKernel])
def test_public_methods_are_those_of_every_kernel_or_documented(kind: type[CompiledKernel]) -> None:
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        assert name.startswith("_") or (inspect.getdoc(method) or "").strip(), name


def test_strategies_are_asked_of_the_processor_alone() -> None:
    assert "fuse-fill" in {remark.strategy for remark in KERNELS["cpu"]().remarks()}
    several = ms.compile("def f(float(M,K) A, float(K) x) -> (y) { y(i) +=! A(i,k) * x(k) }", A="f32[?,?] CSR")
    assert several.remarks() == tuple(remark for one in several.kernels for remark in one.remarks())
    with pytest.raises(ms.UnsupportedError, match="expected a kernel for target='cpu' to have strategies"):
        KERNELS["gpu"]().remarks()
