"""Level formats and their properties, in the dialect's words.

The names and their meaning are those of `SparseTensorAttrDefs.td`; level
formats as composable parts of a tensor format are from Chou et al. 2018,
section 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["LevelFormat", "LevelProperty", "LevelType"]


class LevelFormat(Enum):
    """How one level stores its coordinates."""

    DENSE = "dense"
    BATCH = "batch"
    COMPRESSED = "compressed"
    LOOSE_COMPRESSED = "loose_compressed"
    SINGLETON = "singleton"
    STRUCTURED = "structured"


class LevelProperty(Enum):
    """What a level does not promise (`nonunique`, `nonordered`), or how it is laid out (`soa`)."""

    NONUNIQUE = "nonunique"
    NONORDERED = "nonordered"
    SOA = "soa"


# Properties print in the order of the dialect's own printer.
_PROPERTY_ORDER = tuple(LevelProperty)


@dataclass(frozen=True, slots=True)
class LevelType:
    """A level format with its properties; `n` and `m` for `structured[n, m]` only."""

    format: LevelFormat
    properties: tuple[LevelProperty, ...] = ()
    n: int | None = None
    m: int | None = None

    def __post_init__(self) -> None:
        ordered = tuple(p for p in _PROPERTY_ORDER if p in self.properties)
        object.__setattr__(self, "properties", ordered)

    @property
    def unique(self) -> bool:
        """Returns whether no coordinate is stored twice below one parent."""
        return LevelProperty.NONUNIQUE not in self.properties

    @property
    def ordered(self) -> bool:
        """Returns whether coordinates below one parent are ascending."""
        return LevelProperty.NONORDERED not in self.properties

    @property
    def soa(self) -> bool:
        """Returns whether a singleton level has its coordinates in an array of its own."""
        return LevelProperty.SOA in self.properties

    @property
    def has_positions(self) -> bool:
        """Returns whether the level stores positions."""
        return self.format in (LevelFormat.COMPRESSED, LevelFormat.LOOSE_COMPRESSED)

    @property
    def has_coordinates(self) -> bool:
        """Returns whether the level stores coordinates."""
        return self.format not in (LevelFormat.DENSE, LevelFormat.BATCH)

    def __str__(self) -> str:
        bracket = f"[{self.n}, {self.m}]" if self.format is LevelFormat.STRUCTURED else ""
        names = ", ".join(p.value for p in self.properties)
        return f"{self.format.value}{bracket}" + (f"({names})" if names else "")
