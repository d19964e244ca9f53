"""The data of cases on a GPU: operands on the device, results of the host, other libraries on the same memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import mlir_sparse as ms
from benchmarks.entries import Coordinates, skewed

__all__ = [
    "CPU_KERNELS",
    "MTTKRP",
    "Call",
    "Loaded",
    "mttkrp",
    "mttkrp_on_cpu",
    "sddmm",
    "spgemm",
    "spmm",
    "spmv",
    "two_of_four",
]

Array = np.ndarray[Any, Any]
Call = Callable[[], Any]
MTTKRP = "D(i,l) = A(i,j,k) * B(j,l) * C(k,l)"
_MOST_CHECKED = 2e8  # products that the host makes for a check; where there are more, some rows are checked
# A kernel for the CPU that was compiled elsewhere, where there is one.
CPU_KERNELS: list[Path] = []


@dataclass(frozen=True)
class Loaded:
    """A case with its data.

    Args:
        operands: in the order of the kernel, on the device.
        expected: the result, by the host, in f64.
        scale: the reference for rounding errors: the result with absolute values.
        moved: the least number of bytes to read and write.
        operations: floating point operations.
        peers: calls of other libraries, by name.
        where: the rows or entries in `expected`; None for all.
    """

    operands: tuple[Any, ...]
    expected: Any
    scale: Any
    moved: int
    operations: int
    peers: Mapping[str, Call] = field(default_factory=dict)
    where: Array | None = None


def _numbers(shape: tuple[int, ...], dtype: str, seed: int = 3) -> Array:
    kind = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[dtype]
    return np.random.default_rng(seed).uniform(0.5, 1.5, shape).astype(kind)


def _cast(matrix: Any, dtype: str) -> ms.SparseTensor:
    return ms.tensor(matrix).astype(dtype)


def _wide(matrix: Any, dtype: str) -> Any:
    """Returns a matrix in f64 of the numbers that it has in another type."""
    if dtype == "f64":
        return matrix
    data = matrix.data.astype(ms.DType(dtype).numpy).astype(np.float64)
    return type(matrix)((data, matrix.indices, matrix.indptr), shape=matrix.shape)


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


def _later(make: Callable[[], Call]) -> Call:
    """Returns a call that is prepared at its first use, so that a missing feature fails only this call."""
    made: list[Call] = []

    def call() -> Any:
        if not made:
            made.append(make())
        return made[0]()

    return call


def _sparse_peers(A: ms.DeviceTensor, dtype: str, operand: ms.DeviceArray | None) -> dict[str, Call]:
    """Returns CuPy's and PyTorch's products of the same matrix, over the same memory; by itself where none is given."""
    peers: dict[str, Call] = {}
    cupy, torch = _cupy(), _torch()

    def by_cupy() -> Call:
        M = A.to_cupy()
        # Columns one after another are what it would make of rows first.
        other = M if operand is None else cupy.asfortranarray(cupy.from_dlpack(operand))
        return lambda: M @ other

    def by_torch() -> Call:
        M = A.to_torch()
        other = M if operand is None else torch.from_dlpack(operand)
        return lambda: M @ other

    if cupy is not None and dtype != "f16":
        peers["CuPy (cuSPARSE)"] = _later(by_cupy)
    if torch is not None:
        peers["PyTorch (cuSPARSE)"] = _later(by_torch)
    return peers


def _rows(matrix: Any, products: float) -> Array | None:
    """Returns which rows to check: all where that is quick, else some, the longest one, the first and the last."""
    if products <= _MOST_CHECKED:
        return None
    longest = np.argsort(np.diff(matrix.indptr))[-4:]
    some = np.random.default_rng(9).choice(matrix.shape[0], min(matrix.shape[0], 5000), replace=False)
    return np.unique(np.concatenate([some, longest, [0, matrix.shape[0] - 1]]))


def spmv(matrix: Callable[[], Any], dtype: str) -> Loaded:
    """Returns a product with a vector; values are positive, so that the result is its own scale."""
    host = matrix()
    A, x = _cast(host, dtype).to("cuda"), _numbers((host.shape[1],), dtype)
    there = ms.to_device(x)
    expected = _wide(host, dtype) @ x.astype(np.float64)
    moved = A.nbytes + there.nbytes + host.shape[0] * there.dtype.itemsize
    return Loaded((A, there), expected, expected, moved, 2 * A.nse, _sparse_peers(A, dtype, there))


def spmm(matrix: Callable[[], Any], columns: int, dtype: str) -> Loaded:
    """Returns a product with a dense matrix of some columns."""
    host = matrix()
    A, B = _cast(host, dtype).to("cuda"), _numbers((host.shape[1], columns), dtype)
    there, where = ms.to_device(B), _rows(host, host.nnz * columns)
    wide = _wide(host if where is None else host[where], dtype)
    expected = wide @ B.astype(np.float64)
    moved = A.nbytes + there.nbytes + host.shape[0] * columns * there.dtype.itemsize
    peers = _sparse_peers(A, dtype, there)
    return Loaded((A, there), expected, expected, moved, 2 * A.nse * columns, peers, where)


def sddmm(matrix: Callable[[], Any], inner: int, by_rows: bool, dtype: str) -> Loaded:
    """Returns products at the entries of a matrix; the second one's columns are taken, or its rows."""
    host = matrix()
    S = _cast(host, dtype)
    A, B = _numbers((host.shape[0], inner), dtype), _numbers((host.shape[1], inner), dtype, 4)
    given = B if by_rows else np.ascontiguousarray(B.T)
    there, left, right = S.to("cuda"), ms.to_device(A), ms.to_device(given)
    peers: dict[str, Call] = {}
    torch = _torch()

    def by_torch() -> Call:
        pattern, one, other = there.to_torch(), torch.from_dlpack(left), torch.from_dlpack(right)
        other = other.t() if by_rows else other
        # It takes the places of the entries and adds their values; ours multiplies by them.
        return lambda: torch.sparse.sampled_addmm(pattern, one, other, beta=0.0)

    if torch is not None and dtype != "f16":
        peers["PyTorch (cuSPARSE)"] = _later(by_torch)
    where = np.unique(np.random.default_rng(9).integers(0, host.nnz, min(host.nnz, 500_000)))
    rows = np.searchsorted(host.indptr, where, side="right") - 1
    values = S.storage.values[where].astype(np.float64)
    expected = values * np.einsum("ek,ek->e", A[rows].astype(np.float64), B[host.indices[where]].astype(np.float64))
    moved = there.nbytes + left.nbytes + right.nbytes + S.nse * S.dtype.itemsize
    return Loaded((there, left, right), expected, expected, moved, 2 * S.nse * inner, peers, where)


def spgemm(matrix: Callable[[], Any], dtype: str) -> Loaded:
    """Returns a matrix to be squared."""
    host = matrix()
    A = _cast(host, dtype).to("cuda")
    products = int(np.diff(host.indptr).astype(np.int64)[host.indices].sum())
    where, wide = _rows(host, products), _wide(host, dtype)
    square = (wide if where is None else wide[where]) @ wide
    entries = square.nnz * (1 if where is None else host.shape[0] / where.size)
    moved = 2 * A.nbytes + int(entries * (4 + A.dtype.itemsize))
    return Loaded((A, A), square, square, moved, 2 * products, _sparse_peers(A, dtype, None), where)


@lru_cache(maxsize=1)
def _tensor(shape: tuple[int, int, int], entries: int) -> Coordinates:
    return skewed(shape, entries, max(entries // 4, 1), 1.5, 11)


@lru_cache(maxsize=1)
def _factors(shape: tuple[int, int, int], entries: int, rank: int, dtype: str) -> tuple[Any, Array, Array, Array]:
    """Returns a tensor in CSF, two dense factors, and the product of the three by the host."""
    made = _tensor(shape, entries)
    coordinates = np.ascontiguousarray(made.coords.T)
    A = ms.tensor((coordinates, made.values + 0.5), "CSF", shape=made.shape).astype(dtype)
    B, C = _numbers((shape[1], rank), dtype), _numbers((shape[2], rank), dtype, 4)
    return A, B, C, _mttkrp_on_host(*A.to_coo(), B, C, (shape[0], rank))


def mttkrp(shape: tuple[int, int, int], entries: int, rank: int, dtype: str) -> Loaded:
    """Returns a tensor times two matrices."""
    A, B, C, expected = _factors(shape, entries, rank, dtype)
    there = (A.to("cuda"), ms.to_device(B), ms.to_device(C))
    moved = sum(one.nbytes for one in there) + shape[0] * rank * A.dtype.itemsize
    return Loaded(there, expected, expected, moved, 3 * A.nse * rank)


def mttkrp_on_cpu(shape: tuple[int, int, int], entries: int, rank: int, dtype: str) -> Loaded:
    """Returns the same for the kernel of the CPU, on two threads."""
    A, B, C, expected = _factors(shape, entries, rank, dtype)
    kernel = _cpu_kernel(A, B, C)
    moved = A.nbytes + B.nbytes + C.nbytes + shape[0] * rank * A.dtype.itemsize
    return Loaded((), expected, expected, moved, 3 * A.nse * rank, {"CPU, 2 threads": lambda: kernel(A, B, C)})


def _mttkrp_on_host(coords: Array, values: Array, B: Array, C: Array, shape: tuple[int, int]) -> Array:
    found, step = np.zeros(shape), 1 << 19
    for at in range(0, values.size, step):
        i, j, k = (one[at : at + step] for one in coords)
        terms = values[at : at + step, None].astype(np.float64) * B[j] * C[k]
        rows, first = np.unique(i, return_index=True)  # entries come sorted
        found[rows] += np.add.reduceat(terms, first, axis=0)
    return found


def _cpu_kernel(A: Any, B: Array, C: Array) -> Any:
    """Returns the CPU's kernel for two threads: compiled elsewhere, or here."""
    if CPU_KERNELS:
        return ms.load(CPU_KERNELS[0]).within(2, False)
    return ms.compile(MTTKRP, A=A, B=B, C=C, out="dense", threads=2)


def two_of_four(size: int, dtype: str) -> Loaded:
    """Returns a matrix with two numbers of every four, and a dense one."""
    dense = _numbers((size, size), dtype)
    keep = np.argsort(np.random.default_rng(5).random((size, size // 4, 4), np.float32), axis=2) < 2
    dense = np.where(keep.reshape(size, size), dense, np.float16(0))
    B = _numbers((size, size), dtype, 6)
    A, there = ms.tensor(dense, "NV_24").to("cuda"), ms.to_device(B)
    peers: dict[str, Call] = {}
    torch = _torch()
    rows = np.random.default_rng(7).choice(size, min(size, 64), replace=False)

    def as_dense() -> Call:
        left, right = torch.from_dlpack(ms.to_device(dense)), torch.from_dlpack(there)
        return lambda: left @ right

    def packed() -> Call:
        right = torch.from_dlpack(there)
        left = torch.sparse.to_sparse_semi_structured(torch.from_dlpack(ms.to_device(dense)))
        return lambda: torch.mm(left, right)

    if torch is not None:
        peers = {"dense cuBLAS (PyTorch)": _later(as_dense), "cuSPARSELt (PyTorch)": _later(packed)}
    expected = dense[rows].astype(np.float64) @ B.astype(np.float64)
    moved = A.nbytes + 2 * there.nbytes
    return Loaded((A, there), expected, expected, moved, 2 * size**3, peers, rows)
