"""Loops over stored entries that ask for the entries far ahead of them.

The entries of consecutive rows follow each other in memory, and a matrix that caches do
not hold is read at the speed of memory only where enough of it is asked for in advance.
What processors foresee by themselves ends after a few lines, or at the end of a page: loops
that ask ahead take half the time on grids (SpMV, f64 and 32-bit coordinates, 5 M entries), and
two thirds where slots are read one by one (uniform columns, 2 M entries).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import access_of, root_of
from mlir_sparse.loops.emit_copies import copy_body, replace
from mlir_sparse.loops.emit_prefetch import FAR, is_loaded, prefetch
from mlir_sparse.loops.emit_strips import loop_over_chunks
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.loops.regions import body_of, is_loop, operations_in, operations_within
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.value_origins import (
    is_constant,
    is_inside,
    maker,
    operation_around,
    parent_of,
    result_maker,
    stored_load,
)
from mlir_sparse.strategies.prefetch_rows import is_row_of_entry

__all__ = ["prefetch_streams"]

# Entries at work between two requests: a line of f64, half a line of 32-bit coordinates.
_CHUNK = 8
# LLVM writes the body once for each entry of a chunk; where so much is done for an entry, it does not wait for it.
_MOST_OPERATIONS = 40


@dataclass(frozen=True, slots=True)
class _Stream:
    """A buffer that a loop goes through.

    Args:
        buffer: a memref of rank 1.
        place: where it is accessed: the loop's index, or that and what does not change in the loop.
        written: whether it is stored to.
    """

    buffer: ir.Value
    place: ir.Value
    written: bool


def prefetch_streams(seen: Seen, _: Mapping[str, str]) -> bool:
    """Cuts innermost loops over positions into chunks that begin with requests for later entries.

    Args:
        seen: a module after bufferization; rewritten in place.

    Returns:
        whether it changed anything.
    """
    changed = False
    loops = [op for op in seen.whole.named("scf.for") if not build.is_kept_rolled(op)]
    for loop in [op for op in loops if is_loaded(op.operands[0]) or _is_over_slots(op)]:
        body = operations_within(loop)  # looked at now: of what was cut before, inside it, operations are gone
        innermost = not any(is_loop(op) for op in body)
        streams = seen.remarks.of(loop, _streams_of(loop, body)) if innermost else None
        if streams is None:
            continue
        changed = True
        if is_constant(loop.operands[2], 1) and (loop.results or parent_of(loop).name != "func.func"):
            _cut(loop, streams)
        elif is_constant(loop.operands[2], 1):
            _cut_off(loop, streams)
        else:  # chunks already: the lanes of vectors
            block = body_of(loop)
            with ir.InsertionPoint.at_block_begin(block):
                _ask(streams, block.arguments[0], block.arguments[0])
    return changed


def _is_over_slots(loop: ir.Operation) -> bool:
    """Returns whether a loop counts rows, of each of which it reads one slot: a coordinate, and what it names."""
    if loop.results or not is_constant(loop.operands[2], 1):
        return False
    index = body_of(loop).arguments[0]
    loads = [op for op in operations_within(loop) if op.name == "memref.load" and len(op.operands) == 2]
    named = [stored_load(op.operands[1]) for op in loads]
    return any(op is not None and op.operands[1] != index and _is_shifted(op.operands[1], index) for op in named)


def _is_shifted(value: ir.Value, index: ir.Value) -> bool:
    """Returns whether a number is the index of a loop plus what does not change in the loop, if anything."""
    if value == index:
        return True
    op = maker(value)
    if op is None or op.name != "arith.addi" or op.parent != operation_around(index):
        return False
    shifted = [_is_shifted(operand, index) for operand in op.operands]
    fixed = [not is_inside(operand, operation_around(index)) for operand in op.operands]
    return shifted in ([True, False], [False, True]) and fixed == [not moves for moves in shifted]


def _streams_of(loop: ir.Operation, body: list[ir.Operation]) -> tuple[_Stream, ...] | Missed:
    """Returns the buffers that a loop over positions which follow each other reads, or writes, at its index."""
    if is_row_of_entry(loop) and not _is_over_slots(loop):
        return Missed("its rows lie anywhere in memory: entries of another loop name them")
    if len(body) > _MOST_OPERATIONS:
        return Missed(f"more than {_MOST_OPERATIONS} operations are done in a turn: it does not wait for entries")
    by_one = is_constant(loop.operands[2], 1)
    found: dict[ir.Value, _Stream] = {}
    place = body_of(loop).arguments[0]
    slots = _is_over_slots(loop)
    for op in body:
        if by_one and any(isinstance(result.type, ir.VectorType) for result in op.results):
            return Missed("vectors of dense rows take most of the time")
        access = access_of(op)
        if access is None or len(access.at) != 1:
            continue
        buffer, (at,) = access.buffer, access.at
        if at == place or (slots and _is_shifted(at, place)):
            # Coordinates of several levels may lie side by side: one request is for all.
            found.setdefault(root_of(buffer) or buffer, _Stream(buffer, at, access.value is not None))
    return tuple(found.values()) or Missed("it goes through no buffer by its own index")


def _ask(streams: tuple[_Stream, ...], place: ir.Value, first: ir.Value) -> None:
    """Writes the requests of a chunk."""
    later = build.add(first, build.constant(FAR))
    for stream in streams:
        prefetch(stream.buffer, [_shifted(stream.place, place, later)], written=stream.written)


def _shifted(value: ir.Value, index: ir.Value, later: ir.Value) -> ir.Value:
    """Returns what a number that is the index of a loop, shifted, will be."""
    if value == index:
        return later
    op = maker(value)
    if op is None or not is_inside(value, operation_around(index)):
        return value
    return build.add(*(_shifted(operand, index, later) for operand in op.operands))


def _cut(loop: ir.Operation, streams: tuple[_Stream, ...]) -> None:
    """Writes a loop over chunks in place of one over entries."""
    lower, upper, _, *start = loop.operands
    place, *carried = body_of(loop).arguments
    *body, last = operations_in(loop)

    def chunk(first: ir.Value, *reached: ir.Value) -> list[ir.Value]:
        _ask(streams, place, first)
        left = build.subtract(upper, first)
        return build.loop(build.minimum(left, build.constant(_CHUNK)), reached, lambda *at: entry(first, *at))

    def entry(first: ir.Value, number: ir.Value, *reached: ir.Value) -> list[ir.Value]:
        here = build.add(first, number)
        for old, new in zip((place, *carried), (here, *reached), strict=True):
            old.replace_all_uses_with(new)
        behind = result_maker(here)
        for op in body:
            op.move_after(behind)
            behind = op
        return list(last.operands)

    with ir.InsertionPoint(loop):
        results = build.loop(upper, start, chunk, lower, _CHUNK)
    replace(loop, results)


def _cut_off(loop: ir.Operation, streams: tuple[_Stream, ...]) -> None:
    """Writes a loop over whole chunks before one over entries: there is one end only, and nothing to ask before it."""
    place = body_of(loop).arguments[0]

    def chunk(first: ir.Value) -> None:
        _ask(streams, place, first)
        build.loop(build.constant(_CHUNK), (), lambda number: entry(build.add(first, number)))

    def entry(here: ir.Value) -> None:
        copy_body(loop, {place: here})

    loop_over_chunks(loop, _CHUNK, chunk)
