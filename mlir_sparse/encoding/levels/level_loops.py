"""The sparsifier's loop over a level, as a value, for plans, partitions and searches by threads."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

__all__ = ["LevelLoop", "LoopKind"]


class LoopKind(Enum):
    """How a loop finds the children of a parent."""

    FULL = "full"
    """All coordinates up to the level's size, each at the position `parent * size + coordinate`."""
    SEGMENTS = "segments"
    """The positions array has the begin and the end of each parent's stored coordinates."""
    GROUPS = "groups"
    """Each parent has the same number of stored coordinates."""
    CHAINED = "chained"
    """Each parent has one stored coordinate, at its own position."""


class LevelLoop(NamedTuple):
    """The loop over a level below one parent.

    Args:
        kind: how it finds the children.
        step: the stride of a parent in the positions array, or its number of coordinates.
    """

    kind: LoopKind
    step: int = 1
