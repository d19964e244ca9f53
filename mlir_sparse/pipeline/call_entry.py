"""Calls a function of a module in the LLVM dialect in this process, as `mlir-runner` does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlir_sparse import _native
from mlir_sparse._mlir import diagnostics_of, ir, mlir_context, parse_module, plain_engine
from mlir_sparse.errors import ModuleError, ProgramError
from mlir_sparse.pipeline.module_compiler import missing_functions
from mlir_sparse.text.module_text import decoded_module

__all__ = ["call_entry"]


def _way_out(missing: Sequence[str]) -> str:
    if not any("parse" in name for name in missing):  # as in `newSparseTensor` and `_mlir_ciface_sparseValuesF64`
        return ": --shared-libs names libraries that have them"
    return ": give LLVM's libmlir_c_runner_utils.so to --shared-libs, or --sparsifier=enable-runtime-library=false"


def call_entry(
    content: bytes,
    name: str,
    entry: str,
    result: type[np.generic] | None,
    libraries: Sequence[str] = (),
    opt_level: int = 2,
) -> np.generic | None:
    """Calls a function without parameters, and returns what it returns.

    Args:
        content: the module's text or bytecode.
        name: what messages call it.
        entry: the function.
        result: the type of its result; None for none.
        libraries: shared libraries with functions that it calls, before those of this package: what LLVM's make, they
            must read.
        opt_level: LLVM's optimisation level.

    Raises:
        ModuleError: for a module that is none of the LLVM dialect, and for missing functions.
        ProgramError: if the program ends early.
    """
    text = decoded_module(content, name)
    with mlir_context():
        try:
            module = parse_module(text)
            missing = () if libraries else missing_functions(module)
            if missing:
                absent = ", ".join(missing)
                raise ModuleError(
                    f"expected functions that {name} calls to be there, but got no {absent}{_way_out(missing)}"
                )
            engine = plain_engine(module, [*libraries, _native.__file__], opt_level)
        except (ir.MLIRError, ValueError, RuntimeError) as error:
            raise ModuleError(
                f"expected a module of the LLVM dialect in {name}, but got: {diagnostics_of(error)}"
            ) from None
        address = int(engine.raw_lookup(entry))
        if not address:
            raise ModuleError(f"expected a function {entry} in {name}, but got none")
        memory = np.zeros(2, np.int64)
        memory[0] = memory.ctypes.data + 8
        failure = _native.call_program(address, memory.ctypes.data)
        if failure:
            raise ProgramError(failure)
        return None if result is None else memory[1:].view(result)[0]
