"""`offset`: one coordinate, the sum of levels above."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlir_sparse.encoding.levels.level_functions import Iteration, LevelFunctions, Parent, Promise, Siblings
from mlir_sparse.encoding.levels.level_positions import LevelPositions, Stored
from mlir_sparse.encoding.levels.placed_entries import BuiltLevels, PlacedEntries
from mlir_sparse.encoding.levels.plain_levels import PlainLevels

if TYPE_CHECKING:
    from mlir_sparse.encoding.level_type import LevelType
    from mlir_sparse.encoding.levels.sized_level import SizedLevel

__all__ = ["OffsetLevel"]


class OffsetLevel(LevelFunctions):
    """A child has its parent's position; nothing is stored, and level space has no dimension for the level."""

    iteration = Iteration.POSITION
    locate = False
    assembly = None
    full = Promise.NEVER
    ordered = Promise.ALWAYS
    unique = Promise.ALWAYS
    branchless = True
    compact = False
    positions_in_all = "parents"
    meaning = "the one coordinate that the levels above add up to"

    def plain_levels(self, kind: LevelType, above: LevelType | None, *, is_above_native: bool) -> PlainLevels:
        return ()

    def count(self, level: SizedLevel, parents: int, pos: Stored, crd: Stored) -> int:
        return parents

    def children(self, level: SizedLevel, parent: Parent, pos: Stored, crd: Stored) -> Siblings:
        return Siblings(range(parent.position, parent.position + 1), level.evaluate(level.expr, parent.alone))

    def walk(self, level: SizedLevel, above: LevelPositions, pos: Stored, crd: Stored) -> LevelPositions:
        return above.below(level.evaluate(level.expr, above))

    def build(self, level: SizedLevel, above: LevelPositions, entries: PlacedEntries) -> BuiltLevels:
        return BuiltLevels()
