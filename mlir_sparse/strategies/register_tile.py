"""Rows of dense results that stay in registers across the sparse loops that add to them, tile by tile."""

from __future__ import annotations

from collections.abc import Iterator

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.array_fills import ArrayFill, constant_before, constant_before_rows
from mlir_sparse.loops.carry_values import LINE, PATH, carry
from mlir_sparse.loops.effects import MemoryAccess, root_of
from mlir_sparse.loops.emit_strips import whole_end
from mlir_sparse.loops.emit_vectors import broadcast, mask_of
from mlir_sparse.loops.inner_loops import line_of_copy
from mlir_sparse.loops.model import ForLoop
from mlir_sparse.loops.operation_index import Nest
from mlir_sparse.loops.outer_loops import OuterLoops, RowLoops, loops_around
from mlir_sparse.loops.regions import is_loop, operations_in
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.strategy import Strategy
from mlir_sparse.loops.value_origins import is_inside, maker, parent_of
from mlir_sparse.loops.vector_bodies import Lanes, Tile, load_vector, store_vector
from mlir_sparse.loops.vector_options import Target

__all__ = ["REGISTER_TILE"]


def _candidates(nest: Nest) -> Iterator[RowLoops]:
    """Yields innermost loops: those that vectors do not hold, and of lines that are tiled together the first."""
    rows = []
    for loop, line in nest.lines:
        if isinstance(line, Missed):
            yield RowLoops(loop, line)
        elif not loop.results:
            rows.append(line)
    yield from loops_around(rows)


def _applies(row: RowLoops, _: Nest) -> OuterLoops | Missed | None:
    """Returns the loops that are tiled, or why none is; None where the rows are stored entries, which none can be."""
    return row.around if isinstance(row.around, OuterLoops) or row.innermost.is_over_level else None


class _Tiler:
    """Writes a nest once for each size of tiles."""

    def __init__(self, nest: OuterLoops, target: Target) -> None:
        self.nest = nest
        self.target = target
        self.buffer = nest.store.buffer
        self.written = root_of(self.buffer)
        *self.row, _ = nest.store.at
        self.start = self._constant()

    def _constant(self) -> ArrayFill | None:
        """Returns what the rows are filled with before, where tiles go through all of them once."""
        if not self.nest.stays or self.buffer != self.written or not self.nest.lines[0].loop.is_over_level:
            return None
        match self.row:
            case []:
                return constant_before(self.nest.root, self.buffer)
            case [row]:
                return constant_before_rows(self.nest.root, self.buffer, row)
            case _:
                return None

    def run(self) -> None:
        """Puts the tiled nest in place of the nest."""
        self._mark()
        first = self.nest.lines[0]
        at, upper = first.loop.bounds
        with ir.InsertionPoint(self.nest.root):
            before = 0
            for size in self.target.sizes(first.bits, len(first.streams) - 1):
                at = self._full(at, upper, size, before)
                before = size
            self._rest(at, upper, before)
            if self.start is not None:
                self.start.store(upper, row=self.row)
        if self.start is not None:
            if self.row:
                self.start.store_rows_after(ForLoop(parent_of(self.nest.root)))
            self.start.erase()
        self.nest.root.erase()

    def _mark(self) -> None:
        """Marks the lines and the operations around them, as their copies are then."""
        mark = ir.UnitAttr.get()
        for line in self.nest.lines:
            op = line.op
            op.attributes[LINE] = mark
            while op != self.nest.root:
                op = parent_of(op)
                op.attributes[PATH] = mark

    def _full(self, at: ir.Value, upper: ir.Value, size: int, before: int) -> ir.Value:
        """Writes tiles of one size, as many as there is room for; returns where they end.

        Args:
            at: where they begin.
            upper: where the row ends.
            size: theirs.
            before: the size of those before; 0 for none.
        """
        end = whole_end(at, upper, size)
        distance = self.target.prefetch_distance(size, self.nest.lines[0].bits)

        def tile(start: ir.Value) -> None:
            self._tile(Tile(start, size, None, self.target.fuses, distance, rolled=before > 0))

        if size < before <= 2 * size:
            build.branch(build.compare("ult", at, end), lambda: tile(at))
        else:
            build.loop(end, (), tile, at, size)
        return end

    def _rest(self, at: ir.Value, upper: ir.Value, least: int) -> None:
        """Writes what is less than the least tile: tiles with masks, or the loops as they were."""
        if least == 1:
            return
        if not self.target.masks:
            build.branch(build.compare("ult", at, upper), lambda: self._scalar(at, upper))
            return
        size = self.target.masked(self.nest.lines[0].bits, least)
        if size < least:
            build.loop(upper, (), lambda start: self._masked(start, upper, size), at, size)
        else:
            build.branch(build.compare("ult", at, upper), lambda: self._masked(at, upper, size))

    def _masked(self, at: ir.Value, upper: ir.Value, size: int) -> None:
        mask = mask_of(build.subtract(upper, at), size)
        self._tile(Tile(at, size, mask, self.target.fuses, rolled=True))

    def _scalar(self, at: ir.Value, upper: ir.Value) -> None:
        if self.start is not None:
            self.start.store(at, upper, self.row)
        root = self.nest.root.clone(ir.InsertionPoint.current)
        for op in [root, *_marked(root)]:
            if LINE in op.attributes:
                ForLoop(op).set_lower(at)
            for mark in (LINE, PATH):
                if mark in op.attributes:
                    del op.attributes[mark]

    def _tile(self, tile: Tile) -> None:
        """Writes the nest for the places of a tile."""
        root = self.nest.root.clone(ir.InsertionPoint.current)
        for op in (root, *_marked(root)) if tile.rolled else ():
            if is_loop(op) and PATH in op.attributes:
                build.keep_rolled(op)
        scope, at = parent_of(root), [*self.row, tile.start]
        if not self.nest.stays:
            for op in [found for found in _marked(root) if LINE in found.attributes]:
                self._line(op, tile, None, scope)
                op.erase()
            return
        with ir.InsertionPoint(root):
            start = self.start
            row = load_vector(tile, self.buffer, at) if start is None else broadcast(start.value(), tile.size)
        row = carry(root, row, lambda op, row: self._line(op, tile, row, scope))
        store_vector(tile, row, self.buffer, at)

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


def _is_index(value: ir.Value) -> bool:
    op = maker(value)
    return op is None or op.name in ("memref.load", "arith.constant", "arith.index_cast", "arith.index_castui")


def _marked(op: ir.Operation) -> Iterator[ir.Operation]:
    """Yields the marked operations inside one, a copy of a nest."""
    for inner in operations_in(op):
        if LINE in inner.attributes or PATH in inner.attributes:
            yield inner
            yield from _marked(inner)


def _rewrite(loops: OuterLoops, nest: Nest) -> None:
    # Strategies for sums look for theirs among the same lines, in the same pass.
    nest.leave_out_lines(loops.root)
    _Tiler(loops, Target.of(nest.options)).run()


REGISTER_TILE = Strategy("register-tile", _candidates, _applies, _rewrite)
"""Tiles the dense innermost loops of sparsified functions, so that registers hold rows across sparse loops.

Options `bits`, `lanes`, `tile`, `masks`, `fma`: see Target.
"""
