"""What a program's failed assertion says: the rule, and the place of the operation in the user's text."""

from __future__ import annotations

import re

from mlir_sparse.errors import ProgramError
from mlir_sparse.text.source_text import Source

__all__ = ["located"]

_TEXT = "-"  # what MLIR calls a text that is no file
_PLACE = re.compile(r"\nLocation: (?P<location>loc\(.*)", re.DOTALL)
_FILE = re.compile(r'"(?P<name>(?:[^"\\]|\\.)*)":(?P<line>\d+):(?P<column>\d+)')
_VERIFIED = re.compile(r"ERROR: Runtime op verification failed\n(?P<operation>.*)\n\^ (?P<rule>[^\n]*)$", re.DOTALL)
_OPERATION = re.compile(r"(?:%[\w$.#:, -]* = )?\"?(?P<name>[a-z_]\w*(?:\.\w+)+)")


def located(error: ProgramError, source: Source | None, name: str) -> ProgramError:
    """Returns the error of a failed assertion with the place that its message names; another error as it is.

    Args:
        error: what the program ended with.
        source: the module's text; None where there is only bytecode.
        name: what messages call the module.
    """
    place = _PLACE.search(error.message)
    if place is None:
        return error
    said = _words(error.message[: place.start()])
    found = _FILE.search(place["location"])
    if found is None:
        return ProgramError(said)
    line, column = int(found["line"]), int(found["column"])
    span = source.span_at(line, column) if source is not None and found["name"] == _TEXT else None
    if span is not None:
        return ProgramError(said, source=source, span=span)
    file = name if found["name"] == _TEXT else found["name"]
    return ProgramError(f"{file}:{line}:{column}: {said}")


def _words(message: str) -> str:
    """Returns a message with what MLIR verified in this package's words."""
    found = _VERIFIED.search(message)
    if found is None:
        return message
    operation = _OPERATION.match(found["operation"])
    what = f" in {operation['name']}" if operation else ""
    return f"{message[: found.start()]}{found['rule']}{what}"
