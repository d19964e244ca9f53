"""Small blocks written out, their rows of the result held as values across the blocks of a row.

Blocks of two to four rows are too small for the lanes of vectors, and loops of as many
turns cost more than what they do. Here each becomes its products, and a row of blocks reads and
writes its part of the result once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import only_reads, root_of
from mlir_sparse.loops.emit_copies import copy_body, copy_of
from mlir_sparse.loops.emit_prefetch import FAR, prefetch_elements
from mlir_sparse.loops.model import ForLoop
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.loops.regions import body_of, operations_in, operations_within
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.value_origins import is_constant, is_inside, maker, operation_around

__all__ = ["unroll_blocks"]

_MOST_ROWS = 4
_MOST_ENTRIES = 16


@dataclass(frozen=True, slots=True)
class _Blocks:
    """A loop over the blocks of a row.

    Args:
        loop: the `scf.for` over positions.
        head: what its body does before the block.
        rows: the `scf.for` over the rows of a block.
        load: what reads an element of the result.
        sum: the `scf.for` over the entries of such a row.
        store: what writes the element.
        size: how many rows a block has, and how many entries a row.
    """

    loop: ir.Operation
    head: tuple[ir.Operation, ...]
    rows: ir.Operation
    load: ir.Operation
    sum: ir.Operation
    store: ir.Operation
    size: tuple[int, int]


def unroll_blocks(seen: Seen, _: Mapping[str, str]) -> bool:
    """Writes small blocks out, in loops over positions that add to a dense result.

    Args:
        seen: a module after bufferization; rewritten in place.

    Returns:
        whether it changed anything.
    """
    changed = False
    for loop in [op for op in seen.whole.named("scf.for") if _is_over_positions(op)]:
        found = _blocks_of(loop)
        blocks = None if found is None else seen.remarks.of(loop, found)
        if blocks is not None:
            _write(blocks)
            changed = True
    return changed


def _is_over_positions(loop: ir.Operation) -> bool:
    return not loop.results and ForLoop(loop).is_over_entries and is_constant(loop.operands[2], 1)


def _blocks_of(loop: ir.Operation) -> _Blocks | Missed | None:
    """Returns a loop over blocks as that, or why they are not written out; None for a loop over anything else."""
    *head, rows = operations_in(loop)[:-1] or [loop]
    count = _turns(rows)
    if not count:
        return None
    if not all(map(only_reads, head)):
        return Missed("more is done before a block than to read and compute")
    inside = operations_in(rows)
    loads = [op for op in inside if op.name == "memref.load"]
    sums = [op for op in inside if op.name == "scf.for"]
    stores = [op for op in inside if op.name == "memref.store"]
    if rows.results or not (len(loads) == len(sums) == len(stores) == 1) or inside[-2] != stores[0]:
        return Missed("a row of a block is not one scalar sum of the result")
    load, total, store = loads[0], sums[0], stores[0]
    entries = _turns(total)
    if not entries or count > _MOST_ROWS or count * entries > _MOST_ENTRIES or len(total.results) != 1:
        return Missed(
            f"its blocks have {count} rows and {count * entries} entries: "
            f"up to {_MOST_ROWS} and {_MOST_ENTRIES} are written out"
        )
    same = list(store.operands) == [total.results[0], *load.operands] and total.operands[3] == load.results[0]
    if not same or len(list(load.results[0].uses)) != 1 or len(list(total.results[0].uses)) != 1:
        return Missed("a row of a block is not one scalar sum of the result")
    others = [op for op in inside if op not in (load, total, store)][:-1]
    if not all(map(only_reads, (*others, *operations_in(total)[:-1]))):
        return Missed("more is done for an entry of a block than to read and compute")
    if not _is_apart(loop, load, others):
        return Missed("the blocks of a row add to different elements of the result")
    return _Blocks(loop, tuple(head), rows, load, total, store, (count, entries))


def _turns(loop: ir.Operation) -> int:
    """Returns how many turns a loop from 0 has; 0 where that is not known."""
    if loop.name != "scf.for" or not is_constant(loop.operands[0], 0) or not is_constant(loop.operands[2], 1):
        return 0
    made = maker(loop.operands[1])
    if made is None or made.name != "arith.constant":
        return 0
    return int(ir.IntegerAttr(made.attributes["value"]).value)


def _is_apart(loop: ir.Operation, load: ir.Operation, others: list[ir.Operation]) -> bool:
    """Returns whether elements of the result are the same for all blocks of a row, and read for nothing else."""
    written, *at = load.operands
    root = root_of(written)
    if root is None or is_inside(written, loop):
        return False
    read = [op for op in operations_within(loop) if op.name == "memref.load" and op != load]
    roots = [root_of(op.operands[0]) for op in read]
    if any(other is None or other == root for other in roots):
        return False
    # The places are made in the block, of its row and of what the loop does not change.
    return all(_is_of_row(value, loop, others) for value in at)


def _is_of_row(value: ir.Value, loop: ir.Operation, others: list[ir.Operation]) -> bool:
    if not is_inside(value, loop):
        return True
    op = maker(value)
    if op is None:
        around = operation_around(value)
        return around.name == "scf.for" and around != loop
    return op in others and op.name != "memref.load" and all(_is_of_row(used, loop, others) for used in op.operands)


def _write(blocks: _Blocks) -> None:
    """Writes the loop over blocks anew, with an element of the result carried for each of their rows."""
    loop, (count, _) = blocks.loop, blocks.size
    lower, upper, _ = loop.operands
    place, row = body_of(loop).arguments[0], body_of(blocks.rows).arguments[0]
    buffer = blocks.load.operands[0]

    def places(number: int) -> list[ir.Value]:
        """Writes where the element of a row is."""
        known: dict[ir.Value, ir.Value] = {row: build.constant(number)}
        for op in _made_for(blocks, list(blocks.load.operands)[1:]):
            copy_of(op, known)
        return [known.get(value, value) for value in list(blocks.load.operands)[1:]]

    def block(here: ir.Value, *reached: ir.Value) -> list[ir.Value]:
        _ask_ahead(blocks, here)
        known: dict[ir.Value, ir.Value] = {place: here}
        for op in blocks.head:
            copy_of(op, known)
        return [_row(blocks, dict(known), number, value) for number, value in enumerate(reached)]

    with ir.InsertionPoint(loop):
        where = [places(number) for number in range(count)]
        start = [build.operation("memref.load", build.element_of(buffer), buffer, *at) for at in where]
        ends = build.loop(upper, start, block, lower)
        for value, at in zip(ends, where, strict=True):
            ir.Operation.create("memref.store", operands=[value, buffer, *at])
    loop.erase()


def _ask_ahead(blocks: _Blocks, here: ir.Value) -> None:
    """Asks for the entries of a block further on."""
    place, row = body_of(blocks.loop).arguments[0], body_of(blocks.rows).arguments[0]
    column, size = body_of(blocks.sum).arguments[0], prod(blocks.size)
    for load in [op for op in operations_in(blocks.sum) if op.name == "memref.load"]:
        buffer, *at = load.operands
        made = _made_for(blocks, at)
        if len(at) != 1 or not any(place in op.operands for op in made) or any(op.name == "memref.load" for op in made):
            continue
        known: dict[ir.Value, ir.Value] = {
            # A block of wide numbers is asked for fewer blocks ahead: the bytes are as many.
            place: build.add(here, build.constant(FAR * 8 // (size * build.bytes_of(build.element_of(buffer))))),
            row: build.constant(0),
            column: build.constant(0),
        }
        for op in made:
            copy_of(op, known)
        prefetch_elements(buffer, [known[at[0]]], size)


def _made_for(blocks: _Blocks, values: list[ir.Value]) -> list[ir.Operation]:
    """Returns the operations in a block that places are made by, in order."""
    needed, found = list(values), []
    every = [*blocks.head, *operations_in(blocks.rows), *operations_in(blocks.sum)]
    for op in reversed(every):
        if any(result in needed for result in op.results):
            needed += list(op.operands)
            found.append(op)
    return found[::-1]


def _row(blocks: _Blocks, known: dict[ir.Value, ir.Value], number: int, value: ir.Value) -> ir.Value:
    """Writes what a row of a block adds to a value; returns the sum."""
    known[body_of(blocks.rows).arguments[0]] = build.constant(number)
    for op in operations_in(blocks.rows)[:-1]:
        if op not in (blocks.load, blocks.sum, blocks.store):
            copy_of(op, known)
    column, held = body_of(blocks.sum).arguments
    for entry in range(blocks.size[1]):
        known |= {column: build.constant(entry), held: value}
        (value,) = copy_body(blocks.sum, known)
    return value
