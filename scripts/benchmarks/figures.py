"""Single figures with a bound of their own: latency and memory, each in a process that has done nothing else."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse

import mlir_sparse as ms

__all__ = ["FIGURES", "Figure"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One quantity.

    Args:
        unit: of the samples.
        bound: the largest median that will do; None to report only.
        measure: returns samples.
    """

    unit: str
    bound: float | None
    measure: Callable[[], list[float]]


_IMPORT = """
import sys, time
start = time.perf_counter()
import mlir_sparse
print(time.perf_counter() - start)
loaded = {"mlir", "torch_mlir", "mlir_finch"} & set(sys.modules)
assert not loaded, f"expected an import without MLIR, but got {loaded}"
"""


def _import_times() -> list[float]:
    def once() -> float:
        return float(subprocess.run([sys.executable, "-c", _IMPORT], check=True, capture_output=True, text=True).stdout)

    once()  # writes the byte code
    return [once() for _ in range(9)]


def _alone(function: Callable[[], list[float]]) -> list[float]:
    """Runs a function in a new process with an empty kernel cache."""
    with _own_cache():
        return _in_another_process(function)


@contextmanager
def _own_cache() -> Iterator[None]:
    """Gives the processes started within an empty kernel cache."""
    with tempfile.TemporaryDirectory() as folder:
        before = os.environ.get("MLIR_SPARSE_CACHE")
        os.environ["MLIR_SPARSE_CACHE"] = folder
        try:
            yield
        finally:
            os.environ.pop("MLIR_SPARSE_CACHE")
            if before is not None:
                os.environ["MLIR_SPARSE_CACHE"] = before


def _in_another_process(function: Callable[[], list[float]]) -> list[float]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function)


def _first_call(dtype: str, encoding: str) -> float:
    """Returns how long a process takes from notation to the result of an SpMV it has not compiled before."""
    A = ms.tensor(scipy.sparse.eye_array(8, format="csr"), encoding).astype(dtype)
    x = np.ones(8, A.dtype)
    start = time.perf_counter()
    y = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=x)(A, x)
    taken = time.perf_counter() - start
    assert np.array_equal(y, x), (dtype, encoding)
    return taken


def _cold_compiles() -> list[float]:
    return [_alone(_one_compile)[0] for _ in range(5)]


def _one_compile() -> list[float]:
    return [_first_call("f64", "CSR")]


def _warm_compiles() -> list[float]:
    _first_call("f64", "CSR")  # loads MLIR here, and starts the process that compiles
    return [
        _first_call(dtype, encoding) for encoding in ("CSC", "DCSR", "COO") for dtype in ("f64", "f32", "i64", "c128")
    ]


def _cached_compiles() -> list[float]:
    """Returns how long new processes take with a kernel that another has compiled, loading it included."""
    with _own_cache():
        _in_another_process(_one_compile)
        return [_in_another_process(_one_compile)[0] for _ in range(9)]


def _call_overhead() -> list[float]:
    """Returns how long a call takes that has next to nothing to do, results in place."""
    A, x = ms.tensor(scipy.sparse.eye_array(8, format="csr")), np.ones(8)
    kernel, y = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=x), np.empty(8)
    return [timeit.timeit(lambda: kernel(A, x, out=y), number=1000) / 1000 for _ in range(50)]


def _spgemm_growth() -> list[float]:
    """Returns by how many MB 10,000 products let the resident set grow."""
    A = ms.tensor(scipy.sparse.random_array((200, 200), density=0.05, rng=np.random.default_rng(0)), "CSR")
    kernel = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=A, B=A, out="CSR")
    expected = (A.to_scipy() @ A.to_scipy()).toarray()
    for _ in range(500):
        result = kernel(A, A)  # lets the allocator find its size
    assert np.allclose(result.to_numpy(), expected)
    before = _resident()
    for _ in range(10_000):
        kernel(A, A)
    return [_resident() - before]


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


FIGURES: Mapping[str, Figure] = {
    "import mlir_sparse": Figure("s", 0.3, _import_times),
    "first compile, SpMV, cold": Figure("s", None, _cold_compiles),
    "first compile, SpMV, warm": Figure("s", 0.06, lambda: _alone(_warm_compiles)),
    "cached compile, SpMV, another process": Figure("s", 0.002, _cached_compiles),
    "call, SpMV 8 x 8, out=": Figure("s", 1e-6, lambda: _alone(_call_overhead)),
    "10,000 x SpGEMM, growth": Figure("MB", 5.0, lambda: _alone(_spgemm_growth)),
}
