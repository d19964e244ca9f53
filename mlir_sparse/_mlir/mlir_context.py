"""MLIR contexts, and MLIR's diagnostics as one Python value."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

from mlir_sparse._mlir import ir
from mlir_sparse._mlir.held_interrupts import uninterrupted
from mlir_sparse._mlir.provider import bindings_name, unfit_error
from mlir_sparse.errors import OperandError
from mlir_sparse.process.forks import no_fork

__all__ = [
    "attribute_by_caller",
    "diagnostics_of",
    "mlir_context",
    "parse_module",
    "parsed_by_caller",
    "type_by_caller",
]

# Idle contexts, with the number of their uses: a context never frees types and attributes.
_spare: list[tuple[ir.Context, int]] = []
_MOST_USES = 100


def _leave() -> None:
    """Keeps the parent's contexts alive: destroying one would wait for threads that the child does not have."""
    for context, _ in _spare:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(context))
    _spare.clear()


os.register_at_fork(after_in_child=_leave)


@contextmanager
def mlir_context() -> Iterator[ir.Context]:
    """Enters a Context of this thread alone, with an unknown Location; Ctrl-C is delayed until the end.

    Loading the dialects takes 5 ms, as long as some compilations: contexts are reused, except after an exception. A
    fork waits for the end.
    """
    with no_fork(), uninterrupted():
        try:
            context, uses = _spare.pop()
        except IndexError:
            context, uses = ir.Context(), 0
            # The exception has the diagnostics; printing them too would show each one twice.
            context.emit_error_diagnostics = False
            _require_dialect(context)
        with context, ir.Location.unknown():
            yield context
        if uses < _MOST_USES:
            _spare.append((context, uses + 1))


def _require_dialect(context: ir.Context) -> None:
    """Refuses bindings without the dialect where the compiler's process has not probed them yet."""
    try:
        context.get_dialect_descriptor("sparse_tensor")
    except (ValueError, RuntimeError, ir.MLIRError):
        raise unfit_error(bindings_name(), "no dialect sparse_tensor") from None


def parse_module(text: str | bytes) -> ir.Module:
    """Parses MLIR text or bytecode into a verified Module of the current Context."""
    return ir.Module.parse(text)


def parsed_by_caller(text: str) -> ir.Module:
    """Parses MLIR text into a Module of the Context that the caller's own code is in.

    Raises:
        OperandError: if it is in none.
    """
    _check_context()
    return ir.Module.parse(text)


def attribute_by_caller(text: str) -> ir.Attribute:
    """Parses an attribute in the Context that the caller's own code is in; raises as `parsed_by_caller`."""
    _check_context()
    return ir.Attribute.parse(text)


def type_by_caller(text: str) -> ir.Type:
    """Parses a type in the Context that the caller's own code is in; raises as `parsed_by_caller`."""
    _check_context()
    return ir.Type.parse(text)


def _check_context() -> None:
    if ir.Context.current is None:
        # The Context of another distribution of the bindings is none of these.
        rule = f"expected to be in a Context of the bindings {bindings_name()}"
        raise OperandError(f"{rule}, but got none: `with ir.Context(): ...`")


def diagnostics_of(error: BaseException) -> str:
    """Returns MLIR's diagnostics, one a line, without locations of generated code."""
    found = getattr(error, "error_diagnostics", None)
    if not found:
        return str(error).strip()
    lines: list[str] = []
    for diagnostic in found:
        lines.append(diagnostic.message)
        lines.extend(f"  note: {note.message}" for note in getattr(diagnostic, "notes", ()))
    return "\n".join(lines)
