"""The names of level formats and of their properties."""

from __future__ import annotations

from enum import Enum

__all__ = ["LevelFormat", "LevelProperty"]


class LevelFormat(Enum):
    """How one level stores its coordinates; `LEVEL_FUNCTIONS` says what that means."""

    DENSE = "dense"
    BATCH = "batch"
    COMPRESSED = "compressed"
    LOOSE_COMPRESSED = "loose_compressed"
    SINGLETON = "singleton"
    STRUCTURED = "structured"
    RANGE = "range"
    OFFSET = "offset"
    HASHED = "hashed"

    # Members are asked for what they can do dozens of times a call; Enum would hash their names each time.
    __hash__ = object.__hash__


class LevelProperty(Enum):
    """What a level does not promise (`nonunique`, `nonordered`), or how it is laid out (`soa`)."""

    NONUNIQUE = "nonunique"
    NONORDERED = "nonordered"
    SOA = "soa"
