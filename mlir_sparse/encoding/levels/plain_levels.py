"""The view of a level in level space: levels of the dialect, on the stored buffers where possible."""

from __future__ import annotations

from enum import Enum
from typing import Literal, TypeAlias

from mlir_sparse.classes import dataclass
from mlir_sparse.encoding.levels.level_property import LevelProperty

__all__ = ["Buffer", "PlainLevel", "PlainLevels"]


class Buffer(Enum):
    """The origin of a buffer of the plain tensor."""

    NONE = "none"
    """The level has no such buffer."""
    STORED = "stored"
    """The array of the source level."""
    SHIFTED = "shifted"
    """The array of the source level, with the offset added to each coordinate."""
    DERIVED = "derived"
    """Computed from the stored arrays; see `level_space`."""


@dataclass(frozen=True, slots=True)
class PlainLevel:
    """A level of level space.

    Args:
        format: the level format.
        properties: `nonunique`, `nonordered`, `soa`.
        positions: the origin of its positions.
        coordinates: the origin of its coordinates.
        is_table: whether its coordinates are slots of a parent's table, whose number only the storage decides.
    """

    format: Literal["dense", "compressed", "loose_compressed", "singleton"]
    properties: tuple[LevelProperty, ...] = ()
    positions: Buffer = Buffer.NONE
    coordinates: Buffer = Buffer.NONE
    is_table: bool = False


PlainLevels: TypeAlias = tuple[PlainLevel, ...] | None
"""How level space shows a level: by several, by none, or, where this is None, as it is."""
