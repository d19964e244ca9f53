"""Sparse tensors on a device: there and back in every format, shared buffers, borders, mistakes."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.conditions import TORCH
from dialect_tests.device.fake import Gpu, view
from mlir_sparse import _cuda
from mlir_sparse.device import Device, from_host

PRESETS = ["CSR", "CSC", "COO", "SoA-COO", "DCSR", "BSR(2, 2)", "ELL", "DIA", "NV_24", "SparseVector"]


def dense_of(preset: str, dtype: Any = np.float64) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(len(preset))
    if preset == "SparseVector":
        return np.where(rng.random(9) < 0.4, rng.random(9), 0).astype(dtype)
    dense = np.where(rng.random((6, 8)) < 0.3, rng.random((6, 8)), 0).astype(dtype)
    return dense * np.tile([1, 0, 1, 0], (6, 2)) if preset == "NV_24" else dense


@pytest.mark.parametrize("preset", PRESETS)
def test_tensors_go_there_and_back(gpu: Gpu, preset: str) -> None:
    dense = dense_of(preset)
    A = ms.tensor(dense, preset)
    there = A.to("cuda:1")
    back = there.to("cpu")
    assert (A.device, there.device, there.nse, there.shape) == ("cpu", "cuda:1", A.nse, A.shape)
    assert back.encoding == A.encoding == there.encoding
    assert np.array_equal(back.to_numpy(), dense)
    for one, other in zip(A.storage.buffers(), back.storage.buffers(), strict=True):
        assert np.array_equal(one, other)
    assert there.to("cuda:1") is there
    assert np.array_equal(there.to("cuda:0").to_numpy(), dense)


def test_buffers_are_copied_once_and_no_more(gpu: Gpu) -> None:
    A = ms.tensor(dense_of("CSR"))
    there = A.to("cuda")
    assert gpu.driver.names().count("cuMemcpyHtoDAsync") == 3
    assert there.nbytes == A.nbytes
    assert there.to("cuda") is there
    assert gpu.driver.names().count("cuMemcpyHtoDAsync") == 3
    assert repr(there).startswith(
        "DeviceTensor(f64[6, 8] (i, j) -> (i : dense, j : compressed), 15 entries, 208 B on cuda:0)"
    )


def test_a_tensor_that_does_not_fit_leaves_nothing_behind(gpu: Gpu) -> None:
    gpu.configure(memory=3 << 20)
    A = ms.tensor((np.arange(200_000)[None], np.ones(200_000)), "SparseVector", shape=(200_000,))
    with pytest.raises(ms.DeviceMemoryError, match=r"expected 1.53 MiB to fit in the memory of cuda:0, but got"):
        [A.to("cuda"), A.to("cuda")]
    assert _cuda.live_allocations() == 0


def test_the_host_does_not_read_it_by_itself(gpu: Gpu) -> None:
    A = ms.tensor(dense_of("CSR")).to("cuda")
    with pytest.raises(
        ms.OperandError, match=r'expected a tensor in host memory, but got one on cuda:0: pass A.to\("cpu"\)'
    ):
        np.asarray(A)
    with pytest.raises(ms.OperandError, match=r"for A, but got DeviceTensor on cuda:0: pass x.to\('cpu'\)"):
        ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=np.ones(8))


def test_slices_are_refused(gpu: Gpu) -> None:
    part = ms.tensor(dense_of("CSR")).slice(slice(0, 3), slice(0, 4))
    with pytest.raises(ms.OperandError, match="expected a whole tensor, but got a slice"):
        part.to("cuda")


def levels_of(A: ms.SparseTensor, device: int = 0) -> tuple[list[Any], list[Any], Any]:
    there = [
        [None if a is None else from_host(a, Device(device)) for a in arrays]
        for arrays in (A.storage.positions, A.storage.coordinates)
    ]
    return there[0], there[1], from_host(A.storage.values, Device(device))


@pytest.mark.parametrize("preset", ["CSR", "CSC", "SoA-COO", "BSR(2, 2)"])
def test_arrays_on_a_device_become_a_tensor_over_them(gpu: Gpu, preset: str) -> None:
    A = ms.tensor(dense_of(preset), preset)
    positions, coordinates, values = levels_of(A)
    there = ms.DeviceTensor.from_levels(preset, A.shape, positions, coordinates, values)
    assert there.storage.values.pointer == values.pointer
    assert (there.encoding, there.nse) == (A.encoding, A.nse)
    assert np.array_equal(there.to_numpy(), A.to_numpy())


def test_wrong_structure_is_found_on_a_device_too(gpu: Gpu) -> None:
    A = ms.tensor(dense_of("CSR"))
    positions, coordinates, values = levels_of(A)
    wrong = from_host(np.full(A.nse, 99, np.int32), Device(0))
    with pytest.raises(ms.CoordinatesError, match=r"99"):
        ms.DeviceTensor.from_levels("CSR", A.shape, positions, [None, wrong], values)
    with pytest.raises(ms.StorageError, match=r"expected positions for level 1 of .*, but got None"):
        ms.DeviceTensor.from_levels("CSR", A.shape, [None, None], coordinates, values)
    with pytest.raises(ms.OperandError, match=r"expected positions\[1\] on a device, but got ndarray in host memory"):
        ms.DeviceTensor.from_levels("CSR", A.shape, A.storage.positions, coordinates, values)
    unchecked = ms.DeviceTensor.from_levels("CSR", A.shape, positions, coordinates, values, check=False)
    assert unchecked.nse == A.nse


def test_tensors_on_two_devices_are_refused(gpu: Gpu) -> None:
    A = ms.tensor(dense_of("CSR"))
    positions, coordinates, _ = levels_of(A)
    elsewhere = from_host(A.storage.values, Device(1))
    with pytest.raises(
        ms.OperandError, match="expected all operands on one device, but got 0 on cuda:0 and 2 on cuda:1"
    ):
        ms.DeviceTensor.from_levels("CSR", A.shape, positions, coordinates, elsewhere)


def test_dense_arrays_go_by_the_same_name(gpu: Gpu) -> None:
    x = ms.to_device(np.arange(3, dtype=np.float32))
    assert isinstance(x, ms.DeviceArray)
    assert x.to_numpy().tolist() == [0, 1, 2]
    assert ms.to_device(x) is x


class CuPyMatrix:
    """What CuPy's sparse matrices have, over arrays of ours."""

    __module__ = "cupyx.scipy.sparse._csr"
    has_canonical_format = True

    def __init__(self, format: str, shape: tuple[int, int], **arrays: Any) -> None:
        self.format, self.shape = format, shape
        self.__dict__.update(arrays)
        self.nnz = arrays["data"].size

    def get(self) -> None:
        raise AssertionError("copied to the host")


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts the few functions of CuPy in place that are called: arrays there are ours."""
    module, sparse = types.ModuleType("cupy"), types.ModuleType("cupyx.scipy.sparse")
    module.from_dlpack = lambda array: array  # type: ignore[attr-defined]
    module.asarray = lambda array, dtype: from_host(np.asarray(array, dtype), Device(0))  # type: ignore[attr-defined]
    for name in ("csr", "csc"):
        setattr(
            sparse,
            f"{name}_matrix",
            lambda parts, shape, name=name: CuPyMatrix(name, shape, data=parts[0], indices=parts[1], indptr=parts[2]),
        )
    sparse.coo_matrix = lambda parts, shape: CuPyMatrix("coo", shape, data=parts[0], row=parts[1][0], col=parts[1][1])  # type: ignore[attr-defined]
    for name, made in (("cupy", module), ("cupyx.scipy.sparse", sparse)):
        monkeypatch.setitem(sys.modules, name, made)


@pytest.mark.usefixtures("cupy")
@pytest.mark.parametrize("preset", ["CSR", "CSC", "SoA-COO"])
def test_matrices_of_cupy_share_memory_both_ways(gpu: Gpu, preset: str) -> None:
    A = ms.tensor(dense_of(preset), preset)
    there = A.to("cuda")
    matrix = there.to_cupy()
    assert matrix.data.pointer == there.storage.values.pointer
    back = ms.to_device(matrix)
    assert isinstance(back, ms.DeviceTensor)
    assert back.storage.values.pointer == there.storage.values.pointer
    assert back.encoding == A.encoding
    assert np.array_equal(back.to_numpy(), A.to_numpy())


@pytest.mark.usefixtures("cupy")
def test_what_cupy_does_not_have_is_refused(gpu: Gpu) -> None:
    for preset, dtype in (("DIA", np.float64), ("CSR", np.int64)):
        with pytest.raises(ms.UnsupportedError, match="expected csr, csc or coo of f32, f64, c64 or c128 for CuPy"):
            ms.tensor(dense_of(preset).astype(dtype), preset).to("cuda").to_cupy()
    ragged = CuPyMatrix("dia", (2, 2), data=np.ones(2))
    with pytest.raises(ms.UnsupportedError, match="expected csr, csc or coo of CuPy, but got dia"):
        ms.to_device(ragged)


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state")
@pytest.mark.parametrize("preset", ["CSR", "CSC", "BSR(2, 2)", "SoA-COO"])
def test_tensors_of_pytorch_share_memory(gpu: Gpu, preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason=TORCH)
    # The memory of a stand-in's device is the host's, as which a PyTorch without CUDA can view it.
    on_host = lambda array: torch.from_numpy(view(array.pointer, array.shape, array.dtype))  # noqa: E731
    monkeypatch.setattr(torch, "from_dlpack", on_host)
    A = ms.tensor(dense_of(preset), preset)
    there = A.to("cuda")
    made = there.to_torch()
    assert np.array_equal(made.to_dense().numpy(), A.to_numpy())
    values = made._values() if preset == "SoA-COO" else made.values()
    assert values.data_ptr() == there.storage.values.pointer


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state")
def test_tensors_of_pytorch_in_host_memory_are_copied(gpu: Gpu) -> None:
    torch = pytest.importorskip("torch", reason=TORCH)
    there = ms.to_device(torch.eye(3).to_sparse_csr())
    assert isinstance(there, ms.DeviceTensor)
    assert (there.device, there.nse) == ("cuda:0", 3)
    assert ms.to_device(torch.ones(2, 2)).shape == (2, 2)
