"""Loops that merge operands, arranged for the processor.

The sparsifier moves each operand on by a comparison of what was just read, which ties a
turn of the loop to the reads of the one before; and it takes a branch for each subset
of the operands that may meet. Where all meet, the branch is told apart and moves all
operands by one: predicted, it leaves the turns independent, as they are where operands
have one structure. All other subsets become a choice of the value without branches: of
more than two operands there are too many to be foreseen. (Where two merge innermost,
`split_merges.py` makes branches of the choice again once loops are all that there is.)
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import is_cheap
from mlir_sparse.loops.regions import operations_within
from mlir_sparse.loops.remarks import Missed, Remarks
from mlir_sparse.loops.value_origins import conjuncts, is_comparison, maker, merges

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


def arrange_merges(function: ir.Operation, remarks: Remarks) -> list[tuple[ir.Operation, ir.Value]]:
    """Rewrites the merging loops of a sparsified function that inserts into a sparse result.

    Args:
        function: the function.
        remarks: where to say which loops are rewritten.

    Returns:
        the insertions that happen only sometimes, each with its condition.
    """
    found: list[tuple[ir.Operation, ir.Value]] = []
    for loop in merges(function):
        body = loop.regions[1].blocks[0]
        ends = [op.operation for op in body.operations if op.operation.name == "scf.if"]
        if len(ends) != 1 or not list(ends[0].regions[1].blocks):
            continue
        rest = [op.operation for op in ends[0].regions[1].blocks[0].operations]
        nested = [op for op in rest if op.name == "scf.if"]
        if len(nested) == 1 and len(ends[0].results) == 1:
            found += _without_branches(nested[0], loop)
        steps = remarks.of(loop, _steps_of(loop, ends[0]), ARRANGE_MERGES)
        if steps is not None:
            _move_together(loop, ends[0], steps)
    return found


# -- choices instead of branches ------------------------------------------------------------------------------------


def _without_branches(op: ir.Operation, loop: ir.Operation) -> list[tuple[ir.Operation, ir.Value]]:
    """Puts one insertion in place of nested branches that each insert at the same coordinates."""
    inside = operations_within(op)
    safe = _read_safely(loop)
    if len(inside) > _MOST_OPERATIONS or not all(_may_run(o, safe) for o in inside) or len(op.results) != 1:
        return []
    if not _is_one_insertion(op):
        return []
    with ir.InsertionPoint(op):
        choice = _chosen(op, op, _leaves(op))
        assert choice.value is not None
        tensor, *coordinates = choice.where
        operands = [choice.value, tensor, *coordinates]
        insert = ir.Operation.create("tensor.insert", results=[tensor.type], operands=operands)
    op.results[0].replace_all_uses_with(insert.result)
    op.erase()
    return [] if choice.holds is None else [(insert, choice.holds)]


def _may_run(op: ir.Operation, safe: Collection[ir.Value]) -> bool:
    """Returns whether an operation may run where its branch is not taken."""
    if op.name == "memref.load":
        return len(op.operands) == 2 and op.operands[1] in safe
    return is_cheap(op) or op.name in ("scf.if", "scf.yield", "tensor.insert")


def _read_safely(loop: ir.Operation) -> list[ir.Value]:
    """Returns the positions that the loop's condition has found inside their segments."""
    *_, condition = loop.regions[0].blocks[0].operations
    holds, *passed = condition.operation.operands
    checked = [op.operands[0] for op in conjuncts(holds) if is_comparison(op, "ult")]
    arguments = loop.regions[1].blocks[0].arguments
    return [arguments[at] for at, value in enumerate(passed) if value in checked]


def _is_one_insertion(op: ir.Operation) -> bool:
    """Returns whether each branch inserts once, into the same tensor at the same coordinates, or nothing at all."""
    inserts = [o for o in operations_within(op) if o.name == "tensor.insert"]
    if not inserts or any(list(o.operands)[1:] != list(inserts[0].operands)[1:] for o in inserts):
        return False
    tensor = inserts[0].operands[1]
    ends = [o.operands for o in operations_within(op) if o.name == "scf.yield"]
    made = [o.results[0] for o in operations_within(op) if o.name in ("tensor.insert", "scf.if")]
    return all(len(end) == 1 and (end[0] == tensor or end[0] in made) for end in ends)


def _chosen(op: ir.Operation, outermost: ir.Operation, every: Collection[ir.Value]) -> _Choice:
    """Moves what branches compute before the outermost, and returns the insertion that is to be made instead."""
    condition = op.operands[0]
    then, otherwise = (_chosen_in(region.blocks[0], outermost, every) for region in op.regions)
    if then.value is None:
        holds = None if otherwise.value is None else _else(condition, otherwise.holds)
        return _Choice(otherwise.value, otherwise.where, holds)
    if otherwise.value is None:
        # Of all operands one has the least coordinate: the last asked is it.
        total = _is_least(condition, every)
        return _Choice(then.value, then.where, None if total else _all_of(condition, then.holds))
    value = build.select(condition, then.value, otherwise.value)
    holds = None
    if then.holds is not None or otherwise.holds is not None:
        truth = build.integer(1, condition.type)
        sides = [truth if side.holds is None else side.holds for side in (then, otherwise)]
        holds = build.select(condition, *sides)
    return _Choice(value, then.where, holds)


def _chosen_in(block: ir.Block, outermost: ir.Operation, every: Collection[ir.Value]) -> _Choice:
    choice = _Choice(None, (), None)
    for below in [o.operation for o in block.operations]:
        match below.name:
            case "scf.yield":
                break
            case "tensor.insert":
                value, *where = below.operands
                choice = _Choice(value, tuple(where), None)
            case "scf.if":
                choice = _chosen(below, outermost, every)
            case _:
                below.move_before(outermost)
    return choice


def _else(condition: ir.Value, holds: ir.Value | None) -> ir.Value:
    truth = build.integer(1, ir.IntegerType.get_signless(1))
    negated = build.bits_of("xori", condition, truth)
    return _all_of(negated, holds)


def _all_of(condition: ir.Value, holds: ir.Value | None) -> ir.Value:
    return condition if holds is None else build.bits_of("andi", condition, holds)


def _leaves(op: ir.Operation) -> list[ir.Value]:
    """Returns the coordinates that nested branches ask for one by one."""
    found = []
    for below in (op, *(o for o in operations_within(op) if o.name == "scf.if")):
        terms = conjuncts(below.operands[0])
        if len(terms) == 1 and is_comparison(terms[0], "eq"):
            found.append(terms[0].operands[0])
    return found


def _is_least(condition: ir.Value, every: Collection[ir.Value]) -> bool:
    """Returns whether a condition must hold once those before it failed: the least coordinate is one of them all."""
    terms = conjuncts(condition)
    if len(terms) != 1 or not is_comparison(terms[0], "eq"):
        return False
    return all(leaf in every for leaf in _least_of(terms[0].operands[1]))


def _least_of(value: ir.Value) -> list[ir.Value]:
    """Returns the values that a chain of selections takes the least of."""
    op = maker(value)
    if op is None or op.name != "arith.select":
        return [value]
    less, left, right = op.operands
    comparison = maker(less)
    if comparison is None or not is_comparison(comparison, "ult") or list(comparison.operands) != [left, right]:
        return [value]
    return [*_least_of(left), *_least_of(right)]


# -- moving on together ---------------------------------------------------------------------------------------------


def _steps_of(loop: ir.Operation, op: ir.Operation) -> dict[int, tuple[ir.Value, ir.Value]] | Missed:
    """Returns where each operand goes in a branch where all meet, and in general, or why not all move on there."""
    *_, end = loop.regions[1].blocks[0].operations
    met = [list(term.operands) for term in conjuncts(op.operands[0]) if is_comparison(term, "eq")]
    steps = {at: step for at, value in enumerate(end.operation.operands) if (step := _step(value, met)) is not None}
    if len(steps) < 2 or len(steps) != len(met):
        return Missed("not all operands that meet move on by one entry: coordinates repeat, or rows are dense")
    return steps


def _move_together(loop: ir.Operation, op: ir.Operation, steps: dict[int, tuple[ir.Value, ir.Value]]) -> None:
    """Lets the branch where all operands meet say itself that each moves on by one."""
    *_, end = loop.regions[1].blocks[0].operations
    end = end.operation
    kinds = [*(result.type for result in op.results), *[build.index_type()] * len(steps)]
    with ir.InsertionPoint(end):
        new = ir.Operation.create("scf.if", results=kinds, operands=[op.operands[0]], regions=2)
    for before, region, side in zip(op.regions, new.regions, range(2), strict=True):
        before.blocks[0].append_to(region)
        *_, last = region.blocks[0].operations
        with ir.InsertionPoint(last.operation):
            moved = [step[side] for step in steps.values()]
            ir.Operation.create("scf.yield", operands=[*last.operation.operands, *moved])
        last.operation.erase()
    results = list(new.results)
    for old, fresh in zip(op.results, results, strict=False):
        old.replace_all_uses_with(fresh)
    for at, fresh in zip(steps, results[len(op.results) :], strict=True):
        end.operands[at] = fresh
    op.erase()


def _step(value: ir.Value, met: Collection[list[ir.Value]]) -> tuple[ir.Value, ir.Value] | None:
    """Returns where an operand goes if it meets the others, and where in general; None for any other value."""
    op = maker(value)
    if op is None or op.name != "arith.select":
        return None
    comparison = maker(op.operands[0])
    if comparison is None or not is_comparison(comparison, "eq") or list(comparison.operands) not in met:
        return None
    return op.operands[1], value
