"""Sums over rows of stored entries: a vector of them at once, without a branch that depends on their number.

Rows of a few entries each end where no processor foresees it: each wrong guess costs as much as a dozen entries. Here
as many entries as a vector has lanes are read from where a row begins, the next rows' among them, and those that are
not the row's count as zeros; long rows take several vectors. Nor does a sum wait for the one before, entry by entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import computes_lanes, counts, element_bits, is_contiguous, is_truth
from mlir_sparse.loops.emit_copies import replace
from mlir_sparse.loops.emit_prefetch import is_loaded
from mlir_sparse.loops.emit_vectors import sum_of_lanes
from mlir_sparse.loops.facts_in_ir import facts_of
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.loops.regions import body_of, operations_in
from mlir_sparse.loops.remarks import Missed, type_name
from mlir_sparse.loops.value_origins import is_constant, maker, parent_of, result_maker, stored_load
from mlir_sparse.program.nest_facts import NestFacts
from mlir_sparse.strategies.row_lanes import LANES, LaneRow, sum_of_vectors

__all__ = ["sum_rows"]

# Sums, and among how many of its operands what was added up before may be.
_SUMS = {"arith.addf": 2, "arith.addi": 2, "arith.subf": 1, "arith.subi": 1}


def sum_rows(seen: Seen, options: Mapping[str, str]) -> bool:
    """Writes a loop over vectors of entries in place of each loop that adds up a row.

    Args:
        seen: a module after bufferization; rewritten in place.
        options: `every`: whether in all functions, rather than in those whose rows are short.

    Returns:
        whether it changed anything.
    """
    changed = False
    for function, inside in seen.functions:
        facts = facts_of(function)
        short = facts.short_rows
        why = "" if short else _why_long(facts, options)
        for loop in [loop for loop in inside.innermost if _adds_up_entries(loop)]:
            row = seen.remarks.of(loop, Missed(why) if why else _row_of(loop, short))
            if row is not None:
                _write(row, short)
                changed = True
    return changed


def _why_long(facts: NestFacts, options: Mapping[str, str]) -> str:
    """Returns why the rows of a function of which nothing is known are not worth it; "" where they are."""
    if facts.rows is not None:
        return "its rows stand below other levels, with single entries"
    masks = "vectors here have no masks, or lanes were asked for: only rows known to be short are worth it"
    return "" if options.get("every") == "true" else masks


def _adds_up_entries(loop: ir.Operation) -> bool:
    """Returns whether a loop over stored entries carries an element: no count of entries, and no row in vectors."""
    carried = [result.type for result in loop.results]
    others = any(isinstance(kind, (ir.IndexType, ir.VectorType)) for kind in carried)
    return bool(carried) and not others and is_loaded(loop.operands[0])


def _row_of(loop: ir.Operation, short: bool) -> LaneRow | Missed:
    if not short and _stays_in_bounds(loop):
        return Missed("its rows all have room for as many entries: where they end is foreseen")
    return _Reader(loop).row()


def _stays_in_bounds(loop: ir.Operation) -> bool:
    """Returns whether rows have a begin and an end each: in ELL, where they have one length, ends are foreseen."""
    first = _position(loop.operands[0])
    at = None if first is None else maker(first.operands[1])
    return at is not None and bool(at.name == "arith.muli")


class _Reader:
    """Sorts the values of a loop by how they differ from entry to entry."""

    def __init__(self, loop: ir.Operation) -> None:
        self.loop = loop
        self.streams: dict[ir.Value, None] = {}
        self.values: set[ir.Value] = set()
        self.numbers: set[ir.Value] = {body_of(loop).arguments[0]}
        self.addresses = _addresses(loop)

    def row(self) -> LaneRow | Missed:
        """Returns the loop as a row, or why it is none."""
        _, _, step, *start = self.loop.operands
        if len(start) != 1 or not is_constant(step, 1):
            return Missed("it carries more than one sum")
        if not element_bits(start[0].type):
            return Missed(f"its sum is of {type_name(start[0].type)}, which vectors do not hold")
        total = body_of(self.loop).arguments[1]
        *body, end = operations_in(self.loop)
        add = maker(end.operands[0])
        # What is the same for all entries was moved out of the loop, which may leave nothing inside.
        if add is None or add not in body[-1:] or add.name not in _SUMS or len(list(total.uses)) != 1:
            return Missed("it makes no sum or difference of its entries")
        if total not in list(add.operands)[: _SUMS[add.name]]:
            return Missed("it subtracts the sum from its entries")
        for op in body[:-1]:
            if not self._takes(op):
                return Missed(self._reason(op))
        row = LaneRow(self.loop, tuple(self.streams), frozenset(self.values), add)
        if row.summand in self.values and row.summand.type == total.type and self.streams:
            return row
        return Missed("what it adds up is the same for all entries, or of another type")

    def _reason(self, op: ir.Operation) -> str:
        """Returns why vectors of entries do not do what an operation does."""
        if op.name == "memref.load":
            return "it looks up elements by what was computed, or reads entries that do not lie side by side"
        return f"vectors of entries have no {op.name} of {type_name(op.operands[0].type)}"

    def _takes(self, op: ir.Operation) -> bool:
        varies = [operand in self.values or operand in self.numbers for operand in op.operands]
        if not any(varies) or len(op.results) != 1:
            return False  # what is the same for all entries was moved out of the loop
        result = op.results[0]
        if op.name == "memref.load":
            return self._takes_load(op)
        if result in self.addresses:
            self.numbers.add(result)
            return counts(op)
        self.values.add(result)
        taken = computes_lanes(op) and not any(operand in self.numbers for operand in op.operands)
        return taken and (element_bits(result.type) > 0 or is_truth(result.type))

    def _takes_load(self, op: ir.Operation) -> bool:
        buffer, *at = op.operands
        result, place = op.results[0], body_of(self.loop).arguments[0]
        if place in at:
            if at != [place] or not (result in self.addresses or is_contiguous(buffer)):
                return False
            self.streams[buffer] = None
        (self.numbers if result in self.addresses else self.values).add(result)
        return result in self.addresses or element_bits(result.type) > 0


def _addresses(loop: ir.Operation) -> set[ir.Value]:
    """Returns what a loop's body computes and reads its elements by: a number for each entry, and no vector."""
    body = operations_in(loop)
    found = {at for op in body if op.name == "memref.load" for at in list(op.operands)[1:]}
    for op in reversed(body):
        if any(result in found for result in op.results):
            found.update(op.operands)
    return found


def _write(row: LaneRow, short: bool) -> None:
    """Writes a loop over vectors of entries beside a loop, which is left for the last rows: none are read beyond."""
    loop = row.loop
    _begin_where_the_last_ended(loop)
    _, upper, _, start = loop.operands
    with ir.InsertionPoint(loop):
        size = reduce(build.minimum, map(build.size_of, row.streams))
        (value,) = build.branch(
            build.compare("ule", build.add(upper, build.constant(LANES)), size),
            lambda: [start],
            lambda: [_by_entries(loop)],
            [start.type],
        )
    vectors = operations_in(result_maker(value))[0]
    with ir.InsertionPoint(vectors):
        vectors.operands[0] = _by_vectors(row, size, short)
    replace(loop, [value])


def _begin_where_the_last_ended(loop: ir.Operation) -> None:
    """Hands on where a row ends to the next one, which need not read it: 2.3 ms became 1.9 on a 5-point grid."""
    lower, upper, *_ = loop.operands
    first, last, rows = _position(lower), _position(upper), parent_of(loop)
    if first is None or last is None or rows.name != "scf.for" or parent_of(rows).name != "func.func":
        return
    (buffer, at), (other, behind), row = first.operands, last.operands, body_of(rows).arguments[0]
    following = maker(behind)
    if buffer != other or at != row or not is_constant(rows.operands[2], 1) or following is None:
        return
    if following.name != "arith.addi" or following.operands[0] != row or not is_constant(following.operands[1], 1):
        return
    with ir.InsertionPoint(rows):
        cell = build.alloca_cell(build.widened(build.load(buffer, rows.operands[0])))
    with ir.InsertionPoint(loop):
        loop.operands[0] = build.load(cell, build.constant(0))
        build.store(upper, cell, build.constant(0))


def _position(value: ir.Value) -> ir.Operation | None:
    """Returns the load that a position is read by, from a buffer of rank 1."""
    op = stored_load(value)
    return op if op is not None and len(op.operands) == 2 else None


def _by_entries(loop: ir.Operation) -> ir.Value:
    copy = loop.clone(ir.InsertionPoint.current).operation
    build.keep_rolled(copy, scalar=True)
    return copy.results[0]


def _by_vectors(row: LaneRow, size: ir.Value, short: bool) -> ir.Value:
    """Returns the sum of a row.

    An empty row has a vector too, of none of its entries: no branch tells it from others.
    """
    start = row.loop.operands[3]
    held = sum_of_vectors(row, size, short)
    if row.add.name in ("arith.addf", "arith.addi"):
        return sum_of_lanes(held, start)
    return build.operation(row.add.name, start.type, start, sum_of_lanes(held))
