"""Rows that a loop meets again and again, looked up instead of merged.

Where an operand is masked by a row that stays the same in the loops around, as in
`C(i,j) = M(i,j) * A(i,k) * B(k,j)` with loops i, k, j, the sparsifier goes through the
row of the mask anew for every row of B. Here the row is scattered into an array over its
coordinates first, so that each entry of B finds its partner, or that there is none, by
one look (the dense workspace of Kjolstad et al. 2019, section 4, put to a mask).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import MemoryAccess, access_of, only_reads
from mlir_sparse.loops.emit_copies import move_here, rewritten
from mlir_sparse.loops.model import MergedList, WhileLoop, merging_loops
from mlir_sparse.loops.model_accesses import position_load
from mlir_sparse.loops.model_branches import Branch, IntegerComparison, Lesser
from mlir_sparse.loops.regions import following, is_loop, operations_within, walk
from mlir_sparse.loops.remarks import Missed, Remarks
from mlir_sparse.loops.value_origins import is_inside, maker, parent_of, result_maker

__all__ = ["LOOK_UP_ROWS", "look_up_rows"]

# What remarks call this; the pass that assembles results runs it.
LOOK_UP_ROWS = "look-up-rows"

# What hands out rows or entries: their coordinates would have to be those of the row.
_INSERTIONS = frozenset(("tensor.insert", "sparse_tensor.expand", "sparse_tensor.compress"))


@dataclass(frozen=True, slots=True)
class _Row:
    """An operand of a merging loop.

    Args:
        entries: its list.
        coordinate: the coordinate at the position, as the body compares it.
        load: where that is read.
    """

    entries: MergedList
    coordinate: ir.Value
    load: MemoryAccess


@dataclass(frozen=True, slots=True)
class _Lookup:
    """A loop that intersects two operands, of which one stays the same in loops around it.

    Args:
        loop: the loop.
        around: the outermost of those around it.
        choice: the branch where the operands meet.
        row: the operand that stays.
        walked: the other.
    """

    loop: WhileLoop
    around: ir.Operation
    choice: Branch
    row: _Row
    walked: _Row


def look_up_rows(function: ir.Operation, places: ir.Value, gathered: Sequence[ir.Value], remarks: Remarks) -> None:
    """Rewrites each loop that intersects two operands of which one stays the same in the loops around.

    Args:
        function: a sparsified function.
        places: a memref over the coordinates, all 0: where a scattered row has an entry, its position plus 1.
        gathered: the memrefs over the same coordinates that rows of the result are gathered in.
        remarks: where to say which loops are rewritten.
    """
    for loop in merging_loops(function):
        found = remarks.of(loop.op, _applies(loop, gathered), LOOK_UP_ROWS)
        if found is not None:
            _scatter(found.around, found.row, places)
            _rewrite(found, places)


def _applies(loop: WhileLoop, gathered: Sequence[ir.Value]) -> _Lookup | Missed:
    choices = [branch for op in loop.body if (branch := Branch.of(op)) is not None]
    rows = _intersected(loop, choices[0]) if len(choices) == 1 else ()
    if len(rows) != 2:
        return Missed("it does not intersect two operands and do nothing where they do not meet")
    if not _is_gathered(loop, rows, gathered):
        return Missed("its coordinates are not those of a row of the result")
    for row, walked in (rows, rows[::-1]):
        around = _outermost(loop, row)
        if around is not None:
            return _Lookup(loop, around, choices[0], row, walked)
    return Missed("no row stays the same in the loops around")


def _intersected(loop: WhileLoop, choice: Branch) -> Sequence[_Row]:
    """Returns the two operands of a loop that does something where they meet, and nothing elsewhere; else fewer."""
    lists, met = loop.lists, IntegerComparison.all_of(choice.condition, "eq")
    if lists is None or loop.passed != loop.tested or len(met) != 2 or not _is_idle(choice, loop):
        return ()
    found = []
    for entries, equal in product(lists, met):
        load = position_load(equal.left)
        if load is not None and load.at == (entries.position,) and not list(loop.results[entries.number].uses):
            found.append(_Row(entries, equal.left, load))
    return found if len(found) == 2 else ()


def _is_gathered(loop: WhileLoop, rows: Sequence[_Row], gathered: Sequence[ir.Value]) -> bool:
    """Returns whether what meets is gathered at its coordinate: for those of other loops there are no places."""
    both = {row.coordinate for row in rows}
    coordinates = both.union(_least(loop.body, both))
    accesses = (access for op in operations_within(loop.op) if (access := access_of(op)) is not None)
    return any(access.buffer in gathered and coordinates.issuperset(access.at) for access in accesses)


def _is_idle(choice: Branch, loop: WhileLoop) -> bool:
    """Returns whether the second side yields what the loop was given, and the loop what the sides do."""
    side, carried, ends = choice.otherwise, loop.carried, loop.ends
    if side is None or side.body:
        return False
    pairs = zip(choice.results, side.ends, strict=True)
    return all(result in ends and carried[ends.index(result)] == value for result, value in pairs)


def _outermost(loop: WhileLoop, row: _Row) -> ir.Operation | None:
    """Returns the outermost loop around in which a row stays the same, and no result is inserted into."""
    found, around = None, loop.around
    while is_loop(around) and not any(op.name in _INSERTIONS for op in walk(around)):
        if not all(_is_fixed(bound, around) for bound in (row.entries.begin, row.entries.end)):
            break
        found, around = around, parent_of(around)
    return found


def _is_fixed(value: ir.Value, around: ir.Operation) -> bool:
    if not is_inside(value, around):
        return True
    op = maker(value)
    return op is not None and only_reads(op) and all(_is_fixed(operand, around) for operand in op.operands)


def _hoisted(value: ir.Value, around: ir.Operation) -> ir.Value:
    """Returns a value made inside a loop as one that is made before it."""
    if not is_inside(value, around):
        return value
    op = result_maker(value)
    return rewritten(op, [_hoisted(operand, around) for operand in op.operands])


def _scatter(around: ir.Operation, row: _Row, places: ir.Value) -> None:
    """Writes the loops that scatter a row before a loop, and take it back after."""
    one = build.constant
    with ir.InsertionPoint(around):
        begin, end = (_hoisted(bound, around) for bound in (row.entries.begin, row.entries.end))
        coordinates = _hoisted(row.load.buffer, around)

        def put(at: ir.Value) -> None:
            build.store(build.add(at, one(1)), places, build.widened(build.load(coordinates, at)))

        def take(at: ir.Value) -> None:
            build.store(one(0), places, build.widened(build.load(coordinates, at)))

        build.loop(end, [], put, begin)
    with ir.InsertionPoint(following(around)):
        build.loop(end, [], take, begin)


def _rewrite(lookup: _Lookup, places: ir.Value) -> None:
    """Puts a loop over one operand in place of one that merges it with a scattered row."""
    loop, row, walked = lookup.loop, lookup.row, lookup.walked
    carried, moved = loop.carried, loop.body
    kept = [number for number in range(len(carried)) if number not in (row.entries.number, walked.entries.number)]

    def iteration(*given: ir.Value) -> list[ir.Value]:
        for number, value in zip((walked.entries.number, *kept), given, strict=True):
            carried[number].replace_all_uses_with(value)
        move_here(moved)
        return [loop.ends[number] for number in kept]

    with ir.InsertionPoint(loop.op):
        starts = [loop.starts[number] for number in kept]
        results = build.loop(walked.entries.end, starts, iteration, walked.entries.begin)
    with ir.InsertionPoint(lookup.choice.op):
        place = build.load(places, walked.coordinate)
        lookup.choice.set_condition(build.compare("ne", place, build.constant(0)))
        position = build.add(place, build.constant(-1))
    for coordinate in (row.coordinate, *_least(moved, {row.coordinate, walked.coordinate})):
        coordinate.replace_all_uses_with(walked.coordinate)
    carried[row.entries.number].replace_all_uses_with(position)
    for number, result in zip(kept, results, strict=True):
        loop.results[number].replace_all_uses_with(result)
    loop.op.erase()
    _erase_unused(moved)


def _least(ops: Sequence[ir.Operation], both: set[ir.Value]) -> list[ir.Value]:
    """Returns the lesser of two coordinates, which are one where the operands meet."""
    found = (Lesser.of(result) for op in ops for result in op.results)
    return [lesser.value for lesser in found if lesser is not None and {lesser.left, lesser.right} == both]


def _erase_unused(ops: Sequence[ir.Operation]) -> None:
    for op in reversed(ops):
        if only_reads(op) and not any(list(result.uses) for result in op.results):
            op.erase()
