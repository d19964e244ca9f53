"""Debug locations of operations: which part of the statement each comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from mlir_sparse._mlir import ir
from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import Access, Expr, IndexVar
from mlir_sparse.notation.notation_places import NotationPlaces
from mlir_sparse.plan import Generic, Program, values_read
from mlir_sparse.text.line_places import LinePlace
from mlir_sparse.text.source_text import Span

__all__ = ["NOTATION_FILE", "Locations", "NotationLocations", "Unlocated", "locations_of", "notation_place"]

NOTATION_FILE = "notation"
"""What locations call the text of the statement."""


class Locations(Protocol):
    """Gives operations their locations."""

    def at(self, node: Expr) -> AbstractContextManager[object]:
        """Returns what to enter, to emit a node."""

    @property
    def accumulating(self) -> AbstractContextManager[object]:
        """Returns what to enter, to emit an accumulation."""

    def of(self, node: Expr) -> ir.Location:
        """Returns the location of a node."""

    def of_result(self, name: str) -> ir.Location:
        """Returns the location of what a step computes."""

    @property
    def whole(self) -> ir.Location:
        """Returns the location of the whole statement."""


class Unlocated:
    """No locations, as in modules that are compiled for calls."""

    def at(self, node: Expr) -> AbstractContextManager[object]:
        """Returns what changes nothing."""
        return nullcontext()

    @property
    def accumulating(self) -> AbstractContextManager[object]:
        """Returns what changes nothing."""
        return nullcontext()

    def of(self, node: Expr) -> ir.Location:
        """Returns the unknown location."""
        return ir.Location.unknown()

    def of_result(self, name: str) -> ir.Location:
        """Returns the unknown location."""
        return ir.Location.unknown()

    @property
    def whole(self) -> ir.Location:
        """Returns the unknown location."""
        return ir.Location.unknown()


class NotationLocations:
    """The locations of the statement of a program, in the Context that it is made in."""

    def __init__(self, program: Program) -> None:
        assignment = program.spec.assignment
        self._places = NotationPlaces(assignment)
        self._tensors = {assignment.target.tensor, *assignment.inputs}
        self._read = {step.result: values_read(step) for step in program.steps}
        self._target = assignment.target.tensor
        self._types = dict(program.types)

    @property
    def whole(self) -> ir.Location:
        """Returns the location of the whole statement."""
        return _location(self._places.whole)

    @property
    def accumulating(self) -> ir.Location:
        """Returns the location of what accumulates, the sign of the assignment."""
        return _location(self._places.accumulation)

    def at(self, node: Expr) -> AbstractContextManager[object]:
        """Returns the location of a node, to enter; for a node that the plan made, what changes nothing."""
        spans = self._of(node)
        return self._joined(spans) if spans else nullcontext()

    def of(self, node: Expr) -> ir.Location:
        """Returns the location of a node; of a temporary, that of what it is made of."""
        return self._joined(self._of(node))

    def _of(self, node: Expr) -> Sequence[Span]:
        spans = self._places.of(node)
        return self._of_value(node.tensor, frozenset()) if isinstance(node, Access) and not spans else spans

    def of_result(self, name: str) -> ir.Location:
        """Returns the location of what a step computes: the target's, if it becomes that."""
        if name.partition(".")[0] == self._target:
            return self._joined(self._places.of_tensor(self._target)[:1])
        return self._joined(self._of_value(name, frozenset()))

    def variables(self, step: Generic) -> tuple[LinePlace | None, ...]:
        """Returns the places of the index variables of a nest's loops; None for those that the plan made.

        Loops over blocks are those over the levels of their storage, where a variable has several.
        """
        spans = (self._places.of_variable(variable.name) for variable in _loops(step, self._types))
        return tuple(None if span is None else notation_place(span) for span in spans)

    def _of_value(self, name: str, seen: frozenset[str]) -> tuple[Span, ...]:
        if name in self._tensors:
            return self._places.of_tensor(name)
        if name in seen:
            return ()
        parts = [self._of_value(read, seen | {name}) for read in self._read.get(name, ())]
        return tuple(dict.fromkeys(span for part in parts for span in part))

    def _joined(self, spans: Sequence[Span]) -> ir.Location:
        return ir.Location.fused([_location(span) for span in spans]) if spans else self.whole


def locations_of(program: Program) -> Locations:
    """Returns the locations of a program; none where the bindings have no ranges, as those of LLVM before 22."""
    try:
        _location(Span(0, 1))
    except TypeError:
        return Unlocated()
    return NotationLocations(program)


def _loops(step: Generic, types: Mapping[str, TensorType]) -> Sequence[IndexVar]:
    """Returns the variable of each loop of a nest, outermost first."""
    for access in step.operands:
        encoding = types[access.tensor].encoding
        if encoding is not None and not encoding.is_permutation:
            named = [access.subscripts[dim] for level in encoding.levels for dim in list(level.expr.dims())[:1]]
            levels = [variable for variable in named if isinstance(variable, IndexVar)]
            return [*levels, *(variable for variable in step.loops if variable not in levels)]
    return step.loops


def notation_place(span: Span) -> LinePlace:
    """Returns the place of a part of a statement as debug locations name it."""
    return LinePlace(NOTATION_FILE, 1, span.start + 1, span.end + 1)


def _location(span: Span) -> ir.Location:
    place = notation_place(span)
    return ir.Location.file(place.text, place.line, place.start, place.line, place.end)
