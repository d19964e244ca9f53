"""Names: one spelling for each, and generated names for temporaries, levels and entries.

A generated name has a dot, which no name in notation has. So it never equals a user's name, and no stage has to test
whether a name is free. The dialect's identifiers may have dots: generated names can stand in encodings too.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Container, Mapping
from typing import Any

from mlir_sparse.errors import OperandError
from mlir_sparse.text.given_arguments import text_of

__all__ = ["by_name", "generated_name", "normal_name"]


def normal_name(name: str) -> str:
    r"""Returns a name in Python's normal form of identifiers, in which keyword arguments arrive.

    Keyboards and systems write one letter with several codes: the micro sign and mu, or a letter with its accent
    behind.

    >>> normal_name("\u00b5") == "\u03bc", normal_name("e\u0301") == "\u00e9"
    (True, True)
    """
    return name if name.isascii() else unicodedata.normalize("NFKC", name)


def by_name(named: Mapping[str, Any], tensors: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Returns the tensors of a call by name, those given as keywords and those in `tensors=`.

    Raises:
        OperandError: for a tensor that is given twice, and for `tensors=` that is no mapping of names.
    """
    if tensors is not None and not isinstance(tensors, Mapping):
        raise OperandError(f"expected a mapping of names to tensors for tensors=, but got {type(tensors).__name__}")
    found: dict[str, Any] = {}
    for name, value in (*named.items(), *(tensors or {}).items()):
        key = normal_name(text_of(name, "each name in tensors="))
        if key in found:
            raise OperandError(f"expected {key} once, but got it twice by name")
        found[key] = value
    return found


def generated_name(owner: str, role: str = "", known: Container[str] = ()) -> str:
    """Returns a name that no text in notation can have.

    Args:
        owner: the tensor or other object that the name belongs to, or what it names where it belongs to none.
        role: what it names; a number is taken where this is empty.
        known: the names of this kind generated so far; the result is none of them.

    >>> generated_name("A", "converted"), generated_name("A", "converted", {"A.converted"})
    ('A.converted', 'A.converted.2')
    """
    name, number = f"{owner}.{role or 1}", 1
    while name in known:
        number += 1
        name = f"{owner}.{role}.{number}" if role else f"{owner}.{number}"
    return name
