"""Measures one case on a GPU: checks the results, then times all libraries, and every mapping of our kernel."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse

import mlir_sparse as ms
from benchmarks.gpu_cases import Case
from benchmarks.gpu_checks import Check, data_of
from benchmarks.gpu_data import Call, Loaded
from benchmarks.gpu_ways import resized, taken, ways
from mlir_sparse import _cuda, device
from mlir_sparse.compile.gpu_kernel import GpuKernel

__all__ = ["Result", "check", "measure", "seconds_of"]

Kernels = Mapping[tuple[str, str, str], GpuKernel]
# Rounding of sums, in units of the last place of the result's type: what is beyond is a wrong number.
_ULPS = 64
_STEPS = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24, "f64": 2.0**-53, "c64": 2.0**-24, "c128": 2.0**-53}
_ROUNDS = 10
# Where handing over the work takes this much of the time, that is what was measured.
_BOUND_BY_HOST = 0.9
# Bytes of a case up to which every way is compared with the host once more: small ones were before anything is timed.
_MOST_COMPARED = 1e8
# The ways whose kernels take several entries one after another.
_CHUNKED = ("staged", "entries", "4_lanes 4x64", "16_lanes 16x16", "warp 32x8")


@dataclass
class Result:
    """What one case came to.

    Args:
        name: the case.
        seconds: of one call, the median over the rounds, by who computed it.
        by_host: the calls that spent most of that time on launching, so that the device waited.
        gigabytes: a second, of what has to be moved at least, of our best.
        gigaflops: a second, of our best.
        error: the greatest error of each of ours, in units of the last place of its sum of magnitudes.
        ways: seconds of each way that our kernel may take, where they were asked for.
        taken: which of them it takes by itself.
        failed: others that failed, and what they said.
        verdict: "ok", or what is wrong.
    """

    name: str
    seconds: dict[str, float] = field(default_factory=dict)
    by_host: list[str] = field(default_factory=list)
    gigabytes: float = 0.0
    gigaflops: float = 0.0
    error: dict[str, float] = field(default_factory=dict)
    ways: dict[str, float] = field(default_factory=dict)
    taken: str = ""
    failed: dict[str, str] = field(default_factory=dict)
    verdict: str = "ok"

    def __str__(self) -> str:
        times = "  ".join(
            f"{name} {1e6 * seconds:.1f}{'*' if name in self.by_host else ''} us"
            for name, seconds in self.seconds.items()
        )
        line = f"{self.name:46} {self.verdict:8} {self.gigabytes:7.0f} GB/s {self.gigaflops:9.0f} GFLOP/s  {times}"
        if self.ways:
            order = sorted(self.ways.items(), key=lambda way: way[1])
            line += f"\n    takes {self.taken}; " + "  ".join(f"{name} {1e6 * spent:.1f}" for name, spent in order)
        return line + "".join(f"\n    {who}: {said}" for who, said in self.failed.items())


def check(number: Check, kernel: GpuKernel | None) -> Result:
    """Returns whether a kernel is right in all of its mappings."""
    result = Result(f"check {number}")
    if kernel is None:
        result.verdict = "not compiled"
        return result
    try:
        passed, expected, scale = data_of(number)
        there = [_there(passed[name]) for name in kernel.parameters]
        loaded = Loaded(tuple(there), np.asarray(expected), scale, 0, 0)
        for name, way in {"by itself": kernel, **ways(kernel)}.items():
            result.error[name] = _error(way(*there), loaded, number.dtype)
        _judge(result)
    except Exception as error:  # an error must not end the others: it is the result
        result.verdict = _said(error)
    return result


def _there(value: Any) -> Any:
    return value.to("cuda") if isinstance(value, ms.SparseTensor) else ms.to_device(value)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _judge(result: Result) -> None:
    wrong = [name for name, error in result.error.items() if not error <= _ULPS]  # also where it is no number
    if wrong:
        result.verdict = f"WRONG: {', '.join(wrong)}"


def measure(name: str, case: Case, kernels: Kernels, seconds: float, *, tune: bool = False) -> Result:
    """Returns the times of a case, after its numbers were checked.

    Args:
        name: the case's.
        case: what to measure.
        kernels: by name, element type and way.
        seconds: of each measurement.
        tune: whether to time every way that our kernel may take as well.
    """
    result = Result(name)
    try:
        loaded = case.load(case.dtype)
        of_case = {
            via: kernel for (text, dtype, via), kernel in kernels.items() if (text, dtype) == (case.kernel, case.dtype)
        }
        ours = {via: kernel for via, kernel in of_case.items() if "," not in via}
        _ours(result, ours, loaded, case.dtype, seconds)
        _peers(result, loaded, seconds)
        if tune and "codegen" in result.seconds:
            result.taken = taken(ours["codegen"])
            _tune(result, of_case, loaded, case.dtype, seconds / 3)
        _judge(result)
        counted = [spent for who, spent in result.seconds.items() if who in ours] or list(result.seconds.values())
        best = min(counted)
        result.gigabytes, result.gigaflops = loaded.moved / best / 1e9, loaded.operations / best / 1e9
    except Exception as error:  # an error must not end the other cases: it is the result
        result.verdict = _said(error)
    return result


def _ours(result: Result, ours: Mapping[str, GpuKernel], loaded: Loaded, dtype: str, seconds: float) -> None:
    for via, kernel in ours.items():
        try:
            result.error[via] = _error(kernel(*loaded.operands), loaded, dtype)
            _timed(result, via, _bound(kernel, loaded), seconds)
        except ms.UnsupportedError as error:  # a library without this: the other one is measured
            result.failed[via] = _said(error)


def _peers(result: Result, loaded: Loaded, seconds: float) -> None:
    for who, call in loaded.peers.items():
        try:
            if "CPU" in who:
                result.error[who] = _error(call(), loaded, "f32")
            _timed(result, who, call, seconds)
        except Exception as error:  # what another library does not have is no failure of ours
            result.failed[who] = _said(error)


def _bound(kernel: GpuKernel, loaded: Loaded) -> Call:
    return lambda: kernel(*loaded.operands)


def _timed(result: Result, who: str, call: Call, seconds: float) -> None:
    result.seconds[who], handing_over = seconds_of(call, seconds, on_host="CPU" in who)
    if handing_over > _BOUND_BY_HOST * result.seconds[who] and "CPU" not in who:
        result.by_host.append(who)


def _tune(result: Result, kernels: Mapping[str, GpuKernel], loaded: Loaded, dtype: str, seconds: float) -> None:
    """Times and checks every mapping, then the best one with other block sizes."""
    candidates: dict[str, GpuKernel] = dict(ways(kernels["codegen"]))
    for via, kernel in kernels.items():
        variant = via.removeprefix("codegen, ")
        if variant != via:
            differ = {name: way for name, way in ways(kernel).items() if name.startswith(_CHUNKED)}
            candidates |= {f"{name}, {variant}": way for name, way in differ.items()}
    _each(result, candidates, loaded, dtype, seconds)
    if result.ways:
        best = min(result.ways, key=lambda name: result.ways[name])
        sizes = {f"{best}, rows x {factor:g}": resized(candidates[best], factor) for factor in (0.25, 0.5, 2.0, 4.0)}
        _each(result, {name: kernel for name, kernel in sizes.items() if kernel is not None}, loaded, dtype, seconds)


def _each(result: Result, candidates: Mapping[str, GpuKernel], loaded: Loaded, dtype: str, seconds: float) -> None:
    for name, kernel in candidates.items():
        try:
            if loaded.moved < _MOST_COMPARED:  # of more, taking the result to the host would take the time
                result.error[name] = _error(kernel(*loaded.operands), loaded, dtype)
            spent, _ = seconds_of(_bound(kernel, loaded), seconds)
            if taken(kernel).split()[0] in name:  # else the way is not one for these operands, and another was made
                result.ways[name] = spent
        except ms.SparseError as error:  # a way that the driver refuses is no failure of the one that is taken
            result.failed[name] = _said(error)


def _error(found: Any, loaded: Loaded, dtype: str) -> float:
    """Returns the greatest error in units of the last place of the sum of magnitudes."""
    step, where = _STEPS.get(dtype, 1.0), loaded.where
    values: Any
    if isinstance(found, ms.DeviceTensor):
        host = found.to("cpu")
        assert isinstance(host, ms.SparseTensor)
        if isinstance(loaded.expected, scipy.sparse.sparray | scipy.sparse.spmatrix):
            got, scale = host.to_scipy().tocsr().astype(np.float64), loaded.scale.tocsr()
            apart = abs((got if where is None else got[where]) - loaded.expected)
            return float(apart.max() / step / max(scale.max(), 1e-300)) if apart.nnz else 0.0
        values = host.storage.values if np.ndim(loaded.expected) == 1 else host.to_numpy()
    else:
        values = found if isinstance(found, np.ndarray) else found.to_numpy()
    values = values if where is None else values[where]
    wide = values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)
    if wide.shape != np.shape(loaded.expected):
        raise ValueError(f"expected a result of shape {np.shape(loaded.expected)}, but got {wide.shape}")
    apart = np.abs(wide - loaded.expected)
    worst = np.max(apart / np.maximum(loaded.scale, 1e-300), initial=0.0) / step
    return float(worst) if dtype in _STEPS or not worst else float("inf")  # integers are right or wrong


def seconds_of(call: Call, seconds: float, *, on_host: bool = False) -> tuple[float, float]:
    """Returns the seconds of one call by events of the device, the median over rounds, and those of handing it over."""
    call()
    if on_host:
        start = time.perf_counter()
        call()
        repeats = max(1, int(seconds / _ROUNDS / (time.perf_counter() - start)))
        spent = [_on_host(call, repeats) for _ in range(_ROUNDS)]
        return statistics.median(spent), 0.0
    device.synchronize()
    start = time.perf_counter()
    call()
    device.synchronize()
    once = max(time.perf_counter() - start, 1e-6)
    rounds = [_round(call, max(1, int(seconds / _ROUNDS / once))) for _ in range(_ROUNDS)]
    return statistics.median(spent for spent, _ in rounds), statistics.median(handed for _, handed in rounds)


def _on_host(call: Call, repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def _round(call: Call, repeats: int) -> tuple[float, float]:
    before, after = _cuda.Event(0), _cuda.Event(0)
    before.record(0)
    handed_over = _on_host(call, repeats)
    after.record(0)
    return before.until(after) / repeats, handed_over
