"""Levels built from entries, for the formats that native packing does not know.

As native packing does (native/pack_build.hpp): every entry carries the place it
has in the levels built so far, and a level turns the place and a coordinate into
the place in the next level (Chou et al. 2018, section 5).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlir_sparse import _native
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.level_functions import Children
from mlir_sparse.errors import StorageError
from mlir_sparse.tensor.allocation import check_fits
from mlir_sparse.tensor.level_storage import Array
from mlir_sparse.tensor.walk_storage import ROOT, Places, below, computed_bounds, marks_empty

__all__ = ["LevelBuilder", "is_sorted"]


class LevelBuilder:
    """Builds one level after the other.

    Args:
        encoding: what to build.
        shape: the extents of the dimensions.
        columns: for each level the true coordinates of all entries, in any order, none twice.
        values: the values of the entries.
    """

    def __init__(self, encoding: Encoding, shape: Sequence[int], columns: Sequence[Array], values: Array) -> None:
        self.encoding, self.shape = encoding, tuple(shape)
        self.columns, self.values = list(columns), values
        self.positions: list[Array | None] = [None] * encoding.lvl_rank
        self.coordinates: list[Array | None] = [None] * encoding.lvl_rank
        self.place = np.zeros(values.size, np.int64)
        self.count = 1
        self._intervals = [
            lvl
            for lvl, kind in enumerate(encoding.level_types)
            if kind.functions.children is Children.INTERVALS and kind.interval
        ]
        self._above: Places = ROOT

    def build(self) -> Array:
        """Builds all levels, and returns the stored values."""
        level = 0
        while level < self.encoding.lvl_rank:
            stop = self._add(level)
            # Only bounds that are computed need the coordinates of all positions.
            while level < stop:
                if any(lvl > level for lvl in self._intervals):
                    self._above = below(
                        self.encoding, self.shape, self._above, level, self.positions[level], self.coordinates[level]
                    )
                level += 1
        self._check_memory(self.values.itemsize, "the values")
        stored = np.zeros(self.count, self.values.dtype)
        stored[self.place] = self.values
        return stored

    def _add(self, level: int) -> int:
        """Builds a level, or a run of levels that share their places; returns the level after it."""
        kind = self.encoding.level_types[level]
        match kind.functions.children:
            case Children.LAST_POSITION | Children.COORDINATES:
                return self._add_region(level)
            case Children.PARENTS if kind.functions.is_chained:
                assert marks_empty(self.encoding, level)
                self._add_singleton(level)
            case Children.TABLES:
                self._add_hashed(level)
            case Children.INTERVALS if kind.interval is not None:
                self._add_intervals(level)
            case Children.PRODUCT | Children.INTERVALS:
                low, high = self.encoding.level_bounds(self.shape)[level]
                self.count *= max(0, high - low)
                self._check_memory(1, f"level {level}")
                self.place = self.place * max(0, high - low) + (self.columns[level] - low)
            case _:
                assert kind.functions.is_computed
        return level + 1

    def _check_memory(self, itemsize: int, part: str) -> None:
        check_fits(self.count * itemsize, f"{part} of {self.encoding.map_text()} of shape {self.shape}")

    def _add_region(self, start: int) -> int:
        types = self.encoding.level_types
        stop = start + 1
        while stop < len(types) and types[stop].functions.is_chained:
            stop += 1
        self._check_memory(16, f"level {start}")
        self._sort(range(start, stop))
        begins = self._begins(range(start, stop))
        at = np.flatnonzero(begins)
        ends = np.cumsum(np.bincount(self.place[at], minlength=self.count))
        if not types[start].functions.has_room:
            self.positions[start] = np.concatenate([[0], ends])
        else:
            begin = np.concatenate([[0], ends])[:-1]
            self.positions[start] = np.stack([begin, ends], axis=1).reshape(-1)
        for level in range(start, stop):
            self.coordinates[level] = self.columns[level][at]
        self.place, self.count = np.cumsum(begins) - 1, at.size
        return stop

    def _sort(self, levels: range) -> None:
        """Brings the entries into the order of their places, then of the coordinates in some levels."""
        keys = [self.place, *(self.columns[level] for level in levels)]
        if is_sorted(keys):
            return
        order = np.lexsort(keys[::-1])
        self.columns = [column[order] for column in self.columns]
        self.place, self.values = self.place[order], self.values[order]

    def _begins(self, levels: range) -> Array:
        """Returns whether an entry differs from the one before it in its place or these levels."""
        begins = np.ones(self.place.size, bool)
        begins[1:] = self.place[1:] != self.place[:-1]
        for level in levels:
            column, same = self.columns[level], ~begins
            begins[1:] |= column[1:] != column[:-1]
            above = level - 1
            if level > levels.start and self.encoding.level_types[above].unique and (same & begins).any():
                entry = int(np.argmax(same & begins))
                raise _native.LevelFault("singleton", above, entry, 1, int(self.columns[above][entry]))
        return begins

    def _add_singleton(self, level: int) -> None:
        self._check_memory(8, f"level {level}")
        stored = np.full(self.count, -1, np.int64)
        stored[self.place] = self.columns[level]
        wrong = np.flatnonzero(stored[self.place] != self.columns[level])
        if wrong.size:
            got = self.columns[level][wrong[0]], stored[self.place[wrong[0]]]
            raise StorageError(
                f"expected one coordinate below each parent of the singleton level {level} in "
                f"{self.encoding.map_text()}, but got {got[0]} and {got[1]} below one: choose slots, or compressed"
            )
        self.coordinates[level] = stored

    def _add_hashed(self, level: int) -> None:
        self._sort(range(level, level + 1))
        begins = self._begins(range(level, level + 1))
        at = np.flatnonzero(begins)
        parents, keys = self.place[at], self.columns[level][at]
        most = int(np.bincount(parents).max(initial=0))
        width = 1 << (2 * most - 1).bit_length() if most else 1
        parents_count, self.count = self.count, self.count * width
        self._check_memory(8, f"level {level}")
        table = np.full(parents_count * width, -1, np.int64)
        slots = _insert(table, parents * width, keys, width)
        self.place = slots[np.cumsum(begins) - 1]
        self.coordinates[level] = table

    def _add_intervals(self, level: int) -> None:
        interval = self.encoding.level_types[level].interval
        assert interval is not None
        low, high = computed_bounds(self.encoding, self.shape, self._above, level)
        column = self.columns[level]
        self._check_inside(level, low, high)
        if interval.low is None:
            first = np.full(self.count, np.iinfo(np.int64).max)
            np.minimum.at(first, self.place, column)
            filled = first != np.iinfo(np.int64).max
            low = np.where(filled, first, high if interval.stored == 1 else 0)
        if interval.high is None and not interval.to_end:
            last = np.full(self.count, np.iinfo(np.int64).min)
            np.maximum.at(last, self.place, column)
            high = np.where(last != np.iinfo(np.int64).min, last + 1, low)
        positions = np.concatenate([[0], np.cumsum(high - low)])
        if interval.stored:
            self.positions[level] = positions
        if interval.stored == 2:
            self.coordinates[level] = low
        self.count = int(positions[-1])
        self._check_memory(1, f"level {level}")
        self.place = positions[self.place] + (column - low[self.place])

    def _check_inside(self, level: int, low: Array, high: Array) -> None:
        column = self.columns[level]
        outside = (column < low[self.place]) | (column >= high[self.place])
        if outside.any():
            entry = int(np.argmax(outside))
            parent = self.place[entry]
            raise StorageError(
                f"expected coordinates from {low[parent]} to {high[parent] - 1} at level {level} of "
                f"{self.encoding.map_text()}, but got {column[entry]}: drop it, or choose a format that has room"
            )


def is_sorted(keys: Sequence[Array]) -> bool:
    """Returns whether entries ascend, or stay, by the first key, then the second, and so on."""
    tied = np.ones(max(0, keys[0].size - 1), bool)
    for key in keys:
        if (tied & (key[1:] < key[:-1])).any():
            return False
        tied &= key[1:] == key[:-1]
    return True


def _insert(table: Array, starts: Array, keys: Array, width: int) -> Array:
    """Puts each key into the first free slot of its table from `key mod width` on; returns the slots taken."""
    slots = np.empty(keys.size, np.int64)
    waiting, step = np.arange(keys.size), 0
    while waiting.size:
        tried = starts[waiting] + (keys[waiting] + step) % width
        free = table[tried] < 0
        # Of several that try one slot, the first gets it: what is written last stays.
        table[tried[free][::-1]] = keys[waiting[free]][::-1]
        taken = free & (table[tried] == keys[waiting])
        slots[waiting[taken]] = tried[taken]
        waiting, step = waiting[~taken], step + 1
    return slots
