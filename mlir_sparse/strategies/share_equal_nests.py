"""Nests of loops that differ only in what they read: one that is told which.

Where two operands of many levels meet, each level has loops for what the one has alone, and
the same for the other: within the merge, and once more behind it. With three levels code is
there eight times that copies entries. Nests that are the same but for buffers and bounds
become one, which selects those before; two behind each other become two turns of a loop.
Innermost loops stay as they are: a selection takes as long as some of those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, repeat

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.emit_copies import replace
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.loops.regions import LOOPS, has_loop, is_nest
from mlir_sparse.loops.remarks import Missed, Remarks

__all__ = ["share_equal_nests"]

# Selected values are held in registers beside those that they are selected from.
_MOST_DIFFERENCES = 12


@dataclass(slots=True)
class _Match:
    """How two regions compare.

    Args:
        inner: what is inside the left one, by what is in its place inside the right one.
        uses: operands of the left one that are others in the right one: operation, number, the one, the other.
    """

    inner: dict[ir.Value, ir.Value] = field(default_factory=dict)
    uses: list[tuple[ir.Operation, int, ir.Value, ir.Value]] = field(default_factory=list)

    def blocks(self, left: ir.Block, right: ir.Block) -> bool:
        """Returns whether blocks are the same but for values from outside."""
        if not self._same_values(list(left.arguments), list(right.arguments)):
            return False
        ours, theirs = ([op.operation for op in block.operations] for block in (left, right))
        return len(ours) == len(theirs) and all(map(self._operations, ours, theirs))

    def _same_values(self, left: Sequence[ir.Value], right: Sequence[ir.Value]) -> bool:
        if [value.type for value in left] != [value.type for value in right]:
            return False
        self.inner.update(zip(right, left, strict=True))
        return True

    def _operations(self, left: ir.Operation, right: ir.Operation) -> bool:
        if left.name != right.name or not _same_attributes(left, right):
            return False
        ours, theirs = list(left.operands), list(right.operands)
        if len(ours) != len(theirs) or not all(map(self._operand, repeat(left), count(), ours, theirs)):
            return False
        pairs = [([*one.blocks], [*other.blocks]) for one, other in zip(left.regions, right.regions, strict=True)]
        if not all(len(one) == len(other) and all(map(self.blocks, one, other)) for one, other in pairs):
            return False
        return self._same_values(list(left.results), list(right.results))

    def _operand(self, op: ir.Operation, number: int, left: ir.Value, right: ir.Value) -> bool:
        if right in self.inner:
            return bool(self.inner[right] == left)
        if left == right:
            return True
        self.uses.append((op, number, left, right))
        return bool(left.type == right.type)

    def differences(self, *others: tuple[ir.Value, ir.Value]) -> list[tuple[ir.Value, ir.Value]] | Missed:
        """Returns the values to select between, each pair once, or why a selection cannot make them one."""
        found = dict.fromkeys(((left, right) for _, _, left, right in self.uses), None)
        found.update(dict.fromkeys(pair for pair in others if pair[0] != pair[1]))
        inside = set(self.inner.values())
        if any(left in inside for left, _ in found):
            return Missed("nests differ in what they use of their own values")
        if len(found) > _MOST_DIFFERENCES:
            return Missed(f"nests differ in more than {_MOST_DIFFERENCES} values that they read")
        return list(found)

    def select(
        self, condition: ir.Value, differences: Sequence[tuple[ir.Value, ir.Value]]
    ) -> dict[tuple[ir.Value, ir.Value], ir.Value]:
        """Writes selections, and lets the left region use those; returns them."""
        chosen = {pair: build.select(condition, *pair) for pair in differences}
        for op, number, left, right in self.uses:
            op.operands[number] = chosen[left, right]
        return chosen


def share_equal_nests(seen: Seen, _: Mapping[str, str]) -> bool:
    """Writes nests once that are the same but for what they read.

    Args:
        seen: a module after bufferization; rewritten in place.

    Returns:
        whether it changed anything.
    """
    bodies = [op.regions[0].blocks for op, inside in seen.functions if any(map(inside.named, LOOPS))]
    changed = [_share_in(blocks[0], seen.remarks) for blocks in bodies]
    return any(changed)


def _share_in(block: ir.Block, remarks: Remarks) -> bool:
    """Goes through a block from the outside in: what became one need not be looked through twice."""
    before: ir.Operation | None = None
    changed = False
    for op in [found.operation for found in block.operations]:
        if not is_nest(op):  # most are
            before = None
            continue
        made = _shared(before, op, remarks)
        changed |= made is not op
        before = made
        for region in made.regions:
            for inner in region.blocks:
                changed |= _share_in(inner, remarks)
    return changed


def _shared(before: ir.Operation | None, nest: ir.Operation, remarks: Remarks) -> ir.Operation:
    """Returns the nest that stands for one, and perhaps for the one before it."""
    if nest.name == "scf.if":
        branches = _branches_of(nest)
        same = None if branches is None else remarks.of(nest, branches)
        return nest if same is None else _one_branch(nest, same)
    if nest.name == "scf.for" and before is not None and before.name == "scf.for":
        turns = _turns_of(before, nest)
        same = None if turns is None else remarks.of(nest, turns)
        return nest if same is None else _two_turns(before, same)
    return nest


@dataclass(frozen=True, slots=True)
class _Same:
    """Two nests that are one but for what they read.

    Args:
        second: the second one.
        match: how they compare.
        differences: the values to select between.
    """

    second: ir.Operation
    match: _Match
    differences: list[tuple[ir.Value, ir.Value]]


def _same(left: ir.Block, second: ir.Operation, *others: tuple[ir.Value, ir.Value]) -> _Same | Missed | None:
    """Compares a block with that of a second nest, and pairs of values besides; None where they do different things."""
    match = _Match()
    if not match.blocks(left, second.regions[0].blocks[0]):
        return None
    differences = match.differences(*others)
    return differences if isinstance(differences, Missed) else _Same(second, match, differences)


def _branches_of(op: ir.Operation) -> _Same | Missed | None:
    """Returns how the loops of `if` and `else if` are the same, or why they are not; None for any other branch."""
    then, others = (list(region.blocks) for region in op.regions)
    inner = _alone(others[0]) if others else None
    if inner is None or not has_loop(then[0]):
        return None
    return _same(then[0], inner)


def _one_branch(op: ir.Operation, same: _Same) -> ir.Operation:
    """Makes one branch of `if` and `else if`."""
    then, inner = op.regions[0].blocks[0], same.second
    with ir.InsertionPoint(op):
        first, second = op.operands[0], inner.operands[0]
        same.match.select(first, same.differences)
        kinds = [result.type for result in op.results]
        either = build.bits_of("ori", first, second)
        made = ir.Operation.create("scf.if", results=kinds, operands=[either], regions=2)
    then.append_to(made.regions[0])
    for block in list(inner.regions[1].blocks):
        block.append_to(made.regions[1])
    replace(op, made.results)
    return made


def _alone(block: ir.Block) -> ir.Operation | None:
    """Returns the `scf.if` that a block consists of, with its results handed on; None for any other block."""
    operations = [op.operation for op in block.operations]
    if len(operations) != 2 or operations[0].name != "scf.if":
        return None
    inner, end = operations
    return inner if list(end.operands) == list(inner.results) else None


def _turns_of(first: ir.Operation, second: ir.Operation) -> _Same | Missed | None:
    """Returns how two loops behind each other are the same, or why they are not; None where no loops are inside."""
    body = first.regions[0].blocks[0]
    if list(second.operands)[3:] != list(first.results) or not has_loop(body):
        return None
    if any(use.owner.operation != second for result in first.results for use in result.uses):
        return Missed("what the first of two nests makes is used behind the second")
    same = _same(body, second, *_bounds(first, second))
    if isinstance(same, _Same) and any(right in set(first.results) for _, right in same.differences):
        return Missed("the second of two nests reads what the first makes")
    return same


def _bounds(first: ir.Operation, second: ir.Operation) -> list[tuple[ir.Value, ir.Value]]:
    """Returns the bounds and the steps of two loops in pairs."""
    return list(zip(list(first.operands)[:3], list(second.operands)[:3], strict=True))


def _two_turns(first: ir.Operation, same: _Same) -> ir.Operation:
    """Makes turns of a loop of two loops behind each other."""
    body, second = first.regions[0].blocks[0], same.second
    bounds = _bounds(first, second)
    with ir.InsertionPoint(first):
        made = _turns(list(first.operands)[3:])
    turn, *carried = made.regions[0].blocks[0].arguments
    with ir.InsertionPoint(made.regions[0].blocks[0]):
        chosen = same.match.select(build.compare("eq", turn, build.constant(0)), same.differences)
        kinds = [value.type for value in carried]
        limits = [chosen.get(pair, pair[0]) for pair in bounds]
        inner = ir.Operation.create("scf.for", results=kinds, operands=[*limits, *carried], regions=1)
        ir.Operation.create("scf.yield", operands=list(inner.results))
    for name in first.attributes:
        inner.attributes[name] = first.attributes[name]
    body.append_to(inner.regions[0])
    replace(second, made.results)
    first.erase()
    return made


def _turns(start: Sequence[ir.Value]) -> ir.Operation:
    """Writes an `scf.for` of two turns, which are not to be written out, without what it does in them."""
    kinds = [value.type for value in start]
    operands = [*map(build.constant, (0, 2, 1)), *start]
    made = ir.Operation.create("scf.for", results=kinds, operands=operands, regions=1)
    made.regions[0].blocks.append(build.index_type(), *kinds, arg_locs=[ir.Location.unknown()] * (len(kinds) + 1))
    build.keep_rolled(made)
    return made


def _same_attributes(left: ir.Operation, right: ir.Operation) -> bool:
    ours, theirs = left.attributes, right.attributes
    return len(ours) == len(theirs) and all(name in theirs and ours[name] == theirs[name] for name in ours)
