"""The passes of modules that users write: what their pages show."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from mlir_sparse import pipeline, runtime
from mlir_sparse.compile.exploring.passes_value import (
    Language,
    MachineText,
    Passes,
    PassSection,
    SectionDetails,
    SourcePart,
)
from mlir_sparse.errors import ModuleError, SparseError
from mlir_sparse.pipeline import Pass, Pipeline, Trace
from mlir_sparse.pipeline.user_passes import USER_PASSES
from mlir_sparse.text.line_places import LinePlace
from mlir_sparse.text.listed_words import listed
from mlir_sparse.text.module_text import BYTECODE

__all__ = ["module_passes"]

_UNNAMED = "-"  # what MLIR calls a text without a file


def module_passes(
    content: bytes, name: str, passes: Sequence[str] | None = None, *, lanes: int = 0, entry: str | None = None
) -> Passes:
    """Returns the passes of a module.

    Args:
        content: its text, or bytecode.
        name: what messages call it.
        passes: the passes, as `opt` takes them; those that modules are compiled with when None.
        lanes: lanes of the sparsifier's vector loops, of the latter.
        entry: the function to show, with those that it calls; all when None.

    Raises:
        ModuleError: for a module that does not parse or verify, or has no such function.
        UnsupportedError: for a pass that is not there, or is a user's in Python.
    """
    compiles = passes is None
    only: tuple[Pass, ...] = () if entry is None else _only(content, name, entry)
    buffers, llvm = pipeline.module_to_buffers(lanes), pipeline.module_to_llvm()
    if passes is None:
        trace = pipeline.trace_user_module(content, name, Pipeline(only).then(buffers).then(llvm))
    else:
        _refuse_users(passes)
        trace = pipeline.trace_user_module(content, name, (*map(str, only), *passes))
    shown = content if entry is None or trace.failure is not None else trace[len(only)].text.encode()
    source = "" if content.startswith(BYTECODE) else content.decode(errors="replace")
    details = partial(_details, shown, name, source, trace, (buffers, llvm) if compiles else None)
    return Passes((PassSection(name, source or (trace[0].text if len(trace) else ""), "cpu", trace, details),))


def _only(content: bytes, name: str, entry: str) -> tuple[Pass, ...]:
    """Returns the passes that leave out what a function does not call."""
    _, functions = pipeline.compile_user_module(content, name, Pipeline(()), Pipeline(()), as_object=False)
    there = [one.name for one in functions]
    if entry not in there:
        known = listed(there) if there else "no public function with a body"
        raise ModuleError(f"expected a function of {name}, which has {known}, but got {entry!r}")
    return (
        Pass("symbol-privatize", "what is not asked for", (("exclude", entry),)),
        Pass("symbol-dce", "what the function does not call"),
    )


def _refuse_users(passes: Sequence[str]) -> None:
    for item in passes:
        if item.partition("{")[0] in USER_PASSES:
            raise ModuleError(
                f"expected passes of MLIR or of this package, which run in the compiler's process, but got {item!r}, "
                "which is written in Python: ms.opt runs it"
            )


def _details(
    content: bytes, name: str, source: str, trace: Trace, compiles: tuple[Pipeline, Pipeline] | None
) -> SectionDetails:
    machine, notes = list[MachineText](), list[str]()
    if trace.failure is None and compiles is not None:
        try:
            code, functions = pipeline.compile_user_module(content, name, *compiles, as_object=False)
            if functions:
                machine.append(MachineText("llvmir", Language.LLVM, runtime.llvm_ir(code)))
                code, _ = pipeline.compile_user_module(content, name, *compiles)
                machine.append(MachineText("asm", Language.ASSEMBLY, runtime.assembly(code)))
        except SparseError as error:  # functions that are not there; no disassembler
            notes.append(f"No machine code: {error}.")
    if not source:
        notes.append("The module is bytecode: lines are not linked with a text.")
    return SectionDetails(parts=_parts(source, trace), machine=tuple(machine), notes=tuple(notes))


def _parts(source: str, trace: Trace) -> tuple[SourcePart, ...]:
    """Returns the lines that operations come from; none of bytecode, whose text is not there."""
    if not source:
        return ()
    named = {place.line for one in trace for places in one.places for place in places if place.text == _UNNAMED}
    lines = source.split("\n")
    return tuple(
        SourcePart(f"line {line}", lines[line - 1].strip(), (LinePlace(_UNNAMED, line, 0),))
        for line in sorted(named)
        if line <= len(lines)
    )
