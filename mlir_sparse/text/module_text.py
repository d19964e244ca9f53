"""The content of a module's file: text, or MLIR's bytecode."""

from __future__ import annotations

from mlir_sparse.errors import ModuleError

__all__ = ["BYTECODE", "decoded_module"]

BYTECODE = b"ML\xefR"
"""What MLIR's bytecode begins with."""


def decoded_module(content: bytes, name: str) -> str | bytes:
    """Returns the text of a module; bytecode as it is.

    Args:
        content: of the file.
        name: the file's, for messages.

    Raises:
        ModuleError: for bytes that are neither.

    >>> decoded_module(b"func.func private @f()", "f.mlir")
    'func.func private @f()'
    """
    if content.startswith(BYTECODE):
        return content
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        got = f"the byte {content[error.start]:#04x} at {error.start}"
        raise ModuleError(f"expected text in UTF-8, or MLIR's bytecode, in {name}, but got {got}") from None
