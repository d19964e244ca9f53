"""What each level format can do, promises and stores: the one table that everything else asks.

The capabilities and properties are those of Chou et al. 2018, section 3; the
formats are theirs and the dialect's. A new level format is one entry here, one
name in `LevelFormat`, and its tests: parser, verifier, `describe`, pictures, the
documentation and the choice of what MLIR can be told follow from the entry. So
do packing, walking, checking and level space, as long as its `children` are of a
kind that is known; a new kind is a case more where these match on `Children`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from mlir_sparse.encoding.level_format import LevelFormat, LevelProperty

__all__ = [
    "LEVEL_FUNCTIONS",
    "Assembly",
    "Brackets",
    "Children",
    "Iteration",
    "LevelFunctions",
    "Promise",
]


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


class Children(Enum):
    """How many positions a level has altogether; a position is a parent of the level below, or a value."""

    PRODUCT = "parents * size"
    LAST_POSITION = "positions[-1]"
    COORDINATES = "len(coordinates)"
    PARENTS = "parents"
    KEPT = "parents * n"
    INTERVALS = "parents * size, or the sum of the intervals' lengths where bounds are written"
    TABLES = "parents * table width"


class Brackets(Enum):
    """What may stand in brackets after a level format."""

    NOTHING = ""
    SIZES = "[n, m]"
    """Numbers, which must be there."""
    NUMBERS = "[low, high]"
    """The coordinates there are: two numbers."""
    EXPRESSIONS = "[low, high], [low]; ? is stored"
    """The coordinates there are, as the levels above say, or stored."""


_ORDER_AND_REPEATS = (LevelProperty.NONUNIQUE, LevelProperty.NONORDERED)


@dataclass(frozen=True, slots=True)
class LevelFunctions:
    """One level format.

    Args:
        iteration: how its coordinates are enumerated.
        locate: whether a coordinate leads to its position without a search through all of them.
        assembly: how entries get in; None where the level above or the map decides all coordinates.
        full: whether all coordinates of the level are there.
        ordered: whether coordinates below one parent ascend.
        unique: whether none stands twice below one parent.
        branchless: whether each parent has exactly one coordinate.
        compact: whether every position has a coordinate: zeros that are stored count, room does not.
        is_axis: whether every buffer below has an axis for the level, each part as long as the longest needs.
        declares: the properties that may be written after it.
        brackets: what may stand in brackets after it.
        positions: the numbers in its positions array, or None without one.
        coordinates: the numbers in its coordinates array, or None without one.
        children: how many positions it has.
        native: whether the dialect has it.
        meaning: what it is, in a few words, to stand after its name.
    """

    iteration: Iteration
    locate: bool
    assembly: Assembly | None
    full: Promise
    ordered: Promise
    unique: Promise
    branchless: bool
    compact: bool
    is_axis: bool
    declares: tuple[LevelProperty, ...]
    brackets: Brackets
    positions: str | None
    coordinates: str | None
    children: Children
    native: bool
    meaning: str

    @property
    def is_counted(self) -> bool:
        """Returns whether all coordinates of the level are counted, none is stored, in buffers of one tensor."""
        return self.full is Promise.ALWAYS and self.children is Children.PRODUCT and not self.is_axis

    @property
    def is_segmented(self) -> bool:
        """Returns whether positions say where each parent's coordinates begin: any number of them, none included."""
        return self.children in (Children.LAST_POSITION, Children.COORDINATES)

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
    def fills(self) -> bool:
        """Returns whether there are positions for entries that nobody gave, which hold zeros."""
        return self.iteration is Iteration.VALUE or self.children is Children.KEPT


LEVEL_FUNCTIONS: dict[LevelFormat, LevelFunctions] = {
    LevelFormat.DENSE: LevelFunctions(
        iteration=Iteration.VALUE,
        locate=True,
        assembly=Assembly.INSERT,
        full=Promise.ALWAYS,
        ordered=Promise.ALWAYS,
        unique=Promise.ALWAYS,
        branchless=False,
        compact=True,
        is_axis=False,
        declares=(),
        brackets=Brackets.NUMBERS,
        positions=None,
        coordinates=None,
        children=Children.PRODUCT,
        native=True,
        meaning="all coordinates 0, 1, 2, ... present",
    ),
    LevelFormat.BATCH: LevelFunctions(
        iteration=Iteration.VALUE,
        locate=True,
        assembly=Assembly.INSERT,
        full=Promise.ALWAYS,
        ordered=Promise.ALWAYS,
        unique=Promise.ALWAYS,
        branchless=False,
        compact=True,  # where a batch is shorter than others, the levels below have room
        is_axis=True,
        declares=(),
        brackets=Brackets.NOTHING,
        positions=None,
        coordinates=None,
        children=Children.PRODUCT,
        native=True,
        meaning="one of everything below for each coordinate",
    ),
    LevelFormat.COMPRESSED: LevelFunctions(
        iteration=Iteration.POSITION,
        locate=False,
        assembly=Assembly.APPEND,
        full=Promise.NEVER,
        ordered=Promise.DECLARED,
        unique=Promise.DECLARED,
        branchless=False,
        compact=True,
        is_axis=False,
        declares=_ORDER_AND_REPEATS,
        brackets=Brackets.NOTHING,
        positions="where each parent's coordinates begin, and the end of the last (parents + 1)",
        coordinates="those present (positions[-1])",
        children=Children.LAST_POSITION,
        native=True,
        meaning="",  # what `describe` says of order and repeats is enough
    ),
    LevelFormat.LOOSE_COMPRESSED: LevelFunctions(
        iteration=Iteration.POSITION,
        locate=False,
        assembly=Assembly.APPEND,
        full=Promise.NEVER,
        ordered=Promise.DECLARED,
        unique=Promise.DECLARED,
        branchless=False,
        compact=False,
        is_axis=False,
        declares=_ORDER_AND_REPEATS,
        brackets=Brackets.NOTHING,
        positions="where each parent's coordinates begin and end (2 * parents)",
        coordinates="those present, and unused ones between parents",
        children=Children.COORDINATES,
        native=True,
        meaning="with room between parents",
    ),
    LevelFormat.SINGLETON: LevelFunctions(
        iteration=Iteration.POSITION,
        locate=False,
        assembly=Assembly.APPEND,
        full=Promise.NEVER,
        ordered=Promise.DECLARED,
        unique=Promise.DECLARED,
        branchless=True,
        compact=True,
        is_axis=False,
        declares=tuple(LevelProperty),
        brackets=Brackets.NOTHING,
        positions=None,
        coordinates="that of each parent, -1 for a parent without an entry (parents)",
        children=Children.PARENTS,
        native=True,
        meaning="one coordinate for each parent",
    ),
    LevelFormat.STRUCTURED: LevelFunctions(
        iteration=Iteration.POSITION,
        locate=False,
        assembly=Assembly.APPEND,
        full=Promise.NEVER,
        ordered=Promise.ALWAYS,
        unique=Promise.ALWAYS,
        branchless=False,
        compact=True,  # a group with fewer than n entries is filled up, zeros at coordinates of their own
        is_axis=False,
        declares=(),
        brackets=Brackets.SIZES,
        positions=None,
        coordinates="n for each parent (parents * n)",
        children=Children.KEPT,
        native=True,
        meaning="n of every m coordinates",
    ),
    LevelFormat.RANGE: LevelFunctions(
        iteration=Iteration.VALUE,
        locate=True,  # the paper's are only iterated; these know where an interval begins
        assembly=Assembly.INSERT,
        full=Promise.NEVER,
        ordered=Promise.ALWAYS,
        unique=Promise.ALWAYS,
        branchless=False,
        compact=False,  # a diagonal has positions beyond the tensor's edges
        is_axis=False,
        declares=(),
        brackets=Brackets.EXPRESSIONS,
        positions="where each parent's interval begins, if a bound is ? (parents + 1)",
        coordinates="the first of each parent's interval, if both bounds are ? (parents)",
        children=Children.INTERVALS,
        native=False,
        meaning="all coordinates of an interval",
    ),
    LevelFormat.OFFSET: LevelFunctions(
        iteration=Iteration.POSITION,
        locate=False,
        assembly=None,
        full=Promise.NEVER,
        ordered=Promise.ALWAYS,
        unique=Promise.ALWAYS,
        branchless=True,
        compact=False,
        is_axis=False,
        declares=(),
        brackets=Brackets.NOTHING,
        positions=None,
        coordinates=None,
        children=Children.PARENTS,
        native=False,
        meaning="the one coordinate that the levels above add up to",
    ),
    LevelFormat.HASHED: LevelFunctions(
        iteration=Iteration.POSITION,
        locate=True,
        assembly=Assembly.INSERT,
        full=Promise.NEVER,
        ordered=Promise.NEVER,
        unique=Promise.ALWAYS,
        branchless=False,
        compact=False,
        is_axis=False,
        declares=(),
        brackets=Brackets.NOTHING,
        positions=None,
        coordinates="a table for each parent, all of one width, a power of two; -1 where empty (parents * width)",
        children=Children.TABLES,
        native=False,
        meaning="a hash table of coordinates for each parent",
    ),
}
