"""Sums over rows of stored entries, and other accumulations: a vector at once, without a branch on their number.

Rows of a few entries each end where no processor foresees it: each wrong guess costs as much as a dozen entries. Here
as many entries as a vector has lanes are read from where a row begins, the next rows' among them, and those that are
not the row's count as zeros, or as what else changes nothing; long rows take several vectors. Nor does a sum wait for
the one before, entry by entry.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.accumulations import accumulation_of
from mlir_sparse.loops.effects import element_bits, lane_bits, loads_in
from mlir_sparse.loops.emit_copies import replace
from mlir_sparse.loops.emit_prefetch import PrefetchDistances
from mlir_sparse.loops.emit_segments import has_few_entries
from mlir_sparse.loops.emit_strips import whole_end
from mlir_sparse.loops.model import ForLoop, loop_of
from mlir_sparse.loops.model_accesses import Segment, position_load
from mlir_sparse.loops.operation_index import Nest
from mlir_sparse.loops.remarks import Missed, type_name
from mlir_sparse.loops.strategy import Strategy
from mlir_sparse.loops.value_origins import made_by
from mlir_sparse.strategies.read_lanes import lane_row
from mlir_sparse.strategies.row_extremes import extreme_of, is_extreme
from mlir_sparse.strategies.row_lanes import LANES, LaneRow, lanes_of, lanes_of_whole

__all__ = ["SUM_ROWS"]

# Entries of a row from which vectors pay where selections stand for masks, and lanes are more than four. On AMD's AVX2
# SpMV of 75 entries a row took 0.70 of the time one by one in f32, 0.58 in i8, and sums of rows 0.56; in f16 SpMV took
# 0.17, of 20 entries 0.41: LLVM lets each f16 that it loads alone wait for the sum. Where lengths are mixed, rows of
# 12 and more in f32 took 1.2 of the time for wrong guesses which these are.
_LONG, _LONG_OF_HALVES = 32, 12
_WORD = 32  # bits of the widest elements that have more than four lanes


def _candidates(nest: Nest) -> Iterator[ForLoop]:
    """Yields loops over stored entries that carry an element: no count of entries, and no row in vectors."""
    for loop in nest.innermost_loops:
        carried = [result.type for result in loop.results]
        others = any(isinstance(kind, (ir.IndexType, ir.VectorType)) for kind in carried)
        if carried and not others and loop.is_over_entries:
            yield loop


def _applies(loop: ForLoop, nest: Nest) -> LaneRow | Missed:
    for start in loop.starts:
        if not lane_bits(start.type):
            return Missed(f"its sum is of {type_name(start.type)}, which vectors do not hold")
    row = _row_of(loop)  # what is missed on all machines is said before what this one lacks
    if isinstance(row, Missed) or nest.facts.short_rows or loop.is_whole:
        return row
    why = _why_long(loop, nest)
    return Missed(why) if why else row


def _why_long(loop: ForLoop, nest: Nest) -> str:
    """Returns why rows that may be long are not worth it; "" where they are."""
    if nest.facts.rows is not None:
        return "its rows stand below other levels, with single entries"
    if nest.options.get("every") != "true" and not _least(loop, nest):
        return "vectors here have no masks, or lanes were asked for: only rows known to be short are worth it"
    return "its rows all have room for as many entries: where they end is foreseen" if _has_slack(loop) else ""


def _least(loop: ForLoop, nest: Nest) -> int:
    """Returns how many entries a row must have where selections stand for masks; 0 where no number is enough."""
    if nest.options.get("long") != "true" or any(lane_bits(start.type) > _WORD for start in loop.starts):
        return 0
    loaded = [load.loaded.type for load in loads_in(loop.body)]
    halves = any(build.is_float(kind) and element_bits(kind) < _WORD for kind in loaded)
    return _LONG_OF_HALVES if halves else _LONG


def _has_slack(loop: ForLoop) -> bool:
    """Returns whether rows have a begin and an end each: in ELL, where they have one length, ends are foreseen."""
    first = position_load(loop.lower)
    return first is not None and made_by(first.at[0], "arith.muli") is not None


def _row_of(loop: ForLoop) -> LaneRow | Missed:
    if loop.step != 1 or len(loop.starts) != 1:
        return Missed("it carries more than one sum")
    (start,), (total,), (end,) = loop.starts, loop.carried, loop.ends
    accumulated = accumulation_of(total, start, end)
    # What is the same for all entries was moved out of the loop, which may leave nothing inside.
    if accumulated is None or not set(accumulated.operations) <= set(loop.body):
        return Missed("it accumulates by no operation whose order is free")
    return lane_row(loop, accumulated, total.type)


def _rewrite(row: LaneRow, nest: Nest) -> None:
    if row.loop.is_whole:
        _vectors_before(row, PrefetchDistances.of(nest.options))
    else:
        _vectors_beside(row, nest)


def _vectors_before(row: LaneRow, distances: PrefetchDistances) -> None:
    """Writes a loop over whole vectors of entries before a loop over those of all rows, which is left for the rest."""
    loop = row.loop
    (start,) = loop.starts
    with ir.InsertionPoint(loop.op):
        end = whole_end(*loop.bounds, LANES)
        reached = row.accumulated.after(start, lanes_of_whole(row, end, distances))
    loop.set_lower(end)
    loop.set_start(0, reached)
    build.keep_rolled(loop.op, scalar=True)


def _vectors_beside(row: LaneRow, nest: Nest) -> None:
    """Writes a loop over vectors of entries beside a loop, which is left for the last rows: none are read beyond.

    Rows of one entry as a rule, or none, are left to it too: where they end is foreseen.
    """
    loop, short = row.loop, nest.facts.short_rows
    masked = short or nest.options.get("every") == "true"
    least = 0 if masked else _least(loop, nest)
    few = None if least else has_few_entries(loop)
    distances = PrefetchDistances.of(nest.options)
    if not least:
        _begin_where_the_last_ended(loop)
    (start,) = loop.starts
    with ir.InsertionPoint(loop.op):
        size = reduce(build.minimum, map(build.size_of, row.streams))
        last = size if few is None else build.select(few, build.constant(0), size)
        pays = build.compare("ule", build.add(loop.upper, build.constant(LANES)), last)
        if least:
            # Of each row by itself: its sum is the same, wherever pieces for threads begin.
            long = build.compare("ule", build.add(loop.lower, build.constant(least)), loop.upper)
            pays = build.conjunction((long, pays))
        total = build.branch(
            pays,
            lambda: [_by_vectors(row, size, short, distances)],
            lambda: [_by_entries(loop, rolled=not least)],
            [start.type],
        )
    replace(loop.op, total)


def _begin_where_the_last_ended(loop: ForLoop) -> None:
    """Hands on where a row ends to the next one, which need not read it: 2.3 ms became 1.9 on a 5-point grid."""
    segment, around = Segment.of(loop), loop_of(loop.around)
    if segment is None or not isinstance(around, ForLoop) or around.around.name != "func.func":
        return
    if segment.parent != around.index or around.step != 1:
        return
    with ir.InsertionPoint(around.op):
        cell = build.alloca_cell(build.widened(build.load(segment.positions, around.lower)))
    with ir.InsertionPoint(loop.op):
        loop.set_lower(build.load(cell, build.constant(0)))
        build.store(loop.upper, cell, build.constant(0))


def _by_entries(loop: ForLoop, *, rolled: bool) -> ir.Value:
    copy = loop.op.clone(ir.InsertionPoint.current).operation
    if rolled:
        build.keep_rolled(copy, scalar=True)
    return copy.results[0]


def _by_vectors(row: LaneRow, size: ir.Value, short: bool, distances: PrefetchDistances) -> ir.Value:
    """Returns what a row accumulates.

    An empty row has a vector too, of none of its entries: no branch tells it from others.
    """
    if is_extreme(row):
        return extreme_of(row, size, short, distances)
    (start,) = row.loop.starts
    return row.accumulated.after(start, lanes_of(row, size, short, distances))


SUM_ROWS = Strategy("sum-rows", _candidates, _applies, _rewrite)
"""Writes a loop over vectors of entries in place of each loop that accumulates a row.

Option `every`: whether in all functions, rather than in those whose rows are short; `long`: whether of long rows of
elements of up to 32 bits in all functions.
"""
