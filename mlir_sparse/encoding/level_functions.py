"""What each level format can do, promises and stores: the one table that everything else asks.

The capabilities and properties are those of Chou et al. 2018, section 3; the
formats are theirs and the dialect's. A new level format is one entry here, one
name in `LevelFormat`, and its tests: parser, verifier, `describe`, the
documentation and the choice of what MLIR can be told follow from the entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from mlir_sparse.encoding.level_format import LevelFormat, LevelProperty

__all__ = ["LEVEL_FUNCTIONS", "Assembly", "Children", "Iteration", "LevelFunctions", "Promise", "level_table"]


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
        compact: whether no position is without an entry below a parent that has entries.
        declares: the properties that may be written after it.
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
    declares: tuple[LevelProperty, ...]
    positions: str | None
    coordinates: str | None
    children: Children
    native: bool
    meaning: str


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
        declares=(),
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
        compact=False,  # every batch has room for the longest one
        declares=(),
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
        declares=_ORDER_AND_REPEATS,
        positions="where each parent's coordinates begin, and the end of the last (parents + 1)",
        coordinates="those present (positions[-1])",
        children=Children.LAST_POSITION,
        native=True,
        meaning="",
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
        declares=_ORDER_AND_REPEATS,
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
        declares=tuple(LevelProperty),
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
        compact=False,  # a group with fewer than n entries is filled up with zeros
        declares=(),
        positions=None,
        coordinates="n for each parent (parents * n)",
        children=Children.KEPT,
        native=True,
        meaning="n of every m coordinates",
    ),
    LevelFormat.RANGE: LevelFunctions(
        iteration=Iteration.VALUE,
        locate=True,
        assembly=Assembly.INSERT,
        full=Promise.NEVER,
        ordered=Promise.ALWAYS,
        unique=Promise.ALWAYS,
        branchless=False,
        compact=False,
        declares=(),
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
        declares=(),
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
        declares=(),
        positions=None,
        coordinates="a table for each parent, all of one width, a power of two; -1 where empty (parents * width)",
        children=Children.TABLES,
        native=False,
        meaning="a hash table of coordinates for each parent",
    ),
}


def level_table() -> str:
    """Returns the table in Markdown, for the documentation.

    >>> print(level_table())
    | level format | iterates | locates | assembles | ...
    | `dense` | by value | yes | insert | yes | yes | yes | no | yes | nothing | parents * size | yes |
    ...
    """
    heads = ["level format", "iterates", "locates", "assembles", "full", "ordered", "unique", "branchless", "compact"]
    rows = [[*heads, "stores", "positions in all", "in the dialect"]]
    rows.append(["---"] * len(rows[0]))
    rows += [[f"`{name.value}`", *_cells(entry)] for name, entry in LEVEL_FUNCTIONS.items()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cells(entry: LevelFunctions) -> list[str]:
    arrays = (("positions", entry.positions), ("coordinates", entry.coordinates))
    stored = "; ".join(f"{name}: {what}" for name, what in arrays if what)
    return [
        entry.iteration.value,
        _yes(entry.locate),
        entry.assembly.value if entry.assembly else "",
        *(promise.value for promise in (entry.full, entry.ordered, entry.unique)),
        _yes(entry.branchless),
        _yes(entry.compact),
        stored or "nothing",
        entry.children.value,
        _yes(entry.native),
    ]


def _yes(value: bool) -> str:
    return "yes" if value else "no"
