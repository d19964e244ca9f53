"""Files that show a compiler failure again: the module, the pipeline, the versions."""

from __future__ import annotations

import os
import tempfile

from mlir_sparse._mlir import bindings, mlir_context, parse_module

__all__ = ["FUNCTIONS_MARK", "PIPELINE_MARK", "write_reproducer"]

PIPELINE_MARK = "// pipeline: "
FUNCTIONS_MARK = "// functions: "
_BYTECODE = b"ML\xefR"


def write_reproducer(module: bytes, pipeline: str, kernel: str, functions: tuple[str, ...] = ()) -> str:
    """Writes a module, its pipeline and the functions to make machine code of to a new file in the temporary folder.

    Returns:
        the path; `python -m mlir_sparse.pipeline PATH` runs it.
    """
    text, found = _as_text(module), bindings()
    descriptor, path = tempfile.mkstemp(prefix="mlir-sparse-", suffix=".mlir")
    with os.fdopen(descriptor, "w") as file:
        file.write(f"// kernel: {kernel}\n// bindings: {found.name} {found.version}\n")
        if functions:
            file.write(f"{FUNCTIONS_MARK}{' '.join(functions)}\n")
        file.write(f"{PIPELINE_MARK}{pipeline}\n{text}")
    return path


def _as_text(module: bytes) -> str:
    """Returns a module as MLIR text; what is no bytecode is text already, if only of a module that does not parse."""
    if not module.startswith(_BYTECODE):
        return module.decode(errors="replace")
    try:
        with mlir_context():
            return str(parse_module(module))
    except bindings().ir.MLIRError:
        return f"// bytecode that MLIR does not read: {module.hex()}\n"
