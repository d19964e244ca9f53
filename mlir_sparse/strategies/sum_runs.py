"""Entries that are added to elements of a dense result one by one: eight at once where all have one coordinate.

In lists of coordinates in order, entries of a row follow each other. Where the first of eight entries and the last have
one coordinate, all have, and what they add is joined in lanes, so that the element is read and written once for them.
Elsewhere each is added by itself: no branch tells where rows end. SpMV, f64, in ms, one by one and so, on Intel's
AVX-512: finite elements (64 a row) 6.0 and 4.1, uniform rows of 20 3.5 and 3.2, a power law 9.7 and 9.0; rows of 8
and of 5 within a few hundredths the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.accumulations import accumulation_of
from mlir_sparse.loops.effects import MemoryAccess, access_of, element_bits, may_alias, root_of
from mlir_sparse.loops.emit_copies import copy_body
from mlir_sparse.loops.emit_prefetch import PrefetchDistances, prefetch
from mlir_sparse.loops.emit_strips import loop_over_chunks
from mlir_sparse.loops.model import ForLoop
from mlir_sparse.loops.model_accesses import Accumulate, Gather
from mlir_sparse.loops.operation_index import Nest
from mlir_sparse.loops.remarks import Missed, type_name
from mlir_sparse.loops.strategy import Strategy
from mlir_sparse.loops.value_origins import is_widening, maker
from mlir_sparse.strategies.read_lanes import lane_row
from mlir_sparse.strategies.row_lanes import LANES, LaneRow, terms_of

__all__ = ["SUM_RUNS"]


@dataclass(frozen=True, slots=True)
class _Runs:
    """A loop that adds to an element for each entry.

    Args:
        row: the loop.
        coordinate: the load of what says which element.
        element: the element.
    """

    row: LaneRow
    coordinate: MemoryAccess
    element: Accumulate


def _candidates(nest: Nest) -> Iterator[ForLoop]:
    """Yields loops over entries in order, of which several have a coordinate, that store an element for each."""
    for loop in nest.innermost_loops if nest.facts.runs is not None else ():
        entries = loop.step == 1 and loop.is_over_entries and not build.is_kept_rolled(loop.op)
        if entries and not loop.results and access_of(loop.body[-1]) is not None:
            yield loop


def _applies(loop: ForLoop, nest: Nest) -> _Runs | Missed:
    accesses = [access for op in loop.body if (access := access_of(op)) is not None]
    *loads, store = accesses
    if store.value is None or store.op != loop.body[-1] or any(load.value is not None for load in loads):
        return Missed("it stores more than one element for each entry")
    if not element_bits(store.value.type):
        return Missed(f"it adds up {type_name(store.value.type)}, which vectors do not hold")
    gather, element = Gather.of(store.op), Accumulate.of(store, loads)
    if gather is None or element is None or gather.coordinate.at != (loop.index,):
        return Missed("its coordinates do not say by themselves which elements are added to")
    if not _is_in_order(gather.coordinate.buffer, nest):
        return Missed("entries of one coordinate do not follow each other")
    if any(may_alias(load.buffer, store.buffer) for load in loads if load != element.load):
        return Missed("where the result lies is not known to be apart from what is read")
    total = element.load.loaded
    accumulated = accumulation_of(total, total, store.value)
    if accumulated is None:
        return Missed("it accumulates by no operation whose order is free")
    besides = (gather.coordinate.op, *_widenings_of(store.at[0]), element.load.op, store.op)
    row = lane_row(loop, accumulated, total.type, besides)
    return row if isinstance(row, Missed) else _Runs(row, gather.coordinate, element)


def _is_in_order(coordinates: ir.Value, nest: Nest) -> bool:
    """Returns whether coordinates are those that the plan knows to be in order; others may lie between them."""
    assert nest.facts.runs is not None
    _, offset = ir.MemRefType(coordinates.type).get_strides_and_offset()
    return offset == 0 and root_of(coordinates) == nest.arguments[nest.facts.runs]


def _widenings_of(value: ir.Value) -> Sequence[ir.Operation]:
    op = maker(value)
    return [op, *_widenings_of(op.operands[0])] if op is not None and is_widening(op) else []


def _rewrite(runs: _Runs, nest: Nest) -> None:
    """Writes a loop over whole vectors of entries before a loop, which is left for the rest."""
    loop, coordinates = runs.row.loop, runs.coordinate.buffer
    distance = PrefetchDistances.of(nest.options).far

    def chunk(first: ir.Value) -> None:
        # Coordinates of several levels may lie side by side: one request is for all.
        asked = {root_of(buffer) or buffer: buffer for buffer in (coordinates, *runs.row.streams)}
        for buffer in asked.values():
            prefetch(buffer, [build.add(first, build.constant(distance))])
        begin = build.load(coordinates, first)
        last = build.load(coordinates, build.add(first, build.constant(LANES - 1)))
        build.branch(build.compare("eq", begin, last), lambda: _joined(runs, first, begin), lambda: each(first))

    def each(first: ir.Value) -> None:
        build.loop(build.constant(LANES), (), lambda number: entry(build.add(first, number)))

    def entry(here: ir.Value) -> None:
        copy_body(loop.op, {loop.index: here})

    loop_over_chunks(loop, LANES, chunk)


def _joined(runs: _Runs, first: ir.Value, coordinate: ir.Value) -> None:
    """Writes what is done for entries that have one coordinate."""
    accumulated, buffer, at = runs.row.accumulated, runs.element.load.buffer, build.widened(coordinate)
    lanes = reduce(accumulated.joined, terms_of(runs.row, first))
    build.store(accumulated.after(build.load(buffer, at), lanes), buffer, at)


SUM_RUNS = Strategy("sum-runs", _candidates, _applies, _rewrite)
"""Writes a loop over vectors of entries before each that adds entries to elements one by one."""
