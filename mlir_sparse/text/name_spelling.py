"""Names: how they are spelled, and those of what a user did not name, such as temporaries, levels and entries.

Each of the latter has a dot, which no name in notation has. So none can be a user's, whatever the user calls
things, and no stage has to look whether a name is free. The dialect's identifiers have dots, so that such names
also stand in encodings.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Container, Mapping
from typing import Any

from mlir_sparse.errors import OperandError
from mlir_sparse.text.given_arguments import text_of

__all__ = ["by_name", "made_name", "spelled"]


def spelled(name: str) -> str:
    r"""Returns a name as Python spells identifiers, whose keywords would not meet those of a text otherwise.

    Keyboards and systems write one letter by several codes: the micro sign is no mu, and an accent may follow its
    letter.

    >>> spelled("\u00b5") == "\u03bc", spelled("e\u0301") == "\u00e9"
    (True, True)
    """
    return name if name.isascii() else unicodedata.normalize("NFKC", name)


def by_name(named: Mapping[str, Any], tensors: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Returns what was given by name, as keywords and in `tensors=`.

    Raises:
        OperandError: for what was given twice, and for `tensors=` that maps no names.
    """
    if tensors is not None and not isinstance(tensors, Mapping):
        raise OperandError(f"expected a mapping of names to tensors for tensors=, but got {type(tensors).__name__}")
    found: dict[str, Any] = {}
    for name, value in (*named.items(), *(tensors or {}).items()):
        key = spelled(text_of(name, "each name in tensors="))
        if key in found:
            raise OperandError(f"expected {key} once, but got it twice by name")
        found[key] = value
    return found


def made_name(owner: str, role: str = "", known: Container[str] = ()) -> str:
    """Returns a name that no text in notation can have.

    Args:
        owner: what it is of, such as a tensor; or what it is, where it is of nothing.
        role: what it is; a number where empty.
        known: the names of this kind made so far, none of which it is to be.

    >>> made_name("A", "converted"), made_name("A", "converted", {"A.converted"}), made_name("t", known={"t.1"})
    ('A.converted', 'A.converted.2', 't.2')
    """
    name, number = f"{owner}.{role or 1}", 1
    while name in known:
        number += 1
        name = f"{owner}.{role}.{number}" if role else f"{owner}.{number}"
    return name
