"""What differentiation takes and gives: steps, helper tensors, and the adjoint of a program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mlir_sparse.classes import dataclass
from mlir_sparse.notation.adjoint.contributions import times
from mlir_sparse.notation.ast import Access, Apply, Assignment, IndexVar, Subscript
from mlir_sparse.notation.masks import MASK, is_mask
from mlir_sparse.text.shown_text import PrintedValue

__all__ = ["Adjoint", "AdjointStep", "Helper", "Placed"]


@dataclass(frozen=True, slots=True)
class Placed:
    """A place that a helper takes an extent from: an axis of a tensor in the statement that was differentiated."""

    tensor: str
    axis: int


@dataclass(frozen=True, slots=True)
class Helper:
    """A constant operand of an adjoint statement, with 1 at some elements and none elsewhere.

    Args:
        name: its name.
        indices: the variable of each dimension.
        subscript: where a row has its 1, at the last index: a subscript over the others. None for ones everywhere.
        axis: the axis that the last index runs over; None where `subscript` is None.
        statement: the statement that gives the other variables their extents.
        original: the variable of that statement that each variable stands for.
    """

    name: str
    indices: tuple[IndexVar, ...]
    subscript: Subscript | None
    axis: Placed | None
    statement: Assignment
    original: tuple[IndexVar, ...]

    @property
    def access(self) -> Access:
        """Returns the helper at its variables."""
        return Access(self.name, self.indices)

    def __str__(self) -> str:
        """Returns its definition, as `define` takes it."""
        condition = "" if self.subscript is None else f" if {self.subscript} == {self.indices[-1]}"
        return f"{self.access} = 1{condition}"


@dataclass(frozen=True, slots=True)
class AdjointStep:
    """A statement of an adjoint.

    Args:
        core: the statement.
        pattern: the access whose stored entries alone the result has; None where the result has all elements.
        on_pattern: the name of a tensor that has 1 at each of these entries, padding included.
        like: the tensor whose cotangent, or part of it, the result is; empty for values that are computed again.
    """

    core: Assignment
    pattern: Access | None = None
    on_pattern: str = ""
    like: str = ""

    @property
    def target(self) -> str:
        """Returns the name of the result."""
        return self.core.target.tensor

    @property
    def statement(self) -> Assignment:
        """Returns the statement with its pattern as a mask; as a factor where it has another mask."""
        if self.pattern is None:
            return self.core
        if self.is_masked:
            return self.product
        return replace(self.core, value=Apply(MASK, (self.pattern, self.core.value)))

    @property
    def product(self) -> Assignment:
        """Returns the statement with its pattern as a factor: a sampled product, where the value is one of arrays."""
        if self.pattern is None:
            return self.core
        ones = replace(self.pattern, tensor=self.on_pattern)
        value = self.core.value
        if not isinstance(value, Apply) or not self.is_masked:
            return replace(self.core, value=times(ones, value))
        mask, below = value.arguments
        return replace(self.core, value=replace(value, arguments=(mask, times(ones, below))))

    @property
    def is_masked(self) -> bool:
        """Returns whether the statement has a mask of its own."""
        return is_mask(self.core.value)

    def __str__(self) -> str:
        return str(self.statement)


@dataclass(frozen=True, slots=True)
class Adjoint(PrintedValue):
    """The derivative of index notation, as index notation.

    Args:
        steps: the statements, in order: values that are computed again, then cotangents.
        helpers: constant operands that the statements read: where subscripts that are no plain variables read from.
        results: by tensor, the cotangent that the steps compute: the gradient, where the result is a loss.
        cotangents: by result, the cotangent that the steps read.
        reasons: by tensor, why some occurrences of it add nothing to its cotangent.
    """

    steps: tuple[AdjointStep, ...]
    helpers: tuple[Helper, ...]
    results: Mapping[str, str]
    cotangents: Mapping[str, str]
    reasons: Mapping[str, tuple[str, ...]]

    @property
    def statements(self) -> tuple[Assignment, ...]:
        """Returns the steps as statements, in order."""
        return tuple(step.statement for step in self.steps)

    @property
    def definitions(self) -> dict[str, str]:
        """Returns the definition of each helper, as `define` takes it, by name."""
        found = {helper.name: str(helper) for helper in self.helpers}
        for step in self.steps:
            if step.pattern is not None and step.is_masked:
                ones = replace(step.pattern, tensor=step.on_pattern)
                found[step.on_pattern] = f"{ones} = 1 if {step.pattern}"
        return found

    @property
    def inputs(self) -> tuple[str, ...]:
        """Returns the tensors that the steps read and do not compute, each once, helpers included."""
        made: set[str] = set()
        found: dict[str, None] = {}
        for statement in self.statements:
            found.update(dict.fromkeys(name for name in statement.inputs if name not in made))
            made.add(statement.target.tensor)
        return tuple(found)

    def __str__(self) -> str:
        lines = [*map(str, self.steps)]
        if self.definitions:
            lines += ["with", *(f"  {definition}" for definition in self.definitions.values())]
        return "\n".join(lines)
