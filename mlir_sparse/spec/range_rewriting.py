"""Rewrites statements with ranges to statements whose variables all run over whole axes from 0.

The start of a range moves into the subscripts, and a tensor that is read in part becomes that part: `y(i) = x(i + 1) *
w(i) where i in 2:5` becomes `y(i) = x(i + 3) * w(i)` on `w[2:5]`, with 3 values of i.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from mlir_sparse.classes import dataclass
from mlir_sparse.notation import (
    Access,
    AffineSubscript,
    Assignment,
    Binary,
    BinaryOp,
    Expr,
    IndexVar,
    Literal,
    Reduce,
    Subscript,
    children,
    has_affine_target,
    rebuild,
    substitute,
    walk,
    with_plain_target,
)
from mlir_sparse.notation.linear_subscript import as_subscript
from mlir_sparse.spec.size_symbols import gathered
from mlir_sparse.spec.variable_ranges import Ranges, terms_of
from mlir_sparse.text.identifiers import generated_name

__all__ = ["OperandPart", "RangelessStatement", "without_ranges"]

Box = tuple[tuple[int, int] | None, ...]
"""The part of each axis that is read, None for all of it."""


@dataclass(frozen=True, slots=True)
class OperandPart:
    """An operand of a statement without ranges: a range for each axis of a tensor, by its name in the statement."""

    name: str
    tensor: str
    box: Box

    @property
    def is_whole(self) -> bool:
        """Returns whether it is all of the tensor."""
        return all(axis is None for axis in self.box)


@dataclass(frozen=True, slots=True)
class RangelessStatement:
    """A statement whose variables run from 0; a variable that is a subscript by itself runs over the whole axis.

    Its parts are in the order of `statement.inputs`.
    """

    statement: Assignment
    parts: tuple[OperandPart, ...]
    extents: Mapping[IndexVar, int]


def without_ranges(
    statement: Assignment,
    ranges: Ranges,
    shapes: Mapping[str, tuple[int, ...]],
    is_sparse: Callable[[str], bool],
) -> RangelessStatement:
    """Returns an equivalent statement without ranges.

    Args:
        statement: a statement without names of sizes.
        ranges: the range of each variable.
        shapes: the shape of each tensor that it reads.
        is_sparse: whether a tensor has sparse storage: then its part is read, and not a sum of subscripts.
    """
    target = statement.target.tensor
    if has_affine_target(statement):
        statement = with_plain_target(statement)

    def moved(access: Access) -> tuple[Access, Box]:
        sliced = access.tensor == target or is_sparse(access.tensor)
        axes = [_moved(s, n, ranges, sliced) for s, n in zip(access.subscripts, shapes[access.tensor], strict=True)]
        return replace(access, subscripts=tuple(s for s, _ in axes)), tuple(box for _, box in axes)

    found = {access: moved(access) for access in _read(statement)}
    names = _names(statement, {access: box for access, (_, box) in found.items()})
    instead = {access: replace(new, tensor=names[access.tensor, box]) for access, (new, box) in found.items()}
    value = _with_positions(substitute(statement.value, _with_gathers(instead)), ranges)
    inner = replace(statement, value=value, ranges=(), exists=())
    parts = {name: OperandPart(name, tensor, box) for (tensor, box), name in names.items()}
    extents = {variable: high - low for variable, (low, high) in ranges.items()}
    return RangelessStatement(inner, tuple(parts[name] for name in inner.inputs), extents)


def _read(statement: Assignment) -> Iterator[Access]:
    if statement.op.reads_target:
        yield statement.target
    for node in walk(statement.value):
        if isinstance(node, Access):
            yield from _nested(node)


def _nested(access: Access) -> Iterator[Access]:
    yield access
    for subscript in access.subscripts:
        if (inner := gathered(subscript)) is not None:
            yield from _nested(inner)


def _with_gathers(instead: dict[Access, Access]) -> dict[Access, Access]:
    """Returns the replacements, with those of accesses inside subscripts applied to the others."""

    def whole(access: Access) -> Access:
        new = instead[access]
        pairs = zip(map(gathered, access.subscripts), new.subscripts, strict=True)
        subscripts: tuple[Any, ...] = tuple(plain if inner is None else whole(inner) for inner, plain in pairs)
        return replace(new, subscripts=subscripts)

    return {access: whole(access) for access in instead}


def _moved(subscript: Subscript, size: int, ranges: Ranges, sliced: bool) -> tuple[Subscript, tuple[int, int] | None]:
    """Returns a subscript of variables that run from 0, and the part of the axis that it reads."""
    found = terms_of(subscript)
    if found is None:
        return subscript, None
    terms, constant = found
    shift = constant + sum(factor * ranges[variable][0] for factor, variable in terms)
    if len(terms) == 1 and terms[0][0] == 1 and (sliced or shift == 0):
        variable = terms[0][1]
        low, high = ranges[variable]
        part = (shift, shift + high - low) if high > low else (0, 0)
        return replace(variable, span=subscript.span), None if part == (0, size) else part
    return as_subscript(AffineSubscript(terms, shift, subscript.span)), None


def _with_positions(node: Expr, ranges: Ranges) -> Expr:
    """Returns an expression whose positions (`argmax`) start where the range of their variable starts."""
    node = rebuild(node, tuple(_with_positions(child, ranges) for child in children(node)))
    first = ranges[node.indices[0]][0] if isinstance(node, Reduce) and node.op.finds else 0
    return Binary(BinaryOp.ADD, node, Literal(first), node.span) if first else node


def _names(statement: Assignment, boxes: Mapping[Access, Box]) -> dict[tuple[str, Box], str]:
    """Returns a name for each part of a tensor: the tensor's name if only one part is read."""
    parts: dict[str, dict[Box, None]] = {}
    for access, box in boxes.items():
        parts.setdefault(access.tensor, {})[box] = None
    names: dict[tuple[str, Box], str] = {}
    for tensor, found in parts.items():
        for number, box in enumerate(found):
            # The first part of the target that is read is the one that is updated: it keeps the target's name.
            names[tensor, box] = generated_name(tensor, str(number)) if number else tensor
    return names
