"""`range`: all coordinates of an interval, whose bounds are computed or stored for each parent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlir_sparse.affine import AffineExpr
from mlir_sparse.encoding.levels.dense_level import DenseLevel
from mlir_sparse.encoding.levels.level_functions import Brackets, Parent, Promise, Siblings
from mlir_sparse.encoding.levels.level_loops import LevelLoop
from mlir_sparse.encoding.levels.level_positions import Array, LevelPositions, Stored, counted, repeated, wide
from mlir_sparse.encoding.levels.level_rules import check_segments
from mlir_sparse.encoding.levels.placed_entries import BuiltLevels, PlacedEntries
from mlir_sparse.encoding.levels.plain_levels import Buffer, PlainLevel, PlainLevels
from mlir_sparse.errors import CoordinatesError, PositionsError, StorageError

if TYPE_CHECKING:
    from mlir_sparse.encoding.level_type import LevelType
    from mlir_sparse.encoding.levels.sized_level import SizedLevel

__all__ = ["RangeLevel"]


class RangeLevel(DenseLevel):
    """Without bounds the layout is dense, with zeros outside the tensor; with bounds intervals follow one another."""

    full = Promise.NEVER
    compact = False  # a diagonal has positions beyond the tensor's edges
    has_full_loop = False
    is_local = False
    brackets = Brackets.EXPRESSIONS
    positions = "where each parent's interval begins, if a bound is ? (parents + 1)"
    coordinates = "the first of each parent's interval, if both bounds are ? (parents)"
    coordinates_title = "(coordinates), first stored"
    positions_in_all = "parents * size, or the sum of the intervals' lengths where bounds are written"
    native = False
    native_kind = None
    meaning = "all coordinates of an interval"

    def has_positions(self, kind: LevelType) -> bool:
        return kind.interval is not None and kind.interval.stored > 0

    def has_coordinates(self, kind: LevelType) -> bool:
        return kind.interval is not None and kind.interval.stored == 2

    def has_intervals(self, kind: LevelType) -> bool:
        return kind.interval is not None

    def loop(self, kind: LevelType) -> LevelLoop | None:
        return None

    def plain_levels(self, kind: LevelType, above: LevelType | None, *, is_above_native: bool) -> PlainLevels:
        if kind.interval is None:
            return super().plain_levels(kind, above, is_above_native=is_above_native)
        positions = Buffer.STORED if kind.has_positions else Buffer.DERIVED
        return (PlainLevel("compressed", (), positions, Buffer.DERIVED),)

    def count(self, level: SizedLevel, parents: int, pos: Stored, crd: Stored) -> int:
        return parents * level.size if pos is None else int(pos[-1])

    def children(self, level: SizedLevel, parent: Parent, pos: Stored, crd: Stored) -> Siblings:
        if level.kind.interval is None:
            return super().children(level, parent, pos, crd)
        at = parent.position
        start = parent.begin if pos is None else int(pos[at])
        pos, crd = None if pos is None else pos[at : at + 2], None if crd is None else crd[at : at + 1]
        starts, lengths = _intervals(level, parent.alone, pos, crd)
        low, length = int(starts[0]), int(lengths[0])
        return Siblings(range(start, start + length), range(low, low + length))

    def walk(self, level: SizedLevel, above: LevelPositions, pos: Stored, crd: Stored) -> LevelPositions:
        if level.kind.interval is None:
            return super().walk(level, above, pos, crd)
        starts, lengths = _intervals(level, above, pos, crd)
        return above.below(counted(starts, lengths), repeated(lengths))

    def intervals(
        self, level: SizedLevel, above: LevelPositions, pos: Stored, crd: Stored
    ) -> tuple[Array, Array] | None:
        if level.kind.interval is None:
            return super().intervals(level, above, pos, crd)
        return _intervals(level, above, pos, crd)

    def check(self, level: SizedLevel, above: LevelPositions, pos: Stored, crd: Stored) -> None:
        if pos is None:
            return
        number, parents = level.number, above.count
        check_segments(level, pos, parents)
        if crd is not None and crd.size != parents:
            raise CoordinatesError(
                f"expected coordinates[{number}] to have length {parents}, one for each parent, but got {crd.size}"
            )
        starts, lengths = _intervals(level, above, pos, crd)
        low, high = _computed_bounds(level, above)
        outside = np.flatnonzero((lengths > 0) & ((starts < low) | (starts + lengths > high)))
        if outside.size:
            at = int(outside[0])
            raise PositionsError(
                f"expected positions[{number}] that keep interval {at} of level {number} within {low[at]} to "
                f"{high[at] - 1}, but got {lengths[at]} coordinates from {starts[at]} on"
            )

    def build(self, level: SizedLevel, above: LevelPositions, entries: PlacedEntries) -> BuiltLevels:
        interval = level.kind.interval
        if interval is None:
            return super().build(level, above, entries)
        column = entries.columns[level.number]
        low, high = _computed_bounds(level, above)
        _check_inside(level, entries, low, high)
        if interval.low is None:
            first = np.full(entries.count, np.iinfo(np.int64).max)
            np.minimum.at(first, entries.place, column)
            filled = first != np.iinfo(np.int64).max
            low = np.where(filled, first, high if interval.stored == 1 else 0)
        if interval.high is None and not interval.to_end:
            last = np.full(entries.count, np.iinfo(np.int64).min)
            np.maximum.at(last, entries.place, column)
            high = np.where(last != np.iinfo(np.int64).min, last + 1, low)
        positions = np.concatenate([[0], np.cumsum(high - low)])
        entries.count = int(positions[-1])
        level.check_memory(entries.count)
        entries.place = positions[entries.place] + (column - low[entries.place])
        return BuiltLevels(positions if interval.stored else None, (low,) if interval.stored == 2 else ())


def _intervals(level: SizedLevel, above: LevelPositions, pos: Stored, crd: Stored) -> tuple[Array, Array]:
    """Returns the first coordinate of each parent's interval, and its length."""
    interval = level.kind.interval
    assert interval is not None
    if crd is not None:
        return wide(crd), np.diff(wide(pos))
    low, high = _computed_bounds(level, above)
    if pos is None:
        return low, high - low
    lengths = np.diff(wide(pos))
    return (low if interval.low is not None else high - lengths), lengths


def _computed_bounds(level: SizedLevel, above: LevelPositions) -> tuple[Array, Array]:
    """Returns the computed bounds of each parent's interval, clipped to the level's; the level's for a stored bound."""
    interval = level.kind.interval
    assert interval is not None

    def clipped(expr: AffineExpr | None, otherwise: int) -> Array:
        if expr is None:
            return np.full(above.count, otherwise)
        return np.clip(level.evaluate(expr, above), level.low, level.high)

    low = clipped(interval.low, level.low)
    return low, np.maximum(low, clipped(interval.high, level.high))


def _check_inside(level: SizedLevel, entries: PlacedEntries, low: Array, high: Array) -> None:
    column = entries.columns[level.number]
    outside = (column < low[entries.place]) | (column >= high[entries.place])
    if outside.any():
        entry = int(np.argmax(outside))
        parent = entries.place[entry]
        raise StorageError(
            f"expected coordinates from {low[parent]} to {high[parent] - 1} at level {level.number} of "
            f"{level.encoding.map_text()}, but got {column[entry]}: drop it, or choose a format that can store it"
        )
