"""What cuts of a statement make of its steps where it is rewritten: parts that are made first, and what reads them.

One cut serves a step where each piece makes its own share of the result, and nothing else. A step that reads nothing of
what is cut is the same for all pieces.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mlir_sparse.classes import dataclass
from mlir_sparse.notation import (
    Access,
    Assignment,
    AssignOp,
    Expr,
    Fold,
    IndexVar,
    Reduce,
    accesses_of,
    free_indices,
    fresh_name,
    reads,
    rename_variables,
    replace_accesses,
    substitute,
    walk,
)
from mlir_sparse.plan.algebra.inlined_statements import value_at
from mlir_sparse.plan.composed_cuts import ComposedCut
from mlir_sparse.plan.statement_cuts import StatementCut, cuts
from mlir_sparse.spec import Part, Rewriting

__all__ = ["CutSteps", "in_plain_names", "statement_with", "steps_under"]


@dataclass(frozen=True, slots=True)
class CutSteps:
    """The steps of a rewritten statement under cuts.

    Args:
        within: the parts of which each piece makes its own share, in order; they read operands by the names of pieces.
        before: those that are the same for all pieces, in order.
        value: what reads them, by the names of pieces.
    """

    within: tuple[Part, ...]
    before: tuple[Part, ...]
    value: Expr


def steps_under(composed: ComposedCut, rewriting: Rewriting) -> CutSteps | str:
    """Returns what cuts make of the parts of a rewritten statement, or why they do not serve them.

    Args:
        composed: the cuts of the statement as it is written.
        rewriting: how it is rewritten.

    >>> from mlir_sparse.notation import parse
    >>> from mlir_sparse.plan.composed_cuts import compose
    >>> part = parse("t(j) = sum(k : B(j,k) * x(k))")
    >>> by_parts = Rewriting((Part(part.target, part.value),), parse("y(i) = sum(j : A(i,j) * t(j))").value)
    >>> written = parse("y(i) = A(i,j) * B(j,k) * x(k)")
    >>> [len(steps_under(compose(written, [variable]), by_parts).before) for variable in "ij"]
    [1, 0]
    >>> steps_under(compose(written, ["k"]), by_parts)
    't(j) would be a share of its sums in each piece'
    """
    if any(cut.halos or (cut.renamed and len(composed.cuts) > 1) for cut in composed.cuts):
        return "pieces read an operand in several ways"
    under = [_Pieces.of(cut) for cut in composed.cuts]
    within, before = list[Part](), list[Part]()
    for part in rewriting.parts:
        step = Assignment(part.target, AssignOp.ASSIGN, part.value)
        if all(pieces.are_alike(step) for pieces in under):
            before.append(part)
            for pieces in under:
                pieces.note_whole(part.target.tensor)
            continue
        for pieces in under:
            own = next((one for one in pieces.cuts_of(step) if one.axis is not None), None)
            if own is None:
                return f"{part.target} would be a share of its sums in each piece"
            assert own.axis is not None
            step = pieces.named(step, own)
            pieces.note_share(part.target.tensor, own.axis)
        within.append(replace(part, value=step.value))
    last = replace(composed.assignment, value=rewriting.value)
    for cut, pieces in zip(composed.cuts, under, strict=True):
        alike = (one for one in pieces.cuts_of(last) if (one.axis, one.combine) == (cut.axis, cut.combine))
        own = next(alike, None)
        if own is None:
            return f"{cut.variable} does not divide {rewriting.value}"
        last = pieces.named(last, own)
    return CutSteps(tuple(within), tuple(before), last.value)


def in_plain_names(rewriting: Rewriting, statement: Assignment) -> Rewriting:
    """Returns a rewriting whose parts and variables have names as texts have, so that steps are statements.

    Args:
        rewriting: how a statement is rewritten.
        statement: the statement.
    """
    taken = {statement.target.tensor, *statement.inputs, *(index.name for index in statement.indices)}
    values = (rewriting.value, *(part.value for part in rewriting.parts))
    used = {index.name for part in rewriting.parts for index in part.target.indices}
    used |= {name for value in values for name in (*_bound(value), *(index.name for index in free_indices(value)))}
    plain = {name: fresh_name(name.replace(".", "_"), taken) for name in sorted(used) if "." in name}
    names = {IndexVar(name): IndexVar(other) for name, other in plain.items()}
    tensors = {part.target.tensor: fresh_name(part.target.tensor.replace(".", "_"), taken) for part in rewriting.parts}

    def named(node: Expr) -> Expr:
        node = rename_variables(node, names)
        return replace_accesses(node, {one: tensors[one.tensor] for one in accesses_of(node) if one.tensor in tensors})

    parts = tuple(
        replace(
            part,
            target=Access(tensors[part.target.tensor], tuple(names.get(one, one) for one in part.target.indices)),
            value=named(part.value),
            order=part.order and tuple(names.get(one, one) for one in part.order),
        )
        for part in rewriting.parts
    )
    renamed = tuple((plain.get(name, name), written) for name, written in rewriting.renamed)
    return replace(rewriting, parts=parts, value=named(rewriting.value), renamed=renamed)


def statement_with(statement: Assignment, rewriting: Rewriting, made: tuple[Part, ...]) -> Assignment:
    """Returns a rewritten statement that reads parts as operands, with all else in its place.

    Args:
        statement: the statement.
        rewriting: how it is rewritten.
        made: the parts that are operands.
    """
    values = (statement.value, rewriting.value, *(part.value for part in rewriting.parts))
    taken = {index.name for part in rewriting.parts for index in part.target.indices}
    taken |= {index.name for index in statement.indices} | {name for value in values for name in _bound(value)}
    value = rewriting.value
    for part in reversed(rewriting.parts):
        if part in made:
            continue
        definition = Assignment(part.target, AssignOp.ASSIGN, part.value)
        for access in dict.fromkeys(one for one in reads(value) if one.tensor == part.target.tensor):
            value = substitute(value, {access: value_at(definition, access, taken)})
    return replace(statement, value=value, source=None)


def _bound(value: Expr) -> set[str]:
    return {index.name for node in walk(value) if isinstance(node, Reduce | Fold) for index in node.indices}


@dataclass(frozen=True, slots=True)
class _Pieces:
    """What pieces have of each tensor under one cut: a part along an axis, all of it, or both.

    Args:
        names: the name that pieces have for what they read of a tensor, by the tensor and the axis; None for all of it.
        whole: the parts that are made before, which may be read in any way.
    """

    names: dict[tuple[str, int | None], str]
    whole: set[str]

    @classmethod
    def of(cls, cut: StatementCut) -> _Pieces:
        return cls(_roles(cut), set())

    def are_alike(self, step: Assignment) -> bool:
        """Returns whether all pieces read the same for a step."""
        return all(one.tensor in self.whole or (one.tensor, None) in self.names for one in reads(step.value))

    def note_whole(self, tensor: str) -> None:
        self.whole.add(tensor)

    def note_share(self, tensor: str, axis: int) -> None:
        self.names[tensor, axis] = tensor

    def cuts_of(self, step: Assignment) -> Iterator[StatementCut]:
        """Yields the cuts of a step for which pieces have what it reads."""
        for found in cuts(step).values():
            if isinstance(found, str) or found.halos:
                continue
            if all(role in self.names or role[0] in self.whole for role in _roles(found)):
                yield found

    def named(self, step: Assignment, cut: StatementCut) -> Assignment:
        """Returns a step that reads operands by the names that pieces have for what its cut divides and what not."""
        names = {name: self.names.get(role, role[0]) for role, name in _roles(cut).items()}
        value = cut.assignment.value
        read = [access for access in accesses_of(value) if access.tensor in names]
        return replace(step, value=replace_accesses(value, {access: names[access.tensor] for access in read}))


def _roles(cut: StatementCut) -> dict[tuple[str, int | None], str]:
    """Returns the name that pieces of a cut have for what they read of a tensor, as `_Pieces` has them."""
    axes: dict[str, int | None] = {**dict.fromkeys(cut.whole), **cut.parts}
    return {(cut.operand(name), axis): name for name, axis in axes.items()}
