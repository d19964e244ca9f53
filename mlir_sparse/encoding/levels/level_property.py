"""The properties that may be written after a level format."""

from __future__ import annotations

from enum import Enum

__all__ = ["LevelProperty"]


class LevelProperty(Enum):
    """A property that a level lacks (`nonunique`, `nonordered`), or its layout (`soa`)."""

    NONUNIQUE = "nonunique"
    NONORDERED = "nonordered"
    SOA = "soa"
