"""Single figures with bounds: latency and memory, each measured in a fresh process."""

from __future__ import annotations

import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse

import mlir_sparse as ms
from benchmarks.borders import BORDERS
from benchmarks.inputs import load
from benchmarks.kernels import KERNELS
from benchmarks.libraries.own import TEXTS, taken
from benchmarks.small_calls import BESIDE_SCIPY, CALLS, new_tensor_times, ratios, times

__all__ = ["FIGURES", "Figure"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One quantity.

    Args:
        unit: of the samples.
        bound: the greatest allowed median; None to report only.
        measure: returns samples, by a clock: "wall", or "processor" for that of a process and the ones it started.
    """

    unit: str
    bound: float | None
    measure: Callable[[str], list[float]]


def _now(clock: str) -> float:
    """Returns seconds by a clock: on a busy machine processor time is close to an idle machine's time."""
    return time.perf_counter() if clock == "wall" else time.process_time() + sum(map(_processor_time, _children()))


def _children() -> list[int]:
    found: list[int] = []
    for path in Path("/proc/self/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that ended since
            found += map(int, path.read_text().split())
    return found


def _processor_time(process: int) -> float:
    return time.clock_gettime((~process << 3) | 2)  # how Linux numbers the clocks of other processes


_IMPORT = """
import sys, time
import numpy  # which whoever has arrays has loaded
now = time.perf_counter if sys.argv[1] == "wall" else time.thread_time
start = now()
import mlir_sparse
print(now() - start)
loaded = {"mlir", "torch_mlir", "mlir_finch"} & set(sys.modules)
assert not loaded, f"expected an import without MLIR, but got {loaded}"
"""


def _import_times(clock: str) -> list[float]:
    def once() -> float:
        command = [sys.executable, "-c", _IMPORT, clock]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

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


def _compiles(name: str, clock: str, times: int) -> list[float]:
    """Returns times from notation to a first result, each with a kernel that is new to the process."""
    kernel = KERNELS[name]
    text, out = TEXTS[kernel.call]
    with tempfile.TemporaryDirectory() as folder:
        operands = {n: taken(o) for n, o in kernel.operands(load(_TINY[name], Path(folder))).items()}
    samples = []
    for number in range(times):
        # The same code under other names, which neither this process nor the cache has seen.
        names = {n: f"{n}{number}" for n in operands}
        renamed = re.sub(r"[A-Za-z]\w*", partial(_named, names), text)
        tensors = {names[n]: operand for n, operand in operands.items()}
        start = _now(clock)
        ms.compile(renamed, tensors=tensors, out=out)(*tensors.values())
        samples.append(_now(clock) - start)
    return samples


def _named(names: Mapping[str, str], found: re.Match[str]) -> str:
    return names.get(found[0], found[0])


def _cold_compiles(clock: str) -> list[float]:
    return [_alone(partial(_compiles, "SpMV CSR", clock, 1))[0] for _ in range(5)]


def _warm_compiles(name: str, clock: str) -> list[float]:
    """Leaves out the first, which loads MLIR and starts the process that compiles."""
    return _alone(partial(_compiles, name, clock, 12))[1:]


def _cached_compiles(name: str, clock: str) -> list[float]:
    """Returns times of new processes with a kernel that another process has compiled, including loading."""
    with _own_cache():
        _in_another_process(partial(_compiles, name, clock, 1))
        return [_in_another_process(partial(_compiles, name, clock, 1))[0] for _ in range(9)]


def _call_overhead(clock: str) -> list[float]:
    """Returns times of a call with almost no work and results in place."""
    A, x = ms.tensor(scipy.sparse.eye_array(8, format="csr")), np.ones(8)
    kernel, y = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=x), np.empty(8)
    timer = time.perf_counter if clock == "wall" else time.process_time
    return [timeit.timeit(lambda: kernel(A, x, out=y), number=1000, timer=timer) / 1000 for _ in range(50)]


def _sparse_call_overhead(clock: str) -> list[float]:
    """Returns times of a call with almost no work and a sparse result."""
    A = ms.tensor(scipy.sparse.eye_array(8, format="csr"))
    kernel = ms.compile("C(i,j) = A(i,j) + B(i,j)", A=A, B=A, out="CSR")
    timer = time.perf_counter if clock == "wall" else time.process_time
    return [timeit.timeit(lambda: kernel(A, A), number=200, timer=timer) / 200 for _ in range(50)]


def _small(function: Callable[..., list[float]], *names: str) -> Callable[[str], list[float]]:
    """Returns what measures a small call, in a new process."""
    return lambda clock: _alone(partial(function, *names, clock))


def _spgemm_growth() -> list[float]:
    """Returns the growth of the resident set over 10,000 products, in MB."""
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


# The input for compiling each kernel; compile times do not depend on it.
_TINY: Mapping[str, str] = {
    **{f"SpMV {storage}": "tiny" for storage in ("CSR", "COO", "BSR 3 x 3", "BSR 4 x 4", "ELL")},
    "SpMV DIA": "tiny grid",
    "residual": "tiny",
    **{f"mattransmul {storage}": "tiny" for storage in ("CSR", "CSC")},
    **dict.fromkeys(("SpMM k = 32", "SDDMM k = 64", "SpGEMM", "A + B", "A + B + C"), "tiny"),
    **{f"{name} {storage}": "tiny tensor" for name in ("TTV", "TTM", "MTTKRP") for storage in ("CSF", "COO")},
    **dict.fromkeys(("INNERPROD", "plus2", "plus3"), "tiny tensor"),
}

_CALL_BOUNDS = {"ms.tensor(S)": 15e-6, "ms.evaluate(A)": 15e-6, "ms.evaluate(S)": 20e-6, "kernel(S, x)": 20e-6}
assert _CALL_BOUNDS.keys() == CALLS.keys()

FIGURES: Mapping[str, Figure] = {
    "import mlir_sparse, over NumPy's": Figure("s", 0.12, _import_times),
    "first compile, SpMV CSR, cold": Figure("s", 0.35, _cold_compiles),
    **{f"first compile, {name}, warm": Figure("s", 0.06, partial(_warm_compiles, name)) for name in _TINY},
    **{
        f"cached compile, {name}, another process": Figure("s", 0.002, partial(_cached_compiles, name))
        for name in ("SpMV CSR", "SpGEMM", "MTTKRP CSF")
    },
    "call, SpMV 8 x 8, out=": Figure("s", 0.5e-6, lambda clock: _alone(partial(_call_overhead, clock))),
    "call, A + B 8 x 8": Figure("s", None, lambda clock: _alone(partial(_sparse_call_overhead, clock))),
    **{f"call, {name} 8 x 8, over SciPy's": Figure("x", 1.0, _small(ratios, name)) for name in BESIDE_SCIPY},
    **{f"call, {name} 8 x 8": Figure("s", bound, _small(times, name)) for name, bound in _CALL_BOUNDS.items()},
    "call, ms.tensor(S) 8 x 8, new": Figure("s", 30e-6, _small(new_tensor_times)),
    **{f"borders: {name}": Figure(one.unit, one.bound, _small(one.measure)) for name, one in BORDERS.items()},
    "10,000 x SpGEMM, growth": Figure("MB", 5.0, lambda _: _alone(_spgemm_growth)),
}
