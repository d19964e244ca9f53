"""Loops that merge two operands, with a branch for each of the three ways in which coordinates meet.

Where a choice without branches decides how far each operand moves, a turn of the loop
waits for the coordinates of the one before: a read, a comparison and an addition, eight
cycles at least. A branch is foreseen instead, and the turns overlap: patterns with any
regularity (grids, elements, equal or shifted structure, one operand far sparser than the
other) run up to twice as fast. Where nothing can be foreseen, as between entries drawn at
random, the branches cost up to half more; such patterns are rarer, and no library that
was measured takes less for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.emit_copies import copy_of
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.loops.regions import is_loop
from mlir_sparse.loops.remarks import Missed, Remarks
from mlir_sparse.loops.value_origins import is_comparison, maker

__all__ = ["split_merges"]

# A body is written three times; in one of this size the order of its turns is not what takes the time.
_MOST_OPERATIONS = 80


@dataclass(frozen=True, slots=True)
class _Meeting:
    """What the body of a loop finds out about two coordinates.

    Args:
        least: the lesser of them.
        left: the one.
        right: the other.
        is_left: where the body asks whether the least is the one.
        is_right: where it asks whether the least is the other.
    """

    least: ir.Value
    left: ir.Value
    right: ir.Value
    is_left: tuple[ir.Value, ...]
    is_right: tuple[ir.Value, ...]

    def truths(self, left: bool, right: bool) -> dict[ir.Value, bool]:
        """Returns what the body has asked where the least is the one, the other, or both."""
        return dict.fromkeys(self.is_left, left) | dict.fromkeys(self.is_right, right)

    def known(self, left: bool, right: bool) -> dict[ir.Value, ir.Value]:
        """Returns the same, and the least, as values at the insertion point."""
        truth = ir.IntegerType.get_signless(1)
        found = {value: build.integer(holds, truth) for value, holds in self.truths(left, right).items()}
        return found | {self.least: self.left if left else self.right}


def split_merges(seen: Seen, _: Mapping[str, str]) -> bool:
    """Splits the bodies of innermost loops that merge two operands into branches.

    Args:
        seen: a module after bufferization; rewritten in place.

    Returns:
        whether it changed anything.
    """
    changed = False
    for function, inside in seen.functions:
        merges, counting = inside.named("scf.while"), inside.named("scf.for")
        split = [loop for loop in merges if _split_loop(loop, seen.remarks)]
        for loop in counting if split else ():
            # It goes through what one operand alone has: few entries at a time.
            build.keep_rolled(loop)
        if split and _appends(function, [*merges, *counting]):
            build.keep_scalar(function)
        changed |= bool(split)
    return changed


def _appends(function: ir.Operation, loops: Sequence[ir.Operation]) -> bool:
    """Returns whether all that loops do is to append entries, so many as each turn finds: no two turns are of one kind.

    Numbers of two parts are moved by a vector of two lanes.
    """
    counts = all(loop.results and all(result.type == build.index_type() for result in loop.results) for loop in loops)
    return counts and "complex<" not in str(function.attributes["function_type"])


def _split_loop(loop: ir.Operation, remarks: Remarks) -> bool:
    """Splits the body of a loop, if it is innermost and merges two operands; returns whether it does."""
    body = loop.regions[1].blocks[0]
    operations = [op.operation for op in body.operations]
    least = _least_in(operations)
    meeting = remarks.of(loop, _meeting_of(operations, least)) if least else None
    if meeting is None:
        return False
    _split(operations, meeting)
    return True


def _why_long(body: Sequence[ir.Operation]) -> str:
    """Returns why a body is not to be written three times, "" where it may be; looks no further than it must."""
    inside = (inner for op in body for inner in _with_inner(op))
    for count, inner in enumerate(inside):
        if is_loop(inner):
            return "loops are inside: the order of its turns is not what takes the time"
        if count >= _MOST_OPERATIONS:
            return f"more than {_MOST_OPERATIONS} operations are done for a coordinate"
    return ""


def _with_inner(op: ir.Operation) -> Iterator[ir.Operation]:
    yield op
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from _with_inner(inner.operation)


def _least_in(operations: Sequence[ir.Operation]) -> list[ir.Operation]:
    """Returns the operations of a body that find the least of two coordinates that meet."""
    return [op for op in operations if op.name == "arith.minui" and _asked(op.results[0], op.operands[0])]


def _meeting_of(operations: Sequence[ir.Operation], least: Sequence[ir.Operation]) -> _Meeting | Missed:
    """Returns how two coordinates meet in a body, or why it stays as it is."""
    why = _why_long(operations)
    if why or len(least) != 1:
        return Missed(why or "more than two operands meet: of the ways that they do most are rare")
    left, right = least[0].operands
    value = least[0].results[0]
    is_right = _asked(value, right)
    # Of three coordinates the least of two is compared with the third.
    others = [use.owner for use in value.uses if use.owner.operation.name == "arith.minui"]
    if not is_right or others or any(_is_least(side) for side in (left, right)):
        return Missed("more than two operands meet: of the ways that they do most are rare")
    return _Meeting(value, left, right, _asked(value, left), is_right)


def _is_least(value: ir.Value) -> bool:
    op = maker(value)
    return op is not None and bool(op.name == "arith.minui")


def _asked(least: ir.Value, coordinate: ir.Value) -> tuple[ir.Value, ...]:
    """Returns the truth values that say whether a coordinate is the least."""
    owners = (use.owner.operation for use in least.uses)
    return tuple(op.results[0] for op in owners if is_comparison(op, "eq") and set(op.operands) == {least, coordinate})


def _split(operations: Sequence[ir.Operation], meeting: _Meeting) -> None:
    """Writes what follows the coordinates once for each way they meet, and each way to its own end."""
    makers = [maker(value) for value in (meeting.least, meeting.left, meeting.right)]
    *rest, end = operations[max(operations.index(op) for op in makers if op in operations) + 1 :]
    kinds = [value.type for value in end.operands]

    def way(left: bool, right: bool) -> list[ir.Value]:
        known = meeting.known(left, right)
        _copy(rest, known, meeting.truths(left, right))
        if left:
            _stay_apart()
        return [known.get(value, value) for value in end.operands]

    def apart() -> list[ir.Value]:
        less = build.compare("ult", meeting.left, meeting.right)
        return build.branch(less, lambda: way(left=True, right=False), lambda: way(left=False, right=True), kinds)

    with ir.InsertionPoint(end):
        equal = build.compare("eq", meeting.left, meeting.right)
        ends = build.branch(equal, lambda: way(left=True, right=True), apart, kinds)
    for at, value in enumerate(ends):
        end.operands[at] = value
    for op in reversed(rest):
        op.erase()


def _copy(operations: Sequence[ir.Operation], known: dict[ir.Value, ir.Value], truths: dict[ir.Value, bool]) -> None:
    """Copies operations to the insertion point, with known values in place of those they are of; adds their results.

    Of a branch whose condition is known the side taken alone is copied.
    """
    for op in operations:
        if any(result in known for result in op.results):
            continue
        if op.name == "arith.andi" and all(operand in truths for operand in op.operands):
            truths[op.results[0]] = all(truths[operand] for operand in op.operands)
        if op.name == "scf.if" and op.operands[0] in truths:
            _copy_side(op, known, truths)
            continue
        copy_of(op, known)


def _copy_side(op: ir.Operation, known: dict[ir.Value, ir.Value], truths: dict[ir.Value, bool]) -> None:
    blocks = list(op.regions[0 if truths[op.operands[0]] else 1].blocks)
    if not blocks:
        return
    *inside, end = (inner.operation for inner in blocks[0].operations)
    _copy(inside, known, truths)
    known.update((result, known.get(value, value)) for result, value in zip(op.results, end.operands, strict=True))


def _stay_apart() -> None:
    """Writes no instruction that LLVM may not move: without it the branches would end in one choice of values again."""
    texts = {name: ir.StringAttr.get("") for name in ("asm_string", "constraints")}
    ir.Operation.create("llvm.inline_asm", attributes={**texts, "has_side_effects": ir.UnitAttr.get()})
