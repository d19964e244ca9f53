"""Loops that go through lists together and take what all of them have: each list catches up with the others.

The sparsifier moves on, in each iteration, those lists that have the least coordinate. Every
iteration waits for the coordinates of the one before, and of three lists each is looked at
each time. Where only what all lists have matters, a list may be moved on until it reaches the
coordinate of another one, by a loop of one comparison that the processor foresees. The second
list follows the first, and further ones move only where these two meet: as many coordinates
are looked at as in a product of the first two and products of that by the others, and no
product in between is stored. (Veldhuizen 2014, section 3, without the search: rows are short.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import access_of, is_cheap
from mlir_sparse.loops.emit_copies import copy_of
from mlir_sparse.loops.model import MergedList, WhileLoop
from mlir_sparse.loops.model_branches import Branch, Lesser, Select
from mlir_sparse.loops.operation_index import Nest
from mlir_sparse.loops.regions import is_loop, operations_within
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.strategy import Strategy
from mlir_sparse.loops.value_origins import base_and_offset, conjuncts
from mlir_sparse.strategies.merge_bodies import LOOPS_INSIDE, appends, copy_decided

__all__ = ["LEAPFROG_LISTS"]

_FEWEST = 3  # of two lists branches foresee as much


@dataclass(frozen=True, slots=True)
class _List:
    """One of the lists that a loop goes through.

    Args:
        entries: its positions.
        coordinate: the one at the position of an iteration.
        makers: what reads the coordinate, in order.
        asked: the truth values that say whether it is the least of all.
    """

    entries: MergedList
    coordinate: ir.Value
    makers: tuple[ir.Operation, ...]
    asked: tuple[ir.Value, ...]

    def at(self, position: ir.Value) -> ir.Value:
        """Writes the coordinate at a position."""
        known = {self.entries.position: position}
        for op in self.makers:
            copy_of(op, known)
        return known[self.coordinate]

    def holds(self, position: ir.Value) -> ir.Value:
        """Writes whether a position is before the end."""
        return build.compare("ult", position, self.entries.end)

    def caught_up(self, position: ir.Value, goal: ir.Value) -> ir.Value:
        """Writes a loop to the first position whose coordinate is not below a goal, or to the end."""

        def is_below(reached: ir.Value) -> ir.Value:
            return _and_then(self.holds(reached), lambda: build.compare("ult", self.at(reached), goal))

        (found,) = build.value_after([position], is_below, lambda reached: [_next(reached)])
        return found

    def moves_on(self, end: ir.Value, all_meet: _AllMeet) -> bool:
        """Returns whether the position goes one further where its coordinate is the least, and stays elsewhere."""
        position = self.entries.position
        choice = Select.of(end)
        while choice is not None and all_meet(choice.condition) and base_and_offset(choice.left) == (position, 1):
            choice = Select.of(choice.right)
        if choice is None or choice.condition not in self.asked:
            return False
        return base_and_offset(choice.left) == (position, 1) and choice.right == position


@dataclass(frozen=True, slots=True)
class _AllMeet:
    """Says whether a condition is that all coordinates are the least, by the truth values that ask it of each."""

    asked: tuple[tuple[ir.Value, ...], ...]

    def __call__(self, condition: ir.Value) -> bool:
        terms = [op.results[0] for op in conjuncts(condition)]
        return len(terms) == len(self.asked) and all(any(term in each for term in terms) for each in self.asked)


@dataclass(frozen=True, slots=True)
class _Intersection:
    """A loop that takes what all of its lists have.

    Args:
        loop: the loop.
        least: the least of the coordinates.
        lists: the lists.
    """

    loop: WhileLoop
    least: ir.Value
    lists: tuple[_List, ...]

    @property
    def op(self) -> ir.Operation:
        """Returns the loop."""
        return self.loop.op


def _candidates(nest: Nest) -> Iterator[WhileLoop]:
    found = ((loop, _least(loop)) for loop in nest.while_loops)
    return (loop for loop, least in found if least is not None and len(least.coordinates) >= _FEWEST)


def _least(loop: WhileLoop) -> Lesser | None:
    """Returns the least of all coordinates that the body of a loop looks at; None where it compares none."""
    found = (Lesser.of(result) for op in loop.body for result in op.results)
    return max((one for one in found if one is not None), key=lambda one: len(one.coordinates), default=None)


def _applies(loop: WhileLoop, _: Nest) -> _Intersection | Missed:
    """Returns the lists that a loop goes through, or why they are not to catch up with each other."""
    if any(is_loop(inner) for op in loop.body for inner in (op, *operations_within(op))):
        return Missed(LOOPS_INSIDE)
    least = _least(loop)
    lists = None if least is None else _lists(loop, least)
    if least is None or lists is None:
        return Missed("not all operands that meet are lists of distinct coordinates")
    all_meet = _AllMeet(tuple(each.asked for each in lists))
    if not _goes_on(loop, lists, all_meet) or not all(_does_nothing_else(op, all_meet) for op in loop.body):
        return Missed("something is done where not all operands meet")
    return _Intersection(loop, least.value, tuple(lists))


def _lists(loop: WhileLoop, least: Lesser) -> list[_List] | None:
    """Returns the lists that a loop goes through, each with its coordinate; None where these are not one for one."""
    entries, coordinates, found = loop.lists, least.coordinates, list[_List]()
    if entries is None or len(entries) != len(coordinates) or loop.passed != loop.tested:
        return None
    for one in entries:
        read = [(value, made) for value in coordinates if (made := _makers(value, one.position, loop)) is not None]
        if len(read) != 1:
            return None
        ((coordinate, makers),) = read
        found.append(_List(one, coordinate, makers, least.asked(coordinate)))
    return found


def _goes_on(loop: WhileLoop, lists: Sequence[_List], all_meet: _AllMeet) -> bool:
    """Returns whether lists that have the least coordinate go one further, and nothing else changes unless all have."""
    positions = {each.entries.number: each for each in lists}
    for number, (carried, end) in enumerate(zip(loop.carried, loop.ends, strict=True)):
        each = positions.get(number)
        if not (_stays(end, carried, all_meet) if each is None else each.moves_on(end, all_meet)):
            return False
    return True


def _makers(coordinate: ir.Value, position: ir.Value, loop: WhileLoop) -> tuple[ir.Operation, ...] | None:
    """Returns what makes a coordinate of a position in an iteration; None where it is of another position too."""
    wanted, found = {coordinate}, list[ir.Operation]()
    for op in reversed(loop.body):
        if any(result in wanted for result in op.results):
            if op.regions:
                return None
            found.append(op)
            wanted.update(op.operands)
    return tuple(reversed(found)) if [value for value in loop.carried if value in wanted] == [position] else None


def _stays(end: ir.Value, carried: ir.Value, all_meet: _AllMeet) -> bool:
    """Returns whether a carried value changes only where all coordinates meet."""
    if end == carried:
        return True
    branch = None if isinstance(end.owner, ir.Block) else Branch.of(end.owner.operation)
    if branch is None or branch.otherwise is None or not all_meet(branch.condition):
        return False
    return branch.otherwise.ends[list(branch.results).index(end)] == carried


def _does_nothing_else(op: ir.Operation, all_meet: _AllMeet) -> bool:
    """Returns whether an operation has no effect where not all coordinates meet."""
    branch = Branch.of(op)
    if branch is not None:
        return all_meet(branch.condition) and (branch.otherwise is None or not branch.otherwise.body)
    access = access_of(op)
    return access.value is None if access is not None else is_cheap(op)


def _rewrite(found: _Intersection, nest: Nest) -> None:
    """Writes how lists catch up with each other, and what is done where all have met."""
    loop, body = found.loop, found.loop.body
    with ir.InsertionPoint(loop.end):
        ends = _ends(found, body)
    for number, value in enumerate(ends):
        loop.set_end(number, value)
    for op in reversed(body):
        op.erase()
    if appends(nest):
        build.keep_scalar(nest.function)


def _ends(found: _Intersection, body: Sequence[ir.Operation]) -> list[ir.Value]:
    """Writes an iteration: where all lists meet what the body does there, and elsewhere how they catch up."""
    loop, lists = found.loop, found.lists
    before, carried = loop.ends, loop.carried
    first, *others = (each.at(each.entries.position) for each in lists)

    def met() -> list[ir.Value]:
        truth = ir.IntegerType.get_signless(1)
        asked = [value for each in lists for value in each.asked]
        known = {found.least: first, **{value: build.integer(1, truth) for value in asked}}
        copy_decided(body, known, dict.fromkeys(asked, True))
        return [known.get(value, value) for value in before]

    def apart() -> list[ir.Value]:
        reached = {each.entries.number: position for each, position in zip(lists, _closer(lists), strict=True)}
        return [reached.get(number, value) for number, value in enumerate(carried)]

    equal = build.conjunction([build.compare("eq", other, first) for other in others])
    return build.branch(equal, met, apart, [value.type for value in before])


def _closer(lists: Sequence[_List]) -> list[ir.Value]:
    """Writes how lists catch up; returns their positions, of which one is an end if they do not all meet.

    Each further list moves where the first two meet, and these move on where it is beyond.
    """
    first, second, *further = lists
    positions = [each.entries.position for each in lists]
    start = positions[:2]
    reached = _caught_up(first, second, start) if not further else _where_two_meet(first, second, start)
    for each, position in zip(further, positions[2:], strict=True):
        reached = _with_another(lists[: len(reached)], reached, each, position)
    return reached


def _with_another(
    lists: Sequence[_List], reached: Sequence[ir.Value], each: _List, position: ir.Value
) -> list[ir.Value]:
    """Writes how one more list catches up with others, if these are where they meet, and the first then with it."""
    first, start = lists[0], reached[0]

    def follows() -> list[ir.Value]:
        own = each.caught_up(position, first.at(start))
        (moved,) = build.branch(
            each.holds(own), lambda: [first.caught_up(start, each.at(own))], lambda: [start], [start.type]
        )
        return [moved, own]

    inside = build.conjunction([one.holds(place) for one, place in zip(lists, reached, strict=True)])
    moved, own = build.branch(inside, follows, lambda: [start, position], [start.type, position.type])
    return [moved, *reached[1:], own]


def _where_two_meet(first: _List, second: _List, start: Sequence[ir.Value]) -> list[ir.Value]:
    """Writes a loop to where two lists meet; returns their positions, of which one is an end if they do not."""

    def apart(one: ir.Value, other: ir.Value) -> ir.Value:
        both = build.conjunction([first.holds(one), second.holds(other)])
        return _and_then(both, lambda: build.compare("ne", first.at(one), second.at(other)))

    return build.value_after(start, apart, lambda *reached: _caught_up(first, second, reached))


def _caught_up(first: _List, second: _List, start: Sequence[ir.Value]) -> list[ir.Value]:
    """Writes how the first of two lists catches up with the second, and that then with the first."""
    one, other = start
    reached = first.caught_up(one, second.at(other))
    (follows,) = build.branch(
        first.holds(reached), lambda: [second.caught_up(other, first.at(reached))], lambda: [other], [other.type]
    )
    return [reached, follows]


def _and_then(condition: ir.Value, other: Callable[[], ir.Value]) -> ir.Value:
    """Writes whether a condition holds, and another that may be asked only where it does."""
    truth = ir.IntegerType.get_signless(1)
    (found,) = build.branch(condition, lambda: [other()], lambda: [build.integer(0, truth)], [truth])
    return found


def _next(position: ir.Value) -> ir.Value:
    return build.add(position, build.constant(1))


LEAPFROG_LISTS = Strategy("leapfrog-lists", _candidates, _applies, _rewrite)
"""Lets each list of a loop that takes what all of them have catch up with the others."""
