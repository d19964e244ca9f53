"""A user's module through the compiler's process: its public functions as machine code, or a named error."""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse.errors import CompileError, CompilerCrash, ModuleError, SparseError
from mlir_sparse.pipeline.compiler_process import answer_of
from mlir_sparse.pipeline.pass_values import Pipeline
from mlir_sparse.pipeline.process_messages import DeclaredFunction, Diagnostic, ModuleOutcome, ModuleRequest
from mlir_sparse.pipeline.reproducer import write_reproducer
from mlir_sparse.process.forks import importing
from mlir_sparse.text.listed_words import listed
from mlir_sparse.text.source_text import Source, Span

__all__ = ["compile_user_module", "invalid_module", "module_diagnostics"]

_MOST = 10  # diagnostics in a message


def compile_user_module(
    module: bytes, name: str, to_buffers: Pipeline, to_llvm: Pipeline, *, as_object: bool = True
) -> tuple[bytes, tuple[DeclaredFunction, ...]]:
    """Returns the machine code of a module's public functions as an object file, and their types.

    Args:
        module: the text, or bytecode.
        name: what messages call it, such as its path.
        to_buffers: the passes to memory.
        to_llvm: those to the LLVM dialect.
        as_object: whether to return an object file, not bytecode of the LLVM dialect.

    Raises:
        ModuleError: for a module that does not parse or verify, or calls functions that are not there.
        CompileError: if a pass fails.
        CompilerCrash: if the compiler dies, hangs or runs out of memory.
    """
    pipeline = str(to_buffers.then(to_llvm))
    outcome = answer_of(ModuleRequest(module, str(to_buffers), str(to_llvm), as_object))
    if isinstance(outcome, str):
        raise CompilerCrash(
            f"expected MLIR to lower {name}, but the compiler {outcome}",
            kernel=name,
            pipeline=pipeline,
            reproducer=write_reproducer(module, pipeline, name),
        )
    assert isinstance(outcome, ModuleOutcome)
    if outcome.missing:
        raise ModuleError(
            f"expected functions that {name} declares to be in it or among those that programs can call, but got none "
            f"of the name {listed(outcome.missing)}"
        )
    if outcome.code is not None:
        return outcome.code, outcome.functions
    source = Source(module.decode(errors="replace"), name)
    if not outcome.is_valid:
        raise invalid_module(source, outcome.diagnostics)
    shown = "\n".join(module_diagnostics(source, outcome.diagnostics))
    reproducer = write_reproducer(module, pipeline, name)
    raise CompileError(
        f"expected MLIR to lower {name}, but got:\n{shown}", kernel=name, pipeline=pipeline, reproducer=reproducer
    )


def module_diagnostics(source: Source, diagnostics: Sequence[Diagnostic]) -> list[str]:
    """Returns diagnostics of MLIR's as text, each with its place in a module, the first of many."""
    return _texts(source, diagnostics[:_MOST])


def invalid_module(source: Source, diagnostics: Sequence[Diagnostic]) -> ModuleError:
    """Returns the error for a module that does not parse or verify, at the place of the first diagnostic."""
    first, *others = diagnostics
    rest = _texts(source, (*first.notes, *others)[:_MOST])
    message = f"expected a module that MLIR accepts, but got: {first.message}"
    if rest:
        message = "\n".join((message, *rest))
    if older := _older_spellings(source):
        message = f"{message}\n{older}"
    return ModuleError(message, source=source, span=_span(source, first))


def _older_spellings(source: Source) -> str | None:
    """Returns what to do about spellings of older releases in a module; None where it has none."""
    with importing():
        from mlir_sparse.migration import migrated  # for this message alone

    try:
        found = migrated(source.text, source.name)
    except SparseError:
        return None
    if not found.changes:
        return None
    count = "a spelling" if len(found.changes) == 1 else f"{len(found.changes)} spellings"
    return f"{source.name} has {count} of older releases of LLVM, which `mlir-sparse migrate FILE` rewrites"


def _span(source: Source, diagnostic: Diagnostic) -> Span | None:
    """Returns the place of a diagnostic; None where it is not in the text."""
    return source.span_at(diagnostic.line, diagnostic.column)


def _texts(source: Source, diagnostics: Sequence[Diagnostic]) -> list[str]:
    """Returns each diagnostic with its place and the line with a caret, its notes behind it."""
    found = []
    for one in diagnostics:
        span = _span(source, one)
        place = f"{source.name}:{one.line}:{one.column}: " if span else ""
        caret = f"\n{source.caret(span)}" if span else ""
        found.append(f"{place}{one.severity}: {one.message}{caret}")
        found += _texts(source, one.notes)
    return found
