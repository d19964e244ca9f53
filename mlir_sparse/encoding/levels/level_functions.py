"""The base class of level formats: capabilities, properties, storage, and the methods on plain arrays.

The capabilities and properties are those of Chou et al. 2018, section 3; the formats are theirs and the dialect's.
Parser, verifier, `describe`, pictures, the documentation and plans read a class's attributes; packing, walking,
checking and level space call its methods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from mlir_sparse.classes import dataclass
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

__all__ = ["Assembly", "Below", "Brackets", "Iteration", "LevelFunctions", "Parent", "Promise", "Siblings"]


class Iteration(Enum):
    """How the coordinates below one parent are enumerated."""

    VALUE = "by value"
    """A loop counts coordinates; each gives its position."""
    POSITION = "by position"
    """A loop counts positions; each gives its coordinate."""


class Assembly(Enum):
    """How coordinates are added to a level."""

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
    """The parameters in brackets after a level format."""

    NOTHING = ""
    SIZES = "[n, m]"
    """Two numbers, which are required."""
    NUMBERS = "[low, high]"
    """Two numbers, the bounds of the coordinates; optional."""
    EXPRESSIONS = "[low, high], [low]; ? is stored"
    """The bounds of the coordinates: expressions over the levels above, or stored."""


@dataclass(frozen=True, slots=True)
class Parent:
    """A position of the level above, for a request of its children.

    Args:
        position: the position itself.
        path: the coordinates of the levels above, its own last.
        begin: the first position after the children of the previous parent.
        count: the number of positions of its level.
    """

    position: int
    path: tuple[int, ...]
    begin: int
    count: int

    @property
    def alone(self) -> LevelPositions:
        """Returns it as the only position of its level."""
        return LevelPositions(tuple(np.array([coordinate]) for coordinate in self.path), None, 1)


class Siblings(NamedTuple):
    """The children of one parent, and the unused positions after them, which belong to no parent."""

    positions: range
    coordinates: range | Array
    unused: range = range(0)


class Below(NamedTuple):
    """What a level stores below some consecutive parents.

    Attributes:
        positions: the parents' positions, as stored.
        coordinates: the children's coordinates.
        places: the positions of the children.
        first: what the positions are to count from.
    """

    positions: Stored
    coordinates: Stored
    places: range
    first: int = 0


class LevelFunctions(ABC):
    """One level format.

    Attributes:
        iteration: how its coordinates are enumerated.
        locate: whether a coordinate gives its position without a search through all of them.
        assembly: how entries are added; None where the level above or the map decides all coordinates.
        full: whether the level has all coordinates.
        ordered: whether coordinates below one parent ascend.
        unique: whether coordinates below one parent are distinct.
        branchless: whether each parent has exactly one coordinate.
        compact: whether every position has a coordinate: stored zeros have one, unused capacity has none.
        is_axis: whether every buffer below has an axis for the level, with all parts as long as the longest.
        has_full_loop: whether a loop counts all coordinates of the level: none is stored, and the buffers have no axis
            for it.
        is_segmented: whether a positions array bounds the coordinates of each parent, of which there may be none.
        is_grouped: whether each parent has n of m coordinates.
        fills: whether the level has padding: positions that no entry was given for, which hold zeros.
        is_local: whether levels are joined by joining their arrays: none depends on how many others there are.
        declares: the properties that may be written after it.
        brackets: its parameters in brackets.
        positions: the length of its positions array in words, or None without one.
        coordinates: the length of its coordinates array in words, or None without one.
        coordinates_title: the title of that array in pictures.
        positions_in_all: its number of positions in words; a position is a parent of the level below, or a value.
        native: whether the dialect has it.
        native_kind: its number in native packing (native/pack_plain.hpp), None where that lacks it.
        meaning: a few words that explain its name.
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
    has_full_loop: ClassVar[bool] = False
    is_segmented: ClassVar[bool] = False
    is_grouped: ClassVar[bool] = False
    fills: ClassVar[bool] = False
    is_local: ClassVar[bool] = False
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
    def has_gaps(self) -> bool:
        """Returns whether there may be gaps between segments, so that positions hold the begin and the end of each."""
        return self.is_segmented and not self.compact

    @property
    def is_chained(self) -> bool:
        """Returns whether each parent has exactly one stored coordinate: it continues the tuple of the level above."""
        return self.branchless and self.coordinates is not None

    @property
    def is_computed(self) -> bool:
        """Returns whether the levels above decide the coordinate."""
        return self.branchless and self.coordinates is None

    @property
    def may_be_empty(self) -> bool:
        """Returns whether -1 may mark a missing entry; coordinates are never negative then."""
        return self.is_chained

    @property
    def lists(self) -> bool:
        """Returns whether a parent has a list of stored coordinates, whose order and repeats must be checked."""
        return self.is_segmented

    def has_positions(self, kind: LevelType) -> bool:
        """Returns whether a level of the format stores positions."""
        return self.positions is not None

    def has_coordinates(self, kind: LevelType) -> bool:
        """Returns whether a level of the format stores coordinates."""
        return self.coordinates is not None

    def has_intervals(self, kind: LevelType) -> bool:
        """Returns whether each parent has its own interval, with computed or stored bounds."""
        return False

    def marks_empty(self, above: Sequence[LevelType]) -> bool:
        """Returns whether -1 marks missing entries, given the types of the levels above."""
        return False

    def loop(self, kind: LevelType) -> LevelLoop | None:
        """Returns the sparsifier's loop over a level; None where it has none: see `plain_levels`."""
        return None

    def plain_levels(self, kind: LevelType, above: LevelType | None, *, is_above_native: bool) -> PlainLevels:
        """Returns the levels of level space that view a level.

        Args:
            kind: the level's type.
            above: the type of the level above in level space, None for none.
            is_above_native: whether that is a level of the encoding, unchanged.
        """
        return None

    @abstractmethod
    def count(self, level: SizedLevel, parents: int, pos: Stored, crd: Stored) -> int:
        """Returns the number of positions; for computed intervals an upper bound."""

    @abstractmethod
    def children(self, level: SizedLevel, parent: Parent, pos: Stored, crd: Stored) -> Siblings:
        """Returns the positions and coordinates below a parent; intervals rely on parents that come in order."""

    def walk(self, level: SizedLevel, above: LevelPositions, pos: Stored, crd: Stored) -> LevelPositions:
        """Returns all positions, given those of the level above.

        Raises:
            TooLargeError: for more positions than fit in memory.
        """
        raise UnsupportedError(f"expected a level that can be walked, but got {level.kind} at level {level.number}")

    def outermost_between(self, level: SizedLevel, low: int, high: int, pos: Stored, crd: Stored) -> Below | None:
        """Returns what is stored at some coordinates of an outermost level, which then count from zero.

        Nothing is copied but coordinates that count from elsewhere.

        Args:
            level: the level, whose least coordinate is zero.
            low: the first coordinate.
            high: the coordinate behind the last.
            pos: its positions.
            crd: its coordinates.

        Returns:
            the part; None where it is not in one run of positions, or depends on the rest.
        """
        return None

    def below(self, level: SizedLevel, parents: range, pos: Stored, crd: Stored) -> Below | None:
        """Returns what is stored below consecutive parents, all of it shared.

        Returns:
            the part; None where it depends on the rest, as the slots of hash tables do.
        """
        return None

    def joined_positions(self, parts: Sequence[Array], counts: Sequence[int]) -> tuple[list[Array], list[int]]:
        """Returns the positions of levels one behind the other, each with its own parents.

        Args:
            parts: the positions of each.
            counts: the number of positions in each.

        Returns:
            arrays that follow one another, and what is to be added to each.
        """
        raise UnsupportedError(f"expected a level with positions to join, but got {self.meaning}")

    def whole_segment(self, count: int) -> Array:
        """Returns the positions of an outermost level, given the number of positions in it."""
        raise UnsupportedError(f"expected a level with positions to join, but got {self.meaning}")

    def live(self, above: Sequence[LevelType], crd: Array) -> Array | None:
        """Returns for each position whether an entry is stored there; None where all have one."""
        return crd >= 0 if self.marks_empty(above) else None

    def intervals(
        self, level: SizedLevel, above: LevelPositions, pos: Stored, crd: Stored
    ) -> tuple[Array, Array] | None:
        """Returns the first coordinate and the number of coordinates of each parent that has all of an interval.

        Returns:
            arrays of a number for each parent; None where coordinates may be left out.
        """
        return None

    def check(self, level: SizedLevel, above: LevelPositions, pos: Stored, crd: Stored) -> None:
        """Checks a caller's arrays, except for the order of coordinates, which may be an order of tuples.

        Raises:
            StorageError: for the first broken rule.
        """
        if crd is not None:
            check_range(level, crd)

    def build(self, level: SizedLevel, above: LevelPositions, entries: PlacedEntries) -> BuiltLevels:
        """Returns the arrays of a level of entries, whose positions in the level above become those in the level.

        Raises:
            StorageError: for entries that the format cannot store.
            TooLargeError: for storage that would not fit in memory.
        """
        raise UnsupportedError(f"expected a level that can be built, but got {level.kind} at level {level.number}")
