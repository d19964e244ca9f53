"""Names that a file of MLIR has, and that MLIR forgets when it parses the file."""

from __future__ import annotations

import re

from mlir_sparse.encoding import Encoding, encoding
from mlir_sparse.errors import SparseError
from mlir_sparse.process.forks import cached_property
from mlir_sparse.text.parameter_names import named_parameters

__all__ = ["NamesInFile"]

_ENCODING = re.compile(r"#(?P<name>[a-zA-Z_]\w*)\s*=\s*(?P<text>#sparse_tensor\.encoding<\{.*?\}>)", re.DOTALL)


class NamesInFile:
    """The names of functions' parameters and of encodings in a file.

    Args:
        text: the text of the file.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _parameters(self) -> dict[str, tuple[str, ...]]:
        return named_parameters(self._text)

    @cached_property
    def _encodings(self) -> dict[Encoding, str]:
        found: dict[Encoding, str] = {}
        for match in _ENCODING.finditer(self._text):
            known = _parsed(match["text"])
            if known is not None:
                found.setdefault(known, match["name"].upper())
        return found

    def parameters_of(self, function: str) -> tuple[str, ...]:
        """Returns the names of a function's parameters; nothing for a function that the file has not."""
        return self._parameters.get(function, ())

    def alias_of(self, attribute: str) -> str | None:
        """Returns the name of an encoding as MLIR prints it, in capitals; None where the file has none."""
        known = _parsed(attribute.strip()) if attribute.strip().startswith("#sparse_tensor.encoding") else None
        return None if known is None else self._encodings.get(known)


def _parsed(text: str) -> Encoding | None:
    try:
        return encoding(text)
    except SparseError:
        return None
