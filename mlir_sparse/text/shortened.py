"""The user's text as messages repeat it."""

from __future__ import annotations

__all__ = ["shortened"]

_SHOWN = 300


def shortened(text: str) -> str:
    """Returns the first 300 characters of a text, with an ellipsis where there are more.

    >>> shortened("short"), len(shortened("7" * 5000))
    ('short', 303)
    """
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
