"""`structured[n, m]`: n of every m coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from mlir_sparse.encoding.levels.level_positions import Stored

if TYPE_CHECKING:
    from mlir_sparse.encoding.level_type import LevelType
    from mlir_sparse.encoding.levels.sized_level import SizedLevel

__all__ = ["StructuredLevel"]


class StructuredLevel(LevelFunctions):
    """The n children of parent p are at the positions from `p * n` on; native code packs and checks them."""

    iteration = Iteration.POSITION
    locate = False
    assembly = Assembly.APPEND
    full = Promise.NEVER
    ordered = Promise.ALWAYS
    unique = Promise.ALWAYS
    compact = True  # a group with fewer than n entries gets zeros at further coordinates
    is_grouped = True
    is_local = True
    fills = True
    brackets = Brackets.SIZES
    coordinates = "n for each parent (parents * n)"
    positions_in_all = "parents * n"
    native = True
    native_kind = 4
    meaning = "n of every m coordinates"

    def loop(self, kind: LevelType) -> LevelLoop | None:
        return LevelLoop(LoopKind.GROUPS, kind.n or 0)

    def count(self, level: SizedLevel, parents: int, pos: Stored, crd: Stored) -> int:
        return parents * (level.kind.n or 0)

    def children(self, level: SizedLevel, parent: Parent, pos: Stored, crd: Stored) -> Siblings:
        assert crd is not None
        kept = level.kind.n or 0
        positions = range(parent.position * kept, (parent.position + 1) * kept)
        return Siblings(positions, crd[positions.start : positions.stop])

    def below(self, level: SizedLevel, parents: range, pos: Stored, crd: Stored) -> Below | None:
        assert crd is not None
        kept = level.kind.n or 0
        places = range(parents.start * kept, parents.stop * kept)
        return Below(None, crd[places.start : places.stop], places)
