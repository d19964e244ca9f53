"""`hashed`: a hash table of coordinates for each parent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mlir_sparse.encoding.levels.level_functions import Assembly, Iteration, LevelFunctions, Parent, Promise, Siblings
from mlir_sparse.encoding.levels.level_positions import Array, LevelPositions, Stored, wide
from mlir_sparse.encoding.levels.level_rules import check_range
from mlir_sparse.encoding.levels.placed_entries import BuiltLevels, PlacedEntries
from mlir_sparse.encoding.levels.plain_levels import Buffer, PlainLevel, PlainLevels
from mlir_sparse.errors import CoordinatesError

if TYPE_CHECKING:
    from mlir_sparse.encoding.level_type import LevelType
    from mlir_sparse.encoding.levels.sized_level import SizedLevel

__all__ = ["HashedLevel"]


class HashedLevel(LevelFunctions):
    """All tables have the same width, a power of two; coordinate c is in the first free slot from `c mod width` on."""

    iteration = Iteration.POSITION
    locate = True
    assembly = Assembly.INSERT
    full = Promise.NEVER
    ordered = Promise.NEVER
    unique = Promise.ALWAYS
    compact = False
    may_be_empty = True
    lists = True
    coordinates = "a table for each parent, all of one width, a power of two; -1 where empty (parents * width)"
    positions_in_all = "parents * table width"
    meaning = "a hash table of coordinates for each parent"

    def marks_empty(self, above: Sequence[LevelType]) -> bool:
        return True

    def plain_levels(self, kind: LevelType, above: LevelType | None, *, is_above_native: bool) -> PlainLevels:
        coordinates = PlainLevel("loose_compressed", positions=Buffer.DERIVED, coordinates=Buffer.STORED)
        return PlainLevel("dense", is_table=True), coordinates

    def count(self, level: SizedLevel, parents: int, pos: Stored, crd: Stored) -> int:
        assert crd is not None
        return crd.size

    def children(self, level: SizedLevel, parent: Parent, pos: Stored, crd: Stored) -> Siblings:
        assert crd is not None
        width = crd.size // max(1, parent.count)
        places = range(parent.position * width, (parent.position + 1) * width)
        return Siblings(places, crd[places.start : places.stop])

    def walk(self, level: SizedLevel, above: LevelPositions, pos: Stored, crd: Stored) -> LevelPositions:
        coordinates = wide(crd)
        parents = np.repeat(np.arange(above.count), coordinates.size // max(1, above.count))
        return above.below(coordinates, parents, self.live(level.above, coordinates))

    def check(self, level: SizedLevel, above: LevelPositions, pos: Stored, crd: Stored) -> None:
        assert crd is not None
        width = crd.size // max(1, above.count)
        if width * above.count != crd.size or width & (width - 1) or (width == 0 and above.count):
            raise CoordinatesError(
                f"expected coordinates[{level.number}] to be {above.count} tables of one width, a power of two, but "
                f"got length {crd.size}"
            )
        check_range(level, crd)
        _check_found(level, wide(crd), above.count)

    def build(self, level: SizedLevel, above: LevelPositions, entries: PlacedEntries) -> BuiltLevels:
        alone = range(level.number, level.number + 1)
        entries.sort(alone)
        begins = entries.begins(alone)
        at = np.flatnonzero(begins)
        parents, keys = entries.place[at], entries.columns[level.number][at]
        most = int(np.bincount(parents).max(initial=0))
        width = 1 << (2 * most - 1).bit_length() if most else 1
        entries.count *= width
        level.check_memory(8 * entries.count)
        table = np.full(entries.count, -1, np.int64)
        slots = _insert(table, parents * width, keys, width)
        entries.place = slots[np.cumsum(begins) - 1]
        return BuiltLevels(coordinates=(table,))


def _check_found(level: SizedLevel, crd: Array, parents: int) -> None:
    """Raises CoordinatesError for a coordinate that a search from its hash does not find."""
    if crd.size == 0:
        return
    tables = crd.reshape(parents, -1)
    width = tables.shape[1]
    empty = np.concatenate([tables < 0, tables < 0], axis=1)
    before = np.concatenate([np.zeros((parents, 1), np.int64), np.cumsum(empty, axis=1)], axis=1)
    owners, slots = np.nonzero(tables >= 0)
    home = tables[owners, slots] % width
    end = np.where(slots >= home, slots, slots + width)
    lost = np.flatnonzero(before[owners, end] - before[owners, home])
    if lost.size:
        at = int(owners[lost[0]] * width + slots[lost[0]])
        raise CoordinatesError(
            f"expected coordinates[{level.number}] in the first free slot from c mod {width} on, but got {crd[at]} at "
            f"coordinates[{level.number}][{at}] behind an empty slot"
        )


def _insert(table: Array, starts: Array, keys: Array, width: int) -> Array:
    """Puts each key into the first free slot of its table from `key mod width` on; returns the slots taken."""
    slots = np.empty(keys.size, np.int64)
    waiting, step = np.arange(keys.size), 0
    while waiting.size:
        tried = starts[waiting] + (keys[waiting] + step) % width
        free = table[tried] < 0
        # Of several keys for one slot the first gets it: writing in reverse order leaves the first.
        table[tried[free][::-1]] = keys[waiting[free]][::-1]
        taken = free & (table[tried] == keys[waiting])
        slots[waiting[taken]] = tried[taken]
        waiting, step = waiting[~taken], step + 1
    return slots
