"""`compressed`: the stored coordinates of each parent, one parent after another."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
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
    is_local = True
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

    def outermost_between(self, level: SizedLevel, low: int, high: int, pos: Stored, crd: Stored) -> Below | None:
        if pos is None or crd is None or not level.kind.ordered:
            return None
        # NumPy's search would copy all coordinates to the type of the numbers looked for.
        start, stop = (bisect_left(crd, bound, int(pos[0]), int(pos[1])) for bound in (low, high))
        own = crd[start:stop]
        ends = self._segments(np.array([stop - start])).astype(pos.dtype)
        return Below(ends, own - own.dtype.type(low) if low and own.size else own, range(start, stop))

    def below(self, level: SizedLevel, parents: range, pos: Stored, crd: Stored) -> Below | None:
        assert pos is not None
        assert crd is not None
        own = pos[parents.start : parents.stop + 1]
        start, stop = int(own[0]), int(own[-1])
        return Below(own, crd[start:stop], range(start, stop), start)

    def joined_positions(self, parts: Sequence[Array], counts: Sequence[int]) -> tuple[list[Array], list[int]]:
        ends = [part[1:] for part in parts]
        return [parts[0][:1], *ends], [0, *accumulate(counts[:-1], initial=0)]

    def whole_segment(self, count: int) -> Array:
        return self._segments(np.array([count]))

    def _segments(self, ends: Array) -> Array:
        """Returns the positions array, given the ends of the parents' children."""
        return np.concatenate([[0], ends])
