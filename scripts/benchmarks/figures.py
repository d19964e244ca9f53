"""Single figures with a bound of their own: latency and memory, each in a process that has done nothing else."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
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
    with tempfile.TemporaryDirectory() as folder:
        before = os.environ.get("MLIR_SPARSE_CACHE")
        os.environ["MLIR_SPARSE_CACHE"] = folder
        try:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                return pool.apply(function)
        finally:
            os.environ.pop("MLIR_SPARSE_CACHE")
            if before is not None:
                os.environ["MLIR_SPARSE_CACHE"] = before


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
    "first compile, SpMV, warm": Figure("s", 0.15, lambda: _alone(_warm_compiles)),
    "10,000 x SpGEMM, growth": Figure("MB", 5.0, lambda: _alone(_spgemm_growth)),
}
