"""Entries that are added to elements of a dense result one by one: eight at once where all have one coordinate.

In lists of coordinates in order, entries of a row follow each other. Where the first of eight entries and the last have
one coordinate, all have, and what they add is joined in lanes, so that the element is read and written once for them.
So it is with fibres of lists of three coordinates, whose entries share the first two. Elsewhere each is added by
itself: no branch tells where rows end. SpMV, f64, in ms, one by one and so, on Intel's
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
from mlir_sparse.loops.effects import MemoryAccess, access_of, element_bits, is_pure, may_alias, root_of
from mlir_sparse.loops.emit_copies import copy_body
from mlir_sparse.loops.emit_prefetch import PrefetchDistances, prefetch
from mlir_sparse.loops.emit_strips import loop_over_chunks
from mlir_sparse.loops.model import ForLoop
from mlir_sparse.loops.model_accesses import Accumulate, position_load
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
        coordinates: the loads of what says which element: the first coordinates of the list, in the element's order.
        element: the element.
    """

    row: LaneRow
    coordinates: tuple[MemoryAccess, ...]
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
    coordinates, element = _coordinates_of(store, loop), Accumulate.of(store, loads)
    if not coordinates or element is None:
        return Missed("its coordinates do not say by themselves which elements are added to")
    if not _are_in_order([coordinate.buffer for coordinate in coordinates], nest):
        return Missed("entries of one coordinate do not follow each other")
    if any(may_alias(load.buffer, store.buffer) for load in loads if load != element.load):
        return Missed("where the result lies is not known to be apart from what is read")
    total = element.load.loaded
    accumulated = accumulation_of(total, total, store.value)
    if accumulated is None:
        return Missed("it accumulates by no operation whose order is free")
    numbers = [op for at in store.at for op in _widenings_of(at)]
    unused = [op for op in loop.body if is_pure(op) and not any(list(result.uses) for result in op.results)]
    besides = (*(coordinate.op for coordinate in coordinates), *numbers, *unused, element.load.op, store.op)
    row = lane_row(loop, accumulated, total.type, besides)
    return row if isinstance(row, Missed) else _Runs(row, coordinates, element)


def _coordinates_of(store: MemoryAccess, loop: ForLoop) -> tuple[MemoryAccess, ...]:
    """Returns the loads of an entry's coordinates that say where it is stored; none where something else does."""
    loads = [position_load(at) for at in store.at]
    found = tuple(load for load in loads if load is not None and load.at == (loop.index,))
    return found if len(found) == len(loads) else ()


def _are_in_order(coordinates: Sequence[ir.Value], nest: Nest) -> bool:
    """Returns whether coordinates are the first ones of a list that the plan knows to be in order.

    The coordinates of an entry lie side by side.
    """
    assert nest.facts.runs is not None
    first = nest.arguments[nest.facts.runs]
    offsets = [ir.MemRefType(one.type).get_strides_and_offset()[1] for one in coordinates]
    return all(root_of(one) == first for one in coordinates) and sorted(offsets) == list(range(len(offsets)))


def _widenings_of(value: ir.Value) -> Sequence[ir.Operation]:
    op = maker(value)
    return [op, *_widenings_of(op.operands[0])] if op is not None and is_widening(op) else []


def _rewrite(runs: _Runs, nest: Nest) -> None:
    """Writes a loop over whole vectors of entries before a loop, which is left for the rest."""
    loop, coordinates = runs.row.loop, [one.buffer for one in runs.coordinates]
    distance = PrefetchDistances.of(nest.options).far

    def chunk(first: ir.Value) -> None:
        # Coordinates of several levels may lie side by side: one request is for all.
        asked = {root_of(buffer) or buffer: buffer for buffer in (*coordinates, *runs.row.streams)}
        for buffer in asked.values():
            prefetch(buffer, [build.add(first, build.constant(distance))])
        begin = [build.load(one, first) for one in coordinates]
        end = build.add(first, build.constant(LANES - 1))
        same = [build.compare("eq", at, build.load(one, end)) for at, one in zip(begin, coordinates, strict=True)]
        build.branch(build.conjunction(same), lambda: _joined(runs, first, begin), lambda: each(first))

    def each(first: ir.Value) -> None:
        build.loop(build.constant(LANES), (), lambda number: entry(build.add(first, number)))

    def entry(here: ir.Value) -> None:
        copy_body(loop.op, {loop.index: here})

    loop_over_chunks(loop, LANES, chunk)


def _joined(runs: _Runs, first: ir.Value, coordinates: Sequence[ir.Value]) -> None:
    """Writes what is done for entries that have the same coordinates."""
    accumulated, buffer, at = runs.row.accumulated, runs.element.load.buffer, list(map(build.widened, coordinates))
    lanes = reduce(accumulated.joined, terms_of(runs.row, first))
    build.store(accumulated.after(build.load(buffer, *at), lanes), buffer, *at)


SUM_RUNS = Strategy("sum-runs", _candidates, _applies, _rewrite)
"""Writes a loop over vectors of entries before each that adds entries to elements one by one."""
