"""What each level format can do, promises and stores: the class that everything else asks.

The capabilities and properties are those of Chou et al. 2018, section 3; the formats are theirs and the dialect's.
Parser, verifier, `describe`, pictures, the documentation, plans and the choice of what MLIR can be told follow from a
class's facts; packing, walking, checking and level space from its methods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from mlir_sparse.encoding.levels.level_loops import LevelLoop
from mlir_sparse.encoding.levels.level_positions import Array, LevelPositions, Stored
from mlir_sparse.encoding.levels.level_property import LevelProperty
from mlir_sparse.encoding.levels.level_rules import check_range
from mlir_sparse.encoding.levels.placed_entries import BuiltLevels, PlacedEntries
from mlir_sparse.encoding.levels.plain_levels import PlainLevels
from mlir_sparse.errors import UnsupportedError

if TYPE_CHECKING:  # types and encodings ask their level formats
    from mlir_sparse.encoding.level_type import LevelType
    from mlir_sparse.encoding.levels.sized_level import SizedLevel

__all__ = ["Assembly", "Brackets", "Iteration", "LevelFunctions", "Parent", "Promise", "Siblings"]


class Iteration(Enum):
    """How the coordinates below one parent are enumerated."""

    VALUE = "by value"
    """Coordinates are counted, and each gives its position."""
    POSITION = "by position"
    """Positions are counted, and each gives its coordinate."""


class Assembly(Enum):
    """How coordinates get into a level."""

    INSERT = "insert"
    """In any order, each at the position that `locate` gives."""
    APPEND = "append"
    """One after another, parents in order."""


class Promise(Enum):
    """Whether a level has a property."""

    ALWAYS = "yes"
    NEVER = "no"
    DECLARED = "unless declared not"


class Brackets(Enum):
    """What may stand in brackets after a level format."""

    NOTHING = ""
    SIZES = "[n, m]"
    """Numbers, which must be there."""
    NUMBERS = "[low, high]"
    """The coordinates there are: two numbers."""
    EXPRESSIONS = "[low, high], [low]; ? is stored"
    """The coordinates there are, as the levels above say, or stored."""


@dataclass(frozen=True, slots=True)
class Parent:
    """A position whose children are asked for.

    Args:
        position: which it is.
        path: its coordinate, after those in the levels above.
        begin: the first position after the children of the parent before.
        count: how many positions its level has.
    """

    position: int
    path: tuple[int, ...]
    begin: int
    count: int

    @property
    def alone(self) -> LevelPositions:
        """Returns it as the one position of its level."""
        return LevelPositions(tuple(np.array([coordinate]) for coordinate in self.path), None, 1)


class Siblings(NamedTuple):
    """What a level has below one parent.

    Args:
        positions: those of the children.
        coordinates: one for each.
        unused: positions after them that no parent has.
    """

    positions: range
    coordinates: range | Array
    unused: range = range(0)


class LevelFunctions(ABC):
    """One level format.

    Attributes:
        iteration: how its coordinates are enumerated.
        locate: whether a coordinate leads to its position without a search through all of them.
        assembly: how entries get in; None where the level above or the map decides all coordinates.
        full: whether all coordinates of the level are there.
        ordered: whether coordinates below one parent ascend.
        unique: whether none stands twice below one parent.
        branchless: whether each parent has exactly one coordinate.
        compact: whether every position has a coordinate: zeros that are stored count, room does not.
        is_axis: whether every buffer below has an axis for the level, each part as long as the longest needs.
        is_counted: whether all coordinates of the level are counted, none is stored, in buffers of one tensor.
        is_segmented: whether positions say where each parent's coordinates begin: any number of them, none included.
        is_grouped: whether each parent has n of m coordinates.
        fills: whether there are positions for entries that nobody gave, which hold zeros.
        declares: the properties that may be written after it.
        brackets: what may stand in brackets after it.
        positions: the numbers in its positions array, or None without one.
        coordinates: the numbers in its coordinates array, or None without one.
        coordinates_title: what pictures call those.
        positions_in_all: how many positions it has; a position is a parent of the level below, or a value.
        native: whether the dialect has it.
        native_kind: its number in native packing (native/pack_plain.hpp), None where that does not know it.
        meaning: what it is, in a few words, to stand after its name.
    """

    iteration: ClassVar[Iteration]
    locate: ClassVar[bool]
    assembly: ClassVar[Assembly | None]
    full: ClassVar[Promise]
    ordered: ClassVar[Promise]
    unique: ClassVar[Promise]
    branchless: ClassVar[bool] = False
    compact: ClassVar[bool]
    is_axis: ClassVar[bool] = False
    is_counted: ClassVar[bool] = False
    is_segmented: ClassVar[bool] = False
    is_grouped: ClassVar[bool] = False
    fills: ClassVar[bool] = False
    declares: ClassVar[tuple[LevelProperty, ...]] = ()
    brackets: ClassVar[Brackets] = Brackets.NOTHING
    positions: ClassVar[str | None] = None
    coordinates: ClassVar[str | None] = None
    coordinates_title: ClassVar[str] = "coordinates"
    positions_in_all: ClassVar[str]
    native: ClassVar[bool] = False
    native_kind: ClassVar[int | None] = None
    meaning: ClassVar[str]

    @property
    def has_room(self) -> bool:
        """Returns whether there may be room between segments, so that positions give begin and end of each."""
        return self.is_segmented and not self.compact

    @property
    def is_chained(self) -> bool:
        """Returns whether each parent has one stored coordinate: with the level above, that of one tuple."""
        return self.branchless and self.coordinates is not None

    @property
    def is_computed(self) -> bool:
        """Returns whether the levels above decide the coordinate, so that the level says nothing new."""
        return self.branchless and self.coordinates is None

    @property
    def may_be_empty(self) -> bool:
        """Returns whether -1 may stand for a coordinate where there is no entry, so that no coordinate is below 0."""
        return self.is_chained

    @property
    def lists(self) -> bool:
        """Returns whether a parent has a list of stored coordinates, whose order and repeats are to be checked."""
        return self.is_segmented

    def has_positions(self, kind: LevelType) -> bool:
        """Returns whether a level of the format stores positions."""
        return self.positions is not None

    def has_coordinates(self, kind: LevelType) -> bool:
        """Returns whether a level of the format stores coordinates."""
        return self.coordinates is not None

    def has_intervals(self, kind: LevelType) -> bool:
        """Returns whether each parent has an interval of its own, which the levels above say, or numbers stored."""
        return False

    def marks_empty(self, above: Sequence[LevelType]) -> bool:
        """Returns whether the coordinates have -1 where there is no entry, below some levels."""
        return False

    def loop(self, kind: LevelType) -> LevelLoop | None:
        """Returns how the sparsifier's loops run over a level; None where it has none: see `plain_levels`."""
        return None

    def plain_levels(self, kind: LevelType, above: LevelType | None, *, is_above_native: bool) -> PlainLevels:
        """Returns how level space shows a level.

        Args:
            kind: the level's type.
            above: the type of the last level that level space has above, None for none.
            is_above_native: whether that is as the encoding has it.
        """
        return None

    @abstractmethod
    def count(self, level: SizedLevel, parents: int, pos: Stored, crd: Stored) -> int:
        """Returns how many positions there are; of intervals that are computed, the most there can be.

        Args:
            level: the level.
            parents: how many there are in the level above.
            pos: the level's positions array.
            crd: the level's coordinates array.
        """

    @abstractmethod
    def children(self, level: SizedLevel, parent: Parent, pos: Stored, crd: Stored) -> Siblings:
        """Returns the positions and coordinates below one parent.

        Args:
            level: the level.
            parent: parents are asked for in order, for intervals whose lengths are computed.
            pos: the level's positions array.
            crd: the level's coordinates array.
        """

    def walk(self, level: SizedLevel, above: LevelPositions, pos: Stored, crd: Stored) -> LevelPositions:
        """Returns all positions, from those of the level above.

        Raises:
            TooLargeError: for more than fit in memory.
        """
        raise UnsupportedError(f"expected a level that can be walked, but got {level.kind} at level {level.number}")

    def live(self, above: Sequence[LevelType], crd: Array) -> Array | None:
        """Returns whether something is stored at each position, as coordinates say; None where that holds for all."""
        return crd >= 0 if self.marks_empty(above) else None

    def check(self, level: SizedLevel, above: LevelPositions, pos: Stored, crd: Stored) -> None:
        """Checks a caller's arrays; the order of coordinates, which may be that of tuples, is checked elsewhere.

        Raises:
            StorageError: for the first rule that they break.
        """
        if crd is not None:
            check_range(level, crd)

    def build(self, level: SizedLevel, above: LevelPositions, entries: PlacedEntries) -> BuiltLevels:
        """Builds a level: returns its arrays, and gives each entry its place there.

        Args:
            level: the level.
            above: the positions of the level above, for levels that have intervals.
            entries: with their places in the level above.

        Raises:
            StorageError: for entries that it has no room for.
            TooLargeError: for storage that would not fit in memory.
        """
        raise UnsupportedError(f"expected a level that can be built, but got {level.kind} at level {level.number}")
