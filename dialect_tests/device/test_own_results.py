"""Sparse results with a structure of their own on a device: what is launched, read and reserved, and what fails."""

from __future__ import annotations

import gc
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import mlir_sparse as ms
from dialect_tests.device.fake import ILLEGAL_ADDRESS, Gpu
from mlir_sparse import _cuda
from mlir_sparse.compile.gpu_kernel import GpuKernel
from mlir_sparse.device import Device, from_host
from mlir_sparse.tools.cli import main

SUM = "C(i,j) = A(i,j) + B(i,j)"


def matrices(rows: int, columns: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(rows + columns)
    found = (np.where(rng.random((rows, columns)) < 0.3, rng.integers(1, 5, (rows, columns)), 0) for _ in "AB")
    A, B = (one.astype(float) for one in found)
    return A, B


def on_device(*arrays: np.ndarray[Any, Any], storage: str = "CSR") -> list[Any]:
    return [ms.tensor(array, storage).to("cuda") for array in arrays]


def test_a_sum_is_counted_scanned_and_filled_with_one_number_read(gpu: Gpu, emulate: Any) -> None:
    plain = matrices(9, 7)
    A, B = on_device(*plain)
    add = emulate(SUM, A=A, B=B, out="CSR")
    for _ in range(2):
        gpu.driver.clear()
        C = add(A, B)
        launched = [call.split()[1] for call in gpu.driver.calls if call.startswith("cuLaunchKernel")]
        assert launched == ["kernel_count_thread", "kernel_sums", "kernel_begins", "kernel_fill_thread"]
        assert gpu.driver.names().count("cuMemcpyDtoHAsync") == 1
        assert not {"cuMemcpyHtoDAsync", "cuMemAlloc"} & set(gpu.driver.names())
        assert (C.nse, C.shape, C.device) == (np.count_nonzero(plain[0] + plain[1]), (9, 7), "cuda:0")
        assert np.array_equal(C.to_numpy(), plain[0] + plain[1])


def test_the_same_kernel_takes_other_shapes_and_its_own_results(gpu: Gpu, emulate: Any) -> None:
    A, B = on_device(*matrices(9, 7))
    add = emulate(SUM, A=A, B=B, out="CSR")
    C = add(A, B)
    twice = add(C, C)
    assert np.array_equal(twice.to_numpy(), 2 * C.to_numpy())
    for shape in ((0, 4), (4, 0), (40, 3)):
        plain = matrices(*shape)
        assert np.array_equal(add(*on_device(*plain)).to_numpy(), plain[0] + plain[1])
    empty = add(*on_device(np.zeros((5, 5)), np.zeros((5, 5))))
    assert (empty.nse, empty.storage.arrays[0].to_numpy().tolist()) == (0, [0] * 6)


@pytest.mark.parametrize(("storage", "out"), [("CSC", "CSC"), ("CSR", "COO"), ("CSR", "DCSR"), ("CSC", "DCSC")])
def test_other_storage(gpu: Gpu, emulate: Any, storage: str, out: str) -> None:
    plain = matrices(6, 8)
    A, B = on_device(*plain, storage=storage)
    C = emulate(SUM, A=A, B=B, out=out)(A, B)
    assert C.encoding.map_text() == ms.encoding(out, rank=2).map_text()
    assert np.array_equal(C.to("cpu").to_numpy(), plain[0] + plain[1])


def test_more_entries_than_positions_can_count_are_a_named_error(gpu: Gpu, emulate: Any) -> None:
    A, B = on_device(np.ones((20, 20)), np.ones((20, 20)))
    narrow = ms.encoding("CSR", rank=2).with_widths(8, 32).to_text()
    add = emulate(SUM, A=A, B=B, out=narrow)
    before = _cuda.live_allocations()
    with pytest.raises(ms.WidthError, match="expected positions of at most 255 for posWidth = 8, but got 400"):
        add(A, B)
    gc.collect()
    assert _cuda.live_allocations() == before
    small = on_device(np.eye(20), np.eye(20))
    assert np.array_equal(add(*small).to_numpy(), 2 * np.eye(20))


def test_failures_leave_nothing_reserved_and_the_device_usable(gpu: Gpu, emulate: Any) -> None:
    plain = matrices(9, 7)
    A, B = on_device(*plain)
    add = emulate(SUM, A=A, B=B, out="CSR")
    assert add(A, B).nse
    gc.collect()
    before = _cuda.live_allocations()
    # Counts, sums of parts and positions come first, then coordinates, then values.
    for after in range(5):
        gpu.driver.fail("cuMemAllocFromPoolAsync", ILLEGAL_ADDRESS, after)
        with pytest.raises(ms.DeviceError, match="cuMemAllocFromPoolAsync"):
            add(A, B)
        gc.collect()
        assert _cuda.live_allocations() == before
    for call in ("cuMemcpyDtoHAsync", "cuLaunchKernel", "cuStreamSynchronize"):
        gpu.driver.fail(call, ILLEGAL_ADDRESS)
        with pytest.raises(ms.DeviceError, match=call):
            add(A, B)
        gc.collect()
        assert _cuda.live_allocations() == before
    gpu.driver.fail("cuLaunchKernel", ILLEGAL_ADDRESS, 3)
    with pytest.raises(ms.DeviceError, match="cuLaunchKernel of kernel_fill_thread"):
        add(A, B)
    assert np.array_equal(add(A, B).to_numpy(), plain[0] + plain[1])


def test_a_result_larger_than_the_memory_is_refused_with_the_figures(gpu: Gpu, emulate: Any) -> None:
    gpu.configure(memory=80_000)
    A, B = on_device(np.ones((60, 40)), np.ones((60, 40)))
    add = emulate(SUM, A=A, B=B, out="CSR")
    with pytest.raises(ms.DeviceMemoryError, match=r"18\.8 KiB"):
        add(A, B)
    small = on_device(np.eye(3), np.eye(3))
    assert np.array_equal(add(*small).to_numpy(), 2 * np.eye(3))


def test_results_over_the_fibres_of_an_operand_share_its_levels(gpu: Gpu, emulate: Any) -> None:
    rng = np.random.default_rng(1)
    A, B = np.where(rng.random((5, 6, 7)) < 0.2, 2.0, 0), matrices(5, 6)[0]
    x = np.arange(7.0)
    rows = "(i, j, k) -> (i : dense, j : compressed, k : compressed)"
    a, (b,) = ms.tensor(A, rows).to("cuda"), on_device(B)
    there = from_host(x, Device(0))
    contract = emulate("C(i,j) = A(i,j,k) * x(k)", A=a, x=there, out="CSR")
    assert contract(a, there).shape == (5, 6)  # the longest fibre is read off A once
    gpu.driver.clear()
    C = contract(a, there)
    assert not {"cuMemcpyDtoHAsync", "cuStreamSynchronize"} & set(gpu.driver.names())
    assert [one.pointer for one in C.storage.arrays[:2]] == [one.pointer for one in a.storage.arrays[:2]]
    assert np.array_equal(C.to_numpy(), A @ x)
    assert C.nse == np.count_nonzero(A.any(axis=2))
    D = rng.integers(-3, 4, (7, 3)).astype(float)
    stored = "(i, j, l) -> (i : dense, j : compressed, l : dense)"
    products = emulate("C(i,j,l) = A(i,j,k) * D(k,l)", A=a, D=from_host(D, Device(0)), out=stored)
    for _ in range(2):
        assert np.array_equal(products(a, from_host(D, Device(0))).to_numpy(), A @ D)
    add = emulate("C(i,j) = A(i,j,k) * x(k) + B(i,j)", A=a, x=there, B=b, out="CSR")
    assert np.array_equal(add(A=a, x=there, B=b).to_numpy(), A @ x + B)


def test_the_command_line_verifies_sparse_results(gpu: Gpu, emulate: Any, tmp_path: Path) -> None:
    A, B = (ms.tensor(array, "CSR") for array in matrices(5, 4))
    emulate(SUM, A=A, B=B, out="CSR")
    arguments = ["run", SUM, "-f", "C:CSR", "--target", "cuda", "--verify"]
    for name, tensor in (("A", A), ("B", B)):
        ms.write(tmp_path / f"{name}.mtx", tensor)
        arguments += ["-i", f"{name}={tmp_path / name}.mtx", "-f", f"{name}:CSR"]
    run = CliRunner().invoke(main, arguments)
    assert run.exit_code == 0, run.output


def test_no_place_is_given_to_a_sparse_result(gpu: Gpu, emulate: Any) -> None:
    A, B = on_device(*matrices(4, 4))
    add = emulate(SUM, A=A, B=B, out="CSR")
    with pytest.raises(ms.OperandError, match="expected no out= for a result stored as"):
        add(A, B, out=from_host(np.zeros((4, 4)), Device(0)))


def test_a_pickled_kernel_makes_results_without_the_compiler(
    gpu: Gpu, emulate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = matrices(4, 4)
    A, B = on_device(*plain)
    copied = pickle.loads(pickle.dumps(emulate(SUM, A=A, B=B, out="CSR").compile_for(A, B)))
    monkeypatch.setattr(GpuKernel, "_build", None)
    assert np.array_equal(copied(A, B).to_numpy(), plain[0] + plain[1])
