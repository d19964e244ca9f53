"""The sizes of a comprehension: their values, inferred from shapes, and their substitution in statements."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from mlir_sparse.errors import ExtentError, RankError
from mlir_sparse.notation import (
    Access,
    AffineSubscript,
    Assignment,
    Comprehension,
    Literal,
    Parameter,
    Range,
    Subscript,
    accesses_of_statement,
    bind,
    substitute,
    symbols_of,
)
from mlir_sparse.spec.check_types import shape_text

__all__ = ["bound", "gathered", "solve_sizes", "waits_for"]

Shape = tuple[int | None, ...]


def solve_sizes(comprehension: Comprehension, shapes: Mapping[str, Shape]) -> dict[str, int]:
    """Returns the value of every size that some shape determines.

    Args:
        comprehension: the comprehension, whose parameters name sizes.
        shapes: the shape of each known tensor, with None for unknown extents.

    Raises:
        RankError: for a tensor of another rank than declared.
        ExtentError: for a size with two values, and for an axis of another length than declared.
    """
    sizes: dict[str, int] = {}
    origin: dict[str, str] = {}
    for declared in dict.fromkeys((*comprehension.parameters, *comprehension.outputs)):
        shape = shapes.get(declared.name)
        if shape is None or declared.sizes is None:
            continue
        _check_rank(comprehension, declared, shape)
        for axis, (wanted, extent) in enumerate(zip(declared.sizes, shape, strict=True)):
            if extent is None:
                continue
            known = sizes.setdefault(wanted, extent) if isinstance(wanted, str) else wanted
            place = f"axis {axis} of {declared.name}"
            first = origin.setdefault(wanted, place) if isinstance(wanted, str) else "the declaration"
            if known != extent:
                raise ExtentError(
                    f"expected {wanted} to be one number, but got {known} ({first}) and {extent} ({place})",
                    source=comprehension.source,
                    span=declared.span,
                )
    return sizes


def _check_rank(comprehension: Comprehension, declared: Parameter, shape: Shape) -> None:
    assert declared.sizes is not None
    if len(shape) != len(declared.sizes):
        raise RankError(
            f"expected {declared.name} of {len(declared.sizes)} dimensions, but got {len(shape)} "
            f"(shape {shape_text(shape)})",
            source=comprehension.source,
            span=declared.span,
        )


def waits_for(comprehension: Comprehension, statement: Assignment) -> tuple[str, ...]:
    """Returns the sizes and integer parameters in a statement, whose values it needs."""
    sizes = set(comprehension.sizes)
    found: dict[str, None] = {}
    for access in accesses_of_statement(statement):
        if access.tensor in sizes:
            found[access.tensor] = None
        found.update(dict.fromkeys(_in_subscripts(access)))
    for clause in statement.ranges:
        found.update(dict.fromkeys((*symbols_of(clause.low), *symbols_of(clause.high))))
    return tuple(found)


def _in_subscripts(access: Access) -> Iterator[str]:
    for subscript in access.subscripts:
        if isinstance(subscript, AffineSubscript):
            yield from symbols_of(subscript)
        elif (inner := gathered(subscript)) is not None:
            yield from _in_subscripts(inner)


def gathered(subscript: object) -> Access | None:
    """Returns the tensor of a subscript that is an access, else None."""
    return subscript if isinstance(subscript, Access) else None


def bound(statement: Assignment, values: Mapping[str, int], sizes: Collection[str]) -> Assignment:
    """Returns a statement with numbers for its sizes and integer parameters.

    Args:
        statement: a statement of a comprehension.
        values: the value of each size and parameter that it needs.
        sizes: those of the names that are sizes, and so no tensors.
    """
    instead = {
        access: Literal(values[access.tensor], access.span) if access.tensor in sizes else _bound_access(access, values)
        for access in accesses_of_statement(statement)
    }
    return replace(
        statement,
        target=_bound_access(statement.target, values),
        value=substitute(statement.value, instead),
        ranges=tuple(_bound_range(clause, values) for clause in statement.ranges),
        exists=tuple(_bound_access(access, values) for access in statement.exists),
    )


def _bound_access(access: Access, values: Mapping[str, int]) -> Access:
    return replace(access, subscripts=tuple(_bound_subscript(s, values) for s in access.subscripts))


def _bound_subscript(subscript: Subscript, values: Mapping[str, int]) -> Subscript:
    return _bound_access(subscript, values) if isinstance(subscript, Access) else bind(subscript, values)


def _bound_range(clause: Range, values: Mapping[str, int]) -> Range:
    low, high = bind(clause.low, values), bind(clause.high, values)
    assert isinstance(low, AffineSubscript)
    assert isinstance(high, AffineSubscript)
    if low.constant > high.constant:
        high = replace(high, constant=low.constant)
    return replace(clause, low=low, high=high)
