"""The pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.array_fills import ArrayFill, constant_before, constant_before_rows
from mlir_sparse.loops.carry_values import LINE, PATH, carry
from mlir_sparse.loops.effects import root_of
from mlir_sparse.loops.emit_strips import whole_end
from mlir_sparse.loops.emit_vectors import broadcast, mask_of
from mlir_sparse.loops.inner_loops import Line, line_of
from mlir_sparse.loops.model import ForLoop
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.loops.outer_loops import OuterLoops, nests_of
from mlir_sparse.loops.regions import is_loop, operations_in
from mlir_sparse.loops.remarks import Remarks
from mlir_sparse.loops.value_origins import is_constant, is_inside, maker, parent_of
from mlir_sparse.loops.vector_bodies import Lanes, Tile, load_vector, store_vector
from mlir_sparse.loops.vector_options import Target
from mlir_sparse.strategies.inner_sums import sum_of
from mlir_sparse.strategies.several_entries import add_up_several, entries_around

__all__ = ["register_tile"]


def register_tile(seen: Seen, options: Mapping[str, str]) -> bool:
    """Tiles the dense innermost loops of sparsified functions, so that registers hold rows across sparse loops.

    Args:
        seen: a module after bufferization; rewritten in place.
        options: `bits`, `lanes`, `tile`, `masks`, `fma`: see Target.

    Returns:
        whether it may have changed anything.
    """
    target = Target.of(options)
    lines = list(_lines(seen))
    sums, rows = ([line for line in lines if bool(line.loop.results) is adds] for adds in (True, False))
    found = [(line, nest) for line, nest in nests_of(rows) if isinstance(nest, OuterLoops) or _is_over_level(line.loop)]
    nests = [seen.remarks.of(line.loop, nest) for line, nest in found]
    for nest in nests:
        if nest is not None:
            _Tiler(nest, target).run()
    for line in sums:
        if _is_over_level(line.loop):
            _add_up(line, target, seen.remarks)
    return bool(lines)


def _lines(seen: Seen) -> Iterator[Line]:
    """Yields the innermost loops that vectors hold; of others those over dense levels are worth a remark."""
    for loop in seen.whole.innermost:
        line = line_of(loop)
        if isinstance(line, Line):
            yield line
        elif _is_over_level(loop):
            seen.remarks.of(loop, line)


def _is_over_level(loop: ir.Operation) -> bool:
    """Returns whether a loop runs over a dense level, from its begin; those over stored entries begin anywhere."""
    return is_constant(loop.operands[0], 0)


def _add_up(line: Line, target: Target, remarks: Remarks) -> None:
    """Rewrites a loop that adds up elements of dense rows, if it is one."""
    total = remarks.of(line.loop, sum_of(line, target), "inner-sums")
    if total is None:
        return
    entries = remarks.of(line.loop, entries_around(line, target), "several-entries")
    if entries is not None:
        add_up_several(entries, target)
    total.run()


class _Tiler:
    """Writes a nest once for each size of tiles."""

    def __init__(self, nest: OuterLoops, target: Target) -> None:
        self.nest = nest
        self.target = target
        self.written = root_of(nest.store.operands[1])
        self.start = self._constant()
        self.rows = list(nest.store.operands)[2:-1]

    def _constant(self) -> ArrayFill | None:
        """Returns what the rows are filled with before, where tiles go through all of them once."""
        _, buffer, *at = self.nest.store.operands
        if not self.nest.stays or buffer != self.written or not is_constant(self.nest.lines[0].bounds[0], 0):
            return None
        if len(at) == 1:
            return constant_before(self.nest.root, buffer)
        return constant_before_rows(self.nest.root, buffer, at[0]) if len(at) == 2 else None

    def run(self) -> None:
        """Puts the tiled nest in place of the nest."""
        mark = ir.UnitAttr.get()
        for op in self.nest.path:
            op.attributes[PATH] = mark
        for line in self.nest.lines:
            line.loop.attributes[LINE] = mark
        first = self.nest.lines[0]
        at, upper = first.bounds
        with ir.InsertionPoint(self.nest.root):
            before = 0
            for size in self.target.sizes(first.bits, self._held(first), len(first.streams) - 1):
                at = self._full(at, upper, size, before)
                before = size
            self._rest(at, upper, before)
            if self.start is not None:
                self.start.store(upper, row=self.rows)
        if self.start is not None:
            if self.rows:
                self.start.store_rows_after(ForLoop(parent_of(self.nest.root)))
            self.start.erase()
        self.nest.root.erase()

    def _held(self, line: Line) -> int:
        """Returns how many rows registers hold at once across the innermost loop around a line."""
        scope = parent_of(self.nest.root)
        return 1 + len([load for load in line.streams if self._place(load, line, scope) != line.loop])

    def _full(self, at: ir.Value, upper: ir.Value, size: int, before: int) -> ir.Value:
        """Writes tiles of one size, as many as there is room for; returns where they end.

        Args:
            at: where they begin.
            upper: where the row ends.
            size: theirs.
            before: the size of those before; 0 for none.
        """
        end = whole_end(at, upper, size)
        ahead = self.target.ahead(size, self.nest.lines[0].bits)

        def tile(start: ir.Value) -> None:
            self._tile(Tile(start, size, None, self.target.fuses, ahead, rolled=before > 0))

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
            self.start.store(at, upper, self.rows)
        root = self.nest.root.clone(ir.InsertionPoint.current)
        for op in [root, *_marked(root)]:
            if LINE in op.attributes:
                op.operands[0] = at
            for mark in (LINE, PATH):
                if mark in op.attributes:
                    del op.attributes[mark]

    def _tile(self, tile: Tile) -> None:
        """Writes the nest for the places of a tile."""
        root = self.nest.root.clone(ir.InsertionPoint.current)
        for op in (root, *_marked(root)) if tile.rolled else ():
            if is_loop(op) and PATH in op.attributes:
                build.keep_rolled(op)
        scope = parent_of(root)
        _, buffer, *at = self.nest.store.operands
        at = [*at[:-1], tile.start]
        if not self.nest.stays:
            for op in [found for found in _marked(root) if LINE in found.attributes]:
                self._line(op, tile, None, scope)
                op.erase()
            return
        with ir.InsertionPoint(root):
            held = load_vector(tile, buffer, at) if self.start is None else self._started(tile)
        held = carry(root, held, lambda op, held: self._line(op, tile, held, scope))
        store_vector(tile, held, buffer, at)

    def _started(self, tile: Tile) -> ir.Value:
        assert self.start is not None
        value = self.start.value()
        return broadcast(value, tile.size)

    def _line(self, op: ir.Operation, tile: Tile, held: ir.Value | None, scope: ir.Operation) -> ir.Value:
        """Writes a line before its loop; returns the row that it makes of one held, or stores it where none is."""
        line = line_of(op)
        assert isinstance(line, Line)
        value, buffer, *at = line.stores[0].operands
        sums = [load.results[0] for load in line.streams if root_of(load.operands[0]) == self.written]
        known: dict[ir.Value, ir.Value] = {} if held is None else dict.fromkeys(sums, held)
        made = Lanes(line, tile, known, lambda load: self._place(load, line, scope)).of(value)
        if held is None:
            with ir.InsertionPoint(op):
                store_vector(tile, made, buffer, [*at[:-1], tile.start])
        return made

    def _place(self, load: ir.Operation, line: Line, scope: ir.Operation) -> ir.Operation:
        """Returns the operation before which a load may stand: the outermost loop that its address does not change in.

        An address is in bounds wherever all that it is made of is an index of a loop, or a stored coordinate.
        """
        place, operands = line.loop, list(load.operands)
        if root_of(operands[0]) == self.written or not all(map(_is_index, operands[1:])):
            return place
        around = parent_of(place)
        while around != scope and around.name == "scf.for" and not any(is_inside(value, around) for value in operands):
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
