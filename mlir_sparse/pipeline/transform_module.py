"""Runs passes on the text of a module in this process, as `mlir-opt` does: for the command line, which forks for it."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import IO, Protocol

from mlir_sparse._mlir import bindings, ir, parse_module
from mlir_sparse.errors import CompileError
from mlir_sparse.loops.facts_in_ir import facts_of, has_facts
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.loops.regions import operations_of
from mlir_sparse.pipeline import gpu_passes
from mlir_sparse.pipeline.expected_diagnostics import diagnostic_faults
from mlir_sparse.pipeline.module_compiler import diagnostics_in
from mlir_sparse.pipeline.opt_options import GPU, OptOptions
from mlir_sparse.pipeline.own_passes import OWN_PASSES, run_own_pass
from mlir_sparse.pipeline.pass_values import pass_items, pass_name
from mlir_sparse.pipeline.process_messages import Diagnostic
from mlir_sparse.pipeline.user_passes import USER_PASSES, options_of
from mlir_sparse.text.source_text import Source, Span

__all__ = ["expanded", "nested", "run_items", "transform"]

_SPLIT = "// -----"
_ANCHORS = ("", "func.func", "gpu.module", "llvm.func", "any")


def transform(text: str | bytes, name: str, options: OptOptions, out: IO[str], said: IO[str] | None = None) -> bool:
    """Runs passes on a module, or on each of several; a crash of the compiler is one of this process.

    Args:
        text: of the modules, or bytecode.
        name: the file's, for messages.
        options: what to run, and what to print.
        out: where modules are printed to.
        said: where diagnostics are; standard error when None.

    Returns:
        whether all went well: without diagnostics of errors, or with those that comments expect.
    """
    pieces: list[tuple[str | bytes, int]] = [(text, 0)]
    if options.split_input_file and isinstance(text, str):
        pieces = list(_pieces(text))
    good = True
    for number, (piece, line) in enumerate(pieces):
        if number:
            print(_SPLIT, file=out)
        good &= _transform_one(piece, name, line, options, (out, said or sys.stderr))
    return good


def _pieces(text: str) -> Iterator[tuple[str, int]]:
    """Yields each module of a text, and the number of lines before it."""
    line = 0
    for piece in re.split(rf"^{_SPLIT}[^\n]*\n", text, flags=re.MULTILINE):
        yield piece, line
        line += piece.count("\n") + 1


class _Said(Protocol):
    """A diagnostic of the bindings."""

    severity: object
    location: object
    message: str
    notes: Sequence[object]


def _transform_one(
    text: str | bytes, name: str, line: int, options: OptOptions, streams: tuple[IO[str], IO[str]]
) -> bool:
    out, errors = streams
    said: list[Diagnostic] = []
    context = ir.Context()
    context.allow_unregistered_dialects = options.allow_unregistered
    context.emit_error_diagnostics = True
    if options.before or options.after:
        context.enable_multithreading(False)

    def hear(one: _Said) -> bool:
        said.extend(diagnostics_in(_Heard([one])))
        return True

    with context, ir.Location.unknown():
        handler = context.attach_diagnostic_handler(hear)
        try:
            module = parse_module(text)
            run_items(module, options)
            print(_printed(module, options), file=out)
            done = True
        except (ir.MLIRError, ValueError, RuntimeError) as error:
            if not any(one.severity == "error" for one in said):
                said.extend(diagnostics_in(error))
            done = False
        finally:
            handler.detach()
    source = Source(text if isinstance(text, str) else "", name)
    if options.verify_diagnostics:
        faults = [Diagnostic("error", message, at) for at, message in diagnostic_faults(source.text, said)]
        _report(source, line, faults, errors)
        return not faults
    _report(source, line, said, errors)
    return done


class _Heard(Exception):  # noqa: N818 - the form in which the bindings raise diagnostics
    """Diagnostics, as an exception of the bindings has them."""

    def __init__(self, error_diagnostics: Sequence[object]) -> None:
        super().__init__()
        self.error_diagnostics = error_diagnostics


def _printed(module: ir.Module, options: OptOptions) -> str:
    text = module.operation.get_asm(
        enable_debug_info=options.debug_info,
        large_elements_limit=options.elide,
        print_generic_op_form=options.generic,
        use_local_scope=options.local_scope,
    )
    return text.rstrip("\n")


def _report(source: Source, before: int, said: Sequence[Diagnostic], out: IO[str]) -> None:
    """Prints diagnostics with their places in the file, as MLIR does."""
    starts = [0]
    for text in source.text.splitlines(keepends=True):
        starts.append(starts[-1] + len(text))
    for one in said:
        known = 0 < one.line < len(starts)
        column = f"{one.column}:" if one.column else ""
        place = f"{source.name}:{one.line + before}:{column} " if known else f"{source.name}: "
        print(f"{place}{one.severity}: {one.message}", file=out)
        if known and one.column:
            start = starts[one.line - 1] + one.column - 1
            print(source.caret(Span(start, start + 1)), file=out)
        _report(source, before, one.notes, out)


# -- running ---------------------------------------------------------------------------------------------------------


def run_items(module: ir.Module, options: OptOptions) -> None:
    """Runs passes on a module, this package's among them.

    Raises:
        MLIRError, ValueError: if a pass fails.
    """
    wanted = {*options.before, *options.after} - {"*"}
    separate = bool(wanted)
    items = [part for item in options.items for part in _chosen(item, module)]
    for own, group in groupby(items, _is_own):
        stretch_of = list(group)
        if own:
            for item in stretch_of:
                _run_own(module, item, options)
            continue
        flat = [part for item in stretch_of for part in expanded(item)] if separate else stretch_of
        stretches = [[one] for one in flat] if separate else [flat]
        for stretch in stretches:
            _run_mlir(module, stretch, options)


def _chosen(item: str, module: ir.Module) -> Iterator[str]:
    """Yields the passes of a pipeline that a module decides, nested; of any other item itself."""
    name, _, options = item.partition("{")
    if name != GPU:
        yield item
        return
    chip = options.removeprefix("chip=").removesuffix("}")
    functions = [op for op in operations_of(module.body) if op.name == "func.func"]
    planned = any(has_facts(one) and facts_of(one).threads is not None for one in functions)
    passes = gpu_passes.gpu(in_place=False).then(gpu_passes.nvvm()) if planned else gpu_passes.module_to_gpu()
    yield from map(str, passes.then(gpu_passes.ptx(chip, 0 if planned else gpu_passes.BY_HAND)).passes)


def _is_own(item: str) -> bool:
    """Returns whether a pass is one of this package's or of the user's, which MLIR does not know."""
    name = item.partition("{")[0]
    return name in OWN_PASSES or name in USER_PASSES


def _run_own(module: ir.Module, item: str, options: OptOptions) -> None:
    name = item.partition("{")[0]
    before, after = (_asks(asked, name) for asked in (options.before, options.after))
    text = _printed(module, options) if before or options.after_change else ""
    if before:
        print(f"// -----// IR Dump Before {name} //----- //\n{text}\n", file=sys.stderr)
    if name in OWN_PASSES:
        run_own_pass(Seen(module), item)
    else:
        _run_users(module, item)
    if options.verify_each:
        module.operation.verify()
    if after or options.after_change:
        changed = _printed(module, options)
        if after or changed != text:
            print(f"// -----// IR Dump After {name} //----- //\n{changed}\n", file=sys.stderr)


def _run_users(module: ir.Module, item: str) -> None:
    name = item.partition("{")[0]
    try:
        USER_PASSES[name](module, options_of(item))
    except Exception as error:  # whatever a user's function raises
        traceback.print_exc()
        raise RuntimeError(f"expected the pass {name} to return, but got {type(error).__name__}: {error}") from error


def _asks(asked: Sequence[str], name: str) -> bool:
    return "*" in asked or name in asked


def _run_mlir(module: ir.Module, items: Sequence[str], options: OptOptions) -> None:
    passes = bindings().module("passmanager").PassManager.parse(f"builtin.module({','.join(items)})")
    passes.enable_verifier(options.verify_each)
    name = pass_name(items[0]) if items else ""
    before, after = (_asks(asked, name) for asked in (options.before, options.after))
    if before or after or options.after_change:
        passes.enable_ir_printing(
            print_before_all=before,
            print_after_all=after or options.after_change,
            print_after_change=options.after_change,
            print_module_scope=options.module_scope,
            print_generic_op_form=options.generic,
            enable_debug_info=options.debug_info,
            large_elements_limit=options.elide,
        )
    if options.timing:
        passes.enable_timing()
    if options.statistics:
        passes.enable_statistics()
    passes.run(module.operation)


def expanded(item: str) -> Iterator[str]:
    """Yields the passes of a pipeline with a name one by one; a pass is its own."""
    if _is_own(item):
        yield item
        return
    text = str(bindings().module("passmanager").PassManager.parse(f"builtin.module({item})"))
    yield from pass_items(text.removeprefix("builtin.module(").removesuffix(")"))


def nested(item: str) -> str:
    """Returns a pass or pipeline inside of the operation that it runs on, as `builtin.module` needs it.

    Raises:
        CompileError: for a name that is none, or options that it does not have.
    """
    if _is_own(item) or item.partition("{")[0] == GPU:
        return item
    manager = bindings().module("passmanager").PassManager
    first = ""
    with ir.Context():
        for anchor in _ANCHORS:
            found = f"{anchor}({item})" if anchor else item
            try:
                manager.parse(f"builtin.module({found})")
            except ValueError as error:
                first = first or str(error).strip()
            else:
                return found
    raise CompileError(f"expected a pass or pipeline with its options, but got {item!r}: {first}")
