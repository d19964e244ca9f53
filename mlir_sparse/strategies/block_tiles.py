"""Blocks times rows of a dense operand: several rows of the result in registers across the blocks of a row.

The sparsifier goes through a block row by row, and through all rows of the dense operand for each. Here each of those
is read once for up to four rows of the result, which stay in registers for all blocks, tile by tile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import only_reads, root_of, writes_nothing
from mlir_sparse.loops.emit_copies import copy_of
from mlir_sparse.loops.inner_loops import Line, line_of_copy
from mlir_sparse.loops.model import ForLoop, loop_of
from mlir_sparse.loops.operation_index import Nest
from mlir_sparse.loops.outer_loops import OuterLoops, loops_around
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.strategy import Strategy
from mlir_sparse.loops.value_origins import is_inside, maker
from mlir_sparse.loops.vector_bodies import Lanes, Tile, load_vector, store_vector
from mlir_sparse.loops.vector_options import Target
from mlir_sparse.strategies.tile_sizes import TiledLines

__all__ = ["BLOCK_TILES"]

_MOST_ROWS = 4  # at once
_WRITTEN_OUT = 4  # columns of a block that are no loop


@dataclass(frozen=True, slots=True)
class _Blocks:
    """A loop over the blocks of a row.

    Args:
        loop: the loop over positions.
        rows: the loop over the rows of a block.
        columns: the loop over the columns of a block.
        line: the loop over a row of the result.
    """

    loop: ForLoop
    rows: ForLoop
    columns: ForLoop
    line: Line

    @property
    def op(self) -> ir.Operation:
        """Returns the loop over the row, which remarks name."""
        return self.line.op


def _candidates(nest: Nest) -> Iterator[_Blocks]:
    """Yields the lines in three loops right inside each other, of which the inner two are over a block."""
    for loop, line in list(nest.lines):
        if isinstance(line, Missed) or loop.results:
            continue
        columns = loop_of(loop.around)
        rows = loop_of(columns.around) if isinstance(columns, ForLoop) else None
        blocks = loop_of(rows.around) if isinstance(rows, ForLoop) else None
        if not isinstance(columns, ForLoop) or not isinstance(rows, ForLoop) or not isinstance(blocks, ForLoop):
            continue
        if rows.trip_count and columns.trip_count and blocks.is_over_entries and blocks.step == 1:
            yield _Blocks(blocks, rows, columns, line)


def _applies(blocks: _Blocks, _: Nest) -> _Blocks | Missed | None:
    loops = (blocks.loop, blocks.rows, blocks.columns)
    (row,) = loops_around([blocks.line])
    if not isinstance(row.around, OuterLoops) or not row.around.stays or any(loop.results for loop in loops):
        return None
    inner = (blocks.rows.op, blocks.columns.op, blocks.line.op)
    (store,) = blocks.line.stores
    written = root_of(store.buffer)
    alone = all(op in inner or (only_reads(op) and writes_nothing(op, written)) for loop in loops for op in loop.body)
    fixed = (*blocks.line.loop.bounds, store.buffer)
    if not alone or any(is_inside(value, blocks.loop.op) for value in fixed):
        return Missed("more is done for a block than to add its products to the result")
    if not all(_is_of_row(value, blocks) for value in store.at[:-1]):
        return Missed("the blocks of a row add to different rows of the result")
    # Each row of a block is in registers of its own: two of one row of the result would overwrite each other's sums.
    if blocks.rows.trip_count != 1 and not any(_tells_rows_apart(value, blocks) for value in store.at[:-1]):
        return Missed("the rows of a block add to one row of the result")
    return blocks


def _is_of_row(value: ir.Value, blocks: _Blocks) -> bool:
    """Returns whether a value is made of which row of a block it is of, and of what is known before all blocks."""
    if not is_inside(value, blocks.loop.op):
        return True
    op = maker(value)
    if op is None:
        return bool(value == blocks.rows.index)
    return op.name != "memref.load" and all(_is_of_row(used, blocks) for used in op.operands)


def _tells_rows_apart(value: ir.Value, blocks: _Blocks) -> bool:
    """Returns whether a value is another one for each row of a block: its number, or that and what all rows share."""
    op = maker(value)
    if op is None:
        return bool(value == blocks.rows.index)
    if op.name != "arith.addi":
        return False
    told = [_tells_rows_apart(used, blocks) for used in op.operands]
    shared = [not _is_made_of_row(used, blocks) for used in op.operands]
    return (told[0] and shared[1]) or (told[1] and shared[0])


def _is_made_of_row(value: ir.Value, blocks: _Blocks) -> bool:
    op = maker(value)
    if op is None or not is_inside(value, blocks.loop.op):
        return bool(value == blocks.rows.index)
    return any(_is_made_of_row(used, blocks) for used in op.operands)


class _BlockTiles(TiledLines):
    """Writes tiles of some rows of the result before the loop over blocks.

    Args:
        blocks: the loop.
        target: the vectors.
        rows: which rows of the blocks.
    """

    def __init__(self, blocks: _Blocks, target: Target, rows: range) -> None:
        super().__init__((blocks.line,), target)
        self.blocks = blocks
        self.rows = rows
        (self.store,) = blocks.line.stores

    def largest_first(self) -> list[int]:
        """Returns the sizes of tiles of whole vectors."""
        return self.target.sizes(self.bits, rows=len(self.rows))

    def tile(self, tile: Tile) -> None:
        """Writes the loop over blocks for the places of a tile."""
        loop, buffer = self.blocks.loop, self.store.buffer
        places = [[*self._row(number), tile.start] for number in self.rows]
        starts = [load_vector(tile, buffer, at) for at in places]
        lower, upper = loop.bounds

        def block(here: ir.Value, *reached: ir.Value) -> list[ir.Value]:
            known: dict[ir.Value, ir.Value] = {loop.index: here}
            _copy_but(loop, self.blocks.rows.op, known)
            return self._columns(tile, known, reached)

        ends = build.loop(upper, starts, block, lower, like=loop.op)
        for value, at in zip(ends, places, strict=True):
            store_vector(tile, value, buffer, at)

    def _row(self, number: int) -> list[ir.Value]:
        """Writes which row of the result a row of the blocks is."""
        known: dict[ir.Value, ir.Value] = {self.blocks.rows.index: build.constant(number)}
        return [self._made(value, known) for value in self.store.at[:-1]]

    def _made(self, value: ir.Value, known: dict[ir.Value, ir.Value]) -> ir.Value:
        op = maker(value)
        if value in known or op is None or not is_inside(value, self.blocks.loop.op):
            return known.get(value, value)
        for used in op.operands:
            self._made(used, known)
        copy_of(op, known)
        return known[value]

    def _columns(self, tile: Tile, known: dict[ir.Value, ir.Value], sums: Sequence[ir.Value]) -> list[ir.Value]:
        """Writes what the columns of a block add to rows; returns those."""
        count = self.blocks.columns.trip_count
        assert count is not None

        def column(place: ir.Value, *reached: ir.Value) -> list[ir.Value]:
            rows = zip(self.rows, reached, strict=True)
            return [self._product(tile, dict(known), number, place, row) for number, row in rows]

        if count > _WRITTEN_OUT:
            return build.loop(build.constant(count), sums, column)
        found = list(sums)
        for number in range(count):
            found = column(build.constant(number), *found)
        return found

    def _product(
        self, tile: Tile, known: dict[ir.Value, ir.Value], number: int, place: ir.Value, row: ir.Value
    ) -> ir.Value:
        """Writes what one element of a block adds to a row; returns that. LLVM reads for it what it read before."""
        blocks = self.blocks
        known |= {blocks.rows.index: build.constant(number), blocks.columns.index: place}
        _copy_but(blocks.rows, blocks.columns.op, known)
        _copy_but(blocks.columns, blocks.line.op, known)
        copied = copy_of(blocks.line.op, known)
        line = line_of_copy(copied)
        (store,) = line.stores
        assert store.value is not None
        sums = [load.loaded for load in line.streams if root_of(load.buffer) == root_of(store.buffer)]
        made = Lanes(line, tile, dict.fromkeys(sums, row), lambda _: copied).of(store.value)
        copied.erase()
        return made


def _copy_but(loop: ForLoop, inner: ir.Operation, known: dict[ir.Value, ir.Value]) -> None:
    """Writes what a loop does besides another one."""
    for op in loop.body:
        if op != inner:
            copy_of(op, known)


def _groups(count: int) -> list[range]:
    """Returns the rows of blocks, as many at once as pay, in groups that differ by a row at most."""
    parts = -(-count // _MOST_ROWS)
    ends = [count * number // parts for number in range(parts + 1)]
    return [range(*pair) for pair in pairwise(ends)]


def _rewrite(blocks: _Blocks, nest: Nest) -> None:
    nest.leave_out_lines(blocks.loop.op)
    target, count = Target.of(nest.options), blocks.rows.trip_count
    assert count is not None
    with ir.InsertionPoint(blocks.loop.op):
        for rows in _groups(count):
            _BlockTiles(blocks, target, rows).all_sizes(*blocks.line.loop.bounds)
    blocks.loop.op.erase()


BLOCK_TILES = Strategy("register-tile", _candidates, _applies, _rewrite)
"""Tiles loops over blocks times dense rows, so that registers hold several rows of the result."""
