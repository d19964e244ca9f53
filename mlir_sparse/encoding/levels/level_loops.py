"""How the sparsifier's loops run over a level, as a value: plans, cuts and look-ups by threads go by it."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

__all__ = ["LevelLoop", "LoopKind"]


class LoopKind(Enum):
    """How a loop gets from the position of a parent to the positions and coordinates below it."""

    COUNTED = "counted"
    """Coordinates run up to the level's size, each at the position `parent * size + coordinate`."""
    SEGMENTS = "segments"
    """Numbers in the positions array say where the stored coordinates of a parent begin and end."""
    GROUPS = "groups"
    """Each parent has the same number of stored coordinates."""
    CHAINED = "chained"
    """Each parent has one stored coordinate, at its own position."""


class LevelLoop(NamedTuple):
    """The loop over a level below one parent.

    Args:
        kind: how it gets to the children.
        step: how many numbers of the positions array a parent has to itself, or how many coordinates.
    """

    kind: LoopKind
    step: int = 1
