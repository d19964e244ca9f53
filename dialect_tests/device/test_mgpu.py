"""The functions that MLIR's GPU lowerings call: from C, and from host code that `gpu-to-llvm` made."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.device.fake import OUT_OF_MEMORY, Gpu, view
from mlir_sparse import _cuda
from mlir_sparse._mlir import bindings, mlir_context, parse_module

POINTER, INDEX, WORD, BYTES = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32, ctypes.c_size_t
F64, INDEX32 = 1, 2
# (result, arguments) as the lowerings declare them.
SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "mgpuStreamCreate": (POINTER, ()),
    "mgpuStreamDestroy": (None, (POINTER,)),
    "mgpuStreamSynchronize": (None, (POINTER,)),
    "mgpuStreamWaitEvent": (None, (POINTER, POINTER)),
    "mgpuEventCreate": (POINTER, ()),
    "mgpuEventRecord": (None, (POINTER, POINTER)),
    "mgpuEventSynchronize": (None, (POINTER,)),
    "mgpuEventDestroy": (None, (POINTER,)),
    "mgpuMemAlloc": (POINTER, (ctypes.c_uint64, POINTER, ctypes.c_bool)),
    "mgpuMemFree": (None, (POINTER, POINTER)),
    "mgpuMemcpy": (None, (POINTER, POINTER, BYTES, POINTER)),
    "mgpuMemset32": (None, (POINTER, ctypes.c_uint, BYTES, POINTER)),
    "mgpuModuleLoad": (POINTER, (POINTER, BYTES)),
    "mgpuModuleLoadJIT": (POINTER, (POINTER, ctypes.c_int, BYTES)),
    "mgpuModuleUnload": (None, (POINTER,)),
    "mgpuModuleGetFunction": (POINTER, (POINTER, ctypes.c_char_p)),
    "mgpuLaunchKernel": (None, (POINTER, *[INDEX] * 6, WORD, POINTER, POINTER, POINTER, BYTES)),
    "mgpuCreateCsr": (POINTER, (*[INDEX] * 3, *[POINTER] * 3, *[WORD] * 3, POINTER)),
    "mgpuCreateCsc": (POINTER, (*[INDEX] * 3, *[POINTER] * 3, *[WORD] * 3, POINTER)),
    "mgpuCreateCoo": (POINTER, (*[INDEX] * 3, *[POINTER] * 3, *[WORD] * 2, POINTER)),
    "mgpuCreateBsr": (POINTER, (*[INDEX] * 5, *[POINTER] * 3, *[WORD] * 3, POINTER)),
    "mgpuDestroySpMat": (None, (POINTER, POINTER)),
    "mgpuCreateDnVec": (POINTER, (INDEX, POINTER, WORD, POINTER)),
    "mgpuDestroyDnVec": (None, (POINTER, POINTER)),
    "mgpuCreateDnMat": (POINTER, (INDEX, INDEX, POINTER, WORD, POINTER)),
    "mgpuDestroyDnMat": (None, (POINTER, POINTER)),
    "mgpuSpMVBufferSize": (INDEX, (WORD, *[POINTER] * 3, WORD, POINTER)),
    "mgpuSpMV": (None, (WORD, *[POINTER] * 3, WORD, POINTER, POINTER)),
    "mgpuSpMMBufferSize": (INDEX, (WORD, WORD, *[POINTER] * 3, WORD, POINTER)),
    "mgpuSpMM": (None, (WORD, WORD, *[POINTER] * 3, WORD, POINTER, POINTER)),
    "mgpuSDDMMBufferSize": (INDEX, (WORD, WORD, *[POINTER] * 3, WORD, POINTER)),
    "mgpuSDDMM": (None, (WORD, WORD, *[POINTER] * 3, WORD, POINTER, POINTER)),
    "mgpuSpGEMMCreateDescr": (POINTER, (POINTER,)),
    "mgpuSpGEMMDestroyDescr": (None, (POINTER, POINTER)),
    "mgpuSpGEMMWorkEstimation": (INDEX, (POINTER, WORD, WORD, *[POINTER] * 3, WORD, INDEX, POINTER, POINTER)),
    "mgpuSpGEMMCompute": (INDEX, (POINTER, WORD, WORD, *[POINTER] * 3, WORD, INDEX, POINTER, POINTER)),
    "mgpuSpGEMMCopy": (None, (POINTER, WORD, WORD, *[POINTER] * 3, WORD, POINTER)),
    "mgpuSpMatGetSize": (None, (*[POINTER] * 4, POINTER)),
    "mgpuSetCsrPointers": (None, (*[POINTER] * 4, POINTER)),
}


class Mgpu:
    """The functions by name, and arrays on the device."""

    def __init__(self) -> None:
        library = ctypes.CDLL(_cuda.__file__)
        for name, (result, arguments) in SIGNATURES.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name.removeprefix("mgpu"), function)
        self.stream = self.StreamCreate()  # type: ignore[attr-defined]
        self._held: list[int] = []

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def room(self, nbytes: int) -> int:
        self._held.append(self.MemAlloc(max(nbytes, 1), self.stream, False))
        return self._held[-1]

    def array(self, given: np.ndarray[Any, Any]) -> int:
        there = self.room(given.nbytes)
        self.Memcpy(there, given.ctypes.data, given.nbytes, self.stream)
        return there

    def csr(self, matrix: np.ndarray[Any, Any]) -> Any:
        A = ms.tensor(matrix)
        *structure, values = (self.array(buffer) for buffer in A.storage.buffers())
        return self.CreateCsr(*matrix.shape, A.nse, *structure, values, INDEX32, INDEX32, F64, self.stream), values

    def close(self) -> None:
        for pointer in self._held:
            self.MemFree(pointer, self.stream)
        self.StreamDestroy(self.stream)
        _cuda.raise_recorded()


@pytest.fixture
def mgpu(gpu: Gpu) -> Iterator[Mgpu]:
    made = Mgpu()
    yield made
    made.close()


def matrix(rows: int, columns: int, seed: int = 0) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    return np.where(rng.random((rows, columns)) < 0.4, rng.integers(1, 9, (rows, columns)), 0).astype(np.float64)


def test_memory_events_and_copies(mgpu: Mgpu, gpu: Gpu) -> None:
    host = np.arange(4.0)
    there = mgpu.array(host)
    event = mgpu.EventCreate()
    mgpu.EventRecord(event, mgpu.stream)
    mgpu.StreamWaitEvent(mgpu.stream, event)
    mgpu.EventSynchronize(event)
    mgpu.EventDestroy(event)
    mgpu.Memset32(there, 0, 2, mgpu.stream)
    back = np.empty(4)
    mgpu.Memcpy(back.ctypes.data, there, back.nbytes, mgpu.stream)
    mgpu.StreamSynchronize(mgpu.stream)
    assert back.tolist() == [0, 1, 2, 3]
    assert mgpu.MemAlloc(0, mgpu.stream, False) is None
    mgpu.MemFree(None, mgpu.stream)


def test_the_first_failure_is_kept_later_calls_do_nothing_and_the_thread_recovers(mgpu: Mgpu, gpu: Gpu) -> None:
    gpu.driver.fail("cuMemAlloc", OUT_OF_MEMORY)
    assert mgpu.MemAlloc(1 << 20, mgpu.stream, False) is None
    gpu.driver.clear()
    assert mgpu.MemAlloc(8, mgpu.stream, False) is None
    mgpu.Memcpy(0, 0, 8, mgpu.stream)
    assert gpu.driver.calls == []
    with pytest.raises(ms.DeviceMemoryError, match=r"cuMemAlloc of 1 MiB failed: CUDA_ERROR_OUT_OF_MEMORY \(2\)"):
        _cuda.raise_recorded()
    _cuda.raise_recorded()
    assert mgpu.room(8)


def test_modules_and_launches(mgpu: Mgpu, gpu: Gpu) -> None:
    seen: list[Any] = []
    gpu.kernel("work", lambda grid, block, slots: seen.append((grid, block, list(slots))), 2)
    text = b".version 8.0\n.target sm_80\n.visible .entry work()\n\0"
    for module in (mgpu.ModuleLoad(text, len(text)), mgpu.ModuleLoadJIT(text, 3, len(text))):
        function = mgpu.ModuleGetFunction(module, b"work")
        values = (ctypes.c_int64 * 2)(5, 7)
        slots = (POINTER * 2)(*(ctypes.addressof(values) + 8 * at for at in range(2)))
        mgpu.LaunchKernel(function, 3, 1, 1, 32, 1, 1, 0, mgpu.stream, slots, None, 2)
        mgpu.LaunchKernel(function, 0, 1, 1, 32, 1, 1, 0, mgpu.stream, slots, None, 2)
        mgpu.ModuleUnload(module)
    assert seen == [((3, 1, 1), (32, 1, 1), [5, 7])] * 2
    refused = b"INVALID\0"
    assert mgpu.ModuleLoadJIT(refused, 3, len(refused)) is None
    with pytest.raises(ms.DeviceError, match=r"CUDA_ERROR_INVALID_PTX (?s:.*)Parsing error"):
        _cuda.raise_recorded()


def test_spmv_and_spmm_add_to_what_is_there(mgpu: Mgpu) -> None:
    A, x, y = matrix(5, 6), np.arange(6.0), np.arange(5.0)
    a, _ = mgpu.csr(A)
    given, result = mgpu.array(x), mgpu.array(y)
    vx, vy = mgpu.CreateDnVec(6, given, F64, mgpu.stream), mgpu.CreateDnVec(5, result, F64, mgpu.stream)
    work = mgpu.room(mgpu.SpMVBufferSize(0, a, vx, vy, F64, mgpu.stream))
    mgpu.SpMV(0, a, vx, vy, F64, work, mgpu.stream)
    assert np.array_equal(view(result, (5,), np.float64), y + A @ x)
    B, C = matrix(6, 3, 1), matrix(5, 3, 2)
    right, product = mgpu.array(B), mgpu.array(C)
    mb, mc = mgpu.CreateDnMat(6, 3, right, F64, mgpu.stream), mgpu.CreateDnMat(5, 3, product, F64, mgpu.stream)
    work = mgpu.room(mgpu.SpMMBufferSize(0, 0, a, mb, mc, F64, mgpu.stream))
    mgpu.SpMM(0, 0, a, mb, mc, F64, work, mgpu.stream)
    assert np.array_equal(view(product, (5, 3), np.float64), C + A @ B)
    for destroy, one in (
        (mgpu.DestroyDnVec, vx),
        (mgpu.DestroyDnVec, vy),
        (mgpu.DestroyDnMat, mb),
        (mgpu.DestroyDnMat, mc),
    ):
        destroy(one, mgpu.stream)
    mgpu.DestroySpMat(a, mgpu.stream)


def test_sddmm_adds_at_the_entries(mgpu: Mgpu) -> None:
    S, A, B = matrix(4, 5), matrix(4, 3, 1), matrix(3, 5, 2)
    s, values = mgpu.csr(S)
    ma, mb = (mgpu.CreateDnMat(*one.shape, mgpu.array(one), F64, mgpu.stream) for one in (A, B))
    work = mgpu.room(mgpu.SDDMMBufferSize(0, 0, ma, mb, s, F64, mgpu.stream))
    mgpu.SDDMM(0, 0, ma, mb, s, F64, work, mgpu.stream)
    assert np.array_equal(view(values, (np.count_nonzero(S),), np.float64), (S + A @ B)[S != 0])
    mgpu.DestroyDnMat(ma, mgpu.stream)
    mgpu.DestroyDnMat(mb, mgpu.stream)
    mgpu.DestroySpMat(s, mgpu.stream)


def test_spgemm_in_the_order_that_the_sparsifier_calls_it(mgpu: Mgpu) -> None:
    A, B = matrix(4, 5), matrix(5, 6, 3)
    (a, _), (b, _) = mgpu.csr(A), mgpu.csr(B)
    positions = mgpu.room(5 * 4)
    c = mgpu.CreateCsr(4, 6, 0, positions, None, None, INDEX32, INDEX32, F64, mgpu.stream)
    work = mgpu.SpGEMMCreateDescr(mgpu.stream)
    for stage in (mgpu.SpGEMMWorkEstimation, mgpu.SpGEMMCompute):
        size = stage(work, 0, 0, a, b, c, F64, 0, None, mgpu.stream)
        stage(work, 0, 0, a, b, c, F64, size, mgpu.room(size), mgpu.stream)
    sizes = np.zeros(3, np.int64)
    mgpu.SpMatGetSize(c, *(sizes.ctypes.data + 8 * at for at in range(3)), mgpu.stream)
    count = int(sizes[2])
    coordinates, values = mgpu.room(4 * count), mgpu.room(8 * count)
    mgpu.SetCsrPointers(c, positions, coordinates, values, mgpu.stream)
    mgpu.SpGEMMCopy(work, 0, 0, a, b, c, F64, mgpu.stream)
    buffers = (
        view(positions, (5,), np.int32),
        view(coordinates, (count,), np.int32),
        view(values, (count,), np.float64),
    )
    C = ms.SparseTensor.from_levels("CSR", (4, 6), [None, buffers[0]], [None, buffers[1]], buffers[2])
    assert np.array_equal(C.to_numpy(), A @ B)
    mgpu.SpGEMMDestroyDescr(work, mgpu.stream)
    for one in (a, b, c):
        mgpu.DestroySpMat(one, mgpu.stream)


def test_other_storage(mgpu: Mgpu, gpu: Gpu) -> None:
    buffers = [mgpu.array(np.zeros(16)) for _ in range(3)]
    made = [
        mgpu.CreateCsc(4, 5, 3, *buffers, INDEX32, INDEX32, F64, mgpu.stream),
        mgpu.CreateCoo(4, 5, 3, *buffers, INDEX32, F64, mgpu.stream),
        mgpu.CreateBsr(2, 3, 1, 2, 2, *buffers, INDEX32, INDEX32, F64, mgpu.stream),
    ]
    assert [call.split()[0] for call in gpu.sparse.calls if "Create" in call][-3:] == [
        "cusparseCreateCsc",
        "cusparseCreateCoo",
        "cusparseCreateBsr",
    ]
    for one in made:
        mgpu.DestroySpMat(one, mgpu.stream)


HOST = """
module attributes {gpu.container_module} {
  gpu.binary @kernels [#gpu.object<#nvvm.target<chip = "sm_80">,
    assembly = ".version 8.0\\0A.target sm_80\\0A.visible .entry fill()\\0A\\00">]
  func.func @main(%host: memref<?xf64>, %n: index) attributes {llvm.emit_c_interface} {
    %one = arith.constant 1 : index
    %start = gpu.wait async
    %there, %made = gpu.alloc async [%start] (%n) : memref<?xf64>
    %in = gpu.memcpy async [%made] %there, %host : memref<?xf64>, memref<?xf64>
    %run = gpu.launch_func async [%in] @kernels::@fill blocks in (%one, %one, %one) threads in (%n, %one, %one)
      args(%there : memref<?xf64>)
    %out = gpu.memcpy async [%run] %host, %there : memref<?xf64>, memref<?xf64>
    %gone = gpu.dealloc async [%out] %there : memref<?xf64>
    gpu.wait [%gone]
    return
  }
}
"""


def test_host_code_of_the_lowering_runs_on_them(gpu: Gpu) -> None:
    def fill(grid: Any, block: Any, slots: Any) -> None:
        array = view(slots[1], (block[0],), np.float64)  # the second word of a memref is where its elements are
        array[:] = 2 * array + 1

    gpu.kernel("fill", fill, 5)
    host = np.arange(4.0)
    descriptor = (ctypes.c_int64 * 5)(host.ctypes.data, host.ctypes.data, 0, 4, 1)
    values = (POINTER(ctypes.addressof(descriptor)), ctypes.c_int64(4))
    packed = (POINTER * 2)(*map(ctypes.addressof, values))
    passes = "builtin.module(gpu-to-llvm,convert-to-llvm,reconcile-unrealized-casts)"
    with mlir_context():
        module = parse_module(HOST)
        bindings().module("passmanager").PassManager.parse(passes).run(module.operation)
        engine = bindings().module("execution_engine").ExecutionEngine(module, shared_libs=[_cuda.__file__])
        engine.initialize()  # which loads the kernels
        ctypes.CFUNCTYPE(None, POINTER)(engine.raw_lookup("_mlir_ciface_main"))(ctypes.addressof(packed))
        del engine
    _cuda.raise_recorded()
    assert host.tolist() == [1, 3, 5, 7]
    assert gpu.driver.names().count("cuLaunchKernel") == 1
