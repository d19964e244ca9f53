"""Measures kernels on a GPU: each checked against the host, then timed beside cuSPARSE, PyTorch and cuBLAS.

scripts/bench-gpu [--quick] [--save] [word in a name ...]     on a machine with a GPU
scripts/bench-gpu --prepare FILE                              compiles the kernels on another machine
scripts/bench-gpu --kernels FILE                              takes them from there: no MLIR is needed
"""

from __future__ import annotations

import datetime
import json
import pickle
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import click
import numpy as np
import scipy.sparse

import mlir_sparse as ms
from benchmarks.gpu_cases import CASES, CPU_KERNELS, KERNELS, MTTKRP, Case, Loaded
from benchmarks.machine import commit, machine, versions
from mlir_sparse import _cuda, device
from mlir_sparse.device import libraries
from mlir_sparse.gpu_kernel import GpuKernel

RESULTS = Path(__file__).parent / "results"
# Rounding of sums, in units of the last place of the result's type: what is beyond is a wrong number.
_ULPS = 64
_SECONDS = 0.3  # of one measurement; a quick one takes a tenth
Call = Callable[[], Any]


@dataclass
class Result:
    """What one case came to.

    Args:
        name: the case.
        seconds: of one call, the median over the rounds, by who computed it.
        gigabytes: a second, of what has to be moved at least, of our best.
        gigaflops: a second, of our best.
        error: the greatest error of each of ours, in units of the last place of its sum of magnitudes.
        verdict: "ok", or what is wrong.
    """

    name: str
    seconds: dict[str, float] = field(default_factory=dict)
    gigabytes: float = 0.0
    gigaflops: float = 0.0
    error: dict[str, float] = field(default_factory=dict)
    verdict: str = "ok"

    def __str__(self) -> str:
        times = "  ".join(f"{name} {1e6 * seconds:.1f} us" for name, seconds in self.seconds.items())
        return f"{self.name:46} {self.verdict:8} {self.gigabytes:7.0f} GB/s {self.gigaflops:9.0f} GFLOP/s  {times}"


@click.command()
@click.argument("words", nargs=-1)
@click.option("--quick/--no-quick", default=False, help="A tenth of the time for each measurement.")
@click.option("--tiny/--no-tiny", default=False, help="Small inputs instead, for a look at whether all works.")
@click.option("--save/--no-save", "saved", default=False, help="Write the results as JSON.")
@click.option("--output", type=click.Path(path_type=Path), default=RESULTS, help="The folder to write them to.")
@click.option("--prepare", type=click.Path(path_type=Path), help="Compile all kernels to a file, and stop.")
@click.option("--kernels", type=click.Path(path_type=Path, exists=True), help="Take the kernels from a file.")
@click.option("--chip", default="", help="The chip to compile for, such as sm_90; by default that of the device.")
def main(
    words: tuple[str, ...],
    quick: bool,
    tiny: bool,
    saved: bool,
    output: Path,
    prepare: Path | None,
    kernels: Path | None,
    chip: str,
) -> None:
    """Measures all cases, or those with one of WORDS in their name; exits with 1 where a number is wrong."""
    if prepare is not None:
        prepare.write_bytes(
            pickle.dumps({"commit": commit(), "kernels": _compiled(chip or "sm_80"), "cpu": _saved_for_cpu()})
        )
        click.echo(f"{prepare}: {prepare.stat().st_size} bytes")
        return
    held = pickle.loads(kernels.read_bytes()) if kernels is not None else None
    made = held["kernels"] if held else _compiled(chip)
    if held:
        with tempfile.NamedTemporaryFile(delete=False) as file:
            file.write(held["cpu"])
        CPU_KERNELS.append(Path(file.name))
    seconds = _SECONDS / 10 if quick else _SECONDS
    head = _header(held["commit"] if held else commit(), seconds)
    head["call, us"] = overhead(made["SpMV", "f64", "codegen"], _small())
    click.echo(json.dumps(head, indent=1))
    chosen = {
        name: case
        for name, case in CASES.items()
        if ("tiny" in name) == tiny and (not words or any(word.lower() in name.lower() for word in words))
    }
    results = []
    for name, case in chosen.items():
        results.append(measure(name, case, made, seconds))
        click.echo(str(results[-1]))
    if saved:
        click.echo(str(_save(output, head, results)))
    sys.exit(any(result.verdict != "ok" for result in results))


def _saved_for_cpu() -> bytes:
    """Returns the kernel of the CPU that GPUs are compared with, compiled for processors like this one."""
    A, B, C = (KERNELS["MTTKRP"].types[name].replace("T[", "f32[") for name in "ABC")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel")
        ms.compile(MTTKRP, A=A, B=B, C=C, out="dense").save(path)
        return path.read_bytes()


def _small() -> tuple[Any, ...]:
    return ms.tensor(np.eye(8)).to("cuda"), ms.to_device(np.ones(8))


def _compiled(chip: str) -> dict[tuple[str, str, str], GpuKernel]:
    """Returns each kernel by its name, element type and way."""
    found = {}
    for name, dtype in dict.fromkeys((case.kernel, case.dtype) for case in CASES.values()):
        kernel = KERNELS[name]
        types = {operand: kind.replace("T[", f"{dtype}[") for operand, kind in kernel.types.items()}
        for via in kernel.vias:
            target = f"cuda:{chip}" if chip else "cuda"
            made: GpuKernel = ms.compile(kernel.text, target=target, via=via, out=kernel.out, tensors=types)
            found[name, dtype, via] = made.compile_for(*(types[operand] for operand in made.parameters))
    return found


def measure(name: str, case: Case, kernels: Mapping[tuple[str, str, str], GpuKernel], seconds: float) -> Result:
    """Returns the times of a case, after its numbers were checked."""
    result = Result(name)
    try:
        loaded = case.load(case.dtype)
        ours = {
            via: _bound(kernels[case.kernel, case.dtype, via], loaded.operands) for via in KERNELS[case.kernel].vias
        }
        for via, call in ours.items():
            result.error[via] = _error(call(), loaded, case.dtype)
        if any(not error <= _ULPS for error in result.error.values()):  # also where it is no number
            result.verdict = "WRONG"
        for who, call in {**ours, **loaded.peers}.items():
            result.seconds[who] = _time(call, seconds, on_host="CPU" in who)
        best = min(result.seconds[via] for via in ours)
        result.gigabytes, result.gigaflops = loaded.moved / best / 1e9, loaded.operations / best / 1e9
    except Exception as error:  # one case must not end the others: what it said is the result
        result.verdict = f"{type(error).__name__}: {error}"
    return result


def _bound(kernel: GpuKernel, operands: tuple[Any, ...]) -> Call:
    return lambda: kernel(*operands)


def _error(found: Any, loaded: Loaded, dtype: str) -> float:
    """Returns the greatest error in units of the last place of the sum of magnitudes."""
    step = {"f16": 2.0**-11, "f32": 2.0**-24, "f64": 2.0**-53}[dtype]
    values: Any
    if isinstance(found, ms.DeviceTensor):
        host = found.to("cpu")
        assert isinstance(host, ms.SparseTensor)
        values = host.storage.values
        if isinstance(loaded.expected, scipy.sparse.sparray | scipy.sparse.spmatrix):
            got, scale = host.to_scipy().astype(np.float64), loaded.scale.tocsr()
            apart = abs(got - loaded.expected)
            return float(apart.max() / step / max(scale.max(), 1e-300)) if apart.nnz else 0.0
    else:
        values = found.to_numpy()
    expected = loaded.expected
    if isinstance(expected, tuple):
        rows, expected = expected
        values = values[rows]
    apart = np.abs(values.astype(np.float64) - expected)
    return float(np.max(apart / np.maximum(loaded.scale, 1e-300), initial=0.0) / step)


def _time(call: Call, seconds: float, *, on_host: bool = False) -> float:
    """Returns the seconds of one call: the median over rounds, each timed by events of the device."""
    call()
    device.synchronize()
    start = time.perf_counter()
    call()
    device.synchronize()
    once = max(time.perf_counter() - start, 1e-6)
    rounds, repeats = 10, max(1, int(seconds / 10 / once))
    return statistics.median(_round(call, repeats, on_host) for _ in range(rounds))


def _round(call: Call, repeats: int, on_host: bool) -> float:
    if on_host:
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        return (time.perf_counter() - start) / repeats
    before, after = _cuda.Event(0), _cuda.Event(0)
    before.record(0)
    for _ in range(repeats):
        call()
    after.record(0)
    return before.until(after) / repeats


def _header(revision: str, seconds: float) -> dict[str, Any]:
    """Returns what results must be read with: machine, device, bandwidth, matrix rate, the cost of a call."""
    libraries.load_driver()
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
        "copy GB/s": _copy_rate(where, seconds),
        "f16 matrix TFLOP/s": _matrix_rate(seconds),
    }


def _libraries() -> dict[str, int]:
    libraries.load_sparse()
    found = {"cuSPARSE": _cuda.sparse_version(0)}
    try:
        libraries.load_structured()
        found["cuSPARSELt"] = _cuda.structured_version(0)
    except ms.SparseError:
        pass  # its cases say so
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
    return 2 * array.nbytes / _time(lambda: array.copy_into(target), seconds) / 1e9


def _matrix_rate(seconds: float) -> float | None:
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    size = 8192
    one = torch.rand(size, size, device="cuda", dtype=torch.float16)
    return 2 * size**3 / _time(lambda: one @ one, seconds) / 1e12


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


def _save(folder: Path, head: dict[str, Any], results: list[Result]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"gpu-{head['date'][:10]}-{head['commit']}.json"
    path.write_text(json.dumps({**head, "results": [asdict(result) for result in results]}, indent=1) + "\n")
    return path


if __name__ == "__main__":
    main()
