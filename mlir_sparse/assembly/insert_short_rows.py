"""Rows of a sparse result that have a few entries at most: kept in order where they go, without a workspace.

What a row can have at most is known before: the lengths of the rows that make it up. Up to a few dozen entries, an
insertion into the row's own place in the result, which stays in order, costs less than a workspace as long as the
row, whose memory no cache holds: the accumulator is chosen by the size of each row, as libraries of sparse products
do it (Nagasaka et al. 2019, which puts hash tables and heaps beside dense arrays).
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.assembly.result_arguments import Result
from mlir_sparse.assembly.row_workspace import zero_of
from mlir_sparse.classes import dataclass
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import MemoryAccess, access_of
from mlir_sparse.loops.emit_copies import copy_of, replace
from mlir_sparse.loops.model import ForLoop
from mlir_sparse.loops.model_accesses import Compress, Expand
from mlir_sparse.loops.model_branches import Branch, IntegerComparison
from mlir_sparse.loops.regions import is_loop, operations_within
from mlir_sparse.loops.value_origins import made_by, maker, result_maker

__all__ = ["GatheredRow", "counting", "find_gathered_row"]

# Measured on squares of matrices, in ms, by 0, 8, 16, 24 and 32 entries: power law of 3 entries a row 191, 179, 175,
# 158, 164; a circuit 44, 43, 44, 45, 49.
_MOST_ENTRIES = 24
# Of columns at random, one in twice as many is met again, which no processor foresees: where more are, the bits of a
# workspace that asks no such question take less time, although they give the columns in order.
_MET_ONCE = 4
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

    outer: ForLoop
    inner: ForLoop
    flags: tuple[MemoryAccess, ...]
    counts: Branch
    count: ir.Value
    loads: tuple[MemoryAccess, ...]
    stores: tuple[MemoryAccess, ...]

    @property
    def coordinate(self) -> ir.Value:
        """Returns the coordinate."""
        return self.flags[0].at[0]

    def is_short(self, begin: ir.Value, result: Result) -> ir.Value:
        """Writes how many entries the row may have; returns whether they are few, and within the result's capacity.

        Args:
            begin: the number of entries in the result before the row.
            result: the result.
        """
        size = self._most_entries()
        few = build.compare("ule", size, build.constant(_MOST_ENTRIES))
        return build.conjunction([few, _holds(begin, size, result)])

    def is_spread(self, begin: ir.Value, result: Result) -> ir.Value:
        """Writes how many entries the row may have; returns whether few of its columns are met twice, and they fit.

        Args:
            begin: the number of entries in the result before the row.
            result: the result.
        """
        size = self._most_entries()
        often = build.multiply(size, build.constant(_MET_ONCE))
        few = build.compare("ule", often, result.sizes[result.rank - 1])
        return build.conjunction([few, _holds(begin, size, result)])

    def _most_entries(self) -> ir.Value:
        """Writes the sum of the lengths of the rows that the entries name."""
        lower, upper = self.outer.bounds

        def body(place: ir.Value, so_far: ir.Value) -> list[ir.Value]:
            known: dict[ir.Value, ir.Value] = {self.outer.index: place}
            for op in _before(self.inner, self.outer):
                copy_of(op, known)
            first, end = (known.get(bound, bound) for bound in self.inner.bounds)
            return [build.add(so_far, build.subtract(end, first))]

        size = build.loop(upper, [build.constant(0)], body, lower)[0]
        build.keep_rolled(result_maker(size), scalar=True)
        return size

    def copied(self, begin: ir.Value) -> GatheredRow:
        """Writes the loops once more, to count from the number of entries before the row; returns their parts."""
        copied = self.outer.op.clone(ir.InsertionPoint.current).operation
        here = _found_in(ForLoop(copied))
        assert here is not None
        here.outer.set_start(0, begin)
        return here

    def insert(self, begin: ir.Value, result: Result) -> ir.Value:
        """Writes the loops so that the row comes about in its place; returns the number of entries after it.

        Args:
            begin: the number of entries in the result before the row.
            result: the result.
        """
        here = self.copied(begin)
        copied = here.outer.op
        coordinates, values = result.coordinates[result.rank - 1], result.values
        reads = [access.op for access in (*here.flags, *here.loads)]
        with ir.InsertionPoint(min(reads, key=operations_within(copied).index)):
            slot, found = _placed(here.coordinate, begin, here.count, coordinates, values)
        for access in (*here.loads, *here.stores):
            access.move_to(values, slot)
        for flag in here.flags:
            replace(flag.op, [found])
        for op in operations_within(here.counts.op):
            if op.name == "memref.store":
                op.erase()
        return copied.results[0]


def _holds(begin: ir.Value, size: ir.Value, result: Result) -> ir.Value:
    return build.compare("ule", build.add(begin, size), result.capacity[result.rank - 1])


def find_gathered_row(compress: Compress) -> GatheredRow | None:
    """Returns the loops that gather a row for a `sparse_tensor.compress`; None where they have another form."""
    op, expand = made_by(compress.count, "scf.for"), compress.workspace
    if op is None or op.parent != compress.op.parent or len(op.results) != 1 or len(list(compress.count.uses)) != 1:
        return None
    loop = ForLoop(op)
    if expand is None or loop.starts != [expand.count]:
        return None
    row = _found_in(loop)
    uses = [use.owner.operation for part in (expand.values, expand.filled, expand.added) for use in part.uses]
    known = len(row.flags) + len(row.loads) + len(row.stores) + 2 if row is not None else 0
    return row if len([op for op in uses if op != compress.op]) == known else None


def _found_in(outer: ForLoop) -> GatheredRow | None:
    """Returns the parts of the loops; None where they are not one over entries around one over a row."""
    loops = [op for op in operations_within(outer.op) if is_loop(op)]
    if len(loops) != 1 or loops[0].parent != outer.op or loops[0].name != "scf.for" or len(loops[0].results) != 1:
        return None
    inner = ForLoop(loops[0])
    if any(op.name == "memref.store" or len(op.regions) for op in _before(inner, outer)):
        return None
    inside = operations_within(inner.op)
    branches = [found for op in inside if (found := counting(op)) is not None]
    if len(branches) != 1:
        return None
    counts, flag, count = branches[0]
    expand = Expand.of(flag.buffer)
    if maker(count) is not None or expand is None:
        return None
    accesses = [access for op in inside if (access := access_of(op)) is not None]
    reads, writes = ([access for access in accesses if (access.value is None) == reads] for reads in (True, False))
    at_values, at_flags = ((buffer, *flag.at) for buffer in (expand.values, expand.filled))
    flags, loads, stores = (
        tuple(access for access in some if access.address == address)
        for some, address in ((reads, at_flags), (reads, at_values), (writes, at_values))
    )
    if any(access.op.parent != flag.op.parent for access in (*flags, *loads, *stores)):
        return None
    return GatheredRow(outer, inner, flags, counts, count, loads, stores)


def counting(op: ir.Operation) -> tuple[Branch, MemoryAccess, ir.Value] | None:
    """Returns a branch that marks an entry which had none and counts it, the load of the mark, and the count.

    None for any other operation.
    """
    branch = Branch.of(op)
    compared = None if branch is None else IntegerComparison.of(maker(branch.condition), "eq")
    load = None if compared is None else made_by(compared.left, "memref.load")
    flag = None if load is None else access_of(load)
    if branch is None or flag is None or len(branch.results) != 1:
        return None
    inside = operations_within(op)
    stores = [access for inner in inside if (access := access_of(inner)) is not None and access.value is not None]
    marks = [store for store in stores if store.buffer == flag.buffer]
    counted = [inner.operands for inner in inside if inner.name == "arith.addi"]
    if len(stores) != 2 or len(marks) != 1 or len(counted) != 1 or {inner.name for inner in inside} - _COUNTING:
        return None
    count, _ = counted[0]
    return branch, flag, count


def _before(inner: ForLoop, outer: ForLoop) -> Sequence[ir.Operation]:
    """Returns what an iteration does in front of a loop."""
    return outer.body[: outer.body.index(inner.op)]


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
