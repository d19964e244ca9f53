"""Loops that merge operands, arranged for the processor.

The sparsifier moves each operand on by a comparison of what was just read, which ties a
iteration of the loop to the reads of the one before; and it takes a branch for each subset
of the operands that may meet. Where all meet, the branch is told apart and moves all
operands by one: predicted, it leaves the iterations independent, as they are where operands
have one structure. All other subsets become a choice of the value without branches: of
more than two operands there are too many to be foreseen. (Where two merge innermost,
`split_merges.py` makes branches of the choice again once loops are all that there is.)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import access_of, is_cheap
from mlir_sparse.loops.emit_copies import move_here, replace
from mlir_sparse.loops.model import WhileLoop, merging_loops
from mlir_sparse.loops.model_accesses import Insert
from mlir_sparse.loops.model_branches import Branch, IntegerComparison, Lesser, Select, Side
from mlir_sparse.loops.regions import operations_within
from mlir_sparse.loops.remarks import Missed, Remarks
from mlir_sparse.loops.value_origins import conjuncts, maker

__all__ = ["ARRANGE_MERGES", "arrange_merges"]

# What remarks call this; the pass that assembles results runs it.
ARRANGE_MERGES = "arrange-merges"

_MOST_OPERATIONS = 100


@dataclass(frozen=True, slots=True)
class _Choice:
    """An insertion whose value several branches choose.

    Args:
        value: the value; None where no branch inserts.
        where: the tensor and the coordinates.
        holds: whether any branch inserts; None where one always does.
    """

    value: ir.Value | None
    where: tuple[ir.Value, ...]
    holds: ir.Value | None


@dataclass(frozen=True, slots=True)
class _Merge:
    """A branch where all operands of a loop meet.

    Args:
        loop: the loop.
        branch: the branch.
        steps: by the number of a carried value, where that goes if all meet, and in general.
    """

    loop: WhileLoop
    branch: Branch
    steps: Mapping[int, tuple[ir.Value, ir.Value]]


def arrange_merges(function: ir.Operation, remarks: Remarks) -> list[tuple[ir.Operation, ir.Value]]:
    """Rewrites the merging loops of a sparsified function that inserts into a sparse result.

    Args:
        function: the function.
        remarks: where to say which loops are rewritten.

    Returns:
        the insertions that happen only sometimes, each with its condition.
    """
    found: list[tuple[ir.Operation, ir.Value]] = []
    for loop in merging_loops(function):
        branches = _branches_in(loop.body)
        if len(branches) != 1 or branches[0].otherwise is None:
            continue
        found += _without_branches(branches[0], branches[0].otherwise, loop)
        merge = remarks.of(loop.op, _applies(loop, branches[0]), ARRANGE_MERGES)
        if merge is not None:
            _rewrite(merge)
    return found


def _branches_in(operations: Collection[ir.Operation]) -> list[Branch]:
    return [branch for op in operations if (branch := Branch.of(op)) is not None]


# -- choices instead of branches ------------------------------------------------------------------------------------


def _without_branches(around: Branch, side: Side, loop: WhileLoop) -> list[tuple[ir.Operation, ir.Value]]:
    """Puts one insertion in place of nested branches on a side that each insert at the same coordinates."""
    nested = _branches_in(side.body)
    if len(nested) != 1 or len(around.results) != 1 or len(nested[0].results) != 1:
        return []
    (branch,) = nested
    inside = operations_within(branch.op)
    # Positions that the loop's condition has found inside their lists.
    safe = [entries.position for entries in loop.lists or ()]
    if len(inside) > _MOST_OPERATIONS or not all(_may_run(op, safe) for op in inside) or not _is_one_insertion(inside):
        return []
    with ir.InsertionPoint(branch.op):
        choice = _chosen(branch, branch.op, _asked_in([branch, *_branches_in(inside)]))
        assert choice.value is not None
        tensor, *_ = choice.where
        insert = ir.Operation.create("tensor.insert", results=[tensor.type], operands=[choice.value, *choice.where])
    replace(branch.op, insert.results)
    return [] if choice.holds is None else [(insert, choice.holds)]


def _may_run(op: ir.Operation, safe: Collection[ir.Value]) -> bool:
    """Returns whether an operation may run where its branch is not taken."""
    access = access_of(op)
    if access is not None:
        return access.value is None and len(access.at) == 1 and access.at[0] in safe
    return is_cheap(op) or op.name in ("scf.if", "scf.yield", "tensor.insert")


def _is_one_insertion(inside: Collection[ir.Operation]) -> bool:
    """Returns whether each branch inserts once, into the same tensor at the same coordinates, or nothing at all."""
    inserts = [Insert(op) for op in inside if op.name == "tensor.insert"]
    if not inserts or any(_where(insert) != _where(inserts[0]) for insert in inserts):
        return False
    made = [inserts[0].tensor, *(op.results[0] for op in inside if op.name in ("tensor.insert", "scf.if"))]
    ends = [list(op.operands) for op in inside if op.name == "scf.yield"]
    return all(len(end) == 1 and end[0] in made for end in ends)


def _where(insert: Insert) -> tuple[ir.Value, ...]:
    return (insert.tensor, *insert.coordinates)


def _chosen(branch: Branch, outermost: ir.Operation, asked: Collection[ir.Value]) -> _Choice:
    """Moves what branches compute before the outermost, and returns the insertion that is to be made instead."""
    condition = branch.condition
    then, otherwise = (_chosen_in(side, outermost, asked) for side in (branch.then, branch.otherwise))
    if then.value is None:
        holds = None if otherwise.value is None else _else(condition, otherwise.holds)
        return _Choice(otherwise.value, otherwise.where, holds)
    if otherwise.value is None:
        # Of all operands one has the least coordinate: the last asked is it.
        total = _is_least(condition, asked)
        return _Choice(then.value, then.where, None if total else _all_of(condition, then.holds))
    value = build.select(condition, then.value, otherwise.value)
    holds = None
    if then.holds is not None or otherwise.holds is not None:
        truth = build.integer(1, condition.type)
        sides = [truth if side.holds is None else side.holds for side in (then, otherwise)]
        holds = build.select(condition, *sides)
    return _Choice(value, then.where, holds)


def _chosen_in(side: Side | None, outermost: ir.Operation, asked: Collection[ir.Value]) -> _Choice:
    choice = _Choice(None, (), None)
    for op in side.body if side is not None else ():
        match op.name:
            case "tensor.insert":
                choice = _Choice(Insert(op).value, _where(Insert(op)), None)
            case "scf.if":
                choice = _chosen(Branch(op), outermost, asked)
            case _:
                op.move_before(outermost)
    return choice


def _else(condition: ir.Value, holds: ir.Value | None) -> ir.Value:
    truth = build.integer(1, ir.IntegerType.get_signless(1))
    negated = build.bits_of("xori", condition, truth)
    return _all_of(negated, holds)


def _all_of(condition: ir.Value, holds: ir.Value | None) -> ir.Value:
    return condition if holds is None else build.bits_of("andi", condition, holds)


def _asked_in(branches: Collection[Branch]) -> list[ir.Value]:
    """Returns the coordinates that branches ask for one by one."""
    asked = (_asked(branch.condition) for branch in branches)
    return [equal.left for equal in asked if equal is not None]


def _asked(condition: ir.Value) -> IntegerComparison | None:
    """Returns a condition that asks whether one coordinate is the least; None for any other."""
    equal = IntegerComparison.all_of(condition, "eq")
    return equal[0] if len(conjuncts(condition)) == len(equal) == 1 else None


def _is_least(condition: ir.Value, asked: Collection[ir.Value]) -> bool:
    """Returns whether a condition must hold once those before it failed: the least coordinate is one of them all."""
    equal = _asked(condition)
    if equal is None:
        return False
    least = Lesser.of(equal.right)
    return all(coordinate in asked for coordinate in ([equal.right] if least is None else least.coordinates))


# -- moving on together ---------------------------------------------------------------------------------------------


def _applies(loop: WhileLoop, branch: Branch) -> _Merge | Missed:
    """Returns where each operand goes in a branch where all meet, and in general, or why not all move on there."""
    met = [equal.sides for equal in IntegerComparison.all_of(branch.condition, "eq")]
    found = ((number, _step(value, met)) for number, value in enumerate(loop.ends))
    steps = {number: step for number, step in found if step is not None}
    if len(steps) < 2 or len(steps) != len(met):
        return Missed("not all operands that meet move on by one entry: coordinates repeat, or rows are dense")
    return _Merge(loop, branch, steps)


def _rewrite(merge: _Merge) -> None:
    """Lets the branch where all operands meet say itself that each moves on by one."""
    loop, branch, steps = merge.loop, merge.branch, merge.steps
    kinds = [*(result.type for result in branch.results), *[build.index_type()] * len(steps)]

    def side(before: Side | None, which: int) -> list[ir.Value]:
        assert before is not None
        move_here(before.body)
        return [*before.ends, *(step[which] for step in steps.values())]

    with ir.InsertionPoint(loop.end):
        then, otherwise = branch.then, branch.otherwise
        results = build.branch(branch.condition, lambda: side(then, 0), lambda: side(otherwise, 1), kinds)
    count = len(branch.results)
    for number, value in zip(steps, results[count:], strict=True):
        loop.set_end(number, value)
    replace(branch.op, results[:count])


def _step(value: ir.Value, met: Collection[tuple[ir.Value, ir.Value]]) -> tuple[ir.Value, ir.Value] | None:
    """Returns where an operand goes if it meets the others, and where in general; None for any other value."""
    choice = Select.of(value)
    equal = None if choice is None else IntegerComparison.of(maker(choice.condition), "eq")
    return (choice.left, value) if choice is not None and equal is not None and equal.sides in met else None
