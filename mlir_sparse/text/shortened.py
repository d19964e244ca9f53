"""The user's text in messages, which end before it does where it is long."""

from __future__ import annotations

__all__ = ["shortened"]

_SHOWN = 300


def shortened(text: str) -> str:
    """Returns text as messages repeat it: cut behind 300 characters.

    >>> shortened("short"), len(shortened("7" * 5000))
    ('short', 303)
    """
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
