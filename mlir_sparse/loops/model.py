"""Sparsified code as typed values: its loops, each part by a name.

`model_accesses` has what they read and write, `model_branches` what they decide.
Strategies ask these values, and no operation for its operands by number: which operand is what stands here alone.
Values are views: they hold the operation they are of, and read it when asked.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops.model_branches import IntegerComparison
from mlir_sparse.loops.regions import body_of, operations_in, operations_of, operations_within
from mlir_sparse.loops.value_origins import (
    conjuncts,
    constant_of,
    made_by,
    maker,
    operation_around,
    parent_of,
    stored_load,
)
from mlir_sparse.program.loop_form import LoopForm

__all__ = ["EMITTED", "ForLoop", "Loop", "MergedList", "WhileLoop", "loop_of", "merging_loops"]

# What the sparsifier writes on the loops that it makes of index variables, and not on searches on the way.
EMITTED = "Emitted from"
# What marks loops over the entries of all rows.
_WHOLE = "entries of all rows"


@dataclass(frozen=True, slots=True)
class ForLoop:
    """An `scf.for`."""

    op: ir.Operation

    @classmethod
    def of_index(cls, value: ir.Value) -> ForLoop | None:
        """Returns the loop that a value is the index of; None for any other value."""
        loop = loop_of(operation_around(value)) if maker(value) is None else None
        return loop if isinstance(loop, cls) and loop.index == value else None

    @property
    def lower(self) -> ir.Value:
        """Returns where it begins."""
        return self.op.operands[0]

    @property
    def upper(self) -> ir.Value:
        """Returns where it ends."""
        return self.op.operands[1]

    @property
    def bounds(self) -> tuple[ir.Value, ir.Value]:
        """Returns where it begins and where it ends."""
        return self.lower, self.upper

    @property
    def step(self) -> int | None:
        """Returns how far it moves in an iteration; None where code computes that."""
        return constant_of(self.op.operands[2])

    @property
    def limits(self) -> Sequence[ir.Value]:
        """Returns where it begins, where it ends, and how far it moves in an iteration."""
        return list(self.op.operands)[:3]

    @property
    def trip_count(self) -> int | None:
        """Returns how many iterations it has; None where that is not known, or it does not count them from 0."""
        return constant_of(self.upper) if self.form is LoopForm.DENSE else None

    @property
    def starts(self) -> Sequence[ir.Value]:
        """Returns the carried values before it."""
        return list(self.op.operands)[3:]

    @property
    def results(self) -> Sequence[ir.Value]:
        """Returns the carried values after it."""
        return list(self.op.results)

    @property
    def block(self) -> ir.Block:
        """Returns the block of an iteration."""
        return body_of(self.op)

    @property
    def index(self) -> ir.Value:
        """Returns its index."""
        return self.block.arguments[0]

    @property
    def carried(self) -> Sequence[ir.Value]:
        """Returns the carried values at the begin of an iteration."""
        return list(self.block.arguments)[1:]

    @property
    def body(self) -> Sequence[ir.Operation]:
        """Returns what an iteration does, but for yielding the carried values."""
        return operations_in(self.op)[:-1]

    @property
    def end(self) -> ir.Operation:
        """Returns the operation that yields the carried values at the end of an iteration."""
        return operations_in(self.op)[-1]

    @property
    def ends(self) -> Sequence[ir.Value]:
        """Returns the carried values at the end of an iteration."""
        return list(self.end.operands)

    @property
    def around(self) -> ir.Operation:
        """Returns the operation that it is right inside."""
        return parent_of(self.op)

    @property
    def is_over_level(self) -> bool:
        """Returns whether it begins at 0: loops over dense levels do, those over stored entries begin anywhere."""
        return constant_of(self.lower) == 0

    @property
    def is_over_entries(self) -> bool:
        """Returns whether it begins at a position that a buffer holds."""
        return stored_load(self.lower) is not None

    @property
    def is_whole(self) -> bool:
        """Returns whether it is over the entries of all rows."""
        return _WHOLE in self.op.attributes

    def mark_whole(self) -> None:
        """Says that it is over the entries of all rows, each by itself or some at a time."""
        self.op.attributes[_WHOLE] = ir.UnitAttr.get()

    @property
    def form(self) -> LoopForm | None:
        """Returns what it runs over; None for a loop that strategies do not read."""
        if self.step != 1:
            return None
        return LoopForm.DENSE if self.is_over_level else LoopForm.POSITIONS

    def set_lower(self, value: ir.Value) -> None:
        """Lets it begin elsewhere."""
        self.op.operands[0] = value

    def set_limits(self, values: Sequence[ir.Value]) -> None:
        """Lets it begin and end elsewhere, and move otherwise."""
        for place, value in enumerate(values):
            self.op.operands[place] = value

    def set_start(self, number: int, value: ir.Value) -> None:
        """Gives a carried value another one to start from."""
        self.op.operands[3 + number] = value

    def set_end(self, number: int, value: ir.Value) -> None:
        """Yields another value at the end of an iteration."""
        self.end.operands[number] = value


@dataclass(frozen=True, slots=True)
class MergedList:
    """One of the lists that an `scf.while` goes through.

    Args:
        number: which of the carried values is the position in it.
        begin: the first position.
        position: the position as an iteration gets it.
        end: the position behind the last.
    """

    number: int
    begin: ir.Value
    position: ir.Value
    end: ir.Value


@dataclass(frozen=True, slots=True)
class WhileLoop:
    """An `scf.while`: a test of carried values, and the iteration that follows while it holds."""

    op: ir.Operation

    @property
    def starts(self) -> Sequence[ir.Value]:
        """Returns the carried values before it."""
        return list(self.op.operands)

    @property
    def results(self) -> Sequence[ir.Value]:
        """Returns the carried values after it."""
        return list(self.op.results)

    @property
    def tested(self) -> Sequence[ir.Value]:
        """Returns the carried values that the test sees."""
        return list(self.op.regions[0].blocks[0].arguments)

    @property
    def test(self) -> Sequence[ir.Operation]:
        """Returns what the test does, but for its end."""
        return operations_of(self.op.regions[0].blocks[0])[:-1]

    @property
    def condition(self) -> ir.Value:
        """Returns the truth value as long as which it goes on."""
        return self.test_end.operands[0]

    @property
    def passed(self) -> Sequence[ir.Value]:
        """Returns what the test hands to the iteration."""
        return list(self.test_end.operands)[1:]

    @property
    def test_end(self) -> ir.Operation:
        """Returns the operation that hands the carried values to the iteration as long as the condition holds."""
        *_, end = self.op.regions[0].blocks[0].operations
        return end.operation

    @property
    def block(self) -> ir.Block:
        """Returns the block of an iteration."""
        return self.op.regions[1].blocks[0]

    @property
    def carried(self) -> Sequence[ir.Value]:
        """Returns the carried values at the begin of an iteration."""
        return list(self.block.arguments)

    @property
    def body(self) -> Sequence[ir.Operation]:
        """Returns what an iteration does, but for yielding the carried values."""
        return operations_of(self.block)[:-1]

    @property
    def end(self) -> ir.Operation:
        """Returns the operation that yields the carried values at the end of an iteration."""
        *_, end = self.block.operations
        return end.operation

    @property
    def ends(self) -> Sequence[ir.Value]:
        """Returns the carried values at the end of an iteration."""
        return list(self.end.operands)

    def set_end(self, number: int, value: ir.Value) -> None:
        """Yields another value at the end of an iteration."""
        self.end.operands[number] = value

    def set_condition(self, value: ir.Value) -> None:
        """Lets it go on as long as another truth value holds."""
        self.test_end.operands[0] = value

    @property
    def around(self) -> ir.Operation:
        """Returns the operation that it is right inside."""
        return parent_of(self.op)

    @property
    def lists(self) -> list[MergedList] | None:
        """Returns the lists that it goes through as long as no position is at an end; None for another condition."""
        tested, passed, found = self.tested, self.passed, []
        for term in conjuncts(self.condition):
            inside = IntegerComparison.of(term, "ult")
            if inside is None or inside.left not in tested or inside.left not in passed:
                return None
            number, position = tested.index(inside.left), self.carried[passed.index(inside.left)]
            found.append(MergedList(number, self.starts[number], position, inside.right))
        return found

    @property
    def form(self) -> LoopForm | None:
        """Returns what it runs over; None for a loop that strategies do not read."""
        if made_by(self.condition, "scf.if") is not None:
            return LoopForm.SEGMENT_END
        terms = conjuncts(self.condition)
        return LoopForm.MERGE if terms and all(IntegerComparison.of(term, "ult") for term in terms) else None


Loop = ForLoop | WhileLoop
"""A loop of sparsified code."""


def loop_of(op: ir.Operation) -> Loop | None:
    """Returns an operation as a loop; None for any other."""
    match op.name:
        case "scf.for":
            return ForLoop(op)
        case "scf.while":
            return WhileLoop(op)
        case _:
            return None


def merging_loops(function: ir.Operation) -> list[WhileLoop]:
    """Returns the loops of a sparsified function that advance in several operands at once."""
    loops = (op for op in operations_within(function) if op.name == "scf.while")
    return [WhileLoop(op) for op in loops if EMITTED in op.attributes]
