"""A level's type: its format, its properties, and the parameters in brackets.

Names and meaning are those of `SparseTensorAttrDefs.td`, and those of Chou et al. 2018, section 3, for formats that
the dialect lacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TypeVar

from mlir_sparse.classes import dataclass
from mlir_sparse.encoding.coordinate_interval import Interval
from mlir_sparse.encoding.level_format import LEVEL_FUNCTIONS, LevelFormat
from mlir_sparse.encoding.levels.level_functions import Brackets, LevelFunctions, Promise
from mlir_sparse.encoding.levels.level_loops import LevelLoop
from mlir_sparse.encoding.levels.level_property import LevelProperty
from mlir_sparse.errors import EncodingError
from mlir_sparse.text.given_arguments import several_of, shown

__all__ = ["LevelFormat", "LevelProperty", "LevelType"]

Member = TypeVar("Member", bound=Enum)

# Properties print in the order of the dialect's own printer.
_PROPERTY_ORDER = tuple(LevelProperty)


@dataclass(frozen=True, slots=True)
class LevelType:
    """A level format with its properties.

    Args:
        format: the level format, or its word.
        properties: `nonunique`, `nonordered`, `soa`: their words, or members of `LevelProperty`.
        n: the number of coordinates in each group of m, for `structured[n, m]` only.
        m: the size of a group, likewise.
        interval: the coordinates of `dense[low, high]` and `range[low, high]`.

    Raises:
        EncodingError: for a format or a property that does not exist.

    >>> print(LevelType("compressed", ("nonunique",)))
    compressed(nonunique)
    """

    format: LevelFormat
    properties: tuple[LevelProperty, ...] = ()
    n: int | None = None
    m: int | None = None
    interval: Interval | None = None

    def __post_init__(self) -> None:
        word: object = self.format  # callers without a type checker pass anything
        if not isinstance(word, LevelFormat):
            object.__setattr__(self, "format", _member(LevelFormat, word, "a level format"))
        given: Sequence[object] = self.properties
        if isinstance(given, str | LevelProperty):
            given = (given,)
        if given:
            given = [_member(LevelProperty, one, "a level property") for one in several_of(given, "level properties")]
        ordered = tuple(p for p in _PROPERTY_ORDER if p in given)
        object.__setattr__(self, "properties", ordered)

    @property
    def functions(self) -> LevelFunctions:
        """Returns the capabilities, properties and storage of the level format."""
        return LEVEL_FUNCTIONS[self.format]

    @property
    def unique(self) -> bool:
        """Returns whether coordinates below one parent are distinct."""
        return LevelProperty.NONUNIQUE not in self.properties

    @property
    def ordered(self) -> bool:
        """Returns whether coordinates below one parent ascend."""
        return self.functions.ordered is not Promise.NEVER and LevelProperty.NONORDERED not in self.properties

    @property
    def soa(self) -> bool:
        """Returns whether a singleton level has its own coordinates array."""
        return LevelProperty.SOA in self.properties

    @property
    def has_positions(self) -> bool:
        """Returns whether the level stores positions."""
        return self.functions.has_positions(self)

    @property
    def has_coordinates(self) -> bool:
        """Returns whether the level stores coordinates."""
        return self.functions.has_coordinates(self)

    @property
    def has_intervals(self) -> bool:
        """Returns whether each parent has its own interval; the intervals are stored one after another."""
        return self.functions.has_intervals(self)

    @property
    def is_full(self) -> bool:
        """Returns whether the level has all coordinates of its dimension and stores none."""
        return self.functions.has_full_loop and self.interval is None

    @property
    def has_adjacent_lists(self) -> bool:
        """Returns whether each parent has a list of coordinates that ends where that of the next begins."""
        return self.functions.is_segmented and self.functions.compact

    @property
    def loop(self) -> LevelLoop | None:
        """Returns the sparsifier's loop over the level; None where it has none."""
        return self.functions.loop(self)

    @property
    def is_native(self) -> bool:
        """Returns whether the dialect has a word for the level."""
        return self.functions.native and self.interval is None

    def to_text(self, dim_names: Sequence[str] = (), symbol_names: Sequence[str] = ()) -> str:
        """Returns the type as it appears in a map, with the names given."""
        bracket = f"[{self.n}, {self.m}]" if self.functions.brackets is Brackets.SIZES else ""
        bracket = self.interval.to_text(dim_names, symbol_names) if self.interval else bracket
        names = ", ".join(p.value for p in self.properties)
        return f"{self.format.value}{bracket}" + (f"({names})" if names else "")

    def __str__(self) -> str:
        return self.to_text()


def _member(words: type[Member], given: object, what: str) -> Member:
    """Returns the member of an enumeration that is given, itself or as its word."""
    if isinstance(given, words):
        return given
    try:
        return words(given)
    except ValueError:
        known = ", ".join(str(one.value) for one in words)
        raise EncodingError(f"expected {what} of {known}, but got {shown(given)}") from None
