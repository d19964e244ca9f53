"""MLIR's own parser and verifier, as the oracle of the encoding tests."""

from __future__ import annotations

from functools import cache
from typing import Any

from mlir_sparse._mlir import bindings
from mlir_sparse.process.child_process import in_child

ASSERTION = "a failed assertion"


@cache
def _context() -> Any:
    return bindings().ir.Context()


def reprint(text: str) -> str:
    """Returns an attribute as MLIR prints it after parsing."""
    with _context():
        return str(bindings().ir.Attribute.parse(text))


def reprint_type(text: str) -> str:
    with _context():
        return str(bindings().ir.Type.parse(text))


def complaint(text: str) -> str | None:
    """Returns what MLIR's parser or verifier says against an attribute, or None.

    In a fork: builds of LLVM with assertions die of some attributes, which is ASSERTION then.
    """
    end = in_child(lambda: (0, (_complaint(text) or "").encode()))
    return ASSERTION if end.status < 0 else end.content.decode() or None


def _complaint(text: str) -> str | None:
    ir = bindings().ir
    with _context():
        try:
            ir.Attribute.parse(text)
        except ir.MLIRError as error:
            return str(error.error_diagnostics[0].message)
    return None


def type_complaint(text: str) -> str | None:
    """Returns what MLIR says against a function that takes a tensor of the type, or None."""
    ir = bindings().ir
    with _context():
        try:
            module = ir.Module.parse(f"func.func private @f({text})")
            module.operation.verify()
        except ir.MLIRError as error:
            return str(error.error_diagnostics[0].message)
    return None
