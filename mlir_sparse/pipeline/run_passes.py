"""Runs a pipeline on a module in this process: what the worker does, and the reproducer."""

from __future__ import annotations

import io
from collections.abc import Mapping

from mlir_sparse._mlir import diagnostics_of, execution_engine, ir, mlir_context, object_code, parse_module
from mlir_sparse.gpu.unmapped_error import UnmappedError
from mlir_sparse.loops.remarks import Remarks
from mlir_sparse.pipeline.equal_functions import erase_equal_functions, restore_interfaces
from mlir_sparse.pipeline.own_passes import run_passes
from mlir_sparse.pipeline.process_messages import PassOutcome
from mlir_sparse.program.loop_form import NestLoops

__all__ = ["run_here"]


def run_here(
    module: bytes | str,
    pipeline: str,
    *,
    as_text: bool = False,
    functions: tuple[str, ...] = (),
    expected: Mapping[str, NestLoops] | None = None,
    used: list[object] | None = None,
) -> PassOutcome:
    """Runs a pipeline; a crash of the compiler is a crash of this process.

    Args:
        module: bytecode or text.
        pipeline: a pipeline in MLIR's syntax, which may name passes of this package.
        as_text: whether to return text instead of bytecode.
        functions: if any, return an object file with these functions instead.
        expected: the loops of each function: if given, return what strategies say instead.
        used: where to leave what takes milliseconds to take apart, for whoever has an answer to send first.
    """
    used = [] if used is None else used
    try:
        with mlir_context():
            parsed = parse_module(module)
            used.append(parsed)
            equals = erase_equal_functions(parsed) if functions else {}
            remarks = Remarks(expected)
            run_passes(parsed, pipeline, remarks)
            if expected is not None:
                return PassOutcome(b"", remarks.found)
            if functions:
                restore_interfaces(parsed, equals)
                engine, _ = execution_engine(parsed, functions)
                used.append(engine)
                return PassOutcome(object_code(engine))
            parsed.operation.verify()  # machine code is made of what LLVM has verified
            if as_text:
                return PassOutcome(str(parsed).encode())
            buffer = io.BytesIO()
            parsed.operation.write_bytecode(buffer)
            return PassOutcome(buffer.getvalue())
    except UnmappedError as error:
        return PassOutcome(None, refusal=str(error))
    except (ir.MLIRError, ValueError, RuntimeError) as error:
        return PassOutcome(None, diagnostics=diagnostics_of(error) or "MLIR gave no reason")
