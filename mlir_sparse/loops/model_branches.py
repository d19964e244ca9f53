"""What sparsified code decides, as typed values: branches, comparisons, selections, and the least of coordinates."""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.regions import operations_of
from mlir_sparse.loops.value_origins import conjuncts, made_by, maker

__all__ = ["Branch", "IntegerComparison", "Lesser", "Select", "Side"]


@dataclass(frozen=True, slots=True)
class Side:
    """A side of a branch."""

    block: ir.Block

    @property
    def body(self) -> Sequence[ir.Operation]:
        """Returns what it does, but for yielding values."""
        return operations_of(self.block)[:-1]

    @property
    def ends(self) -> Sequence[ir.Value]:
        """Returns the values that it yields."""
        return list(operations_of(self.block)[-1].operands)


@dataclass(frozen=True, slots=True)
class Branch:
    """An `scf.if`."""

    op: ir.Operation

    @classmethod
    def of(cls, op: ir.Operation | None) -> Branch | None:
        """Returns an operation as a branch; None for any other."""
        return cls(op) if op is not None and op.name == "scf.if" else None

    @property
    def condition(self) -> ir.Value:
        """Returns the truth value that it asks for."""
        return self.op.operands[0]

    @property
    def results(self) -> Sequence[ir.Value]:
        """Returns the values that its sides yield."""
        return list(self.op.results)

    @property
    def then(self) -> Side:
        """Returns the side that is taken where the condition holds."""
        return Side(self.op.regions[0].blocks[0])

    @property
    def otherwise(self) -> Side | None:
        """Returns the other side; None where there is none."""
        blocks = list(self.op.regions[1].blocks)
        return Side(blocks[0]) if blocks else None

    def set_condition(self, value: ir.Value) -> None:
        """Lets it ask for another truth value."""
        self.op.operands[0] = value


@dataclass(frozen=True, slots=True)
class IntegerComparison:
    """A comparison of two integers."""

    op: ir.Operation

    @classmethod
    def of(cls, op: ir.Operation | None, predicate: str) -> IntegerComparison | None:
        """Returns an operation as a comparison in the way named; None for any other."""
        if op is None or op.name != "arith.cmpi":
            return None
        return cls(op) if ir.IntegerAttr(op.attributes["predicate"]).value == build.PREDICATES[predicate] else None

    @classmethod
    def all_of(cls, condition: ir.Value, predicate: str) -> list[IntegerComparison]:
        """Returns the comparisons in the way named among those whose truth, all together, is a condition."""
        found = (cls.of(term, predicate) for term in conjuncts(condition))
        return [one for one in found if one is not None]

    @property
    def left(self) -> ir.Value:
        """Returns what it compares."""
        return self.op.operands[0]

    @property
    def right(self) -> ir.Value:
        """Returns what it compares that with."""
        return self.op.operands[1]

    @property
    def sides(self) -> tuple[ir.Value, ir.Value]:
        """Returns the two that it compares."""
        return self.left, self.right

    @property
    def truth(self) -> ir.Value:
        """Returns its truth."""
        return self.op.results[0]


@dataclass(frozen=True, slots=True)
class Select:
    """One of two values, chosen without a branch."""

    op: ir.Operation

    @classmethod
    def of(cls, value: ir.Value) -> Select | None:
        """Returns what made a value as a selection; None for any other value."""
        op = made_by(value, "arith.select")
        return None if op is None else cls(op)

    @property
    def condition(self) -> ir.Value:
        """Returns the truth value that chooses."""
        return self.op.operands[0]

    @property
    def left(self) -> ir.Value:
        """Returns the value where the condition holds."""
        return self.op.operands[1]

    @property
    def right(self) -> ir.Value:
        """Returns the value where it does not."""
        return self.op.operands[2]

    @property
    def sides(self) -> tuple[ir.Value, ir.Value]:
        """Returns both."""
        return self.left, self.right


@dataclass(frozen=True, slots=True)
class Lesser:
    """The lesser of two coordinates, as a minimum or as a selection.

    Args:
        value: the coordinate.
        left: the one that it is of.
        right: the other.
    """

    value: ir.Value
    left: ir.Value
    right: ir.Value

    @classmethod
    def of(cls, value: ir.Value) -> Lesser | None:
        """Returns what made a value as that; None for any other value."""
        op = made_by(value, "arith.minui", "arith.select")
        if op is None or op.name == "arith.minui":
            return None if op is None else cls(value, *op.operands)
        choice = Select(op)
        less = IntegerComparison.of(maker(choice.condition), "ult")
        return cls(value, *choice.sides) if less is not None and less.sides == choice.sides else None

    @property
    def coordinates(self) -> list[ir.Value]:
        """Returns the coordinates that it is the least of, through others like it."""
        found = ((side, Lesser.of(side)) for side in (self.left, self.right))
        return [leaf for side, lesser in found for leaf in ([side] if lesser is None else lesser.coordinates)]

    def asked(self, coordinate: ir.Value) -> tuple[ir.Value, ...]:
        """Returns the truth values that say whether a coordinate is the lesser one."""
        owners = (use.owner.operation for use in self.value.uses)
        found = (equal for op in owners if (equal := IntegerComparison.of(op, "eq")) is not None)
        return tuple(equal.truth for equal in found if set(equal.sides) == {self.value, coordinate})
