"""Statements whose variables do not run over whole axes from 0, as statements whose variables do.

A range that starts elsewhere moves into the subscripts, and a tensor of which
only a part is read is read as that part: `y(i) = x(i + 1) * w(i) where i in 2:5`
becomes `y(i) = x(i + 3) * w(i)` on `w[2:5]`, with 3 values of i.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

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
    rebuild,
    substitute,
    walk,
)
from mlir_sparse.notation.linear_subscript import as_subscript
from mlir_sparse.spec.size_symbols import gathered
from mlir_sparse.spec.variable_ranges import Ranges, terms_of
from mlir_sparse.text.name_spelling import generated_name

__all__ = ["Boxed", "Part", "boxed"]

Box = tuple[tuple[int, int] | None, ...]
"""The part of each axis that is read, None for all of it."""


@dataclass(frozen=True, slots=True)
class Part:
    """An operand of a boxed statement.

    Args:
        name: what the statement calls it.
        tensor: the tensor of which it is a part.
        box: which part.
    """

    name: str
    tensor: str
    box: Box

    @property
    def is_whole(self) -> bool:
        """Returns whether it is all of the tensor."""
        return all(axis is None for axis in self.box)


@dataclass(frozen=True, slots=True)
class Boxed:
    """A statement all of whose variables run from 0, over whole axes where they are subscripts by themselves.

    Args:
        statement: the statement, without clauses.
        parts: its operands, in the order of `statement.inputs`.
        extents: how far each variable runs.
    """

    statement: Assignment
    parts: tuple[Part, ...]
    extents: Mapping[IndexVar, int]


def boxed(
    statement: Assignment,
    ranges: Ranges,
    shapes: Mapping[str, tuple[int, ...]],
    is_sparse: Callable[[str], bool],
) -> Boxed:
    """Returns a statement without ranges that computes the same.

    Args:
        statement: a statement without names of sizes.
        ranges: where each variable runs.
        shapes: the shape of each tensor that it reads.
        is_sparse: whether a tensor has sparse storage, of which a part is read rather than a sum of subscripts.
    """
    own = statement.target.tensor

    def moved(access: Access) -> tuple[Access, Box]:
        sliced = access.tensor == own or is_sparse(access.tensor)
        axes = [_moved(s, n, ranges, sliced) for s, n in zip(access.subscripts, shapes[access.tensor], strict=True)]
        return replace(access, subscripts=tuple(s for s, _ in axes)), tuple(box for _, box in axes)

    found = {access: moved(access) for access in _read(statement)}
    names = _names(statement, {access: box for access, (_, box) in found.items()})
    instead = {access: replace(new, tensor=names[access.tensor, box]) for access, (new, box) in found.items()}
    value = _with_positions(substitute(statement.value, _with_gathers(instead)), ranges)
    inner = replace(statement, value=value, ranges=(), exists=())
    parts = {name: Part(name, tensor, box) for (tensor, box), name in names.items()}
    extents = {variable: high - low for variable, (low, high) in ranges.items()}
    return Boxed(inner, tuple(parts[name] for name in inner.inputs), extents)


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
    """Returns the replacements with those of subscripts, which are accesses too, in place."""

    def whole(access: Access) -> Access:
        new = instead[access]
        pairs = zip(map(gathered, access.subscripts), new.subscripts, strict=True)
        subscripts: tuple[Any, ...] = tuple(plain if inner is None else whole(inner) for inner, plain in pairs)
        return replace(new, subscripts=subscripts)

    return {access: whole(access) for access in instead}


def _moved(subscript: Subscript, size: int, ranges: Ranges, sliced: bool) -> tuple[Subscript, tuple[int, int] | None]:
    """Returns a subscript of variables that run from 0, and the part of the axis that it then stands for."""
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
    """Returns an expression whose positions (`argmax`) count from where their variable counts from."""
    node = rebuild(node, tuple(_with_positions(child, ranges) for child in children(node)))
    first = ranges[node.indices[0]][0] if isinstance(node, Reduce) and node.op.finds else 0
    return Binary(BinaryOp.ADD, node, Literal(first), node.span) if first else node


def _names(statement: Assignment, boxes: Mapping[Access, Box]) -> dict[tuple[str, Box], str]:
    """Returns a name for each part of a tensor: the tensor's own where only one part is read."""
    parts: dict[str, dict[Box, None]] = {}
    for access, box in boxes.items():
        parts.setdefault(access.tensor, {})[box] = None
    names: dict[tuple[str, Box], str] = {}
    for tensor, found in parts.items():
        for number, box in enumerate(found):
            # The target's own name stays with what it updates, which is the first part of it that is read.
            names[tensor, box] = generated_name(tensor, str(number)) if number else tensor
    return names
