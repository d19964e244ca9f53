"""Rows of dense results that stay in registers across the sparse loops that add to them, tile by tile."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.array_fills import ArrayFill, constant_before, constant_before_rows
from mlir_sparse.loops.carry_values import LINE
from mlir_sparse.loops.effects import only_reads, root_of
from mlir_sparse.loops.inner_loops import line_of_copy
from mlir_sparse.loops.model import ForLoop, loop_of
from mlir_sparse.loops.operation_index import Nest
from mlir_sparse.loops.outer_loops import OuterLoops, RowLoops, loops_around
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.strategy import Strategy
from mlir_sparse.loops.value_origins import is_inside, parent_of
from mlir_sparse.loops.vector_options import Target
from mlir_sparse.strategies.row_tiles import RowTiles, mark, marked_in

__all__ = ["REGISTER_TILE"]

# Consecutive elements that a line reads where its rows are added to, times one factor each.
_SUM_AND_FACTOR = 2


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


def _rewrite(loops: OuterLoops, nest: Nest) -> None:
    # Strategies for sums look for theirs among the same lines, in the same pass.
    nest.leave_out_lines(loops.root)
    target, start, rows = Target.of(nest.options), _constant_before(loops), _rows_around(loops)
    mark(loops)
    if start is not None and len(loops.store.at) > 1:
        start.store_rows_after(ForLoop(parent_of(loops.root)))
    if rows is None or not _has_two_vectors(loops, target):
        RowTiles(loops, target, start).rows_of_any_width()
    else:
        _by_width(loops, rows, target, start)
    if start is not None:
        start.erase()


def _constant_before(loops: OuterLoops) -> ArrayFill | None:
    """Returns what the rows are filled with before, where tiles go through all of them once."""
    buffer, (*row, _) = loops.store.buffer, loops.store.at
    if not loops.stays or buffer != root_of(buffer) or not loops.lines[0].loop.is_over_level:
        return None
    match row:
        case []:
            return constant_before(loops.root, buffer)
        case [index]:
            return constant_before_rows(loops.root, buffer, index)
        case _:
            return None


def _rows_around(loops: OuterLoops) -> ForLoop | None:
    """Returns the loop over rows around a nest, if each is as wide and has little else: narrow ones get their own."""
    root, rows, (line, *others) = loop_of(loops.root), loop_of(parent_of(loops.root)), loops.lines
    if not isinstance(rows, ForLoop) or rows.results or not isinstance(root, ForLoop) or root.trip_count is not None:
        return None
    if others or not loops.stays or len(line.streams) > _SUM_AND_FACTOR:
        return None
    alone = all(op == loops.root or only_reads(op) for op in rows.body)
    return rows if alone and not any(is_inside(value, rows.op) for value in line.loop.bounds) else None


def _has_two_vectors(loops: OuterLoops, target: Target) -> bool:
    bits = loops.lines[0].bits
    return target.sizes(bits)[0] >= 2 * target.lanes_of(bits) > 2


def _by_width(loops: OuterLoops, rows: ForLoop, target: Target, start: ArrayFill | None) -> None:
    """Writes loops over rows of each width up to two vectors, which see no other tiles, and of more.

    Of a row with 5 entries two columns took 11.6 ns, of which 6 to see that no tile but the last is needed.
    """
    lower, upper = loops.lines[0].loop.bounds

    def tiles(write: Callable[[RowTiles], None]) -> None:
        copied = rows.op.clone(ir.InsertionPoint.current).operation
        root = next(marked_in(copied))
        lines = tuple(line_of_copy(op) for op in marked_in(root) if LINE in op.attributes)
        write(RowTiles(OuterLoops(root, lines, loops.stays), target, start))

    with ir.InsertionPoint(rows.op):
        width = build.subtract(upper, lower)
        lanes = target.lanes_of(loops.lines[0].bits)

        def whole(size: int, otherwise: Callable[[], None]) -> None:
            is_size = build.compare("eq", width, build.constant(size))
            build.branch(is_size, lambda: tiles(lambda found: found.narrow_rows(size, whole=True)), otherwise)

        def masked(size: int) -> None:
            tiles(lambda found: found.narrow_rows(size, whole=False))

        def up_to(size: int, less: Callable[[], None], more: Callable[[], None]) -> None:
            build.branch(build.compare("ule", width, build.constant(size)), less, more)

        def narrow() -> None:
            up_to(
                lanes,
                lambda: whole(lanes, lambda: whole(lanes // 2, lambda: masked(lanes))),
                lambda: whole(2 * lanes, lambda: masked(2 * lanes)),
            )

        up_to(2 * lanes, narrow, lambda: tiles(RowTiles.rows_of_any_width))
    rows.op.erase()


REGISTER_TILE = Strategy("register-tile", _candidates, _applies, _rewrite)
"""Tiles the dense innermost loops of sparsified functions, so that registers hold rows across sparse loops.

Options `bits`, `lanes`, `tile`, `masks`, `fma`: see Target.
"""
