"""Stored entries that are added to a dense result, where their coordinates say: a vector at once where those count up.

Rows of finite elements and of grids have runs of neighbouring columns. Whether the next entries are such a run is one
comparison of vectors; then the elements that they are added to follow each other, and no two are the same. Each
element takes its summands in the order in which a loop over entries adds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import access_of, computes_lanes, element_bits, is_contiguous, is_truth, may_alias
from mlir_sparse.loops.emit_copies import copy_body, rewritten
from mlir_sparse.loops.emit_prefetch import FAR, prefetch
from mlir_sparse.loops.emit_vectors import broadcast, lane_numbers
from mlir_sparse.loops.model import ForLoop
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.loops.regions import body_of, operations_in
from mlir_sparse.loops.remarks import Missed, type_name
from mlir_sparse.loops.value_origins import is_constant, is_widening, maker, stored_load

__all__ = ["scatter_runs"]

# Entries at once. A matrix of finite elements, transposed, times a vector took 1.3 ms instead of 1.65; uniform columns,
# where there are no runs, as long as before.
_LANES = 8


def scatter_runs(seen: Seen, options: Mapping[str, str]) -> bool:
    """Writes a loop over chunks of entries, runs of coordinates apart, in place of each that scatters them.

    Args:
        seen: a module after bufferization; rewritten in place.
        options: `every`: whether at all, which vectors of eight elements decide.

    Returns:
        whether it changed anything.
    """
    changed, every = False, options.get("every") == "true"
    for loop in seen.whole.innermost if every or seen.remarks.wanted else ():
        if not _adds_to_elements(loop):
            continue
        why = "vectors here have no masks, or lanes were asked for"
        scatter = seen.remarks.of(loop, _scatter_of(loop) if every else Missed(why))
        if scatter is not None:
            _write(scatter)
            changed = True
    return changed


@dataclass(frozen=True, slots=True)
class _Scatter:
    """A loop that adds what it makes of entries to elements of a buffer.

    Args:
        loop: the `scf.for` over positions.
        coordinate: the load of what says which element.
        streams: the loads of values at the index of the loop.
        element: the load of the element.
        store: the store of it.
        values: what is computed in between, in order.
    """

    loop: ir.Operation
    coordinate: ir.Operation
    streams: tuple[ir.Operation, ...]
    element: ir.Operation
    store: ir.Operation
    values: tuple[ir.Operation, ...]


def _adds_to_elements(loop: ir.Operation) -> bool:
    """Returns whether a loop over stored entries reads elements where it stores them."""
    if loop.results or not ForLoop(loop).is_over_entries or build.is_kept_rolled(loop):
        return False
    body = operations_in(loop)
    stored = [list(op.operands)[1:] for op in body if op.name == "memref.store"]
    return any(op.name == "memref.load" and list(op.operands) in stored for op in body)


def _scatter_of(loop: ir.Operation) -> _Scatter | Missed:
    """Returns a loop that adds to elements as that, or why it is no scatter."""
    if not is_constant(loop.operands[2], 1):
        return Missed("its step is not 1")
    place, (*body, _) = body_of(loop).arguments[0], operations_in(loop)
    accesses = [access for op in body if (access := access_of(op)) is not None]
    *loads, store = accesses
    if store.op != body[-1] or any(load.value is not None for load in loads):
        return Missed("it stores more than one element for each entry")
    if not element_bits(body[-1].operands[0].type):
        return Missed(f"it adds up {type_name(body[-1].operands[0].type)}, which vectors do not hold")
    coordinate = stored_load(store.at[0]) if len(store.at) == 1 else None
    if coordinate is None or list(coordinate.operands)[1:] != [place]:
        return Missed("its coordinates do not say by themselves which elements are added to")
    elements = [load.op for load in loads if load.address == store.address]
    streams = [load for load in loads if load.at == (place,) and load.op != coordinate]
    if len(elements) != 1 or len(loads) != len(streams) + 2 or not streams:
        return Missed("it reads more for each entry than values, a coordinate and one element of the result")
    widenings = _widenings_of(store.at[0])
    values = tuple(op for op in body if computes_lanes(op) and op not in widenings)
    if len(body) != len(accesses) + len(values) + len(widenings):
        return Missed("it does more than sums, products and quotients of its entries")
    if not all(is_contiguous(access.buffer) for access in accesses):
        return Missed("its entries do not lie side by side in memory")
    if any(may_alias(load.buffer, store.buffer) for load in loads if load.op != elements[0]):
        return Missed("where the result lies is not known to be apart from what is read")
    made = [op.results[0].type for op in (*(stream.op for stream in streams), *values)]
    if not all(element_bits(kind) or is_truth(kind) for kind in made):
        return Missed("it computes with types that vectors do not hold")
    return _Scatter(loop, coordinate, tuple(stream.op for stream in streams), elements[0], store.op, values)


def _widenings_of(value: ir.Value) -> list[ir.Operation]:
    """Returns the operations that make an index of a coordinate."""
    op = maker(value)
    return [op, *_widenings_of(op.operands[0])] if op is not None and is_widening(op) else []


def _write(scatter: _Scatter) -> None:
    loop = scatter.loop
    lower, upper, *_ = loop.operands
    place = body_of(loop).arguments[0]

    def chunk(first: ir.Value) -> None:
        for load in (scatter.coordinate, *scatter.streams):
            prefetch(load.operands[0], [build.add(first, build.constant(FAR))])
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
        copy_body(loop, {place: here})

    with ir.InsertionPoint(loop):
        build.loop(upper, (), chunk, lower, _LANES, like=loop)
    loop.erase()


def _is_run(scatter: _Scatter, first: ir.Value) -> ir.Value:
    """Returns whether the coordinates of a vector of entries count up by one."""
    buffer, word = scatter.coordinate.operands[0], build.word_type()
    kind = ir.VectorType.get([_LANES], word)
    stored = build.operation("vector.load", ir.VectorType.get([_LANES], build.element_of(buffer)), buffer, first)
    if stored.type != kind:  # at full width: narrow numbers would count from their greatest to zero
        is_index = isinstance(build.element_of(buffer), ir.IndexType)
        stored = build.operation("arith.index_castui" if is_index else "arith.extui", kind, stored)
    begin = build.cut(build.widened(build.load(buffer, first)), word)
    steps = lane_numbers(_LANES)
    same = build.compare("eq", stored, build.add(broadcast(begin, _LANES), steps))
    truth = ir.IntegerType.get_signless(1)
    return build.operation("vector.reduction", truth, same, kind=ir.Attribute.parse("#vector.kind<and>"))


def _vector(scatter: _Scatter, first: ir.Value) -> None:
    """Writes the loop's body for a run."""
    buffer = scatter.element.operands[0]
    begin = build.widened(build.load(scatter.coordinate.operands[0], first))
    known: dict[ir.Value, ir.Value] = {}

    def of(value: ir.Value) -> ir.Value:
        if value not in known:
            known[value] = broadcast(value, _LANES)
        return known[value]

    for load, at in (*((load, first) for load in scatter.streams), (scatter.element, begin)):
        kind = ir.VectorType.get([_LANES], load.results[0].type)
        known[load.results[0]] = build.operation("vector.load", kind, load.operands[0], at)
    for op in scatter.values:
        known[op.results[0]] = rewritten(op, [of(operand) for operand in op.operands], _LANES)
    ir.Operation.create("vector.store", operands=[of(scatter.store.operands[0]), buffer, begin])
