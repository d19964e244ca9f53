"""Lists in prose, for messages and explanations."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["listed"]


def listed(items: Iterable[object]) -> str:
    """Returns items as a list in prose.

    >>> listed("ABC"), listed("A")
    ('A, B and C', 'A')
    """
    *others, last = map(str, items)
    return f"{', '.join(others)} and {last}" if others else last
