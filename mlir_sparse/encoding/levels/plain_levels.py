"""How level space shows a level: as levels that the dialect has, with the buffers that are stored where it can."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal, TypeAlias

from mlir_sparse.encoding.levels.level_property import LevelProperty

__all__ = ["Buffer", "PlainLevel", "PlainLevels"]


class Buffer(Enum):
    """Where a buffer of the plain tensor comes from."""

    NONE = "none"
    """The level has no such buffer."""
    STORED = "stored"
    """It is the array of the source level."""
    SHIFTED = "shifted"
    """It is the array of the source level with the offset added to each coordinate."""
    MADE = "made"
    """It follows from what is stored, but is to be written out; see `level_space`."""


@dataclass(frozen=True, slots=True)
class PlainLevel:
    """A level of level space.

    Args:
        format: the level format.
        properties: what it does not promise, or how it is laid out.
        positions: where its positions come from.
        coordinates: likewise.
        is_table: whether it counts the places below a parent, whose number only the storage says, not coordinates.
    """

    format: Literal["dense", "compressed", "loose_compressed", "singleton"]
    properties: tuple[LevelProperty, ...] = ()
    positions: Buffer = Buffer.NONE
    coordinates: Buffer = Buffer.NONE
    is_table: bool = False


PlainLevels: TypeAlias = tuple[PlainLevel, ...] | None
"""How level space shows a level: by several, by none, or, where this is None, as it is."""
