"""`batch`: each coordinate has its own levels below, along an axis of every buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlir_sparse.encoding.levels.dense_level import DenseLevel
from mlir_sparse.encoding.levels.level_functions import Below, Brackets
from mlir_sparse.encoding.levels.level_loops import LevelLoop
from mlir_sparse.encoding.levels.level_positions import Stored
from mlir_sparse.encoding.levels.plain_levels import PlainLevels

if TYPE_CHECKING:
    from mlir_sparse.encoding.level_type import LevelType
    from mlir_sparse.encoding.levels.sized_level import SizedLevel

__all__ = ["BatchLevel"]


class BatchLevel(DenseLevel):
    """A dense level with a part of each buffer for each coordinate; shorter parts are padded."""

    is_axis = True
    is_local = False
    has_full_loop = False
    brackets = Brackets.NOTHING
    native_kind = None
    meaning = "one of everything below for each coordinate"

    def loop(self, kind: LevelType) -> LevelLoop | None:
        return None

    def outermost_between(self, level: SizedLevel, low: int, high: int, pos: Stored, crd: Stored) -> Below | None:
        return None

    def below(self, level: SizedLevel, parents: range, pos: Stored, crd: Stored) -> Below | None:
        return None

    def plain_levels(self, kind: LevelType, above: LevelType | None, *, is_above_native: bool) -> PlainLevels:
        return None
