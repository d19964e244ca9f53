"""Lines in tiles: which sizes one after the other, and what is done for less than the least of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.emit_strips import whole_end
from mlir_sparse.loops.inner_loops import Line
from mlir_sparse.loops.vector_bodies import Tile
from mlir_sparse.loops.vector_options import Target

__all__ = ["TiledLines"]


class TiledLines(ABC):
    """Writes what lines do tile by tile, at the insertion point.

    Args:
        lines: the lines, all between the same bounds.
        target: the vectors.
    """

    def __init__(self, lines: Sequence[Line], target: Target) -> None:
        self.lines = lines
        self.target = target
        self.bits = lines[0].bits
        self.lanes = target.lanes_of(self.bits)

    @abstractmethod
    def tile(self, tile: Tile) -> None:
        """Writes what is done for the places of a tile."""

    @abstractmethod
    def largest_first(self) -> list[int]:
        """Returns the sizes of tiles of whole vectors."""

    @property
    def masks(self) -> bool:
        """Returns whether loads may have masks: of these elements they do not cost more."""
        return self.target.masks_loads(min(line.narrowest for line in self.lines))

    def all_sizes(self, at: ir.Value, upper: ir.Value) -> None:
        """Writes tiles of all sizes, as many of each as there is room for.

        Args:
            at: where they begin.
            upper: where the lines end.
        """
        self._in_turn(self._sizes(), at, upper)

    def up_to(self, size: int, at: ir.Value, upper: ir.Value) -> None:
        """Writes what lines are that are no longer than a size: one tile with a mask, or parts where loads have none.

        Args:
            size: the size.
            at: where they begin.
            upper: where they end.
        """
        if self.masks:
            self.masked(at, upper, size)
        else:
            self._in_turn([part for part in self._sizes() if part < size], at, upper)

    def _in_turn(self, sizes: Sequence[int], at: ir.Value, upper: ir.Value) -> None:
        before = 0
        for size in sizes:
            at = self._full(at, upper, size, before)
            before = size
        self._rest(at, upper, before)

    def whole(self, at: ir.Value, size: int) -> None:
        """Writes one tile of a size."""
        self.tile(Tile(at, size, None, self.target.fuses, rolled=True))

    def masked(self, at: ir.Value, upper: ir.Value, size: int) -> None:
        """Writes one tile of at most a size."""
        each = self.lines[0].lanes_each
        left = build.subtract(upper, at)
        left = build.multiply(left, build.constant(each)) if each > 1 else left
        there = None if self.target.masks else left
        mask = self.target.mask_of(left, size * each, self.bits // each)
        self.tile(Tile(at, size, mask, self.target.fuses, 0, True, there))

    def _sizes(self) -> list[int]:
        """Returns the sizes of tiles without a mask, those of less than a vector included where there are none."""
        sizes = self.largest_first()
        if not self.masks:
            return sizes + (self.target.parts(self.bits) if sizes[-1] > 1 else [])
        # Less than two vectors is one tile.
        return sizes if self.target.masks or sizes[-2:] != [2 * self.lanes, self.lanes] else sizes[:-1]

    def _full(self, at: ir.Value, upper: ir.Value, size: int, before: int) -> ir.Value:
        """Writes tiles of one size, as many as there is room for; returns where they end.

        Args:
            at: where they begin.
            upper: where the row ends.
            size: theirs.
            before: the size of those before; 0 for none.
        """
        end = whole_end(at, upper, size)
        distance = self.target.prefetch_distance(size, self.bits)

        def tile(start: ir.Value) -> None:
            self.tile(Tile(start, size, None, self.target.fuses, distance, rolled=before > 0))

        if size < before <= 2 * size:
            build.branch(build.compare("ult", at, end), lambda: tile(at))
        else:
            build.loop(end, (), tile, at, size)
        return end

    def _rest(self, at: ir.Value, upper: ir.Value, least: int) -> None:
        """Writes what is less than the least tile, with masks."""
        if least == 1:
            return
        if not self.target.masks:
            self._between(at, upper, least)
            return
        size = self.target.masked(self.bits, least)
        if size < least:
            build.loop(upper, (), lambda start: self.masked(start, upper, size), at, size)
        else:
            build.branch(build.compare("ult", at, upper), lambda: self.masked(at, upper, size))

    def _between(self, at: ir.Value, upper: ir.Value, least: int) -> None:
        """Writes what is less than two vectors in one tile: two with a mask, one, or one with a mask."""
        left = build.subtract(upper, at)

        def some() -> None:
            build.branch(build.compare("ult", build.constant(0), left), lambda: self.masked(at, upper, self.lanes))

        def one() -> None:
            whole = build.compare("eq", left, build.constant(self.lanes))
            build.branch(whole, lambda: self.whole(at, self.lanes), some)

        if least == self.lanes:
            some()
            return
        more = build.compare("ugt", left, build.constant(self.lanes))
        build.branch(more, lambda: self.masked(at, upper, least), one)
