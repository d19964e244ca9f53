"""Runs passes one by one in this process, and tells of each what it made of the module: what the worker does."""

from __future__ import annotations

import time
from collections.abc import Callable

from mlir_sparse._mlir import ir, mlir_context, parse_module
from mlir_sparse.errors import CompileError
from mlir_sparse.gpu.unmapped_error import UnmappedError
from mlir_sparse.pipeline.located_text import LocatedText, located_text
from mlir_sparse.pipeline.module_compiler import diagnostics_in
from mlir_sparse.pipeline.own_passes import run_passes
from mlir_sparse.pipeline.process_messages import Diagnostic, PassSnapshot, TraceOutcome, TraceRequest
from mlir_sparse.pipeline.refine_locations import LocationRefiner
from mlir_sparse.pipeline.transform_module import expanded, nested

__all__ = ["trace_here"]


def trace_here(request: TraceRequest, used: list[object], tell: Callable[[object], None]) -> TraceOutcome:
    """Runs the passes; a crash of one is a crash of this process, which has told of those before.

    Args:
        request: the module and the passes.
        used: where to leave what takes milliseconds to take apart.
        tell: takes the module after each pass, a PassSnapshot, and before them the passes to come, a tuple of texts.
    """
    valid, items = False, request.items
    try:
        with mlir_context():
            module = parse_module(request.module)
            used.append(module)
            valid = True
            if request.nests:
                items = tuple(step for item in items for step in expanded(nested(item)))
            tell(items)
            _run(module, items, request, tell)
            return TraceOutcome(items)
    except (UnmappedError, CompileError) as error:
        return TraceOutcome(items, refusal=error.message if isinstance(error, CompileError) else str(error))
    except (ir.MLIRError, ValueError, RuntimeError) as error:
        return TraceOutcome(items, diagnostics_in(error), valid)
    except Exception as error:  # a pass in Python, of this package's, on a module that it was not written for
        return TraceOutcome(items, (Diagnostic("error", f"{type(error).__name__}: {error}"),), valid)


def _run(module: ir.Module, items: tuple[str, ...], request: TraceRequest, tell: Callable[[object], None]) -> None:
    refiner, last = LocationRefiner(module, request.variables), LocatedText("")
    for item in ("", *items):
        start = time.perf_counter()
        if item:
            run_passes(module, f"builtin.module({item})")
        seconds = time.perf_counter() - start if item else 0.0
        module.operation.verify()  # what a pass leaves invalid is that pass's failure
        refiner.refine(module)
        last = located_text(module, last)
        tell(PassSnapshot(item, last.text, seconds, last.places))
