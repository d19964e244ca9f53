"""`mlir-sparse run`: runs one kernel, times it, checks it, and writes its result."""

from __future__ import annotations

import errno
import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

import mlir_sparse as ms
from mlir_sparse import device
from mlir_sparse.classes import dataclass
from mlir_sparse.compile.index_operands import with_made_operands
from mlir_sparse.errors import OperandError, UnknownTensorError
from mlir_sparse.notation import Assignment, Comprehension, IndexVar
from mlir_sparse.process.available_memory import in_units
from mlir_sparse.spec.extents import infer_extents
from mlir_sparse.spec.rounded_literals import round_literals
from mlir_sparse.tensor.files.read_write import check_written_name
from mlir_sparse.testing import Comparison, compare
from mlir_sparse.tools.command_options import CommandRequest
from mlir_sparse.tools.run_operands import Sources, Tensor, as_operand, load
from mlir_sparse.tools.run_report import Report, summary

__all__ = ["Job", "agrees", "check_outputs", "execute", "write_results"]


@dataclass(frozen=True, slots=True)
class Job:
    """A kernel to run, with the options of `run`.

    Args:
        request: the assignment and its tensors' types.
        sources: the tensors' values.
        outputs: files to write, by tensor.
        target: the machine to compile for.
        via: on a GPU, compiled kernels or NVIDIA's libraries.
        schedule: the schedule as text; the plan's choice when None.
        optimize: how the statement is optimized; that of the process when None.
        repeats: the number of calls to time, or None.
        verify: whether to check the result.
        explains: whether to print how it is computed.
    """

    request: CommandRequest
    sources: Sources
    outputs: Mapping[str, Path]
    target: str = "cpu"
    via: str = "auto"
    schedule: str | None = None
    optimize: str | None = None
    repeats: int | None = None
    verify: bool = False
    explains: bool = False


def execute(job: Job, report: Report) -> bool:
    """Runs a job and reports it; returns False if `verify` found a difference.

    Nothing is written if the check fails.
    """
    request = job.request
    check_outputs(job)
    tensors = load(request, job.sources, report)
    operands = _placed(tensors, job.target, report)
    with report.step("compiling and running"):
        start = time.perf_counter()
        kernel = ms.compile(
            request.assignment,
            tensors=operands,
            out=request.output,
            target=job.target,
            via=job.via,
            schedule=job.schedule,
            optimize=job.optimize,
        )
        returned = _brought(kernel(*operands.values()))
        seconds = time.perf_counter() - start
    if job.explains:
        click.echo(f"{kernel.explain()}\n")
    for name, tensor in tensors.items():
        source = job.sources.files.get(name)
        report.line(name, summary(tensor) + (f", from {source}" if source else ""))
    results = dict(zip(request.targets, returned if isinstance(returned, tuple) else (returned,), strict=True))
    for name, result in results.items():
        report.line("result" if name in tensors else name, summary(result))
    report.line("compile", f"{seconds * 1e3:.1f} ms, with the first call")
    if job.repeats is not None:
        _time(_call(kernel, operands, results), [*tensors.values(), *results.values()], job.repeats, report)
    passed = not job.verify or _verify(kernel, tensors, results, report)
    if passed:
        write_results(job, results, report)
    return passed


def _placed(tensors: Mapping[str, Tensor], target: str, report: Report) -> Mapping[str, Any]:
    """Returns the tensors on the kernel's machine: for a GPU, copies in device memory."""
    if not target.startswith("cuda"):
        return tensors
    with report.step("copying to the device"):
        there = {name: ms.to_device(tensor) for name, tensor in tensors.items()}
    report.line("copied", f"{in_units(sum(one.nbytes for one in there.values()))} to cuda:0")
    return there


def _brought(returned: Any) -> Any:
    """Returns a result, copied to host memory."""
    return returned.to("cpu") if isinstance(returned, ms.DeviceTensor | ms.DeviceArray) else returned


def check_outputs(job: Job) -> None:
    """Refuses files that cannot be written, before anything is computed."""
    for name, path in job.outputs.items():
        if name not in job.request.targets:
            targets = " or ".join(f"'{target}'" for target in job.request.targets)
            raise UnknownTensorError(f"expected -o to name the target {targets}, but got '{name}'")
        if not path.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        check_written_name(str(path), _rank(job.request.assignment, name))
        _check_overwrites_nothing(job, name, path)


def _rank(whole: Assignment | Comprehension, result: str) -> int:
    statements = whole.statements if isinstance(whole, Comprehension) else (whole,)
    return next(len(one.target.subscripts) for one in statements if one.target.tensor == result)


def _check_overwrites_nothing(job: Job, name: str, path: Path) -> None:
    """Refuses to overwrite an input or another result."""
    options = [("-i", one, other) for one, other in job.sources.files.items()]
    options += [("-o", one, other) for one, other in job.outputs.items() if one != name]
    for option, one, other in options:
        if _is_same_file(path, other):
            got = f"the file of {option} {one}={other}"
            raise OperandError(f"expected -o {name}={path} to name a file of its own, but got {got}: write to another")


def _is_same_file(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return one.is_file() and one.samefile(other)  # devices and pipes are not overwritten
    return os.path.realpath(one) == os.path.realpath(other)


def _call(kernel: Any, operands: Mapping[str, Any], results: Mapping[str, Tensor]) -> Callable[[], object]:
    arguments = tuple(operands.values())
    if any(isinstance(one, ms.DeviceTensor | ms.DeviceArray) for one in arguments):
        return lambda: _waited_for(kernel, arguments)
    (name, result), *others = results.items()
    # Compute in place if that changes no operand: this times the kernel without the allocator.
    if not others and isinstance(result, np.ndarray) and name not in operands:
        return lambda: kernel(*arguments, out=result)
    return lambda: kernel(*arguments)


def _waited_for(kernel: Any, operands: tuple[Any, ...]) -> None:
    kernel(*operands)
    device.synchronize()  # calls return before the kernels end


def _time(call: Callable[[], object], touched: list[Tensor], repeats: int, report: Report) -> None:
    timing = report.timed(call, repeats)
    moved = sum(tensor.nbytes for tensor in touched)
    rate = moved / timing.median / 1e9
    report.line(
        "call",
        f"{timing.least * 1e3:.4g} ms min, {timing.median * 1e3:.4g} ms median of {repeats} ({rate:.3g} GB/s)",
    )


def _verify(kernel: Any, tensors: Mapping[str, Tensor], results: Mapping[str, Tensor], report: Report) -> bool:
    if not isinstance(kernel, ms.ComprehensionKernel):
        (result,) = results.values()
        tensors = with_made_operands(kernel.spec.assignment, tensors, result)
        shapes = {name: tuple(np.shape(t) if isinstance(t, np.ndarray) else t.shape) for name, t in tensors.items()}
        extents = infer_extents(kernel.spec.assignment, shapes, tuple(result.shape))
        return agrees(kernel.spec.assignment, tensors, extents, result, "verify", report)
    # Each statement is checked by itself, on the actual results of those before.
    verdicts = [
        agrees(ran.statement, ran.operands, ran.extents, ran.result, f"check {number}", report)
        for number, ran in enumerate(kernel.trace(*tensors.values()), 1)
    ]
    return all(verdicts)


def agrees(
    assignment: Assignment,
    tensors: Mapping[str, Tensor],
    extents: Mapping[IndexVar, int],
    result: Tensor,
    label: str,
    report: Report,
) -> bool:
    """Checks the result of an assignment against NumPy, reports it, and returns whether it agrees."""
    operands = {name: as_operand(tensor) for name, tensor in tensors.items()}
    # The reference computes in wide types, where `1e-50` is not zero, as it is in f32.
    dtypes = {name: ms.DType.of(tensor.dtype) for name, tensor in tensors.items()}
    value = round_literals(assignment.value, dtypes, ms.DType.of(result.dtype))
    with report.step("checking against NumPy"):
        verdict = compare(
            replace(assignment, value=value), operands, {v.name: e for v, e in extents.items()}, as_operand(result)
        )
    report.line(label, _text_of(verdict))
    return verdict.passed


def _text_of(verdict: Comparison) -> str:
    noun = "value" if verdict.entries == 1 else "values"
    text = f"{'passed' if verdict.passed else 'FAILED'}: {verdict.entries:,} {noun} against NumPy"
    if verdict.error == 0:
        return f"{text}, all equal"
    if math.isinf(verdict.error):
        return f"{text}, at least one is wrong"
    return f"{text}, {verdict.error:.2g} of the rounding to expect, {verdict.allowed:.2g} allowed"


def write_results(job: Job, results: Mapping[str, Tensor], report: Report) -> None:
    """Writes the results that have a file."""
    for name, path in job.outputs.items():
        with report.step(f"writing {path}"):
            ms.write(path, results[name])
        report.line("wrote", str(path))
