"""Statements on sources as passes over their parts: which run in one pass, which after it, and which cannot.

In a pass, each part of the sources goes through all statements that are cut along it. What a statement sums over parts
is there after the pass: what reads it runs in the next one, in which the parts that it needs are made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from math import prod
from typing import Any

from mlir_sparse.classes import dataclass
from mlir_sparse.compile.comprehension.comprehension_outputs import of_any_shape
from mlir_sparse.compile.entry_points import compile
from mlir_sparse.compile.statement_pieces import (
    StatementPieces,
    compile_pieces,
    cuts_along_parts,
    rewriting_of_pieces,
    values_and_update,
)
from mlir_sparse.dtypes import WIDE_TYPES
from mlir_sparse.encoding import Sketch, TensorType
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import Assignment, AssignOp, IndexVar, Semiring
from mlir_sparse.notation.laws import PLUS_TIMES
from mlir_sparse.plan.composed_cuts import ComposedCut
from mlir_sparse.plan.cut_steps import CutSteps, statement_with, steps_under
from mlir_sparse.plan.statement_cuts import StatementCut
from mlir_sparse.spec import Part, Rewriting, index_ends
from mlir_sparse.text.listed_words import listed

__all__ = ["PassOverParts", "StatementInPass", "StatementOfStream", "StreamPlan", "WholeStatement"]

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class StatementOfStream:
    """A statement of a stream.

    Args:
        assignment: the statement.
        operands: the value behind each name that it reads.
        value: the name of its own value; each assignment to a tensor makes another.
        out: the storage of its value, as for `compile`.
        is_planned: whether the optimizer has divided it.
    """

    assignment: Assignment
    operands: Mapping[str, str]
    value: str
    out: Any
    is_planned: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class WholeStatement:
    """A statement on values that are there.

    Args:
        statement: the statement.
    """

    statement: StatementOfStream


@dataclass(frozen=True, slots=True, eq=False)
class StatementInPass:
    """A statement of which each part of the sources makes a piece.

    Args:
        statement: the statement.
        pieces: it, compiled for pieces.
        extents: the extent of each index variable.
    """

    statement: StatementOfStream
    pieces: StatementPieces
    extents: Mapping[IndexVar, int]

    @property
    def cut(self) -> StatementCut:
        """Returns where it is cut."""
        return self.pieces.cut

    @property
    def extent(self) -> int:
        """Returns the extent of the variable that it is cut along."""
        return self.extents[IndexVar(self.cut.variable)]

    def value_of(self, name: str) -> str:
        """Returns the value behind a name in the statement of a piece."""
        return self.statement.operands[self.cut.operand(name)]


@dataclass(frozen=True, slots=True, eq=False)
class PassOverParts:
    """Statements that each part of the sources goes through in turn.

    Args:
        statements: the statements, in order.
        kept: the values that are there after the pass; others are made for each part.
    """

    statements: tuple[StatementInPass, ...]
    kept: frozenset[str]


@dataclass(slots=True)
class StreamPlan:
    """Finds the passes of statements over parts.

    Args:
        statements: the statements, in order.
        shapes: the shape of each value that there is, and of those that statements make.
        types: the type of each.
        sources: the axis of the parts of each source.
        outputs: the values that are asked for.
        sketch_of: returns what is known of a value that is there before the first pass; None of others.
        ring: what `+` and `*` are.
        optimize: "auto", "off" or "algebra".
        threads: the greatest number of threads of a piece.
        target_shapes: the shapes of values that are written to arrays of the caller.
        memory: the bytes that an array which is made in parts may take where statements read it otherwise.
    """

    statements: list[StatementOfStream]
    shapes: dict[str, Shape]
    types: dict[str, TensorType]
    sources: Mapping[str, int]
    outputs: tuple[str, ...]
    sketch_of: Callable[[str], Sketch | None]
    ring: Semiring = PLUS_TIMES
    optimize: str = "auto"
    threads: int | None = None
    target_shapes: Mapping[str, Shape] = field(default_factory=dict)
    memory: int = 0
    _kept: set[str] = field(default_factory=set)
    _there: set[str] = field(default_factory=set)

    def steps(self) -> list[WholeStatement | PassOverParts]:
        """Returns the passes, and what is computed between them.

        Raises:
            UnsupportedError: for a statement that reads what is made in parts in a way that no pass has.
        """
        self._there = {name for name in self.shapes if name not in self.sources}
        self._leave_out_unneeded()
        found: list[WholeStatement | PassOverParts] = []
        while not self._there >= set(self.outputs):
            extents: list[int | None] = [None]
            before = len(self._there)
            for extent in extents:  # which grows: parts of a pass have one extent
                found += self._next(extent, extents)
                if len(self._there) > before:
                    break
            else:
                left = [f"`{one.assignment}`" for one in self.statements if one.value not in self._there]
                raise UnsupportedError(
                    f"expected statements that passes over parts can compute, but got {listed(left)}"
                )
        return found

    def _leave_out_unneeded(self) -> None:
        needed, kept = set(self.outputs), list[StatementOfStream]()
        for one in reversed(self.statements):
            if one.value in needed:
                kept.append(one)
                needed |= set(one.operands.values())
        self.statements = kept[::-1]

    def _next(self, extent: int | None, extents: list[int | None]) -> list[WholeStatement | PassOverParts]:
        """Returns the statements on values that are there, and the pass after them.

        Args:
            extent: that of the variable that statements are cut along; None for that of the first.
            extents: those that were found; others are added.
        """
        found: list[WholeStatement | PassOverParts] = []
        axes, own, late = dict(self.sources), dict[str, StatementInPass](), set[str]()
        at = 0
        while at < len(self.statements):
            one = self.statements[at]
            at += 1
            if one.value in self._there:
                continue
            read = set(one.operands.values())
            if read & late:
                late.add(one.value)
                continue
            in_parts = {name: axes[value] for name, value in one.operands.items() if value in axes}
            if not in_parts:
                found.append(WholeStatement(one))
                self._note(one, None)
                self._there.add(one.value)
                continue
            cut = self._cut(one, in_parts, own)
            if isinstance(cut, Assignment):  # an update of what is summed over parts
                self._divide_update(at - 1)
                at -= 1
                continue
            if cut is None:
                late.add(one.value)
                continue
            known = self._extents(one)
            own_extent = known[IndexVar(cut.variable)]
            if extent not in (None, own_extent):
                extents += [] if own_extent in extents else [own_extent]
                late.add(one.value)
                continue
            steps = self._steps_under(one, cut)
            if isinstance(steps, CutSteps) and steps.before and not one.is_planned:
                self._make_before(at - 1, steps, self._rewriting(one))
                at -= 1
                continue
            extent = own_extent
            own[one.value] = self._compiled(one, cut, known, steps)
            if cut.axis is None:
                late.add(one.value)
            else:
                axes[one.value] = cut.axis
        asked = self._kept.union(self.outputs)
        kept = frozenset(value for value in own if value in asked or own[value].cut.axis is None)
        run = _needed_for(own, kept)
        if run:
            found.append(PassOverParts(tuple(run), kept & {one.statement.value for one in run}))
            self._there |= kept
        return found

    def _cut(
        self, one: StatementOfStream, in_parts: Mapping[str, int], own: Mapping[str, StatementInPass]
    ) -> StatementCut | Assignment | None:
        """Returns the cut of a statement, None for the next pass; its update where only its values can be cut."""
        try:
            legal = cuts_along_parts(one.assignment, self.ring, in_parts)
        except UnsupportedError:
            made = [name for name in in_parts if one.operands[name] in own]
            target = one.assignment.target.tensor
            if one.assignment.op.reads_target and (target not in in_parts or target in made):
                values, update = values_and_update(one.assignment)
                rest = {name: axis for name, axis in in_parts.items() if name in values.inputs}
                cuts_along_parts(values, self.ring, rest)  # which says why not
                if target in made:  # its present value is there after this pass, as are the values
                    self._check_later(one, [target])
                return update
            self._check_later(one, made)
            return None
        beside = [[name for name in map(cut.operand, cut.halos) if one.operands[name] in own] for cut in legal]
        if all(beside):
            self._check_later(one, beside[0])
            return None
        extents = self._extents(one)
        legal = [cut for cut, names in zip(legal, beside, strict=True) if not names]
        return min(legal, key=lambda cut: sum(halo.reach(extents) for halo in cut.halos.values()))

    def _check_later(self, one: StatementOfStream, made: Sequence[str]) -> None:
        """Sees to it that what a statement reads otherwise than part by part is kept, for the next pass.

        Raises:
            UnsupportedError: for what is too large to be kept, unless it is an output.
        """
        if not made:
            cuts_along_parts(one.assignment, self.ring, self._axes_of(one))  # which says why not
        large = [name for name in made if not self._is_kept(one.operands[name])]
        if large:
            raise UnsupportedError(
                f"expected a statement that reads {listed(large)} part by part, as it is made, but got "
                f"`{one.assignment}`: give more memory, or name {listed(large)} among the outputs, which are kept whole"
            )
        self._kept |= {one.operands[name] for name in made}

    def _is_kept(self, value: str) -> bool:
        """Returns whether a value is kept whole, or may be: an array no larger than the parts of all sources."""
        kind = self.types[value]
        nbytes = prod(self.shapes[value]) * kind.dtype.numpy.itemsize
        return value in self.outputs or (kind.encoding is None and nbytes <= self.memory)

    def _axes_of(self, one: StatementOfStream) -> dict[str, int]:
        return {name: self.sources[value] for name, value in one.operands.items() if value in self.sources}

    def _extents(self, one: StatementOfStream) -> Mapping[IndexVar, int]:
        shapes = {name: self.shapes[value] for name, value in one.operands.items()}
        return index_ends(one.assignment, shapes, self.target_shapes.get(one.value))

    def _types(self, one: StatementOfStream) -> dict[str, TensorType]:
        return {name: self.types[value] for name, value in one.operands.items()}

    def _note(self, one: StatementOfStream, pieces: StatementPieces | None) -> None:
        """Notes the shape and the type of a statement's value."""
        extents = self._extents(one)
        self.shapes[one.value] = tuple(extents[index] for index in one.assignment.target.indices)
        if pieces is not None:
            self.types[one.value] = of_any_shape(pieces.output)
            return
        options: dict[str, Any] = {"semiring": self.ring, "optimize": "off"}
        types = {name: of_any_shape(kind) for name, kind in self._types(one).items()}
        output = compile(one.assignment, out=one.out, tensors=types, **options).output
        assert isinstance(output, TensorType)  # of one statement
        self.types[one.value] = of_any_shape(output)

    def _rewriting(self, one: StatementOfStream) -> Rewriting | None:
        if self.ring is not PLUS_TIMES or self.optimize == "off":
            return None
        return rewriting_of_pieces(
            one.assignment, self._types(one), one.out, lambda name: self.sketch_of(one.operands[name]), self.optimize
        )

    def _steps_under(self, one: StatementOfStream, cut: StatementCut) -> CutSteps | None:
        rewriting = self._rewriting(one)
        found = None if rewriting is None else steps_under(ComposedCut((cut,)), rewriting)
        if not isinstance(found, CutSteps):
            return None
        if not found.before:
            return found
        kinds = {kind.dtype for kind in self._types(one).values()}
        exact = len(kinds) == 1 and kinds <= set(WIDE_TYPES) and not any(part.dtype for part in found.before)
        assert rewriting is not None
        rest = statement_with(one.assignment, rewriting, found.before)
        in_parts = {name: axis for name, axis in cut.parts.items() if name in rest.inputs}
        try:
            cuts_along_parts(rest, self.ring, in_parts)
        except UnsupportedError:  # a way in steps alone may be refused where the statement is not
            return None
        return found if exact else None

    def _compiled(
        self, one: StatementOfStream, cut: StatementCut, extents: Mapping[IndexVar, int], steps: CutSteps | None
    ) -> StatementInPass:
        composed, rewriting, plan = ComposedCut((cut,)), self._rewriting(one), None
        if steps is not None and rewriting is not None and not steps.before:
            plan = replace(rewriting, parts=steps.within, value=steps.value)
        pieces = compile_pieces(
            composed, self._types(one), one.out, self.ring, steps=plan, optimize=self.optimize, threads=self.threads
        )
        self._note(one, pieces)
        return StatementInPass(one, pieces, extents)

    def _divide_update(self, at: int) -> None:
        """Puts the values of an update in a statement of their own, as the present value counts once."""
        one = self.statements[at]
        values, update = values_and_update(one.assignment)
        name = values.target.tensor
        made = StatementOfStream(values, {n: one.operands[n] for n in values.inputs}, f"{one.value} {name}", one.out)
        operands = {name: made.value} | {n: one.operands[n] for n in update.inputs if n != name}
        self.statements[at : at + 1] = [made, replace(one, assignment=update, operands=operands)]

    def _make_before(self, at: int, steps: CutSteps, rewriting: Rewriting | None) -> None:
        """Puts the parts that are the same for all pieces before a statement."""
        assert rewriting is not None
        one, made = self.statements[at], list[StatementOfStream]()
        operands = dict(one.operands)
        for part in steps.before:
            statement = Assignment(part.target, AssignOp.ASSIGN, part.value)
            value = f"{one.value} {part.target.tensor}"
            read = {name: operands[name] for name in statement.inputs}
            made.append(StatementOfStream(statement, read, value, _storage(part), is_planned=True))
            operands[part.target.tensor] = value
        rest = statement_with(one.assignment, rewriting, steps.before)
        read = {name: operands[name] for name in rest.inputs}
        self.statements[at : at + 1] = [*made, replace(one, assignment=rest, operands=read, is_planned=True)]


def _storage(part: Part) -> str | None:
    return "dense" if part.is_array or (part.estimate is not None and not part.estimate.is_sparse) else None


def _needed_for(own: Mapping[str, StatementInPass], kept: Iterable[str]) -> list[StatementInPass]:
    """Returns the statements of a pass that values after it need, in order."""
    needed, found = set(kept), list[StatementInPass]()
    for value, one in reversed(list(own.items())):
        if value in needed:
            found.append(one)
            needed |= set(one.statement.operands.values())
    return found[::-1]
