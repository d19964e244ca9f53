"""`loose_compressed`: the stored coordinates of each parent, with gaps between parents."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from mlir_sparse.encoding.levels.compressed_level import CompressedLevel
from mlir_sparse.encoding.levels.level_functions import Below, Parent, Siblings
from mlir_sparse.encoding.levels.level_loops import LevelLoop, LoopKind
from mlir_sparse.encoding.levels.level_positions import Array, LevelPositions, Stored, counted, repeated, wide
from mlir_sparse.encoding.levels.level_rules import Fault, check_never_falls, check_range, storage_error

if TYPE_CHECKING:
    from mlir_sparse.encoding.level_type import LevelType
    from mlir_sparse.encoding.levels.sized_level import SizedLevel

__all__ = ["LooseCompressedLevel"]


class LooseCompressedLevel(CompressedLevel):
    """The children of parent p are at positions `positions[2 * p]` to `positions[2 * p + 1]`."""

    compact = False
    positions = "where each parent's coordinates begin and end (2 * parents)"
    coordinates = "those present, and unused ones between parents"
    positions_in_all = "len(coordinates)"
    native_kind = 2
    meaning = "with gaps between parents"

    def loop(self, kind: LevelType) -> LevelLoop | None:
        return LevelLoop(LoopKind.SEGMENTS, 2)

    def count(self, level: SizedLevel, parents: int, pos: Stored, crd: Stored) -> int:
        assert crd is not None
        return crd.size

    def children(self, level: SizedLevel, parent: Parent, pos: Stored, crd: Stored) -> Siblings:
        assert pos is not None
        assert crd is not None
        at = 2 * parent.position
        start, stop = int(pos[at]), int(pos[at + 1])
        following = int(pos[at + 2]) if at + 2 < pos.size else crd.size
        return Siblings(range(start, stop), crd[start:stop], range(stop, following))

    def walk(self, level: SizedLevel, above: LevelPositions, pos: Stored, crd: Stored) -> LevelPositions:
        pos, crd = wide(pos), wide(crd)
        parents, reached = np.zeros(crd.size, np.int64), np.zeros(crd.size, bool)
        if above.count == 0:  # all positions are gaps
            return LevelPositions((*(parents,) * len(above.columns), crd), reached, crd.size, parents)
        lengths = pos[1::2] - pos[::2]
        places = counted(pos[::2], lengths)
        parents[places], reached[places] = repeated(lengths), True
        return above.below(crd, parents, reached)

    def check(self, level: SizedLevel, above: LevelPositions, pos: Stored, crd: Stored) -> None:
        assert pos is not None
        assert crd is not None
        if pos.size != 2 * above.count:
            raise storage_error(Fault("positions length", level.number, 0, 2 * above.count, pos.size), level.encoding)
        outside = np.flatnonzero((pos < 0) | (pos > crd.size))
        if outside.size:
            at = int(outside[0])
            raise storage_error(Fault("positions range", level.number, at, crd.size, int(pos[at])), level.encoding)
        check_never_falls(level, pos)
        check_range(level, crd)

    def below(self, level: SizedLevel, parents: range, pos: Stored, crd: Stored) -> Below | None:
        assert pos is not None
        assert crd is not None
        own = pos[2 * parents.start : 2 * parents.stop]
        start, stop = (int(own[0]), int(own[-1])) if own.size else (0, 0)
        return Below(own, crd[start:stop], range(start, stop), start)

    def joined_positions(self, parts: Sequence[Array], counts: Sequence[int]) -> tuple[list[Array], list[int]]:
        return list(parts), list(accumulate(counts[:-1], initial=0))

    def _segments(self, ends: Array) -> Array:
        return np.stack([np.concatenate([[0], ends])[:-1], ends], axis=1).reshape(-1)
