"""The ranges of the variables in every statement of a comprehension, and the shapes of its tensors."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from mlir_sparse.classes import dataclass
from mlir_sparse.errors import ExtentError
from mlir_sparse.notation import (
    Access,
    Assignment,
    AssignOp,
    IndexVar,
    accesses_of_statement,
    has_affine_target,
    index_vectors,
    is_index_vector,
    shifted_gathers,
)
from mlir_sparse.spec.target_places import summed_variables
from mlir_sparse.spec.variable_ranges import Ranges, check_inside_target, extent_of, find_ranges, infer_ranges

__all__ = ["RangedStatement", "placed_statement", "with_made_shapes", "with_ranges"]

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RangedStatement:
    """A statement with the ranges of its variables.

    Args:
        statement: the statement, without names of sizes.
        ranges: the range of each variable.
        shape: the shape of the target.
        is_part: whether only a part of the target is assigned, and the rest keeps its values; they are zero where
            there are none.
        summed: of an affine target, the variables whose values reach one element several times.
    """

    statement: Assignment
    ranges: Ranges
    shape: Shape
    is_part: bool
    summed: tuple[IndexVar, ...] = ()


def with_ranges(
    statements: Sequence[Assignment], known: Mapping[str, Shape], present: Collection[str], *, strict: bool
) -> tuple[RangedStatement, ...]:
    """Returns the statements with the ranges of their variables.

    The shape of a tensor comes from the first statement that assigns it and whose reads give every variable a range; it
    need not be the first one that assigns it (`C(i) = 0` before `C(i) += A(i,k)`).

    Args:
        statements: in order, without names of sizes.
        known: the shapes of the parameters, and of outputs with declared sizes or passed by the caller.
        present: the tensors with values before the first statement.
        strict: see `infer_ranges`.

    Raises:
        ExtentError: for a variable without a range, a range out of a tensor's bounds, and a new tensor of which a part
            gets no values.
    """
    shapes = dict(known)
    found: dict[int, Ranges] = {}
    while len(found) < len(statements):
        before = len(found)
        for at, statement in enumerate(statements):
            shapes |= _shapes_of_places(statement, shapes)
            if at in found or not all(access.tensor in shapes for access in _read_elsewhere(statement)):
                continue
            ranges = find_ranges(statement, shapes, shapes.get(statement.target.tensor), strict=strict)
            if ranges is not None:
                found[at] = ranges
                shapes.setdefault(statement.target.tensor, _shape(statement, ranges))
        if len(found) == before:
            first = next(s for at, s in enumerate(statements) if at not in found)
            infer_ranges(first, shapes, shapes.get(first.target.tensor), strict=strict)
            raise AssertionError("what finds no range is refused")
    assigned = set(present)
    placed: list[RangedStatement] = []
    for at, statement in enumerate(statements):
        name = statement.target.tensor
        placed.append(_placed(statement, found[at], shapes[name], name in assigned))
        assigned.add(name)
    return tuple(placed)


def _read_elsewhere(statement: Assignment) -> list[Access]:
    """Returns the accesses that a statement reads, except those of its target, and positions of its variables."""
    found = (access for access in accesses_of_statement(statement) if access.tensor != statement.target.tensor)
    return [access for access in found if not is_index_vector(access.tensor)]


def _shapes_of_places(statement: Assignment, shapes: Mapping[str, Shape]) -> dict[str, Shape]:
    """Returns the shapes of the places that gathers with offsets read, which are those of the tensors they are of."""
    gathers = shifted_gathers(statement).items()
    return {name: shapes[gather.tensor] for name, gather in gathers if gather.tensor in shapes}


def with_made_shapes(one: RangedStatement, shapes: Mapping[str, Shape]) -> dict[str, Shape]:
    """Returns the shapes of all that a statement reads, what calls make included.

    Args:
        one: the statement with its ranges.
        shapes: the shapes of tensors.
    """
    vectors = {name: (one.ranges[variable][1],) for name, variable in index_vectors(one.statement).items()}
    return {**_shapes_of_places(one.statement, shapes), **vectors, **shapes}


def _shape(statement: Assignment, ranges: Ranges) -> Shape:
    return tuple(extent_of(subscript, ranges) for subscript in statement.target.subscripts)


def _variables(statement: Assignment) -> tuple[IndexVar, ...]:
    return tuple(subscript for subscript in statement.target.subscripts if isinstance(subscript, IndexVar))


def _placed(statement: Assignment, ranges: Ranges, shape: Shape, has_values: bool) -> RangedStatement:
    if has_affine_target(statement):
        return _scattered(statement, ranges, shape)
    partial = [
        (axis, variable)
        for axis, (variable, size) in enumerate(zip(_variables(statement), shape, strict=True))
        if ranges[variable] != (0, size)
    ]
    named = {clause.variable for clause in statement.ranges}
    for axis, variable in partial:
        if has_values and variable in named:
            continue
        low, high = ranges[variable]
        name = statement.target.tensor
        rest = (
            f"say so by `where {variable} in {low}:{high}` to leave the rest as it is"
            if has_values
            else "the rest of it has no values yet; assign all of it first"
        )
        raise ExtentError(
            f"expected index {variable} to run over all of axis {axis} of {name}, 0 to {shape[axis] - 1}, "
            f"but got {low} to {high - 1}: {rest}",
            source=statement.source,
            span=variable.span,
        )
    return RangedStatement(statement, ranges, shape, bool(partial))


def placed_statement(statement: Assignment, ranges: Ranges, shape: Shape | None) -> RangedStatement:
    """Returns a statement with an affine target for ranges of its variables.

    Args:
        statement: the statement.
        ranges: the range of each variable of the target.
        shape: the shape of the target; None where it ends with what is assigned.

    Raises:
        ExtentError: for a subscript that does not stay in the shape.
    """
    return _scattered(statement, ranges, _shape(statement, ranges) if shape is None else shape)


def _scattered(statement: Assignment, ranges: Ranges, shape: Shape) -> RangedStatement:
    check_inside_target(statement, ranges, shape)
    summed = summed_variables(statement.target, {variable: high - low for variable, (low, high) in ranges.items()})
    if summed and statement.op is AssignOp.ASSIGN:
        raise ExtentError(
            f"expected each element of {statement.target.tensor} to be assigned once, but got `{statement.target}` to "
            f"reach one by several values of {summed[0]}: write `{statement.target} +=! ...` to sum them",
            source=statement.source,
            span=statement.target.span,
        )
    return RangedStatement(statement, ranges, shape, True, summed)
