"""Compiles a user's module in this process, which the compiler's process does."""

from __future__ import annotations

import ctypes
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache

from mlir_sparse import _native
from mlir_sparse._mlir import execution_engine, ir, mlir_context, object_code, parse_module
from mlir_sparse.pipeline.operand_effects import effects_on_parameters
from mlir_sparse.pipeline.own_passes import run_passes
from mlir_sparse.pipeline.process_messages import DeclaredFunction, Diagnostic, ModuleOutcome, ModuleRequest

__all__ = ["compile_here", "diagnostics_in", "missing_functions"]

_PLACE = re.compile(r'"(?:[^"\\]|\\.)*":(\d+):(\d+)')
_INTERFACE = "llvm.emit_c_interface"


def compile_here(request: ModuleRequest, used: list[object]) -> ModuleOutcome:
    """Compiles the public functions of a module to an object file; a crash of the compiler is one of this process.

    Args:
        request: the module and the passes.
        used: where to leave what takes milliseconds to take apart.
    """
    valid = False
    try:
        with mlir_context():
            module = parse_module(request.module)
            used.append(module)
            valid = True
            declared = _public_functions(module)
            run_passes(module, request.to_buffers)
            effects = effects_on_parameters({_name_of(op): op for op in _functions_in(module)})
            found = tuple(
                DeclaredFunction(name, inputs, results, effects.get(name, ())) for name, inputs, results in declared
            )
            run_passes(module, request.to_llvm)
            missing = missing_functions(module)
            if missing:
                return ModuleOutcome(None, found, missing=missing)
            if not request.as_object:
                buffer = io.BytesIO()
                module.operation.write_bytecode(buffer)
                return ModuleOutcome(buffer.getvalue(), found)
            if not found:
                return ModuleOutcome(b"", ())
            heard: list[Diagnostic] = []
            try:
                with _diagnostics_kept(module.context, heard):
                    engine, _ = execution_engine(module, [one.name for one in found])
            except (ir.MLIRError, RuntimeError):
                left = _not_lowered(module) or heard
                if not left:
                    raise
                return ModuleOutcome(None, diagnostics=tuple(left))
            used.append(engine)
            return ModuleOutcome(object_code(engine), found)
    except (ir.MLIRError, ValueError, RuntimeError) as error:
        return ModuleOutcome(None, diagnostics=diagnostics_in(error), is_valid=valid)


@contextmanager
def _diagnostics_kept(context: ir.Context, heard: list[Diagnostic]) -> Iterator[None]:
    """Collects what MLIR says of a module while it becomes LLVM's."""

    def hear(said: object) -> bool:
        heard.extend(_read([said]))
        return True

    handler = context.attach_diagnostic_handler(hear)
    try:
        yield
    finally:
        handler.detach()


def _not_lowered(module: ir.Module) -> list[Diagnostic]:
    """Returns a diagnostic for each operation that the passes left in another dialect than LLVM's."""
    found: list[Diagnostic] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if not op.name.startswith(("llvm.", "builtin.")):
            place = _PLACE.search(str(op.location))
            line, column = (int(place[1]), int(place[2])) if place else (0, 0)
            found.append(Diagnostic("error", f"no pass lowers '{op.name}' on these operands to LLVM", line, column))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def _functions_in(module: ir.Module, kind: str = "func.func") -> list[ir.Operation]:
    """Returns the functions at the top of a module."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == kind:
            found.append(op)
        return ir.WalkResult.ADVANCE if op == module.operation else ir.WalkResult.SKIP

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def _name_of(function: ir.Operation) -> str:
    return ir.StringAttr(function.attributes["sym_name"]).value


def _is_private(function: ir.Operation) -> bool:
    given = function.attributes
    return "sym_visibility" in given and ir.StringAttr(given["sym_visibility"]).value != "public"


def _public_functions(module: ir.Module) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Returns name and types of each public function with a body, and lets it be called from C."""
    found = []
    for function in _functions_in(module):
        if not len(function.regions[0].blocks) or _is_private(function):
            continue
        kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
        found.append((_name_of(function), tuple(map(str, kind.inputs)), tuple(map(str, kind.results))))
        function.attributes[_INTERFACE] = ir.UnitAttr.get()
    return found


def missing_functions(module: ir.Module) -> tuple[str, ...]:
    """Returns the functions that a module of the LLVM dialect calls, and that are neither in it nor in this process."""
    declared = [_name_of(op) for op in _functions_in(module, "llvm.func") if not len(op.regions[0].blocks)]
    return tuple(name for name in declared if not _is_known(name))


@cache
def _is_known(name: str) -> bool:
    if _native.program_function(name):
        return True
    return any(hasattr(library, name) for library in _libraries())


@cache
def _libraries() -> Sequence[ctypes.CDLL]:
    found = [ctypes.CDLL(None)]
    for name in ("libm.so.6", "libgcc_s.so.1"):
        try:
            found.append(ctypes.CDLL(name))
        except OSError:  # another system, whose C library has all of it
            continue
    return found


def diagnostics_in(error: BaseException) -> tuple[Diagnostic, ...]:
    """Returns what MLIR says of a failure; other errors as one diagnostic without a place."""
    found = getattr(error, "error_diagnostics", None)
    if not found:
        return (Diagnostic("error", str(error).strip() or "MLIR gave no reason"),)
    return tuple(_read(found))


def _read(found: Sequence[object]) -> Iterator[Diagnostic]:
    for one in found:
        place = _PLACE.search(str(getattr(one, "location", "")))
        line, column = (int(place[1]), int(place[2])) if place else (0, 0)
        severity = str(getattr(one, "severity", "error")).rpartition(".")[2].lower()
        notes = tuple(_read(getattr(one, "notes", ())))
        yield Diagnostic(severity, str(getattr(one, "message", "")), line, column, notes)
