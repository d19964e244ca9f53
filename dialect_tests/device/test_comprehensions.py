"""Several statements on a device: what they hand over stays there, and what no kernel of a GPU does is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.conditions import LLVMLITE
from dialect_tests.device.fake import Gpu, launches_of
from mlir_sparse.device import Device, from_host

RNG = np.random.default_rng(3)
A = np.where(RNG.random((9, 7)) < 0.4, RNG.integers(1, 5, (9, 7)), 0).astype(float)
B = np.where(RNG.random((9, 7)) < 0.4, RNG.integers(1, 5, (9, 7)), 0).astype(float)
x = RNG.integers(1, 5, 7).astype(float)

SUM_AND_PRODUCT = """
def f(f64(M,N) A, f64(M,N) B, f64(N) x) -> (C, y) {
    C(i,j) = A(i,j) + B(i,j)
    y(i) +=! C(i,j) * x(j)
}
"""


def emulated(gpu: Gpu, kernel: Any) -> None:
    """Lets the stand-in run the kernels of all statements, whose names must differ."""
    pytest.importorskip("llvmlite", reason=LLVMLITE)
    from dialect_tests.gpu.emulator import Emulated

    seen: set[str] = set()
    for statement in kernel.kernels:
        build = statement._declared
        runs = Emulated(build.llvm_ir)
        for one in launches_of(build.launches):
            assert one.kernel not in seen
            gpu.kernel(
                one.kernel,
                lambda grid, block, slots, name=one.kernel, runs=runs: runs.launch(name, grid, block, slots),
                len(one.parameters),
            )
        seen |= {one.kernel for one in launches_of(build.launches)}


def test_a_sparse_result_is_read_by_the_next_statement(gpu: Gpu) -> None:
    operands = [ms.tensor(A, "CSR").to("cuda"), ms.tensor(B, "CSR").to("cuda"), from_host(x, Device(0))]
    types = {"A": operands[0].type, "B": operands[1].type, "x": "f64[?]"}
    kernel = ms.compile(SUM_AND_PRODUCT, tensors=types, out={"C": "CSR"}, target="cuda")
    emulated(gpu, kernel)
    for _ in range(2):
        gpu.driver.clear()
        C, y = kernel(*operands)
        assert not {"cuMemcpyHtoDAsync", "cuMemAlloc"} & set(gpu.driver.names())
        assert np.array_equal(C.to_numpy(), A + B)
        assert np.array_equal(y.to_numpy(), (A + B) @ x)
    room = from_host(np.zeros(9), Device(0))
    C, y = kernel(*operands, out={"y": room})
    assert y is room
    assert np.array_equal(room.to_numpy(), (A + B) @ x)


def test_what_needs_parts_or_numbers_of_a_device_is_refused(gpu: Gpu) -> None:
    with pytest.raises(ms.UnsupportedError, match="expected statements over whole tensors, for a GPU"):
        ms.compile("y(i) = z(i + 1) where i in 2:5", z="f64[?]", target="cuda")
    text = "def f(f64(N) x, i32 s) -> (y) { y(i) = x(i + s) }"
    with pytest.raises(ms.UnsupportedError, match="do not depend on what lies on a device, but got s"):
        ms.compile(text, target="cuda")
    kernel = ms.compile("def f(f64(N) x, f64(K) w) -> (y) { y(i) +=! x(i + k) * w(k) }", target="cuda")
    assert "gpu.func" in kernel.ir()
    with pytest.raises(ms.OperandError, match="host memory"):
        kernel(np.zeros(7), np.zeros(3))
    for text in ("y = 1", "def f() -> (y) { y = 1 }"):
        with pytest.raises(ms.OperandError, match="says which device, but got none"):
            ms.compile(text, target="cuda")()


def test_it_is_evaluated_where_its_operands_lie(gpu: Gpu) -> None:
    operands = {"A": ms.tensor(A, "CSR"), "B": ms.tensor(B, "CSR"), "x": x}
    types = {name: ms.tensor(one, "CSR").to("cuda").type for name, one in (("A", A), ("B", B))}
    emulated(gpu, ms.compile(SUM_AND_PRODUCT, tensors={**types, "x": "f64[?]"}, out={"C": "CSR"}, target="cuda"))
    there = {"A": operands["A"].to("cuda"), "B": operands["B"].to("cuda"), "x": from_host(x, Device(0))}
    C, y = ms.evaluate(SUM_AND_PRODUCT, tensors=there, out={"C": "CSR"}, target="cuda")
    assert isinstance(C, ms.DeviceTensor)
    assert np.array_equal(y.to_numpy(), (A + B) @ x)


def test_without_a_driver_that_is_what_is_said() -> None:
    kernel = ms.compile(SUM_AND_PRODUCT, A="f64[?,?] CSR", B="f64[?,?] CSR", out={"C": "CSR"}, target="cuda:sm_90")
    assert kernel.explain().count("runs on: cuda:sm_90") == 2
    assert ".visible .entry" in kernel.ir("ptx")
    if not ms.device.available():
        with pytest.raises(ms.DeviceError):
            kernel(A, B, x)
