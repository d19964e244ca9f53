"""The properties that may be written after a level format."""

from __future__ import annotations

from enum import Enum

__all__ = ["LevelProperty"]


class LevelProperty(Enum):
    """What a level does not promise (`nonunique`, `nonordered`), or how it is laid out (`soa`)."""

    NONUNIQUE = "nonunique"
    NONORDERED = "nonordered"
    SOA = "soa"
