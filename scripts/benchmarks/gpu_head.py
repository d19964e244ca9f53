"""What results on a GPU must be read with: machine, device, versions, rates of copies, the cost of a call."""

from __future__ import annotations

import contextlib
import datetime
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import mlir_sparse as ms
from benchmarks.gpu_measure import seconds_of
from benchmarks.machine import machine, versions
from mlir_sparse import _cuda, device
from mlir_sparse.compile.gpu_kernel import GpuKernel
from mlir_sparse.device import cuda_libraries_found

__all__ = ["header", "overhead", "small_operands"]


def small_operands() -> tuple[Any, ...]:
    """Returns operands of a product that takes no time beside its call."""
    return ms.tensor(np.eye(8)).to("cuda"), ms.to_device(np.ones(8))


def header(revision: str, seconds: float) -> dict[str, Any]:
    """Returns what results must be read with: machine, device, bandwidth, matrix rate, the cost of a call."""
    cuda_libraries_found.load_driver()
    where = device.device("cuda")
    driver = _cuda.driver_version()
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": revision,
        "device": _cuda.device_name(0),
        "chip": device.chip_of(where),
        "memory": device.memory_info(where)[1],
        "driver": f"CUDA {driver // 1000}.{driver % 1000 // 10}",
        "libraries": _libraries(),
        "machine": machine(),
        "versions": {**versions(), **_gpu_versions()},
        "copy GB/s": _or_none(lambda: _copy_rate(where, seconds)),
        "f16 matrix TFLOP/s": _or_none(lambda: _matrix_rate(seconds)),
    }


def _or_none(measure: Callable[[], float | None]) -> float | None:
    """Returns a rate; None where measuring it fails, for the cases are worth running without."""
    try:
        return measure()
    except Exception as error:
        print(f"not measured: {error}", flush=True)
        return None


def _libraries() -> dict[str, int]:
    found = {}
    for name, load, version in (
        ("cuSPARSE", cuda_libraries_found.load_sparse, _cuda.sparse_version),
        ("cuSPARSELt", cuda_libraries_found.load_structured, _cuda.structured_version),
    ):
        with contextlib.suppress(ms.SparseError):  # its cases say so
            load()
            found[name] = version(0)
    return found


def _gpu_versions() -> dict[str, str]:
    found = {}
    for name in ("cupy", "torch"):
        try:
            found[name] = str(__import__(name).__version__)
        except ImportError:
            continue
    return found


def _copy_rate(where: device.Device, seconds: float) -> float:
    free, _ = device.memory_info(where)
    array = device.empty((min(1 << 30, free // 4),), np.dtype(np.int8), where)
    target = device.empty(array.shape, array.dtype, where)
    return 2 * array.nbytes / seconds_of(lambda: array.copy_into(target), seconds)[0] / 1e9


def _matrix_rate(seconds: float) -> float | None:
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    size = 8192
    one = torch.rand(size, size, device="cuda", dtype=torch.float16)
    return 2 * size**3 / seconds_of(lambda: one @ one, seconds)[0] / 1e12


def overhead(kernel: GpuKernel, operands: tuple[Any, ...], calls: int = 2000) -> dict[str, float]:
    """Returns the microseconds of a warm call, of its launches alone, and of what is added to them."""
    result = kernel(*operands)  # whose memory the launches alone write to
    prepared = list(kernel._prepared.values())[-1]
    launches = [
        (function, grid, block, tuple(0 if is_address else value for is_address, value in parameters))
        for function, grid, block, parameters in prepared.launches  # type: ignore[attr-defined]
    ]
    addresses = [a.pointer for one in operands for a in (one._arrays if isinstance(one, ms.DeviceTensor) else (one,))]
    addresses.append(result.pointer)
    filled = [
        tuple(addresses[value] if is_address else value for is_address, value in parameters)
        for _, _, _, parameters in prepared.launches  # type: ignore[attr-defined]
    ]

    def raw() -> None:
        for (function, grid, block, _), given in zip(launches, filled, strict=True):
            function.launch(0, grid, block, 0, 0, given)

    times = {}
    for name, call in (("call", lambda: kernel(*operands)), ("launches", raw)):
        device.synchronize()
        rounds = []
        for _ in range(7):
            start = time.perf_counter()
            for _ in range(calls // 7):
                call()
            rounds.append((time.perf_counter() - start) / (calls // 7))
            device.synchronize()
        times[name] = 1e6 * min(rounds)
    return {**times, "added": times["call"] - times["launches"]}
