"""Loops that merge two operands, with a branch for each of the three ways in which coordinates meet.

Where a choice without branches decides how far each operand moves, an iteration of the loop
waits for the coordinates of the one before: a read, a comparison and an addition, eight
cycles at least. A branch is foreseen instead, and the iterations overlap: patterns with any
regularity (grids, elements, equal or shifted structure, one operand far sparser than the
other) run up to twice as fast. Where nothing can be foreseen, as between entries drawn at
random, the branches cost up to half more; such patterns are rarer, and no library that
was measured takes less for them.
"""

from __future__ import annotations

from collections.abc import Iterator

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.model import WhileLoop
from mlir_sparse.loops.model_branches import Lesser
from mlir_sparse.loops.operation_index import Nest
from mlir_sparse.loops.regions import is_loop, walk
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.strategy import Strategy
from mlir_sparse.loops.value_origins import maker
from mlir_sparse.strategies.merge_bodies import LOOPS_INSIDE, appends, copy_decided

__all__ = ["SPLIT_MERGES"]

# A body is written three times; in one of this size the order of its iterations is not what takes the time.
_MOST_OPERATIONS = 80


@dataclass(frozen=True, slots=True)
class _Merge:
    """What the body of a loop finds out about two coordinates.

    Args:
        loop: the loop.
        least: the lesser of them.
        left: the one.
        right: the other.
        is_left: where the body asks whether the least is the one.
        is_right: where it asks whether the least is the other.
    """

    loop: WhileLoop
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


def _candidates(nest: Nest) -> Iterator[WhileLoop]:
    return (loop for loop in nest.while_loops if _lesser_in(loop))


def _lesser_in(loop: WhileLoop) -> list[Lesser]:
    """Returns where the body of a loop finds the lesser of two coordinates, and asks whether it is the one."""
    found = (Lesser.of(result) for op in loop.body for result in op.results)
    return [lesser for lesser in found if lesser is not None and lesser.asked(lesser.left)]


def _applies(loop: WhileLoop, _: Nest) -> _Merge | Missed:
    """Returns how two coordinates meet in a body, or why it stays as it is."""
    why, (lesser, *more) = _why_long(loop), _lesser_in(loop)
    if why:
        return Missed(why)
    is_left, is_right = lesser.asked(lesser.left), lesser.asked(lesser.right)
    # Of three coordinates the least of two is compared with the third.
    users = [result for use in lesser.value.uses for result in use.owner.operation.results]
    if more or not is_right or any(map(Lesser.of, (lesser.left, lesser.right, *users))):
        return Missed("more than two operands meet: of the ways that they do most are rare")
    return _Merge(loop, lesser.value, lesser.left, lesser.right, is_left, is_right)


def _why_long(loop: WhileLoop) -> str:
    """Returns why a body is not to be written three times, "" where it may be; looks no further than it must."""
    inside = (inner for op in (*loop.body, loop.end) for inner in walk(op))
    for count, inner in enumerate(inside):
        if is_loop(inner):
            return LOOPS_INSIDE
        if count >= _MOST_OPERATIONS:
            return f"more than {_MOST_OPERATIONS} operations are done for a coordinate"
    return ""


def _rewrite(merge: _Merge, nest: Nest) -> None:
    """Writes what follows the coordinates once for each way they meet, and each way to its own end."""
    loop, body = merge.loop, merge.loop.body
    makers = [maker(value) for value in (merge.least, merge.left, merge.right)]
    rest = body[max(body.index(op) for op in makers if op in body) + 1 :]
    before = loop.ends
    kinds = [value.type for value in before]

    def way(left: bool, right: bool) -> list[ir.Value]:
        known = merge.known(left, right)
        copy_decided(rest, known, merge.truths(left, right))
        if left:
            _stay_apart()
        return [known.get(value, value) for value in before]

    def apart() -> list[ir.Value]:
        less = build.compare("ult", merge.left, merge.right)
        return build.branch(less, lambda: way(left=True, right=False), lambda: way(left=False, right=True), kinds)

    with ir.InsertionPoint(loop.end):
        equal = build.compare("eq", merge.left, merge.right)
        ends = build.branch(equal, lambda: way(left=True, right=True), apart, kinds)
    for at, value in enumerate(ends):
        loop.set_end(at, value)
    for op in reversed(rest):
        op.erase()
    for counting in nest.for_loops:
        # It goes through what one operand alone has: few entries at a time.
        build.keep_rolled(counting.op)
    if appends(nest):
        build.keep_scalar(nest.function)


def _stay_apart() -> None:
    """Writes no instruction that LLVM may not move: without it the branches would end in one choice of values again."""
    texts = {name: ir.StringAttr.get("") for name in ("asm_string", "constraints")}
    ir.Operation.create("llvm.inline_asm", attributes={**texts, "has_side_effects": ir.UnitAttr.get()})


SPLIT_MERGES = Strategy("split-merges", _candidates, _applies, _rewrite)
"""Splits the bodies of innermost loops that merge two operands into branches."""
