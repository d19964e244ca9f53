"""MLIR contexts, and MLIR's diagnostics as one Python value."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

from mlir_sparse._mlir import ir
from mlir_sparse._mlir.held_interrupts import uninterrupted
from mlir_sparse.process.forks import no_fork

__all__ = ["diagnostics_of", "mlir_context", "parse_module"]

# Contexts that nobody is in, with how often they were used: types and attributes stay in one for good.
_spare: list[tuple[ir.Context, int]] = []
_MOST_USES = 100


def _leave() -> None:
    """Leaves the parent's contexts as they are: their threads are not here, and to end one would wait for them."""
    for context, _ in _spare:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(context))
    _spare.clear()


os.register_at_fork(after_in_child=_leave)


@contextmanager
def mlir_context() -> Iterator[ir.Context]:
    """Enters a Context with an unknown Location that no other thread is in; Ctrl-C arrives when it is left.

    Loading the dialects takes 5 ms, as long as some compilations take in all: contexts are
    used again, unless an exception left one in doubt. A fork waits for the end of it.
    """
    with no_fork(), uninterrupted():
        try:
            context, uses = _spare.pop()
        except IndexError:
            context, uses = ir.Context(), 0
            # Diagnostics travel in the exception; printing them as well would show each one twice.
            context.emit_error_diagnostics = False
        with context, ir.Location.unknown():
            yield context
        if uses < _MOST_USES:
            _spare.append((context, uses + 1))


def parse_module(text: str | bytes) -> ir.Module:
    """Parses MLIR text or bytecode into a verified Module of the current Context."""
    return ir.Module.parse(text)


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
