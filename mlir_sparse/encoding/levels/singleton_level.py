"""`singleton`: one coordinate for each parent, at the parent's position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mlir_sparse.encoding.levels.level_functions import (
    Assembly,
    Below,
    Iteration,
    LevelFunctions,
    Parent,
    Promise,
    Siblings,
)
from mlir_sparse.encoding.levels.level_loops import LevelLoop, LoopKind
from mlir_sparse.encoding.levels.level_positions import LevelPositions, Stored, wide
from mlir_sparse.encoding.levels.level_property import LevelProperty
from mlir_sparse.encoding.levels.level_rules import Fault, check_range, storage_error
from mlir_sparse.encoding.levels.placed_entries import BuiltLevels, PlacedEntries
from mlir_sparse.encoding.levels.plain_levels import Buffer, PlainLevel, PlainLevels
from mlir_sparse.errors import StorageError

if TYPE_CHECKING:
    from mlir_sparse.encoding.level_type import LevelType
    from mlir_sparse.encoding.levels.sized_level import SizedLevel

__all__ = ["SingletonLevel"]


class SingletonLevel(LevelFunctions):
    """Below a compressed level: one more coordinate of its entries. Below other levels -1 marks a missing entry."""

    iteration = Iteration.POSITION
    locate = False
    assembly = Assembly.APPEND
    full = Promise.NEVER
    ordered = Promise.DECLARED
    unique = Promise.DECLARED
    branchless = True
    is_local = True
    compact = True
    declares = tuple(LevelProperty)
    coordinates = "that of each parent, -1 for a parent without an entry (parents)"
    positions_in_all = "parents"
    native = True
    native_kind = 3
    meaning = "one coordinate for each parent"

    def marks_empty(self, above: Sequence[LevelType]) -> bool:
        listing = next((kind.functions for kind in reversed(above) if not kind.functions.is_chained), self)
        return not listing.is_segmented

    def loop(self, kind: LevelType) -> LevelLoop | None:
        return LevelLoop(LoopKind.CHAINED)

    def plain_levels(self, kind: LevelType, above: LevelType | None, *, is_above_native: bool) -> PlainLevels:
        if above is None or not above.has_coordinates:
            properties = tuple(p for p in kind.properties if p != LevelProperty.SOA)
            return (PlainLevel("loose_compressed", properties, Buffer.DERIVED, Buffer.STORED),)
        if is_above_native:
            return None
        # Its coordinates are a separate array, like those above it.
        return (PlainLevel("singleton", (*kind.properties, LevelProperty.SOA), coordinates=Buffer.STORED),)

    def count(self, level: SizedLevel, parents: int, pos: Stored, crd: Stored) -> int:
        return parents

    def children(self, level: SizedLevel, parent: Parent, pos: Stored, crd: Stored) -> Siblings:
        assert crd is not None
        at = parent.position
        return Siblings(range(at, at + 1), crd[at : at + 1])

    def walk(self, level: SizedLevel, above: LevelPositions, pos: Stored, crd: Stored) -> LevelPositions:
        coordinates = wide(crd)
        return above.below(coordinates, live=self.live(level.above, coordinates))

    def check(self, level: SizedLevel, above: LevelPositions, pos: Stored, crd: Stored) -> None:
        assert crd is not None
        if crd.size != above.count:
            raise storage_error(Fault("singleton length", level.number, 0, above.count, crd.size), level.encoding)
        check_range(level, crd)

    def below(self, level: SizedLevel, parents: range, pos: Stored, crd: Stored) -> Below | None:
        assert crd is not None
        return Below(None, crd[parents.start : parents.stop], parents)

    def build(self, level: SizedLevel, above: LevelPositions, entries: PlacedEntries) -> BuiltLevels:
        level.check_memory(8 * entries.count)
        column = entries.columns[level.number]
        stored = np.full(entries.count, -1, np.int64)
        stored[entries.place] = column
        wrong = np.flatnonzero(stored[entries.place] != column)
        if wrong.size:
            got = column[wrong[0]], stored[entries.place[wrong[0]]]
            raise StorageError(
                f"expected one coordinate below each parent of the singleton level {level.number} in "
                f"{level.encoding.map_text()}, but got {got[0]} and {got[1]} below one: choose slots, or compressed"
            )
        return BuiltLevels(coordinates=(stored,))
