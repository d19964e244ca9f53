"""`dense`: all coordinates of the level; none is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mlir_sparse.encoding.levels.level_functions import (
    Assembly,
    Below,
    Brackets,
    Iteration,
    LevelFunctions,
    Parent,
    Promise,
    Siblings,
)
from mlir_sparse.encoding.levels.level_loops import LevelLoop, LoopKind
from mlir_sparse.encoding.levels.level_positions import Array, LevelPositions, Stored
from mlir_sparse.encoding.levels.placed_entries import BuiltLevels, PlacedEntries
from mlir_sparse.encoding.levels.plain_levels import PlainLevel, PlainLevels
from mlir_sparse.process.available_memory import check_fits

if TYPE_CHECKING:
    from mlir_sparse.encoding.level_type import LevelType
    from mlir_sparse.encoding.levels.sized_level import SizedLevel

__all__ = ["DenseLevel"]


class DenseLevel(LevelFunctions):
    """Coordinate c below parent p is at position `p * size + c - low`."""

    iteration = Iteration.VALUE
    locate = True
    assembly = Assembly.INSERT
    full = Promise.ALWAYS
    ordered = Promise.ALWAYS
    unique = Promise.ALWAYS
    compact = True
    has_full_loop = True
    fills = True
    is_local = True
    brackets = Brackets.NUMBERS
    positions_in_all = "parents * size"
    native = True
    native_kind: ClassVar[int | None] = 0
    meaning = "all coordinates 0, 1, 2, ... present"

    def loop(self, kind: LevelType) -> LevelLoop | None:
        return LevelLoop(LoopKind.FULL) if kind.interval is None else None

    def plain_levels(self, kind: LevelType, above: LevelType | None, *, is_above_native: bool) -> PlainLevels:
        return (PlainLevel("dense"),)

    def count(self, level: SizedLevel, parents: int, pos: Stored, crd: Stored) -> int:
        return parents * level.size

    def children(self, level: SizedLevel, parent: Parent, pos: Stored, crd: Stored) -> Siblings:
        first = parent.position * level.size
        return Siblings(range(first, first + level.size), range(level.low, level.high))

    def walk(self, level: SizedLevel, above: LevelPositions, pos: Stored, crd: Stored) -> LevelPositions:
        count = above.count * level.size
        check_fits(8 * count, f"the coordinates of {count} places")
        coordinates = np.tile(np.arange(level.low, level.high), above.count)
        return above.below(coordinates, np.repeat(np.arange(above.count), level.size))

    def intervals(
        self, level: SizedLevel, above: LevelPositions, pos: Stored, crd: Stored
    ) -> tuple[Array, Array] | None:
        return np.full(above.count, level.low), np.full(above.count, level.size)

    def outermost_between(self, level: SizedLevel, low: int, high: int, pos: Stored, crd: Stored) -> Below | None:
        return Below(None, None, range(low, high))

    def below(self, level: SizedLevel, parents: range, pos: Stored, crd: Stored) -> Below | None:
        if level.kind.interval is not None:
            return None
        return Below(None, None, range(parents.start * level.size, parents.stop * level.size))

    def build(self, level: SizedLevel, above: LevelPositions, entries: PlacedEntries) -> BuiltLevels:
        entries.count *= level.size
        level.check_memory(entries.count)
        entries.place = entries.place * level.size + (entries.columns[level.number] - level.low)
        return BuiltLevels()
