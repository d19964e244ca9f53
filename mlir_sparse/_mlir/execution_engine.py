"""MLIR's ExecutionEngine: modules of the LLVM dialect to machine code."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from mlir_sparse import _native
from mlir_sparse._mlir import ir
from mlir_sparse._mlir.provider import bindings
from mlir_sparse.errors import CompileError
from mlir_sparse.process.forks import importing

__all__ = ["Engine", "execution_engine", "object_code", "plain_engine"]

_INTERFACE = "_mlir_ciface_"


class Engine(Protocol):
    """The interface of MLIR's ExecutionEngine, which owns the machine code."""

    def raw_lookup(self, name: str) -> int:
        """Returns the address of a function; 0 for none."""

    def dump_to_object_file(self, path: str) -> None:
        """Writes the machine code as an object file."""


def execution_engine(module: ir.Module, functions: Sequence[str], opt_level: int = 3) -> tuple[Engine, dict[str, int]]:
    """Returns an engine with the machine code of a module of the current Context, and the addresses of functions.

    Args:
        module: a module in the LLVM dialect; functions become parts of those with `llvm.emit_c_interface`.
        functions: the functions to look up, each with `llvm.emit_c_interface`.
        opt_level: LLVM's optimisation level.

    Raises:
        CompileError: for a missing function, or a missing one that it calls.
    """
    _merge_into_interfaces(module)
    # The native library has conversions of bf16 and f16, which compilers' own libraries may lack.
    libraries = [_native.__file__]
    engine: Engine = bindings().module("execution_engine").ExecutionEngine(module, opt_level, libraries)
    addresses = {name: int(engine.raw_lookup(f"{_INTERFACE}{name}")) for name in functions}
    for name, address in addresses.items():
        if not address:
            raise CompileError(f"expected machine code of {name}, but got none: it, or what it calls, is not there")
    return engine, addresses


def plain_engine(module: ir.Module, libraries: Sequence[str], opt_level: int = 2) -> Engine:
    """Returns an engine with the machine code of a module of the LLVM dialect as it is; see `execution_engine`.

    Args:
        module: of the current Context.
        libraries: shared libraries with functions that it calls.
        opt_level: LLVM's optimisation level.
    """
    engine: Engine = bindings().module("execution_engine").ExecutionEngine(module, opt_level, list(libraries))
    return engine


def _merge_into_interfaces(module: ir.Module) -> None:
    """Inlines all functions that are called once into the C interfaces, and erases them.

    The engine wraps each function in one more, into which LLVM would inline it: loops that are there twice are compiled
    four times, and their dozens of arguments take longer to pass through instruction selection than some loops.
    """
    functions: list[ir.Operation] = []
    calls: Counter[str] = Counter()

    def visit(operation: ir.Operation) -> ir.WalkResult:
        # To iterate over a block would import Python's classes for all its dialect: much time, for LLVM's.
        if operation.name == "llvm.func":
            functions.append(operation)
        elif operation.name == "llvm.call" and "callee" in operation.attributes:
            calls[ir.FlatSymbolRefAttr(operation.attributes["callee"]).value] += 1
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    for operation in functions:
        if not list(operation.regions[0].blocks):
            continue
        if calls[ir.StringAttr(operation.attributes["sym_name"]).value] > 1:
            operation.attributes["no_inline"] = ir.UnitAttr.get()  # a copy for each call would be compiled as often
        if _INTERFACE in ir.StringAttr(operation.attributes["sym_name"]).value:
            if "always_inline" not in operation.attributes:
                operation.attributes["no_inline"] = ir.UnitAttr.get()
        else:
            operation.attributes["sym_visibility"] = ir.StringAttr.get("private")
    passes = bindings().module("passmanager").PassManager.parse("builtin.module(inline{default-pipeline=})")
    passes.enable_verifier(False)  # LLVM verifies too
    passes.run(module.operation)


def object_code(engine: Engine) -> bytes:
    """Returns the machine code of an engine, in which some function was looked up, as an object file."""
    code = _written_to_memory(engine) if hasattr(os, "memfd_create") else b""
    if code:
        return code
    with importing():
        import tempfile  # it loads modules of compression, and is asked for by few

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kernel.o")
        engine.dump_to_object_file(path)
        with open(path, "rb") as file:
            return file.read()


def _written_to_memory(engine: Engine) -> bytes:
    """Returns the object file of an engine, written to memory; nothing if files in memory have no names here."""
    file = os.memfd_create("kernel.o")
    try:
        engine.dump_to_object_file(f"/proc/self/fd/{file}")
        return os.pread(file, os.fstat(file).st_size, 0)
    finally:
        os.close(file)
