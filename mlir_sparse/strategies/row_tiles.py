"""Writes tiles of rows: a nest once for each size of tiles, its row of the result in registers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.accumulations import Accumulation, accumulation_of
from mlir_sparse.loops.array_fills import ArrayFill
from mlir_sparse.loops.carry_values import LINE, PATH, carry
from mlir_sparse.loops.complex_lanes import broadcast_pairs, crossed_start, joined_crossed
from mlir_sparse.loops.effects import MemoryAccess, root_of
from mlir_sparse.loops.emit_copies import copy_body
from mlir_sparse.loops.emit_strips import whole_end
from mlir_sparse.loops.emit_vectors import splat_number
from mlir_sparse.loops.inner_loops import Line, line_of_copy
from mlir_sparse.loops.model import ForLoop
from mlir_sparse.loops.outer_loops import OuterLoops
from mlir_sparse.loops.regions import is_loop, operations_in
from mlir_sparse.loops.value_origins import is_inside, made_by, maker, parent_of, result_maker
from mlir_sparse.loops.vector_bodies import Lanes, Tile, load_vector, store_vector
from mlir_sparse.loops.vector_options import Target
from mlir_sparse.strategies.tile_sizes import TiledLines

__all__ = ["RowTiles", "mark", "marked_in"]

# Vectors of which a sum is waited for, and how many rows entries are added to by turns then.
_FEW, _ROWS = 1, 4


def mark(nest: OuterLoops) -> None:
    """Marks the lines of a nest and the operations around them, as their copies are then."""
    unit = ir.UnitAttr.get()
    for line in nest.lines:
        op = line.op
        op.attributes[LINE] = unit
        while op != nest.root:
            op = parent_of(op)
            op.attributes[PATH] = unit


def marked_in(op: ir.Operation) -> Iterator[ir.Operation]:
    """Yields the marked operations inside one, a copy of a nest."""
    for inner in operations_in(op):
        if LINE in inner.attributes or PATH in inner.attributes:
            yield inner
            yield from marked_in(inner)


class RowTiles(TiledLines):
    """Writes tiles of a marked nest before it.

    Args:
        nest: the nest.
        target: the vectors.
        start: what the rows are filled with before, where tiles go through all of them once.
    """

    def __init__(self, nest: OuterLoops, target: Target, start: ArrayFill | None) -> None:
        super().__init__(nest.lines, target)
        self.nest = nest
        self.start = start
        self.buffer = nest.store.buffer
        self.written = root_of(self.buffer)
        *self.row, _ = nest.store.at
        # Twice as many accumulators for half as much to do at each entry: what belongs to the other lane stays apart.
        self.crossed = nest.stays and all(map(_adds_many, nest.lines))

    def largest_first(self) -> list[int]:
        """Returns the sizes of tiles of whole vectors."""
        return self.target.sizes(self.bits, len(self.lines[0].streams) - 1, rows=2 if self.crossed else 1)

    def rows_of_any_width(self) -> None:
        """Puts tiles of all sizes in place of the nest."""
        with ir.InsertionPoint(self.nest.root):
            self.all_sizes(*self.lines[0].loop.bounds)
        self._done()

    def narrow_rows(self, size: int, *, whole: bool) -> None:
        """Puts one tile in place of the nest, for rows that are no longer than it.

        Args:
            size: of the tile.
            whole: whether rows have as many elements.
        """
        at, upper = self.lines[0].loop.bounds
        with ir.InsertionPoint(self.nest.root):
            if whole:
                self.whole(at, size)
            else:
                self.up_to(size, at, upper)
        self._done()

    def _done(self) -> None:
        if self.start is not None:
            with ir.InsertionPoint(self.nest.root):
                self.start.store(self.lines[0].loop.upper, row=self.row)
        self.nest.root.erase()

    def tile(self, tile: Tile) -> None:
        """Writes the nest for the places of a tile."""
        root = self.nest.root.clone(ir.InsertionPoint.current)
        for op in (root, *marked_in(root)) if tile.rolled else ():
            if is_loop(op) and PATH in op.attributes:
                build.keep_rolled(op)
        scope, at = parent_of(root), [*self.row, tile.start]
        if not self.nest.stays:
            for op in [found for found in marked_in(root) if LINE in found.attributes]:
                self._line(op, tile, None, scope)
                op.erase()
            return
        with ir.InsertionPoint(root):
            start = self.start
            row = load_vector(tile, self.buffer, at) if start is None else broadcast_pairs(start.value(), tile.size)
            row = crossed_start(row) if self.crossed else row
        inner = replace(tile, crossed=self.crossed)
        row = self._alternating(tile, carry(root, row, lambda op, row: self._line(op, inner, row, scope)))
        store_vector(tile, joined_crossed(row) if self.crossed else row, self.buffer, at)

    def _alternating(self, tile: Tile, row: ir.Value) -> ir.Value:
        """Lets a loop over entries that adds to few vectors add to four rows by turns; returns their sum.

        An entry waits for the sum of the one before, which takes as long as four entries side by side. What is left of
        groups of four is added to one of them.
        """
        loop, accumulated = ForLoop(result_maker(row)), self._accumulation()
        if tile.size > self.lanes * _FEW or accumulated is None or not _is_single(loop):
            return row
        (carried,), (start,), kind = loop.carried, loop.starts, row.type
        # What is added to -0.0 stays what it is, also where it is 0.0 or -0.0.
        zero = accumulated.is_sum and build.is_float(kind)

        def entry(here: ir.Value, reached: ir.Value) -> ir.Value:
            (after,) = copy_body(loop.op, {loop.index: here, carried: reached})
            return after

        def group(first: ir.Value, *reached: ir.Value) -> list[ir.Value]:
            places = [build.add(first, build.constant(place)) if place else first for place in range(_ROWS)]
            return [entry(here, row) for here, row in zip(places, reached, strict=True)]

        with ir.InsertionPoint(loop.op):
            nothing = splat_number(kind, -0.0) if zero else accumulated.identity(kind)
            end = whole_end(*loop.bounds, _ROWS)
            rows = build.loop(end, [start, *[nothing] * (_ROWS - 1)], group, loop.lower, _ROWS, like=loop.op)
            build.keep_rolled(result_maker(rows[0]))
            halves = [accumulated.joined(*rows[at : at + 2]) for at in range(0, _ROWS, 2)]
            total = accumulated.joined(*halves)
            (total,) = build.loop(loop.upper, [total], lambda here, row: [entry(here, row)], end, like=loop.op)
            build.keep_rolled(result_maker(total))
        loop.op.erase()
        return total

    def _accumulation(self) -> Accumulation | None:
        """Returns how the only line adds to the row; None where there are several, or order is not free."""
        line, *others = self.lines
        (value,) = (store.value for store in line.stores)
        sums = [load.loaded for load in line.streams if root_of(load.buffer) == self.written]
        return None if others or len(sums) != 1 or value is None else accumulation_of(sums[0], sums[0], value)

    def _line(self, op: ir.Operation, tile: Tile, row: ir.Value | None, scope: ir.Operation) -> ir.Value:
        """Writes a line before its loop; returns the accumulated row, or stores it where none is given."""
        line = line_of_copy(op)
        (store,) = line.stores
        assert store.value is not None
        sums = [load.loaded for load in line.streams if root_of(load.buffer) == self.written]
        known: dict[ir.Value, ir.Value] = {} if row is None else dict.fromkeys(sums, row)
        made = Lanes(line, tile, known, lambda load: self._place(load, op, scope)).of(store.value)
        if row is None:
            with ir.InsertionPoint(op):
                store_vector(tile, made, store.buffer, [*store.at[:-1], tile.start])
        return made

    def _place(self, load: MemoryAccess, line: ir.Operation, scope: ir.Operation) -> ir.Operation:
        """Returns the operation before which a load may stand: the outermost loop that its address does not change in.

        An address is in bounds wherever all that it is made of is an index of a loop, or a stored coordinate.
        """
        if root_of(load.buffer) == self.written or not all(map(_is_index, load.at)):
            return line
        place, around = line, parent_of(line)
        while around != scope and around.name == "scf.for":
            if any(is_inside(value, around) for value in load.address):
                break
            place, around = around, parent_of(around)
        return place


def _adds_many(line: Line) -> bool:
    """Returns whether a line adds products of complex numbers with one to what is stored there, and does no more."""
    (value,) = (store.value for store in line.stores)
    op = None if value is None else made_by(value, "complex.add", "complex.sub")
    found = None if op is None else line.sum_with_many(op)
    return found is not None and any(load.loaded == found[0] for load in line.streams) and _is_used_once(found[0])


def _is_used_once(value: ir.Value) -> bool:
    return len(list(value.uses)) == 1


def _is_index(value: ir.Value) -> bool:
    op = maker(value)
    return op is None or op.name in ("memref.load", "arith.constant", "arith.index_cast", "arith.index_castui")


def _is_single(loop: ForLoop) -> bool:
    """Returns whether a loop carries a row alone, and none is in it, nor a branch."""
    return (
        loop.op.name == "scf.for" and len(loop.results) == 1 and not any(op.name.startswith("scf.") for op in loop.body)
    )
