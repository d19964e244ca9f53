"""Nests of loops that differ only in what they read: one that is told which.

Where two operands of many levels meet, each level has loops for what the one has alone, and
the same for the other: within the merge, and once more behind it. With three levels code is
there eight times that copies entries. Nests that are the same but for buffers and bounds
become one, which selects those before; two behind each other become two iterations of a loop.
Innermost loops stay as they are: a selection takes as long as some of those.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import count, pairwise, repeat

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.emit_copies import move_here, replace
from mlir_sparse.loops.model import ForLoop
from mlir_sparse.loops.model_branches import Branch, Side
from mlir_sparse.loops.operation_index import Nest
from mlir_sparse.loops.regions import LOOPS, blocks_of, has_loop, is_nest, operations_of, preceding
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.strategy import Strategy
from mlir_sparse.loops.value_origins import parent_of

__all__ = ["SHARE_EQUAL_NESTS"]

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
        ours, theirs = operations_of(left), operations_of(right)
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


@dataclass(frozen=True, slots=True)
class _Same:
    """Two nests that are one but for what they read.

    Args:
        first: the first one.
        second: the second one.
        match: how they compare.
        differences: the values to select between.
    """

    first: ir.Operation
    second: ir.Operation
    match: _Match
    differences: list[tuple[ir.Value, ir.Value]]


def _candidates(nest: Nest) -> Iterator[ir.Operation]:
    return _nests_in(nest.function) if any(map(nest.named, LOOPS)) else iter(())


def _nests_in(around: ir.Operation) -> Iterator[ir.Operation]:
    """Yields loops and branches from the outside in: what became one need not be looked through twice."""
    for op, behind in (pair for block in blocks_of(around) for pair in pairwise(operations_of(block))):
        if is_nest(op):
            yield op
            made = preceding(behind)
            assert made is not None
            yield from _nests_in(made)


def _applies(op: ir.Operation, _: Nest) -> _Same | Missed | None:
    """Returns how a nest and another one are the same, or why they are not."""
    match op.name:
        case "scf.if":
            return _branches_of(Branch(op))
        case "scf.for":
            before = preceding(op)
            return (
                _iterations_of(ForLoop(before), ForLoop(op)) if before is not None and before.name == op.name else None
            )
        case _:
            return None


def _compared(
    blocks: tuple[ir.Block, ir.Block], nests: tuple[ir.Operation, ir.Operation], *others: tuple[ir.Value, ir.Value]
) -> _Same | Missed | None:
    """Compares the blocks of two nests, and pairs of values besides; None where they do different things."""
    match = _Match()
    if not match.blocks(*blocks):
        return None
    differences = match.differences(*others)
    return differences if isinstance(differences, Missed) else _Same(*nests, match, differences)


def _branches_of(branch: Branch) -> _Same | Missed | None:
    """Returns how the loops of `if` and `else if` are the same, or why they are not; None for any other branch."""
    inner = _alone(branch.otherwise)
    if inner is None or not has_loop(branch.then.block):
        return None
    return _compared((branch.then.block, inner.then.block), (branch.op, inner.op))


def _alone(side: Side | None) -> Branch | None:
    """Returns the branch that a side consists of, with its results yielded; None for any other side."""
    if side is None or len(side.body) != 1:
        return None
    inner = Branch.of(side.body[0])
    return inner if inner is not None and side.ends == inner.results else None


def _iterations_of(first: ForLoop, second: ForLoop) -> _Same | Missed | None:
    """Returns how two loops behind each other are the same, or why they are not; None where no loops are inside."""
    if second.starts != first.results or not has_loop(first.block):
        return None
    if any(use.owner.operation != second.op for result in first.results for use in result.uses):
        return Missed("what the first of two nests makes is used behind the second")
    limits = zip(first.limits, second.limits, strict=True)
    same = _compared((first.block, second.block), (first.op, second.op), *limits)
    if isinstance(same, _Same) and any(right in first.results for _, right in same.differences):
        return Missed("the second of two nests reads what the first makes")
    return same


def _rewrite(same: _Same, _: Nest) -> None:
    if same.first.name == "scf.if":
        _one_branch(Branch(same.first), Branch(same.second), same)
    else:
        _two_turns(ForLoop(same.first), ForLoop(same.second), same)


def _one_branch(branch: Branch, inner: Branch, same: _Same) -> None:
    """Makes one branch of `if` and `else if`."""

    def written(side: Side) -> Sequence[ir.Value]:
        move_here(side.body)
        return side.ends

    then, otherwise = branch.then, inner.otherwise
    kinds = [result.type for result in branch.results]
    with ir.InsertionPoint(branch.op):
        same.match.select(branch.condition, same.differences)
        either = build.bits_of("ori", branch.condition, inner.condition)
        rest = None if otherwise is None else lambda: written(otherwise)
        results = build.branch(either, lambda: written(then), rest, kinds)
    replace(branch.op, results)


def _two_turns(first: ForLoop, second: ForLoop, same: _Same) -> None:
    """Makes iterations of a loop, which are not to be written out, of two loops behind each other."""

    def iteration(number: ir.Value, *carried: ir.Value) -> Sequence[ir.Value]:
        chosen = same.match.select(build.compare("eq", number, build.constant(0)), same.differences)
        pairs = zip(first.limits, second.limits, strict=True)
        move_here([first.op])
        first.set_limits([chosen.get(pair, pair[0]) for pair in pairs])
        for place, value in enumerate(carried):
            first.set_start(place, value)
        return first.results

    with ir.InsertionPoint(first.op):
        results = build.loop(build.constant(2), first.starts, iteration)
    build.keep_rolled(parent_of(first.op))
    replace(second.op, results)


def _same_attributes(left: ir.Operation, right: ir.Operation) -> bool:
    ours, theirs = left.attributes, right.attributes
    return len(ours) == len(theirs) and all(name in theirs and ours[name] == theirs[name] for name in ours)


SHARE_EQUAL_NESTS = Strategy("share-equal-nests", _candidates, _applies, _rewrite)
"""Writes nests once that are the same but for what they read."""
