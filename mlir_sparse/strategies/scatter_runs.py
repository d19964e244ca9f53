"""Stored entries that are added to a dense result, where their coordinates say: a vector at once where those count up.

Rows of finite elements and of grids have runs of neighbouring columns. Whether the next entries are such a run is one
comparison of vectors; then the elements that they are added to follow each other, and no two are the same. Each
element takes its summands in the order in which a loop over entries adds them. What is left of a row is added by
gathers and scatters where those are fast and rows are of unlike lengths: no branch tells where a row ends. A circuit,
transposed, takes 0.5 to 0.7 of the time so on Intel's processors; a grid, where rows of five end as foreseen, would
take up to twice as long, and bands a half more. So loops count how often a row is as long as the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import (
    MemoryAccess,
    access_of,
    computes_lanes,
    element_bits,
    fits_lanes,
    is_contiguous,
    loads_in,
    may_alias,
    stores_in,
)
from mlir_sparse.loops.emit_copies import copy_body
from mlir_sparse.loops.emit_prefetch import PrefetchDistances, prefetch
from mlir_sparse.loops.emit_vectors import broadcast, lane_numbers, mask_of, splat_number
from mlir_sparse.loops.model import ForLoop
from mlir_sparse.loops.model_accesses import Accumulate, Gather
from mlir_sparse.loops.operation_index import Nest
from mlir_sparse.loops.remarks import Missed, type_name
from mlir_sparse.loops.strategy import Strategy
from mlir_sparse.loops.value_origins import is_widening, maker, outermost
from mlir_sparse.loops.vector_bodies import VectorValues

__all__ = ["SCATTER_RUNS"]

# Entries at once. A matrix of finite elements, transposed, times a vector took 1.3 ms instead of 1.65; uniform columns,
# where there are no runs, as long as before.
_LANES = 8
# All rows as a number, and the bits by which one row counts for less than all.
_WHOLE, _FADES = 1 << 12, 4


@dataclass(frozen=True, slots=True)
class _Scatter:
    """A loop that adds what it makes of entries to elements of a buffer.

    Args:
        loop: the loop over positions.
        coordinate: the load of what says which element.
        streams: the loads of values at the index of the loop.
        element: the element.
        total: what is stored there.
        values: what is computed in between.
    """

    loop: ForLoop
    coordinate: MemoryAccess
    streams: tuple[MemoryAccess, ...]
    element: Accumulate
    total: ir.Value
    values: tuple[ir.Operation, ...]


def _candidates(nest: Nest) -> Iterator[ForLoop]:
    """Yields loops over stored entries that read elements where they store them."""
    for loop in nest.innermost_loops if _has_masks(nest) or nest.asked else ():
        if not loop.results and loop.is_over_entries and not build.is_kept_rolled(loop.op):
            stored = [store.address for store in stores_in(loop.body)]
            if any(load.address in stored for load in loads_in(loop.body)):
                yield loop


def _has_masks(nest: Nest) -> bool:
    return nest.options.get("every") == "true"


def _applies(loop: ForLoop, nest: Nest) -> _Scatter | Missed:
    if not _has_masks(nest):
        return Missed("vectors here have no masks, or lanes were asked for")
    if loop.step != 1:
        return Missed("its step is not 1")
    *loads, store = [access for op in loop.body if (access := access_of(op)) is not None]
    if store.value is None or store.op != loop.body[-1] or any(load.value is not None for load in loads):
        return Missed("it stores more than one element for each entry")
    if not element_bits(store.value.type):
        return Missed(f"it adds up {type_name(store.value.type)}, which vectors do not hold")
    gather = Gather.of(store.op)
    if gather is None or gather.coordinate.at != (loop.index,):
        return Missed("its coordinates do not say by themselves which elements are added to")
    element = Accumulate.of(store, loads)
    streams = [load for load in loads if load.at == (loop.index,) and load != gather.coordinate]
    if element is None or len(loads) != len(streams) + 2 or not streams:
        return Missed("it reads more for each entry than values, a coordinate and one element of the result")
    widened = _widenings_of(*store.at)
    values = tuple(op for op in loop.body if access_of(op) is None and op not in widened)
    scatter = _Scatter(loop, gather.coordinate, tuple(streams), element, store.value, values)
    why = _why_not_in_lanes(scatter)
    return Missed(why) if why else scatter


def _why_not_in_lanes(scatter: _Scatter) -> str:
    """Returns why vectors do not do what a scatter does; "" where they do."""
    store, loads = scatter.element.store, (scatter.coordinate, *scatter.streams)
    if not all(map(computes_lanes, scatter.values)):
        return "it does more than sums, products and quotients of its entries"
    if not all(is_contiguous(access.buffer) for access in (*loads, store)):
        return "its entries do not lie side by side in memory"
    if any(may_alias(load.buffer, store.buffer) for load in loads):
        return "where the result lies is not known to be apart from what is read"
    kinds = [op.result.type for op in (*(stream.op for stream in scatter.streams), *scatter.values)]
    return "" if all(map(fits_lanes, kinds)) else "it computes with types that vectors do not hold"


def _widenings_of(value: ir.Value) -> Sequence[ir.Operation]:
    """Returns the operations that make an index of a coordinate."""
    op = maker(value)
    return [op, *(o for v in op.operands for o in _widenings_of(v))] if op is not None and is_widening(op) else []


def _rewrite(scatter: _Scatter, nest: Nest) -> None:
    """Writes a loop over chunks of entries, runs of coordinates apart."""
    loop = scatter.loop
    lower, upper = loop.bounds
    distance = PrefetchDistances.of(nest.options).far

    def ask(first: ir.Value) -> None:
        for load in (scatter.coordinate, *scatter.streams):
            prefetch(load.buffer, [build.add(first, build.constant(distance))])

    def scattered(first: ir.Value) -> None:
        ask(first)
        _run_or_masked(scatter, first, build.subtract(upper, first))

    def chunk(first: ir.Value) -> None:
        ask(first)
        left = build.subtract(upper, first)
        whole = build.compare("ule", build.constant(_LANES), left)
        build.branch(whole, lambda: lanes(first), lambda: entries(first, left))

    def lanes(first: ir.Value) -> None:
        build.branch(_is_run(scatter, first), lambda: _vector(scatter, first), lambda: each(first))

    def each(first: ir.Value) -> None:
        build.loop(build.constant(_LANES), (), lambda number: entry(build.add(first, number)))

    def entries(first: ir.Value, left: ir.Value, number: int = 0) -> None:
        entry(build.add(first, build.constant(number)))
        if number + 2 < _LANES:
            more = build.compare("ugt", left, build.constant(number + 1))
            build.branch(more, lambda: entries(first, left, number + 1))

    def entry(here: ir.Value) -> None:
        copy_body(loop.op, {loop.index: here})

    def chunks(of: Callable[[ir.Value], None]) -> None:
        build.loop(upper, (), of, lower, _LANES, like=loop.op)

    with ir.InsertionPoint(loop.op):
        if _scatters(scatter, nest):
            build.branch(_lengths_vary(loop), lambda: chunks(scattered), lambda: chunks(chunk))
        else:
            chunks(chunk)
    loop.op.erase()


def _lengths_vary(loop: ForLoop) -> ir.Value:
    """Writes, for each row, whether of the last ones too many were longer or shorter than the one before to foresee it.

    Of the share of those, each row counts for a sixteenth.
    """
    length = build.subtract(loop.upper, loop.lower)
    with ir.InsertionPoint(outermost(loop.op)):
        last, share = build.alloca_cell(build.constant(0)), build.alloca_cell(build.constant(0))
    zero = build.constant(0)
    differs = build.compare("ne", length, build.load(last, zero))
    before = build.load(share, zero)
    faded = build.subtract(before, build.bits_of("shrui", before, build.constant(_FADES)))
    after = build.add(faded, build.select(differs, build.constant(_WHOLE >> _FADES), zero))
    build.store(length, last, zero)
    build.store(after, share, zero)
    return build.compare("ugt", after, build.constant(_WHOLE >> 2))


def _scatters(scatter: _Scatter, nest: Nest) -> bool:
    """Returns whether what is left of a row is scattered: its coordinates are distinct, those of all rows are not."""
    return nest.options.get("scatters") == "true" and not scatter.loop.is_whole


def _is_run(scatter: _Scatter, first: ir.Value) -> ir.Value:
    """Returns whether the coordinates of a vector of entries count up by one."""
    buffer = scatter.coordinate.buffer
    kind = ir.VectorType.get([_LANES], build.element_of(buffer))
    return _counts_up(scatter, first, _as_words(build.operation("vector.load", kind, buffer, first)))


def _counts_up(scatter: _Scatter, first: ir.Value, coordinates: ir.Value) -> ir.Value:
    begin = build.cut(build.widened(build.load(scatter.coordinate.buffer, first)), build.word_type())
    steps = lane_numbers(_LANES)
    same = build.compare("eq", coordinates, build.add(broadcast(begin, _LANES), steps))
    truth = ir.IntegerType.get_signless(1)
    return build.operation("vector.reduction", truth, same, kind=ir.Attribute.parse("#vector.kind<and>"))


def _vector(scatter: _Scatter, first: ir.Value) -> None:
    """Writes the loop's body for a run."""
    begin = build.widened(build.load(scatter.coordinate.buffer, first))
    known: dict[ir.Value, ir.Value] = {}
    for load, at in (*((load, first) for load in scatter.streams), (scatter.element.load, begin)):
        kind = ir.VectorType.get([_LANES], build.element_of(load.buffer))
        known[load.op.result] = build.operation("vector.load", kind, load.buffer, at)
    made = VectorValues(_LANES, {op.result for op in scatter.values}, known).of(scatter.total)
    ir.Operation.create("vector.store", operands=[made, scatter.element.store.buffer, begin])


def _run_or_masked(scatter: _Scatter, first: ir.Value, left: ir.Value) -> None:
    """Writes the loop's body for a run, or for the entries that there are by a gather and a scatter.

    Lanes without an entry have coordinates of 0, so that no run has such: one branch tells whether it is one.
    """
    mask = mask_of(left, _LANES)
    at = _as_words(_loaded(scatter.coordinate, first, mask))
    run = _counts_up(scatter, first, at)
    build.branch(run, lambda: _vector(scatter, first), lambda: _masked(scatter, first, mask, at))


def _loaded(load: MemoryAccess, first: ir.Value, mask: ir.Value) -> ir.Value:
    kind = ir.VectorType.get([_LANES], build.element_of(load.buffer))
    return build.operation("vector.maskedload", kind, load.buffer, first, mask, splat_number(kind, 0))


def _masked(scatter: _Scatter, first: ir.Value, mask: ir.Value, at: ir.Value) -> None:
    known: dict[ir.Value, ir.Value] = {load.op.result: _loaded(load, first, mask) for load in scatter.streams}
    buffer, zero = scatter.element.load.buffer, build.constant(0)
    kind = ir.VectorType.get([_LANES], build.element_of(buffer))
    gathered = build.operation("vector.gather", kind, buffer, zero, at, mask, splat_number(kind, 0))
    known[scatter.element.load.op.result] = gathered
    made = VectorValues(_LANES, {op.result for op in scatter.values}, known).of(scatter.total)
    ir.Operation.create("vector.scatter", operands=[buffer, zero, at, mask, made])


def _as_words(stored: ir.Value) -> ir.Value:
    """Returns coordinates as they are stored at full width: narrow numbers would count from their greatest to zero."""
    element, kind = ir.VectorType(stored.type).element_type, ir.VectorType.get([_LANES], build.word_type())
    if stored.type == kind:
        return stored
    is_index = isinstance(element, ir.IndexType)
    return build.operation("arith.index_castui" if is_index else "arith.extui", kind, stored)


SCATTER_RUNS = Strategy("scatter-runs", _candidates, _applies, _rewrite)
"""Writes a loop over chunks of entries, runs of coordinates apart, in place of each that scatters them.

Option `every`: whether at all, which vectors of eight elements decide. Option `scatters`: whether the machine scatters
fast, and coordinates of a row are distinct.
"""
