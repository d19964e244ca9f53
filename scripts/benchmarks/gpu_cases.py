"""What is measured on a GPU: kernels, their data, who computes the same, and how much has to be moved for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

import mlir_sparse as ms
from benchmarks import data
from benchmarks.entries import skewed

__all__ = ["CASES", "CPU_KERNELS", "KERNELS", "MTTKRP", "Case", "Loaded"]

Array = np.ndarray[Any, Any]
Call = Callable[[], Any]
SPMV, SPMM = "y(i) = A(i,j) * x(j)", "C(i,j) = A(i,k) * B(k,j)"
SDDMM, MTTKRP = "C(i,j) = S(i,j) * A(i,k) * B(k,j)", "D(i,l) = A(i,j,k) * B(j,l) * C(k,l)"


@dataclass(frozen=True)
class KernelText:
    """A kernel to compile, for types with `T` for the element type."""

    text: str
    types: Mapping[str, str]
    out: str | None = None
    vias: tuple[str, ...] = ("codegen", "library")


KERNELS: Mapping[str, KernelText] = {
    "SpMV": KernelText(SPMV, {"A": "T[?,?] CSR", "x": "T[?]"}),
    "SpMM": KernelText(SPMM, {"A": "T[?,?] CSR", "B": "T[?,?]"}),
    "SDDMM": KernelText(SDDMM, {"S": "T[?,?] CSR", "A": "T[?,?]", "B": "T[?,?]"}),
    "SpGEMM": KernelText(SPMM, {"A": "T[?,?] CSR", "B": "T[?,?] CSR"}, vias=("library",)),
    "MTTKRP": KernelText(MTTKRP, {"A": "T[?,?,?] CSF", "B": "T[?,?]", "C": "T[?,?]"}, out="dense", vias=("codegen",)),
    "2:4 SpMM": KernelText(SPMM, {"A": "T[?,?] NV_24", "B": "T[?,?]"}, vias=("library",)),
}


@dataclass(frozen=True)
class Loaded:
    """A case with its data.

    Args:
        operands: in the order of the kernel, on the device.
        expected: the result, by the host, in f64.
        scale: the magnitudes that rounding errors are measured by: the same with absolute values.
        moved: bytes that have to be read and written at least.
        operations: floating point operations.
        peers: who computes the same, by name.
    """

    operands: tuple[Any, ...]
    expected: Any
    scale: Any
    moved: int
    operations: int
    peers: Mapping[str, Call] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One measurement: a kernel, an element type, and its data, made by `load`."""

    kernel: str
    dtype: str
    load: Callable[[str], Loaded]


def _numbers(shape: tuple[int, ...], dtype: str, seed: int = 3) -> Array:
    kind = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[dtype]
    return np.random.default_rng(seed).uniform(0.5, 1.5, shape).astype(kind)


def _cast(matrix: Any, dtype: str) -> ms.SparseTensor:
    return ms.tensor(matrix).astype(dtype)


def _wide(matrix: Any, dtype: str) -> Any:
    """Returns a matrix in f64 of the numbers that it has in another type."""
    made = matrix.astype(np.float64)
    made.data = made.data.astype(ms.DType(dtype).numpy).astype(np.float64)
    return made


def _cupy() -> Any:
    try:
        import cupy
        import cupyx.scipy.sparse  # noqa: F401 - its submodule is used
    except ImportError:
        return None
    return cupy


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def _sparse_peers(
    A: ms.DeviceTensor, dtype: str, product: Callable[[Any], Call], torch_product: Any
) -> dict[str, Call]:
    """Returns CuPy's and PyTorch's products of the same matrix, over the same memory."""
    peers: dict[str, Call] = {}
    if _cupy() is not None and dtype != "f16":
        peers["CuPy (cuSPARSE)"] = product(A.to_cupy())
    if _torch() is not None:
        peers["PyTorch"] = torch_product(A.to_torch())
    return peers


def _spmv(matrix: Callable[[], Any], dtype: str) -> Loaded:
    host = matrix()
    A, x = _cast(host, dtype).to("cuda"), _numbers((host.shape[1],), dtype)
    there = ms.to_device(x)
    in_cupy, in_torch = _shared(there)
    peers = _sparse_peers(A, dtype, lambda M: lambda: M @ in_cupy, lambda M: lambda: M @ in_torch)
    wide, x = _wide(host, dtype), x.astype(np.float64)
    moved = A.nbytes + there.nbytes + host.shape[0] * there.dtype.itemsize
    return Loaded((A, there), wide @ x, abs(wide) @ abs(x), moved, 2 * A.nse, peers)


def _spmm(matrix: Callable[[], Any], columns: int, dtype: str) -> Loaded:
    host = matrix()
    A, B = _cast(host, dtype).to("cuda"), _numbers((host.shape[1], columns), dtype)
    there = ms.to_device(B)
    in_cupy, in_torch = _shared(there)
    peers = _sparse_peers(A, dtype, lambda M: lambda: M @ in_cupy, lambda M: lambda: M @ in_torch)
    wide, B = _wide(host, dtype), B.astype(np.float64)
    moved = A.nbytes + there.nbytes + host.shape[0] * columns * there.dtype.itemsize
    return Loaded((A, there), wide @ B, abs(wide) @ abs(B), moved, 2 * A.nse * columns, peers)


def _sddmm(matrix: Callable[[], Any], inner: int, dtype: str) -> Loaded:
    host = matrix()
    S = _cast(host, dtype)
    A, B = _numbers((host.shape[0], inner), dtype), _numbers((inner, host.shape[1]), dtype, 4)
    there, left, right = S.to("cuda"), ms.to_device(A), ms.to_device(B)
    peers: dict[str, Call] = {}
    torch = _torch()
    if torch is not None:
        pattern, one, other = there.to_torch(), torch.from_dlpack(left), torch.from_dlpack(right)
        # It takes the places of the entries and adds their values; ours multiplies by them.
        peers["PyTorch (cuSPARSE)"] = lambda: torch.sparse.sampled_addmm(pattern, one, other, beta=0.0)
    wide = _wide(host, dtype).tocoo()
    sums = np.einsum("ek,ek->e", A[wide.row].astype(np.float64), B.T[wide.col].astype(np.float64))
    expected = wide.data * sums
    moved = there.nbytes + left.nbytes + right.nbytes + S.nse * S.dtype.itemsize
    return Loaded((there, left, right), expected, abs(expected), moved, 2 * S.nse * inner, peers)


def _spgemm(matrix: Callable[[], Any], dtype: str) -> Loaded:
    host = matrix()
    A = _cast(host, dtype).to("cuda")
    peers = _sparse_peers(A, dtype, lambda M: lambda: M @ M, lambda M: lambda: M @ M)
    wide = _wide(host, dtype)
    square, products = wide @ wide, int(np.diff(wide.indptr)[wide.indices].sum())
    return Loaded((A, A), square, abs(wide) @ abs(wide), 2 * A.nbytes + square.nnz * 12, 2 * products, peers)


def _mttkrp(shape: tuple[int, int, int], entries: int, rank: int, dtype: str) -> Loaded:
    made = skewed(shape, entries, max(entries // 4, 1), 1.5, 11)
    coordinates = np.ascontiguousarray(made.coords.T)
    A = ms.tensor((coordinates, made.values), "CSF", shape=made.shape).astype(dtype)
    B, C = _numbers((shape[1], rank), dtype), _numbers((shape[2], rank), dtype, 4)
    there = (A.to("cuda"), ms.to_device(B), ms.to_device(C))
    expected = _mttkrp_on_host(*A.to_coo(), B, C, (shape[0], rank))
    on_cpu, peers = _cpu_kernel(A, B, C), {}
    if on_cpu is not None:
        peers["our CPU kernel, 2 threads"] = lambda: on_cpu(A, B, C)
    moved = sum(one.nbytes for one in there) + shape[0] * rank * A.dtype.itemsize
    return Loaded(there, expected, expected, moved, 3 * A.nse * rank, peers)  # all numbers are positive


def _mttkrp_on_host(coords: Array, values: Array, B: Array, C: Array, shape: tuple[int, int]) -> Array:
    found, step = np.zeros(shape), 1 << 19
    for at in range(0, values.size, step):
        i, j, k = (one[at : at + step] for one in coords)
        terms = values[at : at + step, None].astype(np.float64) * B[j] * C[k]
        rows, first = np.unique(i, return_index=True)  # entries come sorted
        found[rows] += np.add.reduceat(terms, first, axis=0)
    return found


# A kernel for the CPU that was compiled elsewhere, where there is one.
CPU_KERNELS: list[Path] = []


def _cpu_kernel(*operands: Any) -> Any:
    """Returns the CPU's kernel; None where it can neither be compiled nor loaded."""
    try:
        if CPU_KERNELS:
            return ms.load(CPU_KERNELS[0]).within(2, False)
        A, B, C = operands
        return ms.compile(MTTKRP, A=A, B=B, C=C, out="dense", threads=2)
    except (ms.BindingsError, ms.UnsupportedError):
        return None


def _two_of_four(size: int, dtype: str) -> Loaded:
    dense = _numbers((size, size), dtype)
    keep = np.argsort(np.random.default_rng(5).random((size, size // 4, 4), np.float32), axis=2) < 2
    dense = np.where(keep.reshape(size, size), dense, np.float16(0))
    B = _numbers((size, size), dtype, 6)
    A, there = ms.tensor(dense, "NV_24").to("cuda"), ms.to_device(B)
    peers: dict[str, Call] = {}
    torch = _torch()
    rows = np.random.default_rng(7).choice(size, min(size, 64), replace=False)
    if torch is not None:
        left, right = torch.from_dlpack(ms.to_device(dense)), torch.from_dlpack(there)
        peers["dense cuBLAS (PyTorch)"] = lambda: left @ right
        packed = torch.sparse.to_sparse_semi_structured(left)
        peers["cuSPARSELt (PyTorch)"] = lambda: torch.mm(packed, right)
    wide = dense[rows].astype(np.float32) @ B.astype(np.float32)
    moved = A.nbytes + 2 * there.nbytes
    return Loaded((A, there), (rows, wide), abs(wide), moved, 2 * size**3, peers)


def _shared(array: ms.DeviceArray) -> tuple[Any, Any]:
    """Returns an array as CuPy's and PyTorch's, where they are."""
    cupy, torch = _cupy(), _torch()
    return (
        None if cupy is None else cupy.from_dlpack(array),
        None if torch is None else torch.from_dlpack(array),
    )


MATRICES: Mapping[str, Callable[[], scipy.sparse.csr_matrix]] = {
    "5-point grid 1000^2, 5M": partial(data.grid, 1000, 1000),
    "5-point grid 4000^2, 80M": partial(data.grid, 4000, 4000),
    "7-point grid 200^3, 56M": partial(data.grid, 200, 200, 200),
    "uniform 1M x 20": partial(data.uniform, 1_000_000, 20),
    "power law 1M, 3M": partial(data.power_rows, 1_000_000, 3_100_000),
    "power law 4M, 40M": partial(data.power_rows, 4_000_000, 40_000_000),
}
_SMALLER = ("5-point grid 1000^2, 5M", "uniform 1M x 20", "power law 1M, 3M")
_TINY = {"tiny grid": partial(data.grid, 12, 11), "tiny uniform": partial(data.uniform, 90, 4)}


@lru_cache(maxsize=1)
def _matrix(name: str) -> scipy.sparse.csr_matrix:
    return {**MATRICES, **_TINY}[name]()


def _cases() -> dict[str, Case]:
    made: dict[str, Case] = {}
    for name in {**MATRICES, **_TINY}:
        matrix = partial(_matrix, name)
        for dtype in ("f32", "f64"):
            made[f"SpMV {dtype}, {name}"] = Case("SpMV", dtype, partial(_spmv, matrix))
        if name not in (*_SMALLER, *_TINY):
            continue
        for columns in (32, 128):
            made[f"SpMM k={columns} f32, {name}"] = Case("SpMM", "f32", partial(_spmm, matrix, columns))
        made[f"SDDMM k=64 f32, {name}"] = Case("SDDMM", "f32", partial(_sddmm, matrix, 64))
        made[f"SpGEMM f32, {name}"] = Case("SpGEMM", "f32", partial(_spgemm, matrix))
    for name in (*_SMALLER[:1], "tiny grid"):
        matrix = partial(_matrix, name)
        made[f"SpMV f16, {name}"] = Case("SpMV", "f16", partial(_spmv, matrix))
    for shape, entries in (((2000, 500, 5000), 1_000_000), ((12092, 9184, 28818), 8_000_000), ((9, 11, 13), 200)):
        label = f"{' x '.join(map(str, shape))}, {entries}"
        made[f"MTTKRP rank 32 f32, {'tiny ' if entries < 1000 else ''}{label}"] = Case(
            "MTTKRP", "f32", partial(_mttkrp, shape, entries, 32)
        )
    for size in (4096, 8192, 32):
        made[f"2:4 SpMM f16, {'tiny ' if size < 100 else ''}{size}^3"] = Case(
            "2:4 SpMM", "f16", partial(_two_of_four, size)
        )
    return made


CASES: Mapping[str, Case] = _cases()
