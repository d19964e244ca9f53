"""Loops over stored entries that ask for the entries far ahead of them.

The entries of consecutive rows follow each other in memory, and a matrix that caches do
not hold is read at the speed of memory only where enough of it is asked for in advance.
What processors foresee by themselves ends after a few lines, or at the end of a page: loops
that ask ahead take half the time on grids (SpMV, f64 and 32-bit coordinates, 5 M entries), and
two thirds where slots are read one by one (uniform columns, 2 M entries).
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import MemoryAccess, access_of, loads_in, root_of
from mlir_sparse.loops.emit_copies import copy_body, replace
from mlir_sparse.loops.emit_prefetch import PrefetchDistances, prefetch
from mlir_sparse.loops.emit_strips import loop_over_chunks
from mlir_sparse.loops.model import ForLoop
from mlir_sparse.loops.model_accesses import Gather, NamedRow
from mlir_sparse.loops.operation_index import Nest
from mlir_sparse.loops.regions import is_loop, operations_within
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.strategy import Strategy
from mlir_sparse.loops.value_origins import is_inside, is_shifted, result_maker

__all__ = ["PREFETCH_STREAMS"]

# Entries at work between two requests: a line of f64, half a line of 32-bit coordinates.
_CHUNK = 8
# LLVM writes the body once for each entry of a chunk; where so much is done for an entry, it does not wait for it.
_MOST_OPERATIONS = 40


@dataclass(frozen=True, slots=True)
class _Streams:
    """A loop with the buffers that it goes through.

    Args:
        loop: the loop.
        accesses: one to each buffer, at the loop's index, or that and what does not change in the loop.
        distance: how many entries ahead it asks for.
    """

    loop: ForLoop
    accesses: tuple[MemoryAccess, ...]
    distance: int


def _candidates(nest: Nest) -> Sequence[ForLoop]:
    loops = [loop for loop in nest.for_loops if not build.is_kept_rolled(loop.op)]
    return [loop for loop in loops if loop.is_over_entries or _is_over_slots(loop)]


def _is_over_slots(loop: ForLoop) -> bool:
    """Returns whether a loop counts rows, of each of which it reads one slot: a coordinate, and what it names."""
    if loop.results or loop.step != 1 or loop.trip_count == _CHUNK:
        return False  # or it is in a loop over chunks, which asks for all of a chunk
    gathers = [Gather.of(load.op) for load in loads_in(operations_within(loop.op))]
    named = [gather.coordinate.at[0] for gather in gathers if gather is not None]
    return any(at != loop.index and is_shifted(at, loop.index) for at in named)


def _applies(loop: ForLoop, nest: Nest) -> _Streams | Missed | None:
    body = operations_within(loop.op)  # looked at now: of what was cut before, inside it, operations are gone
    if any(map(is_loop, body)):
        return None
    row, slots = NamedRow.of(loop), _is_over_slots(loop)
    if row is not None and row.is_of_entry and not slots:
        return Missed("its rows lie anywhere in memory: entries of another loop name them")
    if loop.step == 1 and len(body) > _MOST_OPERATIONS:
        return Missed(f"more than {_MOST_OPERATIONS} operations are done in an iteration: it does not wait for entries")
    if loop.step == 1 and any(isinstance(result.type, ir.VectorType) for op in body for result in op.results):
        return Missed("vectors of dense rows take most of the time")
    found: dict[ir.Value, MemoryAccess] = {}
    for access in [access for op in body if (access := access_of(op)) is not None]:
        if access.at == (loop.index,) or (slots and len(access.at) == 1 and is_shifted(access.at[0], loop.index)):
            # Coordinates of several levels may lie side by side: one request is for all.
            found.setdefault(root_of(access.buffer) or access.buffer, access)
    if not found:
        return Missed("it goes through no buffer by its own index")
    asked = {op.operands[0] for op in body if op.name == "memref.prefetch"}
    if loop.step != 1 and not asked.isdisjoint(access.buffer for access in found.values()):
        return None  # the strategy that wrote the chunks has asked for them
    distances = PrefetchDistances.of(nest.options)
    if not distances.alone and _is_alone(loop, body):
        return Missed("one buffer is read from end to end, which the processor foresees")
    return _Streams(loop, tuple(found.values()), distances.far)


def _is_alone(loop: ForLoop, body: Sequence[ir.Operation]) -> bool:
    """Returns whether a loop, the only one around its body, reads one buffer from end to end, and nothing else."""
    buffers = {root_of(one.buffer) or one.buffer for op in body if (one := access_of(op)) is not None}
    return loop.is_whole and not is_loop(loop.around) and len(buffers) == 1


def _rewrite(streams: _Streams, _: Nest) -> None:
    loop = streams.loop
    if loop.step != 1:  # chunks already: the lanes of vectors
        with ir.InsertionPoint(loop.body[0]):
            _ask(streams, loop.index)
    elif loop.results or loop.around.name != "func.func":
        _cut(streams)
    else:
        _cut_off(streams)


def _ask(streams: _Streams, first: ir.Value) -> None:
    """Writes the requests of a chunk: one to each buffer for as many entries as a line holds at the least."""
    step = streams.loop.step
    for start in range(0, _CHUNK if step is None else max(step, _CHUNK), _CHUNK):
        later = build.add(first, build.constant(streams.distance + start))
        for access in streams.accesses:
            at = [_shifted(place, streams.loop, later) for place in access.at]
            prefetch(access.buffer, at, written=access.value is not None)


def _shifted(value: ir.Value, loop: ForLoop, later: ir.Value) -> ir.Value:
    """Returns what a number that is the index of a loop, shifted, will be."""
    if value == loop.index:
        return later
    if not is_inside(value, loop.op):
        return value
    return build.add(*(_shifted(operand, loop, later) for operand in result_maker(value).operands))


def _cut(streams: _Streams) -> None:
    """Writes a loop over chunks in place of one over entries."""
    loop = streams.loop
    lower, upper = loop.bounds

    def chunk(first: ir.Value, *reached: ir.Value) -> list[ir.Value]:
        _ask(streams, first)
        left = build.subtract(upper, first)
        return build.loop(build.minimum(left, build.constant(_CHUNK)), reached, lambda *at: entry(first, *at))

    def entry(first: ir.Value, number: ir.Value, *reached: ir.Value) -> Sequence[ir.Value]:
        here = build.add(first, number)
        for old, new in zip((loop.index, *loop.carried), (here, *reached), strict=True):
            old.replace_all_uses_with(new)
        behind = result_maker(here)
        for op in loop.body:
            op.move_after(behind)
            behind = op
        return loop.ends

    with ir.InsertionPoint(loop.op):
        results = build.loop(upper, loop.starts, chunk, lower, _CHUNK)
    replace(loop.op, results)


def _cut_off(streams: _Streams) -> None:
    """Writes a loop over whole chunks before one over entries: there is one end only, and nothing to ask before it."""
    loop = streams.loop

    def chunk(first: ir.Value) -> None:
        _ask(streams, first)
        build.loop(build.constant(_CHUNK), (), lambda number: entry(build.add(first, number)))

    def entry(here: ir.Value) -> None:
        copy_body(loop.op, {loop.index: here})

    loop_over_chunks(loop, _CHUNK, chunk)


PREFETCH_STREAMS = Strategy("prefetch-streams", _candidates, _applies, _rewrite)
"""Cuts innermost loops over positions into chunks that begin with requests for later entries."""
