"""MLIR contexts, and MLIR's diagnostics as one Python value."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mlir_sparse._mlir.bindings import bindings

__all__ = ["diagnostics_of", "mlir_context", "parse_module"]


@contextmanager
def mlir_context() -> Iterator[Any]:
    """Enters a fresh Context with an unknown Location; one per compilation, so that threads never share one."""
    ir = bindings().ir
    with ir.Context() as context, ir.Location.unknown():
        # Diagnostics travel in the exception; printing them as well would show each one twice.
        context.emit_error_diagnostics = False
        yield context


def parse_module(text: str | bytes) -> Any:
    """Parses MLIR text or bytecode into a verified Module of the current Context."""
    return bindings().ir.Module.parse(text)


def diagnostics_of(error: BaseException) -> str:
    """Returns what MLIR said, a line per diagnostic, locations of generated code left out."""
    found = getattr(error, "error_diagnostics", None)
    if not found:
        return str(error).strip()
    lines: list[str] = []
    for diagnostic in found:
        lines.append(diagnostic.message)
        lines.extend(f"  note: {note.message}" for note in getattr(diagnostic, "notes", ()))
    return "\n".join(lines)
