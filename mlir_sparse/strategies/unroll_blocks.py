"""Small blocks written out, their rows of the result held as values across the blocks of a row.

Blocks of two to four rows are too small for the lanes of vectors, and loops of as many
iterations cost more than what they do. Here each becomes its products, and a row of blocks reads and
writes its part of the result once.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import MemoryAccess, loads_in, only_reads, root_of, stores_in
from mlir_sparse.loops.emit_copies import copy_body, copy_of
from mlir_sparse.loops.emit_prefetch import PrefetchDistances, prefetch_elements
from mlir_sparse.loops.model import ForLoop, loop_of
from mlir_sparse.loops.operation_index import Nest
from mlir_sparse.loops.regions import operations_within
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.strategy import Strategy
from mlir_sparse.loops.value_origins import is_inside, maker

__all__ = ["UNROLL_BLOCKS"]

_MOST_ROWS = 4
_MOST_ENTRIES = 16


@dataclass(frozen=True, slots=True)
class _Blocks:
    """A loop over the blocks of a row.

    Args:
        loop: the loop over positions.
        head: what its body does before the block.
        rows: the loop over the rows of a block.
        element: the load of an element of the result.
        sum: the loop over the entries of such a row, which adds to the element.
        others: what else is done for a row before.
        size: how many rows a block has, and how many entries a row.
    """

    loop: ForLoop
    head: tuple[ir.Operation, ...]
    rows: ForLoop
    element: MemoryAccess
    sum: ForLoop
    others: tuple[ir.Operation, ...]
    size: tuple[int, int]


def _candidates(nest: Nest) -> Sequence[ForLoop]:
    return [loop for loop in nest.for_loops if not loop.results and loop.is_over_entries and loop.step == 1]


def _applies(loop: ForLoop, _: Nest) -> _Blocks | Missed | None:
    *head, last = loop.body or [loop.op]
    rows = loop_of(last)
    if not isinstance(rows, ForLoop) or not rows.trip_count:
        return None
    if not all(map(only_reads, head)):
        return Missed("more is done before a block than to read and compute")
    no_sum = Missed("a row of a block is not one scalar sum of the result")
    loads, stores = loads_in(rows.body), stores_in(rows.body)
    sums = [inner for op in rows.body if isinstance(inner := loop_of(op), ForLoop)]
    if rows.results or not (len(loads) == len(sums) == len(stores) == 1) or rows.body[-1] != stores[0].op:
        return no_sum
    (element,), (total,), (store,) = loads, sums, stores
    size = rows.trip_count, total.trip_count or 0
    if not size[1] or size[0] > _MOST_ROWS or prod(size) > _MOST_ENTRIES or len(total.results) != 1:
        written = f"up to {_MOST_ROWS} and {_MOST_ENTRIES} are written out"
        return Missed(f"its blocks have {size[0]} rows and {prod(size)} entries: {written}")
    (start,), (result,) = total.starts, total.results
    same = store.address == element.address and store.value == result and start == element.op.result
    if not same or any(len(list(value.uses)) != 1 for value in (start, result)):
        return no_sum
    others = tuple(op for op in rows.body if op not in (element.op, total.op, store.op))
    if not all(map(only_reads, (*others, *total.body))):
        return Missed("more is done for an entry of a block than to read and compute")
    blocks = _Blocks(loop, tuple(head), rows, element, total, others, size)
    return blocks if _is_apart(blocks) else Missed("the blocks of a row add to different elements of the result")


def _is_apart(blocks: _Blocks) -> bool:
    """Returns whether elements of the result are the same for all blocks of a row, and read for nothing else."""
    loop, element = blocks.loop.op, blocks.element
    written = root_of(element.buffer)
    if written is None or is_inside(element.buffer, loop):
        return False
    read = [root_of(load.buffer) for load in loads_in(operations_within(loop)) if load != element]
    if any(root is None or root == written for root in read):
        return False
    # The places are made in the block, of its row and of what the loop does not change.
    return all(_is_of_row(value, blocks) for value in element.at)


def _is_of_row(value: ir.Value, blocks: _Blocks) -> bool:
    if not is_inside(value, blocks.loop.op):
        return True
    op = maker(value)
    if op is None:
        return value == blocks.rows.index
    return op in blocks.others and op.name != "memref.load" and all(_is_of_row(used, blocks) for used in op.operands)


def _rewrite(blocks: _Blocks, nest: Nest) -> None:
    """Writes the loop over blocks anew, with an element of the result carried for each of their rows."""
    loop, buffer = blocks.loop, blocks.element.buffer
    lower, upper = loop.bounds
    distance = PrefetchDistances.of(nest.options).far

    def place(number: int) -> list[ir.Value]:
        """Writes where the element of a row is."""
        return _copies(blocks, {blocks.rows.index: build.constant(number)}, blocks.element.at)

    def block(here: ir.Value, *reached: ir.Value) -> list[ir.Value]:
        _ask_ahead(blocks, here, distance)
        known: dict[ir.Value, ir.Value] = {loop.index: here}
        for op in blocks.head:
            copy_of(op, known)
        return [_row(blocks, dict(known), number, value) for number, value in enumerate(reached)]

    with ir.InsertionPoint(loop.op):
        places = [place(number) for number in range(blocks.size[0])]
        ends = build.loop(upper, [build.load(buffer, *at) for at in places], block, lower)
        for value, at in zip(ends, places, strict=True):
            build.store(value, buffer, *at)
    loop.op.erase()


def _ask_ahead(blocks: _Blocks, here: ir.Value, distance: int) -> None:
    """Asks for the entries of a block further on, by a distance in entries of 8 bytes."""
    index, size = blocks.loop.index, prod(blocks.size)
    for load in loads_in(blocks.sum.body):
        made = _makers(blocks, load.at)
        if len(load.at) != 1 or not any(index in op.operands for op in made) or loads_in(made):
            continue
        # A block of wide numbers is asked for fewer blocks ahead: the bytes are as many.
        later = build.constant(distance * 8 // (size * build.bytes_of(build.element_of(load.buffer))))
        known = {
            index: build.add(here, later),
            blocks.rows.index: build.constant(0),
            blocks.sum.index: build.constant(0),
        }
        prefetch_elements(load.buffer, _copies(blocks, known, load.at), size)


def _copies(blocks: _Blocks, known: dict[ir.Value, ir.Value], values: Sequence[ir.Value]) -> list[ir.Value]:
    """Writes what values in a block are made by once more; returns what they are, given some they are made of."""
    for op in _makers(blocks, values):
        copy_of(op, known)
    return [known.get(value, value) for value in values]


def _makers(blocks: _Blocks, values: Sequence[ir.Value]) -> list[ir.Operation]:
    """Returns the operations in a block that values are made by, in order."""
    needed, found = list(values), []
    for op in reversed([*blocks.head, *blocks.rows.body, *blocks.sum.body]):
        if any(result in needed for result in op.results):
            needed += list(op.operands)
            found.append(op)
    return found[::-1]


def _row(blocks: _Blocks, known: dict[ir.Value, ir.Value], number: int, value: ir.Value) -> ir.Value:
    """Writes what a row of a block adds to a value; returns the sum."""
    known[blocks.rows.index] = build.constant(number)
    for op in blocks.others:
        copy_of(op, known)
    (accumulator,) = blocks.sum.carried
    for entry in range(blocks.size[1]):
        known |= {blocks.sum.index: build.constant(entry), accumulator: value}
        (value,) = copy_body(blocks.sum.op, known)
    return value


UNROLL_BLOCKS = Strategy("unroll-blocks", _candidates, _applies, _rewrite)
"""Writes small blocks out, in loops over positions that add to a dense result."""
