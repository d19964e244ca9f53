"""Rows of a sparse result that have a few entries at most: kept in order where they go, without a workspace.

What a row can have at most is known before: the lengths of the rows that make it up. Up to a few dozen entries, an
insertion into the row's own place in the result, which stays in order, costs less than a workspace as long as the
row, whose memory no cache holds: the accumulator is chosen by the size of each row, as libraries of sparse products
do it (Nagasaka et al. 2019, which puts hash tables and heaps beside dense arrays).
"""

from __future__ import annotations

from dataclasses import dataclass

from mlir_sparse._mlir import ir
from mlir_sparse.assembly.result_arguments import Result
from mlir_sparse.assembly.row_workspace import zero_of
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.emit_copies import copy_of
from mlir_sparse.loops.regions import body_of, is_loop, operations_in, operations_within
from mlir_sparse.loops.value_origins import maker, result_maker

__all__ = ["GatheredRow", "counting", "find_gathered_row"]

# Measured on squares of matrices, in ms, by 0, 8, 16, 24 and 32 entries: power law of 3 entries a row 191, 179, 175,
# 158, 164; a circuit 44, 43, 44, 45, 49.
_MOST_ENTRIES = 24
_COUNTING = frozenset(("memref.store", "arith.addi", "arith.constant", "scf.yield"))


@dataclass(frozen=True, slots=True)
class GatheredRow:
    """The loops that gather a row: one over entries, each of which names a row to walk.

    Args:
        outer: the loop over entries.
        inner: the loop over a row.
        flags: the loads of whether a coordinate has an entry.
        counts: the branch that marks one which had none, and counts it.
        count: the number of entries before it.
        loads: where the value at the coordinate is read.
        stores: where it is written.
    """

    outer: ir.Operation
    inner: ir.Operation
    flags: tuple[ir.Operation, ...]
    counts: ir.Operation
    count: ir.Value
    loads: tuple[ir.Operation, ...]
    stores: tuple[ir.Operation, ...]

    @property
    def coordinate(self) -> ir.Value:
        """Returns the coordinate."""
        return self.flags[0].operands[1]

    def is_short(self, begin: ir.Value, result: Result) -> ir.Value:
        """Writes how many entries the row may have; returns whether they are few, and have room in the result.

        Args:
            begin: the number of entries in the result before the row.
            result: the result.
        """
        lower, upper, *_ = self.outer.operands

        def body(place: ir.Value, so_far: ir.Value) -> list[ir.Value]:
            known: dict[ir.Value, ir.Value] = {body_of(self.outer).arguments[0]: place}
            for op in _before(self.inner, self.outer):
                copy_of(op, known)
            first, end = (known.get(bound, bound) for bound in list(self.inner.operands)[:2])
            return [build.add(so_far, build.subtract(end, first))]

        size = build.loop(upper, [build.constant(0)], body, lower)[0]
        build.keep_rolled(result_maker(size), scalar=True)
        few = build.compare("ule", size, build.constant(_MOST_ENTRIES))
        return build.conjunction([few, build.compare("ule", build.add(begin, size), result.room[result.rank - 1])])

    def insert(self, begin: ir.Value, result: Result) -> ir.Value:
        """Writes the loops so that the row comes about in its place; returns the number of entries after it.

        Args:
            begin: the number of entries in the result before the row.
            result: the result.
        """
        copied = self.outer.clone(ir.InsertionPoint.current).operation
        here = _found_in(copied)
        assert here is not None
        copied.operands[3] = begin
        coordinates, values = result.coordinates[result.rank - 1], result.values
        with ir.InsertionPoint(min((*here.flags, *here.loads), key=operations_within(copied).index)):
            slot, found = _placed(here.coordinate, begin, here.count, coordinates, values)
        for load in here.loads:
            load.operands[0], load.operands[1] = values, slot
        for store in here.stores:
            store.operands[1], store.operands[2] = values, slot
        for flag in here.flags:
            flag.results[0].replace_all_uses_with(found)
            flag.erase()
        for op in operations_within(here.counts):
            if op.name == "memref.store":
                op.erase()
        return copied.results[0]


def find_gathered_row(compress: ir.Operation) -> GatheredRow | None:
    """Returns the loops that gather a row for a `sparse_tensor.compress`; None where they have another form."""
    loop = maker(compress.operands[3])
    if loop is None or loop.name != "scf.for" or loop.parent != compress.parent or len(loop.results) != 1:
        return None
    if len(list(loop.results[0].uses)) != 1:
        return None
    expand = maker(compress.operands[0])
    if expand is None or expand.name != "sparse_tensor.expand" or loop.operands[3] != expand.results[3]:
        return None
    row = _found_in(loop)
    uses = [use.owner.operation for result in list(expand.results)[:3] for use in result.uses]
    known = len(row.flags) + len(row.loads) + len(row.stores) + 2 if row is not None else 0
    return row if len([op for op in uses if op != compress]) == known else None


def _found_in(outer: ir.Operation) -> GatheredRow | None:
    """Returns the parts of the loops; None where they are not one over entries around one over a row."""
    loops = [op for op in operations_within(outer) if is_loop(op)]
    if len(loops) != 1 or loops[0].parent != outer or loops[0].name != "scf.for" or len(loops[0].results) != 1:
        return None
    inner = loops[0]
    if any(op.name == "memref.store" or len(op.regions) for op in _before(inner, outer)):
        return None
    branches = [found for op in operations_within(inner) if (found := counting(op)) is not None]
    if len(branches) != 1:
        return None
    counts, flag, count = branches[0]
    if maker(count) is not None:
        return None
    # The buffers are results of one operation: values, flags and coordinates that were added.
    made = maker(flag.operands[0])
    if made is None or made.name != "sparse_tensor.expand":
        return None
    coordinate = flag.operands[1]
    flags, loads, stores = (
        tuple(
            op for op in operations_within(inner) if op.name == name and list(op.operands)[at:] == [buffer, coordinate]
        )
        for name, at, buffer in (
            ("memref.load", 0, made.results[1]),
            ("memref.load", 0, made.results[0]),
            ("memref.store", 1, made.results[0]),
        )
    )
    if any(op.parent != flag.parent for op in (*flags, *loads, *stores)):
        return None
    return GatheredRow(outer, inner, flags, counts, count, loads, stores)


def counting(op: ir.Operation) -> tuple[ir.Operation, ir.Operation, ir.Value] | None:
    """Returns a branch that marks an entry which had none and counts it, the load of the mark, and the count.

    None for any other operation.
    """
    if op.name != "scf.if" or len(op.results) != 1:
        return None
    compared = maker(op.operands[0])
    flag = maker(compared.operands[0]) if compared is not None and compared.name == "arith.cmpi" else None
    inside = operations_within(op)
    stores = [inner for inner in inside if inner.name == "memref.store"]
    if flag is None or flag.name != "memref.load" or len(stores) != 2:
        return None
    marks = [store for store in stores if store.operands[1] == flag.operands[0]]
    counted = [inner.operands[0] for inner in inside if inner.name == "arith.addi"]
    if len(marks) != 1 or len(counted) != 1 or {inner.name for inner in inside} - _COUNTING:
        return None
    return op, flag, counted[0]


def _before(op: ir.Operation, parent: ir.Operation) -> list[ir.Operation]:
    """Returns the operations in front of one in its parent."""
    inside = operations_in(parent)
    return inside[: inside.index(op)]


def _placed(
    coordinate: ir.Value, begin: ir.Value, end: ir.Value, coordinates: ir.Value, values: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """Writes an entry of 0 in order, where a row has none; returns its place, and whether the row had it."""
    one = build.constant(1)

    def before(place: ir.Value) -> ir.Value:
        """Returns the coordinate before a place; of any other before the first."""
        at = build.subtract(build.operation("arith.maxui", place.type, place, one), one)
        return build.widened(build.load(coordinates, at))

    def lies_behind(place: ir.Value) -> ir.Value:
        return build.bits_of(
            "andi", build.compare("ugt", place, begin), build.compare("ugt", before(place), coordinate)
        )

    def step(place: ir.Value) -> list[ir.Value]:
        return [build.subtract(place, one)]

    place = build.value_after([end], lies_behind, step)[0]
    found = build.bits_of("andi", build.compare("ugt", place, begin), build.compare("eq", before(place), coordinate))

    def move(to: ir.Value) -> list[ir.Value]:
        """Moves an entry on by one place."""
        [at] = step(to)
        for buffer in (coordinates, values):
            build.store(build.load(buffer, at), buffer, to)
        return [at]

    def make_room() -> list[ir.Value]:
        moved = build.value_after([end], lambda to: build.compare("ugt", to, place), move)[0]
        build.keep_rolled(result_maker(moved), scalar=True)
        build.store(build.cut(coordinate, build.element_of(coordinates)), coordinates, place)
        build.store(zero_of(build.element_of(values)), values, place)
        return [place]

    kinds = [build.index_type()]
    slot = build.branch(found, lambda: step(place), make_room, kinds)[0]
    return slot, found
