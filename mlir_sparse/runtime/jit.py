"""LLVM-dialect modules to machine code in memory, through MLIR's ExecutionEngine."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from mlir_sparse._mlir import Engine, bindings, execution_engine, mlir_context, object_code, parse_module
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.process.own_stack import deep_calls

__all__ = ["CompiledModule", "assembly", "llvm_ir"]


class CompiledModule:
    """Machine code for this process; lives as long as the object.

    Args:
        bytecode: a module in the LLVM dialect.
        names: the functions to look up, each with `llvm.emit_c_interface`.
        opt_level: LLVM's optimisation level.
    """

    @deep_calls
    def __init__(self, bytecode: bytes, names: Sequence[str], opt_level: int = 3) -> None:
        self._bytecode = bytecode
        with mlir_context():
            module = parse_module(bytecode)
            # The engine owns the code: it must outlive every launcher made from its addresses.
            self.engine: Engine
            self.addresses: Mapping[str, int]
            self.engine, self.addresses = execution_engine(module, names, opt_level)

    def object_file(self) -> bytes:
        """Returns the machine code as a relocatable object file."""
        return object_code(self.engine)

    def kept_code(self) -> bytes:
        """Returns the module: what the engine makes of it may not be loadable without one."""
        return self._bytecode


@deep_calls
def llvm_ir(bytecode: bytes) -> str:
    """Returns a module of the LLVM dialect as LLVM IR."""
    with mlir_context():
        module = parse_module(bytecode)
        return str(bindings().module("dialects.llvm").translate_module_to_llvmir(module.operation))


def assembly(code: bytes) -> str:
    """Returns the machine code of an object file, disassembled by binutils' or LLVM's `objdump`.

    Raises:
        UnsupportedError: when neither is installed.
    """
    tool = shutil.which("objdump") or shutil.which("llvm-objdump")
    if tool is None:
        raise UnsupportedError("expected objdump on PATH for the stage asm, but got none: install binutils")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.o")
        path.write_bytes(code)
        # objdump prints the file's name as passed: run in its folder, the text never differs.
        command = [tool, "-d", "--no-show-raw-insn", path.name]
        return subprocess.run(
            command, cwd=folder, check=True, capture_output=True, encoding="utf-8", errors="replace"
        ).stdout
