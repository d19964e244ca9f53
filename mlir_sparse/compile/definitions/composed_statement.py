"""Statements composed with the definitions of the tensors that they read, before anything is planned.

Where a definition cannot stand in a statement, as below an operator on stored entries, its tensor is made first; where
it can, the search for the best plan decides whether the tensor is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from mlir_sparse.classes import dataclass
from mlir_sparse.compile.definitions.derived_operands import DerivedOperand, OnesOperand
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import ExtentError
from mlir_sparse.notation import (
    Access,
    Apply,
    Assignment,
    Binary,
    BinaryOp,
    Composition,
    Expr,
    Fold,
    IndexVar,
    NoCompositionError,
    Subscript,
    children,
    composed,
    free_indices,
    fresh_name,
    gathered_sums,
    reads,
    rebuild,
    walk,
    with_explicit_sums,
)
from mlir_sparse.spec import depends_on, result_dtype
from mlir_sparse.spec.check_types import OWN_ARGUMENTS

__all__ = ["Composable", "ComposedStatement", "compose_statement"]


@dataclass(frozen=True, slots=True)
class Composable:
    """A defined tensor as statements see it.

    Args:
        text: the definition.
        kind: the type of the tensor when it is made.
        composition: its elements; None where it is always made.
        reason: why it is.
        operands: by the name in the composition, the operands that it reads.
        open_axes: the axes whose extents no operand has.
        copies: whether elements are those of operands, unchanged: no arithmetic is done on them.
        places: by the name of a selection that data decide, the operand with the column of each of its rows.
    """

    text: str
    kind: TensorType
    composition: Composition | None
    reason: str
    operands: Mapping[str, DerivedOperand]
    open_axes: tuple[int, ...]
    copies: bool
    places: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ComposedStatement:
    """A statement in which definitions stand in place of defined tensors.

    Args:
        assignment: the statement.
        operands: for each tensor that it reads its name, the name in the statement as it was written, and the operand
            of the definition; "" for the tensor itself.
        ones: by name, vectors that give variables their extents.
        checks: (tensor, axis, other, its axis) of axes that must have one extent, and that no kernel compares.
        account: what `explain()` says of it, a line each.
        gathers: whether elements are gathered in place of sums over selections: all of these have one entry a row.
    """

    assignment: Assignment
    operands: tuple[tuple[str, str, str], ...]
    ones: tuple[tuple[str, OnesOperand], ...]
    checks: tuple[tuple[str, int, str, int], ...]
    account: tuple[str, ...]
    gathers: bool = False

    def check(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Raises unless axes that share a variable have one extent.

        Raises:
            ExtentError: with both.
        """
        for name, axis, other, other_axis in self.checks:
            size, found = shapes[name][axis], shapes[other][other_axis]
            if size != found:
                raise ExtentError(
                    f"expected one extent of axis {axis} of {name} and axis {other_axis} of {other}, which have one "
                    f"index, but got {size} and {found}"
                )


def compose_statement(
    assignment: Assignment,
    defined: Mapping[str, Composable],
    others: Mapping[str, DType],
    *,
    instead: str = "",
    gathers: bool = False,
) -> ComposedStatement:
    """Returns a statement composed with the definitions of the tensors that it reads.

    Args:
        assignment: the statement, its semiring written out.
        defined: by name, the defined tensors.
        others: by name, the element types of all others that it reads.
        instead: why all defined tensors are made first; "" where each is decided on its own.
        gathers: whether elements may be gathered in place of sums over selections.
    """
    reasons = {name: instead or _why_made(name, one, assignment) for name, one in defined.items()}
    while True:
        chosen = {name: one for name, one in defined.items() if not reasons[name]}
        made = {name: one.kind.dtype for name, one in defined.items() if reasons[name]}
        composer = _Composer(assignment, chosen)
        try:
            found = composer.composed(gathers=gathers)
        except NoCompositionError as error:
            reasons |= dict.fromkeys(chosen, str(error))
            continue
        changed = composer.other_numbers(found.assignment, {**others, **made})
        if not changed:
            return replace(found, account=tuple(_account(found.assignment, defined, reasons)))
        reasons |= changed


def _account(assignment: Assignment, defined: Mapping[str, Composable], reasons: Mapping[str, str]) -> Iterator[str]:
    yield f"composed: {assignment}"
    for name, one in defined.items():
        yield f"  {name}: {one.text}" + (f"; made first, because {reasons[name]}" if reasons[name] else "")


def _why_made(name: str, one: Composable, assignment: Assignment) -> str:
    """Returns why a tensor is made whatever the others are; "" where its definition may stand in a statement."""
    if one.composition is None:
        return one.reason
    if assignment.ranges or assignment.exists:
        return "the statement has ranges of its own"
    explicit = with_explicit_sums(assignment)  # which writes `stored` as an operator
    nodes = [node for node in walk(explicit.value) if isinstance(node, Apply | Fold)]
    if any(depends_on(node, {name}) for node in nodes):
        return "an operator on stored entries reads it"
    return ""


class _Composer:
    """Puts definitions in place of some tensors of a statement.

    Args:
        assignment: the statement.
        chosen: by name, the tensors.
    """

    def __init__(self, assignment: Assignment, chosen: Mapping[str, Composable]) -> None:
        self._assignment = assignment
        self._chosen = chosen
        self._taken = {v.name for v in assignment.indices} | {a.tensor for a in reads(assignment.value)}
        self._taken |= {assignment.target.tensor, *OWN_ARGUMENTS}
        self._accesses = list(reads(assignment.value))
        self._names = {
            (name, operand): fresh_name(operand.partition(".")[0], self._taken)
            for name, one in chosen.items()
            for operand in one.operands
        }
        self._ones: dict[str, OnesOperand] = {}
        self._checks: list[tuple[str, int, str, int]] = []

    def composed(self, *, gathers: bool) -> ComposedStatement:
        """Returns the statement.

        Args:
            gathers: whether elements may be gathered in place of sums over selections.

        Raises:
            NoCompositionError: for an access that a definition cannot be read at.
        """
        definitions = {name: self._composition(name, one) for name, one in self._chosen.items()}
        uneven = any(_has_uneven_terms(one.value) for one in definitions.values())
        # Each term of a definition is summed as often as the tensor is, whatever variables the term has.
        written = with_explicit_sums(self._assignment) if uneven else self._assignment
        found = composed(written, definitions)
        gathered = self._gathered(found) if gathers else found
        found, gathers = gathered, gathered is not found
        renamed = {new: pair for pair, new in self._names.items()}
        operands = tuple((new, *renamed.get(new, (new, ""))) for new in found.inputs if new not in self._ones)
        return ComposedStatement(found, operands, tuple(self._ones.items()), tuple(self._checks), (), gathers)

    def _gathered(self, assignment: Assignment) -> Assignment:
        """Returns a statement with gathers for sums over selections, whose rows are those of the result.

        Where rows are summed too, a part with an element for each column may be better: selections show that.
        """
        places = {
            self._names[name, selection]: self._names[name, place]
            for name, one in self._chosen.items()
            for selection, place in one.places.items()
        }
        if not places or assignment.op.reads_target:  # a place out of range must be found before anything is written
            return assignment
        explicit = with_explicit_sums(assignment)
        rows = frozenset(s for s in assignment.target.subscripts if isinstance(s, IndexVar))
        value = gathered_sums(explicit.value, places, set(self._taken), rows)
        return replace(explicit, value=value) if value != explicit.value else assignment

    def other_numbers(self, after: Assignment, left: Mapping[str, DType]) -> dict[str, str]:
        """Returns the tensors that must be made, as arithmetic in their own element type gives other numbers.

        Args:
            after: the statement composed.
            left: by name, the element types of all other tensors.
        """
        own = {name: one.kind.dtype for name, one in self._chosen.items()}
        operands = {
            (name, operand): found.kind.dtype
            for name, one in self._chosen.items()
            for operand, found in one.operands.items()
            if operand not in one.places.values()
        }
        there = {left[name] for name in self._assignment.inputs if name in left}
        for name, one in self._chosen.items():
            types = {*there, *own.values(), *(dtype for (owner, _), dtype in operands.items() if owner == name)}
            if one.kind.dtype.is_exact and not one.copies and types != {one.kind.dtype}:
                return {name: f"its arithmetic is that of {one.kind.dtype}"}
        before = result_dtype(with_explicit_sums(self._assignment).value, {**left, **own})
        new = {self._names[pair]: self._chosen[pair[0]].operands[pair[1]].kind.dtype for pair in self._names}
        ones = {name: one.kind.dtype for name, one in self._ones.items()}
        found = result_dtype(with_explicit_sums(after).value, {**left, **new, **ones})
        if found == before:
            return {}
        return dict.fromkeys(own, f"its operands would make the result {found} and not {before}")

    def _composition(self, name: str, one: Composable) -> Composition:
        assert one.composition is not None, "others are made"
        value = _renamed(
            one.composition.value, {old: new for (owner, old), new in self._names.items() if owner == name}
        )
        for axis in one.open_axes:
            if self._needs_extent(name, axis):
                size = one.kind.shape[axis]
                assert size is not None, "shapes of defined tensors are known"
                variable = one.composition.variables[axis]
                ones = fresh_name(f"{variable.name}_extent", self._taken)
                self._ones[ones] = OnesOperand(size, one.kind.dtype)
                value = Binary(BinaryOp.MUL, value, Access(ones, (variable,)))
        return replace(one.composition, value=value)

    def _needs_extent(self, name: str, axis: int) -> bool:
        """Returns whether no other tensor gives the variables at an open axis their extents; notes those that do."""
        found: list[tuple[str, int, str, int]] = []
        for access in self._accesses:
            if access.tensor != name:
                continue
            other = self._extent_of(access.subscripts[axis])
            if other is None:
                return True
            found.append((name, axis, *other))
        self._checks += found
        return False

    def _extent_of(self, subscript: Subscript) -> tuple[str, int] | None:
        """Returns a tensor and its axis over which a variable runs by itself."""
        for access in self._accesses:
            one = self._chosen.get(access.tensor)
            for axis, other in enumerate(access.subscripts):
                if isinstance(other, IndexVar) and other == subscript and not (one and axis in one.open_axes):
                    return access.tensor, axis
        return None


def _has_uneven_terms(value: Expr) -> bool:
    """Returns whether terms of a sum have different variables: a sum that is not written moves into some of them only.

    >>> from mlir_sparse.notation.notation_parser import parse
    >>> [_has_uneven_terms(parse(text).value) for text in ("A(i,j) = B(i,j) + 1", "A(i,j) = B(i,j) - C(j,i)")]
    [True, False]
    """
    return any(
        isinstance(node, Binary)
        and node.op in (BinaryOp.ADD, BinaryOp.SUB)
        and set(free_indices(node.left)) != set(free_indices(node.right))
        for node in walk(value)
    )


def _renamed(node: Expr, names: Mapping[str, str]) -> Expr:
    if isinstance(node, Access):
        subscripts = tuple(_renamed_subscript(subscript, names) for subscript in node.subscripts)
        return replace(node, tensor=names.get(node.tensor, node.tensor), subscripts=subscripts)
    return rebuild(node, tuple(_renamed(child, names) for child in children(node)))


def _renamed_subscript(subscript: Subscript, names: Mapping[str, str]) -> Subscript:
    if not isinstance(subscript, Access):
        return subscript
    found = _renamed(subscript, names)
    assert isinstance(found, Access)
    return found
