"""`mlir-sparse opt` and `mlir-sparse runner`: passes and programs, as `mlir-opt` and `mlir-runner` have them."""

from __future__ import annotations

import os
import re
import runpy
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DTYPES, DType
from mlir_sparse.errors import CompilerCrash, ModuleError, ProgramError, SparseError
from mlir_sparse.pipeline.pass_values import pass_items
from mlir_sparse.pipeline.reproducer import PIPELINE_MARK, write_reproducer
from mlir_sparse.pipeline.user_passes import USER_PASSES
from mlir_sparse.process.child_process import in_child
from mlir_sparse.text.module_text import decoded_module
from mlir_sparse.tools.opt_flags import OptRequest, parse_flags

__all__ = ["RESULTS", "RunnerRequest", "optimize", "run_program"]

# LLVM's libraries of what this package has itself.
_RUNNER_LIBRARY = re.compile(r"(lib)?mlir_(c_|float16_|async_)?(runner_utils|runtime)\b")


def optimize(arguments: Sequence[str]) -> int:
    """Runs `mlir-sparse opt` with the arguments of its command line; returns the exit status.

    Raises:
        CompilerCrash: if a pass kills the process that runs it, with a file that reproduces it.
    """
    request = parse_flags(arguments)
    if request.lists:
        from mlir_sparse.pipeline.own_passes import OWN_PASSES  # loads all that the passes stand on

        for path in request.plugins:
            runpy.run_path(path)
        for name in sorted({*OWN_PASSES, *USER_PASSES}):
            click.echo(name)
        return 0
    content, name = _read(request.source)
    if request.reproduces:
        request = replace(request, options=replace(request.options, items=_marked_passes(content, name)))
    end = in_child(lambda: (_transform(content, name, request), b""))
    if end.status < 0:
        items = ",".join(request.options.items)
        reproducer = write_reproducer(content, f"builtin.module({items})", name)
        raise CompilerCrash(
            f"expected MLIR to run the passes on {name}, but it {end.how}",
            kernel=name,
            pipeline=items,
            reproducer=reproducer,
        )
    return end.status


def _read(source: str) -> tuple[bytes, str]:
    """Returns the content of a file or of standard input, and what messages call it."""
    return (sys.stdin.buffer.read(), "<stdin>") if source == "-" else (Path(source).read_bytes(), source)


def _marked_passes(content: bytes, name: str) -> tuple[str, ...]:
    """Returns the passes that a reproducer names."""
    lines = content.decode(errors="replace").splitlines()
    marked = next((line.removeprefix(PIPELINE_MARK) for line in lines if line.startswith(PIPELINE_MARK)), None)
    if marked is None:
        raise ModuleError(f"expected a line `{PIPELINE_MARK}...` in {name}, but got none")
    return tuple(pass_items(marked.strip().removeprefix("builtin.module(").removesuffix(")")))


def _transform(content: bytes, name: str, request: OptRequest) -> int:
    from mlir_sparse.pipeline.transform_module import nested, transform  # loads MLIR: in the child alone

    try:
        for path in request.plugins:
            runpy.run_path(path)
        items = tuple(map(nested, request.options.items))
        options = replace(request.options, items=items)
        text = decoded_module(content, name)
        if request.target == "-":
            return 0 if transform(text, name, options, sys.stdout) else 1
        with open(request.target, "w", encoding="utf-8") as out:
            return 0 if transform(text, name, options, out) else 1
    except SparseError as error:
        print(f"mlir-sparse: error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"mlir-sparse: error: cannot use {error.filename}: {error.strerror}", file=sys.stderr)
        return 1


@dataclass(frozen=True, slots=True)
class RunnerRequest:
    """A program of the LLVM dialect to run.

    Args:
        source: its file, `-` for standard input.
        entry: the function to call, which takes nothing.
        result: what it returns: void, or a type whose value is printed.
        libraries: shared libraries with functions that it calls.
        opt_level: LLVM's optimisation level.
        timeout: seconds it may take; None for no limit.
    """

    source: str
    entry: str
    result: str
    libraries: tuple[str, ...]
    opt_level: int
    timeout: float | None


RESULTS = ("void", *(kind.name for kind in DTYPES if kind.kind in "if" and kind.bits >= 32))
"""What `--entry-point-result` takes."""


def run_program(request: RunnerRequest) -> int:
    """Runs `mlir-sparse runner`; returns the exit status.

    Raises:
        ProgramError: if the program dies or runs past its time.
    """
    content, name = _read(request.source)
    end = in_child(lambda: (_call(content, name, request), b""), request.timeout)
    if end.timed_out:
        raise ProgramError(f"expected @{request.entry} to end within {request.timeout:g} s, but it did not")
    if end.status < 0:
        raise ProgramError(f"expected @{request.entry} of {name} to return, but it {end.how}")
    return end.status


def _call(content: bytes, name: str, request: RunnerRequest) -> int:
    from mlir_sparse.pipeline.call_entry import call_entry  # loads MLIR: in the child alone

    try:
        libraries = [_library(path) for path in request.libraries if not _is_ours(path)]
        kind = None if request.result == RESULTS[0] else DType.of(request.result).numpy.type
        value = call_entry(content, name, request.entry, kind, libraries, request.opt_level)
    except SparseError as error:
        print(f"mlir-sparse: error: {error}", file=sys.stderr)
        return 1
    if value is not None:
        print(value if isinstance(value, np.integer) else f"{value:e}")
    return 0


def _is_ours(path: str) -> bool:
    """Returns whether a library of LLVM's is not there: most of what it has is in this package."""
    return _RUNNER_LIBRARY.search(os.path.basename(path)) is not None and not os.path.isfile(path)


def _library(path: str) -> str:
    if not os.path.isfile(path):
        raise ModuleError(f"expected --shared-libs to name files of libraries, but got {path!r}")
    return os.path.abspath(path)
