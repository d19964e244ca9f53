"""`mlir-sparse run FILE.mlir`: calls a function of a module with tensors of files, in a process of its own."""

from __future__ import annotations

import numbers
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np

import mlir_sparse as ms
from mlir_sparse.classes import dataclass
from mlir_sparse.compile.index_operands import with_made_operands
from mlir_sparse.compile.modules import ModuleFunction
from mlir_sparse.errors import ExtentError, OperandError, ProgramError, UnknownTensorError
from mlir_sparse.notation import Assignment, IndexVar, tensors_given
from mlir_sparse.process.child_process import in_child
from mlir_sparse.runtime.program_values import NumberValue, ProgramValue
from mlir_sparse.spec.extents import infer_extents
from mlir_sparse.text.listed_words import listed
from mlir_sparse.tools.command_options import CommandRequest
from mlir_sparse.tools.generated_tensors import Generator
from mlir_sparse.tools.run_command import agrees
from mlir_sparse.tools.run_operands import known_extents
from mlir_sparse.tools.run_report import Report, summary

__all__ = ["ModuleJob", "is_module_source", "run_module", "source_text"]

_FUNCTION = re.compile(r"\b(?:func|llvm)\.func\b")


def is_module_source(text: str | None) -> bool:
    """Returns whether the argument of `run` is a module, or the path of one, and no notation."""
    return text is not None and (text.strip().endswith((".mlir", ".mlirbc")) or _FUNCTION.search(text) is not None)


def source_text(text: str) -> str:
    """Returns the argument of `run`; of `-`, what standard input has."""
    return sys.stdin.read().rstrip() if text == "-" else text


@dataclass(frozen=True, slots=True)
class ModuleJob:
    """A function of a module to run, with the options of `run`.

    Args:
        source: the module's path or text.
        entry: the function; None for the only one.
        files: paths by parameter.
        generators: generators by parameter.
        shapes: extents by parameter, as text.
        outputs: files to write, by result.
        repeats: the number of calls to time, or None.
        verify: the notation of what the function computes; None to check nothing.
        lanes: lanes of the sparsifier's vector loops.
        timeout: seconds the program may take; None for no limit.
    """

    source: str
    entry: str | None
    files: Mapping[str, Path]
    generators: Mapping[str, Generator]
    shapes: Mapping[str, str]
    outputs: Mapping[str, Path]
    repeats: int | None = None
    verify: str | None = None
    lanes: int = 0
    timeout: float | None = None


def run_module(job: ModuleJob, report: Report) -> int:
    """Compiles a module here, and runs its function in a child; returns the exit status.

    Raises:
        ProgramError: if the program dies, or runs past its time.
    """
    with report.step("compiling"):
        module = ms.module(job.source.strip() if "\n" not in job.source else job.source, lanes=job.lanes)
    function = _entry(module, job.entry)
    end = in_child(lambda: (_run(job, function, report), b""), job.timeout)
    if end.timed_out:
        raise ProgramError(f"expected {function.name} to end within {job.timeout:g} s, but it did not: raise --timeout")
    if end.status < 0:
        raise ProgramError(f"expected {function.name} of {module.name} to return, but it {end.how}")
    return end.status


def _entry(module: ms.UserModule, entry: str | None) -> ModuleFunction:
    if entry is not None:
        return module[entry]
    if len(module.functions) != 1:
        there = listed(module.functions) if module.functions else "none"
        raise UnknownTensorError(f"expected --entry to name a function of {module.name}, which has {there}")
    return next(iter(module.functions.values()))


def _run(job: ModuleJob, function: ModuleFunction, report: Report) -> int:
    try:
        if _ran(job, function, report):
            return 0
        said: object = "the result differs from the reference"
    except (ms.SparseError, OSError) as error:
        said = error
    click.echo(f"mlir-sparse: error: {said}", err=True)
    return 1


def _ran(job: ModuleJob, function: ModuleFunction, report: Report) -> bool:
    kinds = dict(zip(function.parameters, function.inputs, strict=True))
    for option, names in (("-i", job.files), ("-g", job.generators), ("-s", job.shapes)):
        unknown = [name for name in names if name not in kinds]
        if unknown:
            known = listed(kinds) if kinds else "none"
            raise UnknownTensorError(
                f"expected {option} to name a parameter of {function!r}, {known}, but got {unknown[0]}"
            )
    request = None if job.verify is None else _request(job, job.verify, kinds)
    operands = _operands(job, kinds, request, report)
    start = time.perf_counter()
    returned = function(*operands.values())
    seconds = time.perf_counter() - start
    for name, tensor in operands.items():
        source = job.files.get(name)
        if isinstance(tensor, numbers.Number):
            report.line(name, str(tensor))
        else:
            report.line(name, summary(tensor) + (f", from {source}" if source else ""))
    results = _named(returned, len(function.results), request)
    for name, result in results.items():
        label = "result" if name in operands else name
        report.line(label, str(result) if np.ndim(result) == 0 and not hasattr(result, "encoding") else summary(result))
    if job.repeats is not None:
        timing = report.timed(lambda: function(*operands.values()), job.repeats)
        report.line("call", f"{timing.least * 1e3:.4g} ms min, {timing.median * 1e3:.4g} ms median of {job.repeats}")
    elif results:
        report.line("call", f"{seconds * 1e3:.4g} ms, the first")
    passed = request is None or _verified(request, operands, results, report)
    for name, path in job.outputs.items() if passed else ():
        if name not in results:
            raise UnknownTensorError(f"expected -o to name a result, {listed(results)}, but got {name}")
        ms.write(path, results[name])
        report.line("wrote", str(path))
    return passed


def _request(job: ModuleJob, notation: str, kinds: Mapping[str, ProgramValue]) -> CommandRequest:
    """Returns the notation to verify by; its tensors are parameters, and its target may be one."""
    request = CommandRequest.of(notation, {}, {}, {})
    unknown = [name for name in request.tensors if name not in kinds]
    if unknown:
        raise UnknownTensorError(
            f"expected --verify to read parameters, {listed(kinds)}, but got {unknown[0]} in {notation!r}"
        )
    shapes = {name: text for name, text in job.shapes.items() if name in request.ranks}
    return CommandRequest.of(notation, {}, {}, shapes)


def _operands(
    job: ModuleJob, kinds: Mapping[str, ProgramValue], request: CommandRequest | None, report: Report
) -> dict[str, Any]:
    """Reads and generates operands; arrays without a source are zeros, as results are before they are computed."""
    found: dict[str, Any] = {}
    for name, path in job.files.items():
        with report.step(f"reading {path}"):
            found[name] = _read(path, kinds[name])
    for name, kind in kinds.items():
        if name in found:
            continue
        generator = job.generators.get(name)
        if generator is None and (kind.type.encoding is not None or isinstance(kind, NumberValue)):
            given = "NUMBER" if isinstance(kind, NumberValue) else "FILE"
            raise UnknownTensorError(f"expected -i {name}={given} or -g {name}=random for {kind.mlir}, but got neither")
        shape = _shape(name, kind, job, request, found)
        with report.step(f"making {name}"):
            found[name] = _made(generator or Generator("zeros"), kind, shape)
    return {name: found[name] for name in kinds}


def _read(path: Path, kind: ProgramValue) -> Any:
    if isinstance(kind, NumberValue) and not path.exists():
        return _number(str(path), kind)
    tensor = ms.read(path)
    encoding = getattr(kind, "encoding", None)
    wanted = kind.type.dtype.numpy
    if encoding is None:
        array = tensor.to_numpy() if isinstance(tensor, ms.SparseTensor) else tensor
        return np.ascontiguousarray(array, wanted)
    return ms.tensor(tensor.astype(wanted) if tensor.dtype != wanted else tensor, encoding)


def _number(text: str, kind: NumberValue) -> Any:
    """Returns a number of the command line, as Python writes them; `true` and `false` are numbers too."""
    truths = {"true": True, "false": False}
    for read in (lambda one: truths[one], int, float, complex):
        try:
            return read(text)
        except (KeyError, ValueError):
            continue
    raise OperandError(f"expected a number of {kind.mlir}, or a file, but got {text!r}")


def _made(generator: Generator, kind: ProgramValue, shape: tuple[int, ...]) -> Any:
    encoding = getattr(kind, "encoding", None)
    dtype = kind.type.dtype.numpy
    if encoding is None:
        return generator.dense(shape, dtype)
    return ms.tensor(generator.sparse(shape, dtype), encoding, shape=shape)


def _shape(
    name: str, kind: ProgramValue, job: ModuleJob, request: CommandRequest | None, found: Mapping[str, Any]
) -> tuple[int, ...]:
    """Returns the extents of a parameter: those of its type, of -s, or of the notation's index variables."""
    given = _given_shape(name, kind, job.shapes.get(name))
    extents = {} if request is None else known_extents(request, found)
    access = None if request is None else next((a for a in request.accesses if a.tensor == name), None)
    subscripts = () if access is None else access.subscripts
    shape = []
    for axis, (static, asked) in enumerate(zip(kind.type.shape, given, strict=True)):
        subscript = subscripts[axis] if axis < len(subscripts) else None
        known = extents.get(subscript) if isinstance(subscript, IndexVar) else None
        extent = next((one for one in (static, asked, known) if one is not None), None)
        if extent is None:
            raise ExtentError(
                f"expected an extent for axis {axis} of {name}, {kind.mlir}, but got none: give -s {name}=SHAPE, "
                "or --verify a notation whose index variables have it"
            )
        shape.append(extent)
    return tuple(shape)


def _given_shape(name: str, kind: ProgramValue, text: str | None) -> tuple[int | None, ...]:
    if text is None:
        return (None,) * kind.type.rank
    parts = [part.strip() for part in re.split(r"[x,]", text)]
    if len(parts) != kind.type.rank or not all(part == "?" or part.isdecimal() for part in parts):
        raise OperandError(f"expected {kind.type.rank} extents in -s {name}=, as 1000x?, but got {text!r}")
    return tuple(None if part == "?" else int(part) for part in parts)


def _named(returned: Any, count: int, request: CommandRequest | None) -> dict[str, Any]:
    """Returns the results by name: the notation's target, or result, result1 and so on."""
    values = returned if count > 1 else (returned,) if count else ()
    first = "result" if request is None else request.targets[0]
    return {first if at == 0 else f"result{at}": value for at, value in enumerate(values)}


def _verified(request: CommandRequest, operands: Mapping[str, Any], results: Mapping[str, Any], report: Report) -> bool:
    assignment = request.assignment
    if not isinstance(assignment, Assignment) or not results:
        raise OperandError("expected an assignment to verify the function's first result by, but got other notation")
    result = next(iter(results.values()))
    tensors = {name: operands[name] for name in tensors_given(assignment)}
    tensors = with_made_operands(assignment, tensors, result)
    shapes = {name: tuple(one.shape) for name, one in tensors.items()}
    extents = infer_extents(assignment, shapes, tuple(result.shape))
    return agrees(assignment, tensors, extents, result, "verify", report)
