"""The process that compiles: reads requests from standard input, answers on standard output.

`start_process.py` runs it. A request is a PassRequest, a
ModuleRequest or a TraceRequest, its answer a PassOutcome, a ModuleOutcome or a TraceOutcome, each a message. Before a
TraceOutcome there are messages of the passes. End of input ends the process.
"""

from __future__ import annotations

import gc
import os
import resource
import select
import sys
from typing import IO

from mlir_sparse._mlir import QUICK, bindings, require_fit, set_options, without_classes
from mlir_sparse.pipeline.process_messages import (
    ModuleOutcome,
    ModuleRequest,
    PassOutcome,
    PassRequest,
    TraceOutcome,
    TraceRequest,
    read_message,
    write_message,
)
from mlir_sparse.pipeline.run_passes import run_here

__all__ = ["main"]

_SMALLEST = "llvm.func @_mlir_ciface_f() attributes {llvm.emit_c_interface} { llvm.return }"


def _answer(request: PassRequest | ModuleRequest, used: list[object]) -> PassOutcome | ModuleOutcome:
    if isinstance(request, ModuleRequest):
        from mlir_sparse.pipeline.module_compiler import compile_here  # what most processes never need

        return compile_here(request, used)
    return run_here(
        request.module,
        request.pipeline,
        as_text=request.as_text,
        functions=request.functions,
        expected=request.expected,
        used=used,
    )


def _traced(request: TraceRequest, used: list[object], answers: IO[bytes]) -> TraceOutcome:
    from mlir_sparse.pipeline.run_traced import trace_here  # likewise

    return trace_here(request, used, lambda told: write_message(answers, told))


def _is_waited_for() -> bool:
    """Returns whether somebody has sent a request already."""
    ready, _, _ = select.select([0], [], [], 0)
    return bool(ready)


def main(memory_limit: int) -> None:
    """Serves requests until the input ends; `memory_limit` in bytes."""
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    least = memory_limit if most == resource.RLIM_INFINITY else min(memory_limit, most)
    resource.setrlimit(resource.RLIMIT_DATA, (least, least))
    # A compiler that dies must not leave a core file in the user's folder.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # MLIR may print to standard output; the answers get a descriptor of their own.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # Our passes look at operations by classes of their dialects, which take 50 ms to load: not in the first request.
    for dialect in ("arith", "memref", "scf", "vector"):
        bindings().module(f"dialects.{dialect}")
    without_classes("linalg", "llvm")  # nor at these by theirs, which take 100 ms more
    set_options(QUICK)
    require_fit()
    if not _is_waited_for():
        run_here(_SMALLEST, "builtin.module()", functions=("f",))  # nor do LLVM's tables, 20 ms
    gc.freeze()  # what was imported is not looked through again, which takes as long as a compilation
    gc.disable()  # nor is anything while somebody waits
    while isinstance(request := read_message(sys.stdin.buffer), PassRequest | ModuleRequest | TraceRequest):
        used: list[object] = []
        if isinstance(request, TraceRequest):
            write_message(answers, _traced(request, used, answers))
        else:
            write_message(answers, _answer(request, used))
        while used:
            used.pop()  # the engine before the module
        gc.collect()
