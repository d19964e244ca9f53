"""Memory of a device: copies, sharing by DLPack and CUDA's interface, streams, failures, leaks."""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.device.fake import ILLEGAL_ADDRESS, Gpu, view
from mlir_sparse import _cuda, device
from mlir_sparse.device import Device, DeviceArray, Stream, as_device, current_stream, from_host, on_stream


def test_without_a_driver_everything_says_so() -> None:
    if device.available():
        pytest.skip("this machine has a driver")
    A = ms.tensor(np.eye(3))
    for call in (lambda: A.to("cuda"), device.count, lambda: Stream()):
        with pytest.raises(ms.DeviceError, match=r"no CUDA driver \(libcuda.so.1\) found"):
            call()


@pytest.mark.parametrize("dtype", [np.bool_, np.int64, np.float16, np.float32, np.complex128, ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (0, 4)])
def test_arrays_come_back_as_they_went(gpu: Gpu, dtype: Any, shape: tuple[int, ...]) -> None:
    host = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    there = from_host(host, Device(0))
    back = there.to_numpy()
    assert (there.shape, there.dtype, back.dtype) == (shape, host.dtype, host.dtype)
    assert np.array_equal(back, host)


def test_names_of_devices(gpu: Gpu) -> None:
    assert (str(device.device("cuda")), str(device.device("cuda:1")), device.count()) == ("cuda:0", "cuda:1", 2)
    assert device.chip_of(Device(0)) == "sm_90"
    with pytest.raises(ms.DeviceError, match="expected a device up to cuda:1, but got 'cuda:2'"):
        device.device("cuda:2")
    with pytest.raises(
        ms.UnsupportedError, match="expected a device such as 'cuda' or 'cuda:1', or 'cpu', but got 'gpu'"
    ):
        device.device("gpu")


def test_too_little_memory_is_refused_with_the_figures_and_the_device_stays_usable(gpu: Gpu) -> None:
    gpu.configure(memory=10 << 20)
    kept = from_host(np.zeros(4 << 20, np.int8), Device(0))
    with pytest.raises(
        ms.DeviceError, match="expected 8 MiB to fit in the memory of cuda:0, but got 6 MiB free of 10 MiB"
    ) as raised:
        from_host(np.zeros(8 << 20, np.int8), Device(0))
    assert "CUDA_ERROR_OUT_OF_MEMORY (2), out of memory" in str(raised.value)
    assert isinstance(raised.value, MemoryError)
    assert from_host(np.ones(3), Device(0)).to_numpy().tolist() == [1, 1, 1]
    assert kept.to_numpy().sum() == 0


def test_what_the_pool_holds_back_is_taken_before_memory_is_refused(gpu: Gpu) -> None:
    gpu.configure(memory=10 << 20)
    from_host(np.zeros(6 << 20, np.int8), Device(0))
    gpu.driver.clear()
    from_host(np.zeros(8 << 20, np.int8), Device(0))
    assert "cuMemPoolTrimTo" in gpu.driver.names()


def test_devices_without_pools_are_used_without(gpu: Gpu) -> None:
    gpu.configure(pools=False)
    from_host(np.ones(4), Device(0))
    assert {"cuMemAlloc", "cuMemFree"} <= set(gpu.driver.names())


def test_a_failed_call_is_named(gpu: Gpu) -> None:
    gpu.driver.fail("cuMemcpyHtoDAsync", ILLEGAL_ADDRESS)
    with pytest.raises(ms.DeviceError, match=r"cuMemcpyHtoDAsync of 32 B failed: CUDA_ERROR_ILLEGAL_ADDRESS \(700\)"):
        from_host(np.ones(4), Device(0))


def test_a_failure_where_memory_is_freed_is_raised_by_the_next_call(gpu: Gpu) -> None:
    array = from_host(np.ones(4), Device(0))
    gpu.driver.fail("cuCtxSynchronize", ILLEGAL_ADDRESS)
    array.share()
    pointer, stream = array.pointer, array._stream
    del array
    with pytest.raises(ms.DeviceError, match="cuCtxSynchronize failed: CUDA_ERROR_ILLEGAL_ADDRESS"):
        device.synchronize()
    ctypes.CDLL(gpu.driver.path).cuCtxPushCurrent_v2(ctypes.c_void_p(1))
    ctypes.CDLL(gpu.driver.path).cuMemFreeAsync(ctypes.c_uint64(pointer), ctypes.c_void_p(stream))
    ctypes.CDLL(gpu.driver.path).cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))


def test_the_thread_keeps_the_context_that_another_library_made_current(gpu: Gpu) -> None:
    from_host(np.ones(4), Device(1)).to_numpy()
    assert gpu.driver.loaded.fake_alive(4) == 0  # as many pops as pushes


def test_copies_between_devices(gpu: Gpu) -> None:
    array = from_host(np.arange(4.0), Device(0))
    moved = array.to("cuda:1")
    assert isinstance(moved, DeviceArray)
    assert (str(moved.device), moved.to_numpy().tolist()) == ("cuda:1", [0, 1, 2, 3])
    assert "cuMemcpyPeerAsync" in gpu.driver.names()
    assert array.to("cuda:0") is array


def test_numpy_is_refused(gpu: Gpu) -> None:
    with pytest.raises(
        ms.OperandError, match=r"expected an array in host memory, but got one on cuda:0: pass x.to_numpy\(\)"
    ):
        np.asarray(from_host(np.ones(4), Device(0)))


class Foreign:
    """An array of another library over the same memory, by DLPack or CUDA's interface."""

    def __init__(self, array: DeviceArray, *, dlpack: bool, strides: tuple[int, ...] | None = None) -> None:
        self.array, self.strides = array, strides
        self.streams: list[int | None] = []
        if dlpack:
            self.__class__ = ForeignByDLPack

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {**self.array.__cuda_array_interface__, "strides": self.strides}


class ForeignByDLPack(Foreign):
    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()

    def __dlpack__(self, *, stream: int | None = None, max_version: Any = None) -> Any:
        self.streams.append(stream)
        return self.array.__dlpack__(stream=stream, max_version=max_version)


@pytest.mark.parametrize("dlpack", [True, False])
def test_arrays_of_other_libraries_are_taken_as_they_are(gpu: Gpu, dlpack: bool) -> None:
    ours = from_host(np.arange(6, dtype=np.float32).reshape(2, 3), Device(1))
    taken = as_device("x", Foreign(ours, dlpack=dlpack))
    assert (taken.pointer, taken.shape, taken.dtype) == (ours.pointer, (2, 3), np.dtype(np.float32))
    assert taken.is_shared
    if dlpack:
        assert taken.device == ours.device


def test_memory_lives_as_long_as_another_library_holds_it(gpu: Gpu) -> None:
    ours = from_host(np.arange(4.0), Device(0))
    taken = as_device("x", Foreign(ours, dlpack=True))
    pointer = ours.pointer
    del ours
    gc.collect()
    assert view(pointer, (4,), float).tolist() == [0, 1, 2, 3]
    assert _cuda.live_allocations() == 1
    del taken
    gc.collect()
    assert _cuda.live_allocations() == 0


def test_a_capsule_that_nobody_took_frees_what_it_holds(gpu: Gpu) -> None:
    from_host(np.ones(4), Device(0)).__dlpack__()
    from_host(np.ones(4), Device(0)).__dlpack__(max_version=(1, 0))
    gc.collect()
    assert _cuda.live_allocations() == 0


def test_half_precision_of_the_other_kind_goes_by_dlpack(gpu: Gpu) -> None:
    ours = from_host(np.arange(4).astype(ml_dtypes.bfloat16), Device(0))
    assert as_device("x", Foreign(ours, dlpack=True)).dtype == ml_dtypes.bfloat16
    assert not hasattr(ours, "__cuda_array_interface__")


def test_strided_memory_is_refused(gpu: Gpu) -> None:
    ours = from_host(np.arange(6.0).reshape(2, 3), Device(0))
    with pytest.raises(ms.OperandError, match=r"expected x in C order, but got shape \(2, 3\) with strides \(8, 16\)"):
        as_device("x", Foreign(ours, dlpack=False, strides=(8, 16)))


def test_arrays_in_host_memory_are_refused(gpu: Gpu) -> None:
    with pytest.raises(
        ms.OperandError, match=r"expected x on a device, but got ndarray in host memory: pass ms.to_device"
    ):
        as_device("x", np.ones(3))


def test_work_on_another_stream_waits_and_memory_is_freed_after_both(gpu: Gpu) -> None:
    array, stream = from_host(np.ones(4), Device(0)), Stream("cuda:0")
    gpu.driver.clear()
    with on_stream(stream):
        assert current_stream() == stream.handle
        array.use()
    assert current_stream() == 0
    assert gpu.driver.calls == ["cuEventRecord on (nil)", f"cuStreamWaitEvent on {stream.handle:#x}"]
    del array
    assert gpu.driver.names()[2:] == ["cuCtxSynchronize", "cuMemFreeAsync"]


def test_streams_of_other_libraries_are_taken_by_their_handles(gpu: Gpu) -> None:
    class Torch:
        cuda_stream = 0x70

    class CuPy:
        ptr = 0x80

    for stream, handle in ((Torch(), 0x70), (CuPy(), 0x80), (0x90, 0x90)):
        with on_stream(stream):
            assert current_stream() == handle
    with pytest.raises(ms.OperandError, match="expected a stream of CUDA, but got str"), on_stream("x"):
        pass


def test_consumers_on_another_stream_are_ordered_behind_ours(gpu: Gpu) -> None:
    array = from_host(np.ones(4), Device(0))
    gpu.driver.clear()
    array.__dlpack__(stream=0x60)
    assert gpu.driver.calls == ["cuEventRecord on (nil)", "cuStreamWaitEvent on 0x60"]
    gpu.driver.clear()
    array.__dlpack__(stream=-1)
    assert "cuEventRecord" not in gpu.driver.names()
