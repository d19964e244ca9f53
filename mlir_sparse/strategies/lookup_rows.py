"""Rows that a loop meets again and again, looked up instead of merged.

Where an operand is masked by a row that stays the same in the loops around, as in
`C(i,j) = M(i,j) * A(i,k) * B(k,j)` with loops i, k, j, the sparsifier goes through the
row of the mask anew for every row of B. Here the row is scattered into an array over its
coordinates first, so that each entry of B finds its partner, or that there is none, by
one look (the dense workspace of Kjolstad et al. 2019, section 4, put to a mask).
"""

from __future__ import annotations

from dataclasses import dataclass

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import only_reads
from mlir_sparse.loops.regions import following, is_loop
from mlir_sparse.loops.remarks import Missed, Remarks
from mlir_sparse.loops.value_origins import conjuncts, is_comparison, is_inside, maker, merges, parent_of, stored_load

__all__ = ["LOOK_UP_ROWS", "scatter_rows"]

# What remarks call this; the pass that assembles results runs it.
LOOK_UP_ROWS = "look-up-rows"


@dataclass(frozen=True, slots=True)
class _Segment:
    """An operand of a merging loop.

    Args:
        at: which of the loop's values its position is.
        begin: the first position.
        end: the position after the last.
        coordinate: the coordinate at the position, as the body reads it.
        load: the operation that reads it.
    """

    at: int
    begin: ir.Value
    end: ir.Value
    coordinate: ir.Value
    load: ir.Operation


@dataclass(frozen=True, slots=True)
class _Lookup:
    """A loop that intersects two operands, of which one stays the same in loops around it.

    Args:
        around: the outermost of those.
        choice: the branch where the operands meet.
        row: the one that stays.
        walked: the other.
    """

    around: ir.Operation
    choice: ir.Operation
    row: _Segment
    walked: _Segment


def scatter_rows(function: ir.Operation, places: ir.Value, remarks: Remarks) -> None:
    """Rewrites each loop that intersects two operands of which one stays the same in the loops around.

    Args:
        function: a sparsified function.
        places: a memref over the coordinates, all 0: where a scattered row has an entry, its position plus 1.
        remarks: where to say which loops are rewritten.
    """
    for loop in merges(function):
        found = remarks.of(loop, _lookup_of(loop), LOOK_UP_ROWS)
        if found is not None:
            _scatter(found.around, found.row, places)
            _look_up(loop, found.choice, found.row, found.walked, places)


def _lookup_of(loop: ir.Operation) -> _Lookup | Missed:
    met = _intersection(loop)
    if met is None:
        return Missed("it does not intersect two operands and do nothing where they do not meet")
    segments, choice = met
    for row, walked in (segments, segments[::-1]):
        around = _outermost(loop, row)
        if around is not None:
            return _Lookup(around, choice, row, walked)
    return Missed("no row stays the same in the loops around")


def _intersection(loop: ir.Operation) -> tuple[tuple[_Segment, _Segment], ir.Operation] | None:
    """Returns the operands of a loop that does something where two of them meet, and nothing elsewhere."""
    *_, condition = loop.regions[0].blocks[0].operations
    holds, *passed = condition.operation.operands
    before, after = (list(region.blocks[0].arguments) for region in loop.regions)
    choices = [op.operation for op in loop.regions[1].blocks[0].operations if op.operation.name == "scf.if"]
    if passed != before or len(choices) != 1 or not list(choices[0].regions[1].blocks):
        return None
    met = [term for term in conjuncts(choices[0].operands[0]) if is_comparison(term, "eq")]
    found = []
    for term in conjuncts(holds):
        at = before.index(term.operands[0]) if is_comparison(term, "ult") and term.operands[0] in before else None
        if at is None:
            return None
        for equal in met:
            load = stored_load(equal.operands[0])
            if load is not None and load.operands[1] == after[at] and not list(loop.results[at].uses):
                found.append(_Segment(at, loop.operands[at], term.operands[1], equal.operands[0], load))
    if len(found) != 2 or len(met) != 2 or not _is_idle(choices[0], loop):
        return None
    return (found[0], found[1]), choices[0]


def _is_idle(choice: ir.Operation, loop: ir.Operation) -> bool:
    """Returns whether the second branch hands on what the loop was given, and the loop what the branches do."""
    (idle,) = [op.operation for op in choice.regions[1].blocks[0].operations][-1:]
    *_, end = loop.regions[1].blocks[0].operations
    arguments, operands = list(loop.regions[1].blocks[0].arguments), list(end.operation.operands)
    kept = all(
        result in operands and arguments[operands.index(result)] == value
        for result, value in zip(choice.results, idle.operands, strict=True)
    )
    return kept and len(list(choice.regions[1].blocks[0].operations)) == 1


def _outermost(loop: ir.Operation, row: _Segment) -> ir.Operation | None:
    """Returns the outermost loop around in which a row stays the same, and no result is inserted into."""
    found, around = None, parent_of(loop)
    while is_loop(around):
        if _inserts(around) or not (_is_fixed(row.begin, around) and _is_fixed(row.end, around)):
            break
        found, around = around, parent_of(around)
    return found


def _inserts(loop: ir.Operation) -> bool:
    """Returns whether a loop hands out rows or entries: their coordinates would have to be those of the row."""
    found = False

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        found = found or op.name in ("tensor.insert", "sparse_tensor.expand", "sparse_tensor.compress")
        return ir.WalkResult.INTERRUPT if found else ir.WalkResult.ADVANCE

    loop.walk(visit)
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
    op = maker(value)
    assert op is not None
    operands = [_hoisted(operand, around) for operand in op.operands]
    copy = op.clone()
    for at, operand in enumerate(operands):
        copy.operands[at] = operand
    return copy.results[0]


def _scatter(around: ir.Operation, row: _Segment, places: ir.Value) -> None:
    """Writes the loops that scatter a row before a loop, and take it back after."""
    one = build.constant
    with ir.InsertionPoint(around):
        begin, end = _hoisted(row.begin, around), _hoisted(row.end, around)
        coordinates = _hoisted(row.load.operands[0], around)

        def put(at: ir.Value) -> None:
            build.store(build.add(at, one(1)), places, build.widened(build.load(coordinates, at)))

        def take(at: ir.Value) -> None:
            build.store(one(0), places, build.widened(build.load(coordinates, at)))

        build.loop(end, [], put, begin)
    with ir.InsertionPoint(following(around)):
        build.loop(end, [], take, begin)


def _look_up(loop: ir.Operation, choice: ir.Operation, row: _Segment, walked: _Segment, places: ir.Value) -> None:
    """Puts a loop over one operand in place of one that merges it with a scattered row."""
    body = loop.regions[1].blocks[0]
    arguments = list(body.arguments)
    *_, end = body.operations
    kept = [at for at in range(len(arguments)) if at not in (row.at, walked.at)]
    kinds = [arguments[at].type for at in kept]
    with ir.InsertionPoint(loop):
        operands = [walked.begin, walked.end, build.constant(1), *(loop.operands[at] for at in kept)]
        new = ir.Operation.create("scf.for", results=kinds, operands=operands, regions=1)
    block = new.regions[0].blocks.append(
        build.index_type(), *kinds, arg_locs=[ir.Location.unknown()] * (len(kinds) + 1)
    )
    with ir.InsertionPoint(block):
        yielded = ir.Operation.create("scf.yield", operands=[end.operation.operands[at] for at in kept])
    moved = [op.operation for op in body.operations][:-1]
    for op in moved:
        op.move_before(yielded)
    for at, value in zip([walked.at, *kept], block.arguments, strict=True):
        arguments[at].replace_all_uses_with(value)
    with ir.InsertionPoint(choice):
        place = build.load(places, walked.coordinate)
        choice.operands[0] = build.compare("ne", place, build.constant(0))
        position = build.add(place, build.constant(-1))
    for coordinate in (row.coordinate, *_least(moved, row, walked)):
        coordinate.replace_all_uses_with(walked.coordinate)
    arguments[row.at].replace_all_uses_with(position)
    for at, result in zip(kept, new.results, strict=True):
        loop.results[at].replace_all_uses_with(result)
    loop.erase()
    _erase_unused(moved)


def _least(moved: list[ir.Operation], row: _Segment, walked: _Segment) -> list[ir.Value]:
    """Returns the lesser of the two coordinates, which are one where the operands meet."""
    both = [row.coordinate, walked.coordinate]
    return [
        op.results[0] for op in moved if op.name == "arith.select" and all(o in both for o in list(op.operands)[1:])
    ]


def _erase_unused(ops: list[ir.Operation]) -> None:
    for op in reversed(ops):
        if only_reads(op) and not any(list(result.uses) for result in op.results):
            op.erase()
