"""`compressed`: the stored coordinates of each parent, one parent after another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlir_sparse.encoding.levels.level_functions import Assembly, Iteration, LevelFunctions, Parent, Promise, Siblings
from mlir_sparse.encoding.levels.level_loops import LevelLoop, LoopKind
from mlir_sparse.encoding.levels.level_positions import Array, LevelPositions, Stored, repeated, wide
from mlir_sparse.encoding.levels.level_property import LevelProperty
from mlir_sparse.encoding.levels.level_rules import check_range, check_segments
from mlir_sparse.encoding.levels.placed_entries import BuiltLevels, PlacedEntries

if TYPE_CHECKING:
    from mlir_sparse.encoding.level_type import LevelType
    from mlir_sparse.encoding.levels.sized_level import SizedLevel

__all__ = ["CompressedLevel"]


class CompressedLevel(LevelFunctions):
    """The children of parent p are at positions `positions[p]` to `positions[p + 1]`."""

    iteration = Iteration.POSITION
    locate = False
    assembly = Assembly.APPEND
    full = Promise.NEVER
    ordered = Promise.DECLARED
    unique = Promise.DECLARED
    compact = True
    is_segmented = True
    declares = (LevelProperty.NONUNIQUE, LevelProperty.NONORDERED)
    positions = "where each parent's coordinates begin, and the end of the last (parents + 1)"
    coordinates = "those present (positions[-1])"
    positions_in_all = "positions[-1]"
    native = True
    native_kind = 1
    meaning = ""  # `describe` states order and repeats already

    def loop(self, kind: LevelType) -> LevelLoop | None:
        return LevelLoop(LoopKind.SEGMENTS)

    def count(self, level: SizedLevel, parents: int, pos: Stored, crd: Stored) -> int:
        assert pos is not None
        return int(pos[-1])

    def children(self, level: SizedLevel, parent: Parent, pos: Stored, crd: Stored) -> Siblings:
        assert pos is not None
        assert crd is not None
        start, stop = int(pos[parent.position]), int(pos[parent.position + 1])
        return Siblings(range(start, stop), crd[start:stop])

    def walk(self, level: SizedLevel, above: LevelPositions, pos: Stored, crd: Stored) -> LevelPositions:
        return above.below(wide(crd), repeated(np.diff(wide(pos))))

    def check(self, level: SizedLevel, above: LevelPositions, pos: Stored, crd: Stored) -> None:
        assert pos is not None
        assert crd is not None
        check_segments(level, pos, above.count, crd.size)
        check_range(level, crd)

    def build(self, level: SizedLevel, above: LevelPositions, entries: PlacedEntries) -> BuiltLevels:
        level.check_memory(16 * entries.count)
        entries.sort(level.tuple_levels)
        begins = entries.begins(level.tuple_levels)
        at = np.flatnonzero(begins)
        ends = np.cumsum(np.bincount(entries.place[at], minlength=entries.count))
        entries.place, entries.count = np.cumsum(begins) - 1, at.size
        return BuiltLevels(self._segments(ends), tuple(entries.columns[lvl][at] for lvl in level.tuple_levels))

    def _segments(self, ends: Array) -> Array:
        """Returns the positions array, given the ends of the parents' children."""
        return np.concatenate([[0], ends])
