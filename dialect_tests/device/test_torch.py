"""Tensors of PyTorch on a device, taken as they are; their class is stood in for where PyTorch has no CUDA."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.device.fake import Gpu
from mlir_sparse.device import Device, as_device, from_host

STREAM = 0x40


class Tensor:
    """What is asked of a tensor, over memory of a stand-in's device."""

    def __init__(self, array: ms.DeviceArray, **changed: Any) -> None:
        self.array, self.shape, self.dtype = array, array.shape, f"torch.{array.dtype.name}"
        self.device = types.SimpleNamespace(type="cuda", index=array.device.number)
        self.requires_grad, self.layout, self.ndim = False, "torch.strided", array.ndim
        self.conjugate, self.contiguous = False, True
        self.__dict__.update(changed)

    def data_ptr(self) -> int:
        return self.array.pointer

    def is_conj(self) -> bool:
        return self.conjugate

    def is_neg(self) -> bool:
        return False

    def is_contiguous(self) -> bool:
        return self.contiguous

    def stride(self) -> tuple[int, ...]:
        return (1, *self.shape[:-1])

    def dense_dim(self) -> int:
        return 0


class Rows(Tensor):
    """A tensor in PyTorch's layouts by rows or columns."""

    def __init__(self, layout: str, tensor: ms.DeviceTensor, block: tuple[int, int] | None = None) -> None:
        positions, coordinates, values = tensor._arrays
        super().__init__(values, layout=f"torch.sparse_{layout}", shape=tensor.shape, ndim=2)
        self._positions, self._coordinates = Tensor(positions), Tensor(coordinates)
        self._values = Tensor(values if block is None else values.reshape(values.size // (block[0] * block[1]), *block))

    def crow_indices(self) -> Tensor:
        return self._positions

    ccol_indices = crow_indices

    def col_indices(self) -> Tensor:
        return self._coordinates

    row_indices = col_indices

    def values(self) -> Tensor:
        return self._values


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Tensor]:
    module: Any = types.ModuleType("torch")
    module.Tensor = Tensor
    module.sparse = types.SimpleNamespace()
    module.cuda = types.SimpleNamespace(current_stream=lambda number: types.SimpleNamespace(cuda_stream=STREAM))
    monkeypatch.setitem(sys.modules, "torch", module)
    return Tensor


def test_the_memory_is_shared_and_ordered_behind_the_stream_of_pytorch(gpu: Gpu, torch: Any) -> None:
    ours = from_host(np.arange(6, dtype=np.float32).reshape(2, 3), Device(1))
    gpu.driver.clear()
    taken = as_device("x", torch(ours))
    assert (taken.pointer, taken.shape, taken.dtype, taken.device) == (ours.pointer, (2, 3), ours.dtype, Device(1))
    assert gpu.driver.calls == [f"cuEventRecord on {STREAM:#x}", "cuStreamWaitEvent on (nil)"]


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        ({"requires_grad": True}, "expected x without gradients"),
        ({"conjugate": True}, "expected x as it is stored, but got a conjugate view"),
        ({"contiguous": False}, r"expected x in C order, but got shape \(2, 3\) with strides \(1, 2\)"),
        ({"dtype": "torch.float8_e5m2fnuz"}, r"float8_e5m2fnuz.* \(operand x\)"),
    ],
)
def test_what_kernels_do_not_read_is_refused(gpu: Gpu, torch: Any, changed: dict[str, Any], rule: str) -> None:
    with pytest.raises(ms.SparseError, match=rule):
        as_device("x", torch(from_host(np.ones((2, 3)), Device(0)), **changed))


def test_half_precision(gpu: Gpu, torch: Any) -> None:
    for name in ("f16", "bf16"):
        array = from_host(np.ones(3).astype(ms.DType(name).numpy), Device(0))
        assert as_device("x", torch(array)).dtype == ms.DType(name).numpy


@pytest.mark.parametrize(
    ("layout", "preset", "block"),
    [("csr", "CSR", None), ("csc", "CSC", None), ("bsr", "BSR(2, 4)", (2, 4)), ("bsc", "BSC(2, 4)", (2, 4))],
)
def test_sparse_tensors_become_ours_over_the_same_memory(
    gpu: Gpu, torch: Any, layout: str, preset: str, block: tuple[int, int] | None
) -> None:
    dense = np.where(np.arange(48).reshape(6, 8) % 5 == 0, 1.5, 0)
    there = ms.tensor(dense, preset).to("cuda")
    taken = ms.to_device(Rows(layout, there, block))
    assert isinstance(taken, ms.DeviceTensor)
    assert taken.storage.values.pointer == there.storage.values.pointer
    assert np.array_equal(taken.to_numpy(), dense)


def test_a_kernel_takes_tensors_of_pytorch(gpu: Gpu, torch: Any) -> None:
    A, x = ms.tensor(np.diag([1.0, 2, 3])).to("cuda"), from_host(np.ones(3), Device(0))
    y = ms.evaluate("y(i) = A(i,j) * x(j)", A=Rows("csr", A), x=torch(x), target="cuda", via="library")
    assert y.to_numpy().tolist() == [1, 2, 3]
