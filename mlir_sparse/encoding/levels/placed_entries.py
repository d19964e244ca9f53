"""Entries while levels are built from them.

As in native packing (native/pack_build.hpp), every entry has a position in the last level built. The next level turns
this position and a coordinate into a position of its own (Chou et al. 2018, section 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mlir_sparse.encoding.levels.level_positions import Array
from mlir_sparse.encoding.levels.level_rules import second_entry_error

if TYPE_CHECKING:  # encodings import the level formats, which import this module
    from mlir_sparse.encoding.encoding_value import Encoding

__all__ = ["BuiltLevels", "PlacedEntries", "is_sorted"]


class BuiltLevels(NamedTuple):
    """The arrays of a level and of the singleton levels that share its positions.

    Args:
        positions: the level's positions array, None where it has none.
        coordinates: the coordinates of the level, then of each singleton below; empty where it has none.
    """

    positions: Array | None = None
    coordinates: tuple[Array, ...] = ()


class PlacedEntries:
    """Entries with their positions in the last level built.

    Args:
        encoding: the encoding to build.
        columns: for each level the coordinates of all entries, in any order, without repeats.
        values: their values.
    """

    def __init__(self, encoding: Encoding, columns: Sequence[Array], values: Array) -> None:
        self.encoding, self.columns, self.values = encoding, list(columns), values
        self.place = np.zeros(values.size, np.int64)
        self.count = 1

    def sort(self, levels: range) -> None:
        """Sorts the entries by position, then by the coordinates in some levels."""
        keys = [self.place, *(self.columns[level] for level in levels)]
        if is_sorted(keys):
            return
        order = np.lexsort(keys[::-1])
        self.columns = [column[order] for column in self.columns]
        self.place, self.values = self.place[order], self.values[order]

    def begins(self, levels: range) -> Array:
        """Returns for each entry whether its position or its coordinate in some level differs from the entry before.

        Raises:
            StorageError: for entries that repeat a coordinate of a unique level among these.
        """
        begins = np.ones(self.place.size, bool)
        begins[1:] = self.place[1:] != self.place[:-1]
        for level in levels:
            column, same = self.columns[level], ~begins
            begins[1:] |= column[1:] != column[:-1]
            above = level - 1
            if level > levels.start and self.encoding.level_types[above].unique and (same & begins).any():
                entry = int(np.argmax(same & begins))
                raise second_entry_error(self.encoding, above, entry, int(self.columns[above][entry]))
        return begins


def is_sorted(keys: Sequence[Array]) -> bool:
    """Returns whether entries are in lexicographic order of the keys, with repeats allowed."""
    tied = np.ones(max(0, keys[0].size - 1), bool)
    for key in keys:
        if (tied & (key[1:] < key[:-1])).any():
            return False
        tied &= key[1:] == key[:-1]
    return True
