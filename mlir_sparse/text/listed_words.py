"""Lists in prose, for messages and explanations."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["listed"]


def listed(items: Iterable[object], word: str = "and") -> str:
    """Returns items as a list in prose, with a word before the last.

    >>> listed("ABC"), listed("A"), listed("AB", "or")
    ('A, B and C', 'A', 'A or B')
    """
    *others, last = map(str, items)
    return f"{', '.join(others)} {word} {last}" if others else last
