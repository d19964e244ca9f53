"""Attributes and types as objects of MLIR's bindings, which are in a room above this one.

The package, when it is imported, installs here what finds their parsers; the first use loads the bindings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlir_sparse.errors import OperandError

__all__ = ["attribute_of", "bindings_text", "install_parsers", "text_of_object", "type_of"]

Parser = Callable[[str], Any]
_found_by: list[Callable[[], tuple[Parser, Parser]]] = []


def install_parsers(parsers: Callable[[], tuple[Parser, Parser]]) -> None:
    """Installs what returns the parsers of attributes and of types, which use the caller's Context."""
    _found_by[:] = [parsers]


def attribute_of(text: str) -> Any:
    """Returns the attribute of a text in the Context that the caller is in."""
    return _found_by[0]()[0](text)


def type_of(text: str) -> Any:
    """Returns the type of a text in the Context that the caller is in."""
    return _found_by[0]()[1](text)


def bindings_text(given: object, start: str) -> str | None:
    """Returns the text of an object of some version of the bindings, if it starts so; None for anything else."""
    if "_mlir" not in type(given).__module__:
        return None
    text = str(given)
    return text if text.startswith(start) else None


def text_of_object(given: object, start: str, what: str) -> str:
    """Returns the text `start<...>` of an object of some version of the bindings.

    Raises:
        OperandError: for anything else.
    """
    text = bindings_text(given, f"{start}<")
    if text is None:
        rule = f"expected {what} {start}<...> of MLIR's bindings"
        raise OperandError(f"{rule}, but got {type(given).__name__}: {given!s}")
    return text
