"""Names of what a user did not name: temporaries, levels, entries.

Each has a dot, which no name in notation has. So none can be a user's, whatever the user calls things, and no
stage has to look whether a name is free. The dialect's identifiers have dots, so that such names also stand in
encodings.
"""

from __future__ import annotations

from collections.abc import Container

__all__ = ["made_name"]


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
