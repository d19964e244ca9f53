"""Entries in a list one by one, instead of row by row, where each entry adds to one element.

Of coordinates that repeat, the sparsifier looks for the end of each run of equal ones,
then goes through the run. Where runs are short, the processor foresees neither end: 15
cycles an entry. One loop over all entries has no such branches. It reads and writes the
element for each entry instead of holding it for a run, which the processor's stores hand on
to the loads behind them: less than 4 cycles on all patterns measured, runs of 20 included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import root_of, writes_nothing
from mlir_sparse.loops.emit_copies import copy_body, copy_of
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.loops.regions import is_nest, operations_in
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.value_origins import is_comparison, is_constant, maker, parent_of, stored_load

__all__ = ["join_segments"]


@dataclass(frozen=True, slots=True)
class _Run:
    """A loop that looks for the end of equal coordinates.

    Args:
        op: the `scf.while`.
        begin: the position that it starts from, whose coordinate is compared with those after it.
        end: the position behind the list.
        coordinates: the list.
    """

    op: ir.Operation
    begin: ir.Value
    end: ir.Value
    coordinates: ir.Value


@dataclass(frozen=True, slots=True)
class _Segments:
    """A loop over runs of equal coordinates.

    Args:
        loop: the `scf.while`.
        begin: the first position of the list.
        run: what finds the end of the next run.
        entries: the `scf.for` through a run.
        sums: for each value that it carries, the load of an element before it, and the store after it.
    """

    loop: ir.Operation
    begin: ir.Value
    run: _Run
    entries: ir.Operation
    sums: tuple[tuple[ir.Operation, ir.Operation], ...]


def join_segments(seen: Seen, _: Mapping[str, str]) -> bool:
    """Makes one loop of loops over runs of equal coordinates and through their entries.

    Args:
        seen: a module after bufferization; rewritten in place.

    Returns:
        whether it changed anything.
    """
    changed = False
    for loop in [op for op in seen.whole.named("scf.while") if len(op.operands) == 2]:
        found = seen.remarks.of(loop, _segments_of(loop)) if _finds_runs(loop) else None
        if found is not None:
            _join(found)
            changed = True
    return changed


def _finds_runs(loop: ir.Operation) -> bool:
    """Returns whether a loop looks for the end of a run of equal coordinates at the end of each turn."""
    return _run_of(maker(_inside(loop, 1)[-1].operands[1])) is not None


def _segments_of(loop: ir.Operation) -> _Segments | Missed:
    """Returns a loop over runs whose entries can be taken one by one, or why they cannot."""
    begin, first_end = loop.operands
    before, after = (list(region.blocks[0].arguments) for region in loop.regions)
    end = _bound_of(loop, before[0])
    if end is None or any(list(result.uses) for result in loop.results):
        return Missed("it ends before the list does, or runs are merged with those of another operand")
    *body, last = _inside(loop, 1)
    run = _run_of(maker(last.operands[1]))
    found = _run_of(maker(first_end))
    if run is None or found is None or last.operands[0] != after[1] or run.op not in body:
        return Missed("its runs do not follow each other")
    if (run.begin, run.end) != (after[1], end) or (found.begin, found.end) != (begin, end):
        return Missed("its runs do not follow each other")
    if run.coordinates != found.coordinates:
        return Missed("its runs are of several lists of coordinates")
    return _taken(loop, begin, run, [op for op in body if op != run.op], last)


def _run_of(op: ir.Operation | None) -> _Run | None:
    """Returns a loop `while q < end and list[begin] == list[q]: q += 1` as what it is."""
    if op is None or op.name != "scf.while" or len(op.operands) != 1:
        return None
    (begin,) = op.operands
    (at,), (next_,) = (list(region.blocks[0].arguments) for region in op.regions)
    head, turn = _inside(op, 0), _inside(op, 1)
    if [inner.name for inner in head] != ["arith.cmpi", "scf.if", "scf.condition"]:
        return None
    compared, choice, ends = head
    if (
        not is_comparison(compared, "ult")
        or compared.operands[0] != at
        or list(ends.operands)
        != [
            choice.results[0],
            at,
        ]
    ):
        return None
    if choice.operands[0] != compared.results[0] or not _is_false(_inside(choice, 1)):
        return None
    if [inner.name for inner in turn] != ["arith.addi", "scf.yield"] or turn[0].operands[0] != next_:
        return None
    if not is_constant(turn[0].operands[1], 1) or turn[1].operands[0] != turn[0].results[0]:
        return None
    (equal,) = _inside(choice, 0)[-1].operands
    coordinates = _compared(maker(equal), begin, at)
    return None if coordinates is None else _Run(op, begin, compared.operands[1], coordinates)


def _is_false(side: Sequence[ir.Operation]) -> bool:
    if [op.name for op in side] != ["scf.yield"]:
        return False
    made = maker(side[0].operands[0])
    return made is not None and made.name == "arith.constant" and "false" in str(made.attributes["value"])


def _compared(op: ir.Operation | None, begin: ir.Value, at: ir.Value) -> ir.Value | None:
    """Returns the list of which a truth value compares the elements at two positions."""
    if op is None or not is_comparison(op, "eq"):
        return None
    loads = [stored_load(side) for side in op.operands]
    if any(load is None for load in loads):
        return None
    (one, *here), (other, *there) = (list(load.operands) for load in loads if load is not None)
    return one if one == other and [here, there] in ([[begin], [at]], [[at], [begin]]) else None


def _bound_of(loop: ir.Operation, position: ir.Value) -> ir.Value | None:
    """Returns behind which position a loop ends that hands on all it has."""
    head, arguments = _inside(loop, 0), list(loop.regions[0].blocks[0].arguments)
    if [op.name for op in head] != ["arith.cmpi", "scf.condition"] or not is_comparison(head[0], "ult"):
        return None
    if list(head[1].operands) != [head[0].results[0], *arguments] or head[0].operands[0] != position:
        return None
    return head[0].operands[1]


def _taken(
    loop: ir.Operation, begin: ir.Value, run: _Run, body: Sequence[ir.Operation], last: ir.Operation
) -> _Segments | Missed:
    at, end = loop.regions[1].blocks[0].arguments
    inner = [op for op in body if op.name == "scf.for"]
    if len(inner) != 1:
        return Missed("the entries of a run are not all that it goes through")
    (entries,) = inner
    lower, upper, step, *starts = entries.operands
    if lower != at or upper != end or not is_constant(step, 1):
        return Missed("the entries of a run are not all that it goes through")
    users = [use.owner.operation for use in at.uses if use.owner.operation != entries]
    # What else is read at the first position of a run may be another at the next one.
    if any(op.name != "memref.load" or list(op.operands) != [run.coordinates, at] for op in users):
        return Missed("it reads the first entry of each run for all of the run")
    if not all(_is_within(use.owner.operation, (run.op, entries, last)) for use in end.uses):
        return Missed("it reads beyond its runs")
    sums = tuple(_sum(start, result) for start, result in zip(starts, entries.results, strict=True))
    pairs = tuple(one for one in sums if one is not None)
    if len(pairs) < len(sums):
        return Missed("the sum of a run is not one element of the result")
    if not _adds_alone(entries, pairs, body):
        return Missed("more is written for a run than one sum, or its row of the result is held")
    return _Segments(loop, begin, run, entries, pairs)


def _is_within(op: ir.Operation, around: Sequence[ir.Operation]) -> bool:
    """Returns whether an operation is one of some, or inside the first."""
    return op in around or around[0] in (parent_of(op), parent_of(op).parent)


def _sum(start: ir.Value, result: ir.Value) -> tuple[ir.Operation, ir.Operation] | None:
    """Returns where a carried value is loaded and stored, if that is one element, and nothing else sees the value."""
    load, uses = maker(start), [use.owner.operation for use in result.uses]
    if load is None or load.name != "memref.load" or [op.name for op in uses] != ["memref.store"]:
        return None
    value, *address = uses[0].operands
    alone = len(list(start.uses)) == 1 and value == result
    return (load, uses[0]) if alone and address == list(load.operands) else None


def _adds_alone(
    entries: ir.Operation, sums: Sequence[tuple[ir.Operation, ir.Operation]], body: Sequence[ir.Operation]
) -> bool:
    """Returns whether a run does nothing but add up, and reads nothing that it writes but the sums."""
    within = operations_in(entries)
    if any(map(is_nest, within)):
        return False  # what is done for an entry takes longer than its branch, and rows stay where they are in a run
    loads, stores = [load for load, _ in sums], [store for _, store in sums]
    written = [op for op in within if op.name == "memref.store"]
    if len(written) + len(stores) != 1 or any(op.parent != entries.parent for op in (*loads, *stores)):
        return False
    target = root_of([*written, *stores][0].operands[1])
    if target is None:
        return False
    for op in body:
        if op not in (entries, *loads, *stores) and not writes_nothing(op, target):
            return False
    # What a turn stores itself, it may read: its turns stay as they are.
    return all(op in written or writes_nothing(op, None if written else target) for op in within)


def _join(segments: _Segments) -> None:
    """Writes one loop in place of the loops."""
    loop, entries = segments.loop, segments.entries
    position, _ = loop.regions[1].blocks[0].arguments
    place, *carried = entries.regions[0].blocks[0].arguments
    *body, _ = _inside(loop, 1)
    with ir.InsertionPoint(loop):

        def turn(at: ir.Value) -> None:
            known: dict[ir.Value, ir.Value] = {position: at, place: at}
            for op in body:
                if op == segments.run.op:
                    continue
                if op != entries:
                    copy_of(op, known)
                    continue
                known.update({c: known[load.results[0]] for c, (load, _) in zip(carried, segments.sums, strict=True)})
                known.update(zip(entries.results, copy_body(entries, known), strict=True))

        build.loop(segments.run.end, (), turn, segments.begin, like=entries)
    first = maker(loop.operands[1])
    loop.erase()
    if first is not None and not list(first.results[0].uses):
        first.erase()


def _inside(op: ir.Operation, region: int) -> list[ir.Operation]:
    """Returns the operations right inside one of the regions of an operation."""
    block = op.regions[region].blocks[0]
    return [inner for inner in operations_in(op) if inner.block == block]
