"""Statements that read others' values in their place: which may, and what they are then.

A value that is inlined is not rounded, and loops skip what its operands do not store. So it is inlined only where that
gives the same numbers but for the order of sums and products: in its own element type, below sums and products if it is
a sum itself, and in a product only if it has no zero that comes from entries that are not stored: infinity times that
zero is NaN, but nothing where the entries are missing.
"""

from __future__ import annotations

import cmath
import itertools
from collections.abc import Iterator
from dataclasses import replace

from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import (
    Access,
    Apply,
    Assignment,
    AssignOp,
    Binary,
    BinaryOp,
    Call,
    Expr,
    Fold,
    IndexVar,
    Literal,
    Negate,
    Reduce,
    ReduceOp,
    accesses_of,
    children,
    free_indices,
    rename_variables,
    substitute,
    walk,
)
from mlir_sparse.plan.order.storage_choice import is_sparse
from mlir_sparse.spec.computed_type import inner_dtype, starts_anew

__all__ = ["OrderedStatement", "Refusal", "inlined", "is_elementwise", "value_at", "why_not_inlined"]

# The most reads of a statement that has values of others inlined: values that are read twice double with each of them.
_LONGEST = 64


@dataclass(frozen=True, slots=True)
class OrderedStatement:
    """One of several statements that are computed in order.

    Args:
        assignment: the statement with explicit sums and without ranges.
        operands: (name, type) of each tensor that it reads.
        output: the type of its value.
        shape: the shape of its value.
        whole: whether it reads and assigns whole tensors only.
    """

    assignment: Assignment
    operands: tuple[tuple[str, TensorType], ...]
    output: TensorType
    shape: tuple[int, ...]
    whole: bool

    @property
    def target(self) -> str:
        """Returns the name of the tensor that it assigns."""
        return self.assignment.target.tensor


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a statement does not read a value in its place."""

    reason: str


def why_not_inlined(statement: OrderedStatement) -> str:
    """Returns why no statement may read the value of a statement in its place; "" if some may."""
    assignment, dtype = statement.assignment, statement.output.dtype
    if not statement.whole:
        return "it is made of parts of tensors"
    if assignment.op is not AssignOp.ASSIGN:
        return f"it updates its target by {assignment.op.value}"
    if dtype.is_truth:
        return "it has truth values"
    if dtype.is_narrow:
        return f"{dtype} rounds it"
    if any(isinstance(node, Apply | Fold) for node in walk(assignment.value)):
        return "it applies operators to stored entries"
    accesses = (assignment.target, *accesses_of(assignment.value))
    if not all(map(_is_plain, accesses)):
        return "it has subscripts other than variables, each once"
    return ""


def _is_plain(access: Access) -> bool:
    return len(access.indices) == len(access.subscripts) and all(isinstance(s, IndexVar) for s in access.subscripts)


def is_elementwise(statement: OrderedStatement) -> bool:
    """Returns whether a value has no sums: an element takes one element of each operand."""
    return not any(isinstance(node, Reduce | Fold | Apply) for node in walk(statement.assignment.value))


def inlined(reader: OrderedStatement, definition: OrderedStatement) -> OrderedStatement | Refusal:
    """Returns a statement that reads the value of another in its place, or why it does not.

    Args:
        reader: the statement that reads the value.
        definition: the statement of the value, for which `why_not_inlined` knows nothing.
    """
    if not reader.whole:
        return Refusal("it is read in part")
    places = list(_places(reader.assignment.value, definition.target, _Place(None, reader.output.dtype), reader))
    for place in places:
        if reason := _why_not_here(place, definition):
            return Refusal(reason)
    value = reader.assignment.value
    read = sum(place.access is not None for place in places)
    if _length(value) + read * (_length(definition.assignment.value) - 1) > _LONGEST:
        return Refusal("the statement that reads it would be too long")
    taken = {variable.name for variable in reader.assignment.indices}
    taken |= {name for one in (reader, definition) for name, _ in one.operands}
    for access in dict.fromkeys(place.access for place in places if place.access is not None):
        value = substitute(value, {access: value_at(definition.assignment, access, taken)})
    assignment = replace(reader.assignment, value=value)
    kinds = dict((*reader.operands, *definition.operands))
    return replace(reader, assignment=assignment, operands=tuple((name, kinds[name]) for name in assignment.inputs))


def _length(value: Expr) -> int:
    return sum(isinstance(node, Access) for node in walk(value))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value is read: in which type that is computed, and below what.

    Args:
        access: the access.
        dtype: the type; None where each operand has its own.
        multiplied: whether a product, quotient or function has it as an operand.
        opaque: whether it is below something else than sums and products.
    """

    access: Access | None
    dtype: DType | None
    multiplied: bool = False
    opaque: bool = False


def _places(node: Expr, tensor: str, around: _Place, reader: OrderedStatement) -> Iterator[_Place]:
    match node:
        case Access():
            if node.tensor == tensor:
                yield replace(around, access=node)
        case Negate() | Binary(BinaryOp.ADD | BinaryOp.SUB) | Reduce(ReduceOp.SUM):
            for child in children(node):
                yield from _places(child, tensor, around, reader)
        case Binary(BinaryOp.MUL, left, right):
            for child, other in ((left, right), (right, left)):
                scaled = around if _is_finite(other) else replace(around, multiplied=True)
                yield from _places(child, tensor, scaled, reader)
        case Binary(BinaryOp.DIV) | Reduce():
            for child in children(node):
                yield from _places(child, tensor, replace(around, multiplied=True, opaque=True), reader)
        case Call() if not starts_anew(node) and node.function != "where":
            for child in children(node):
                yield from _places(child, tensor, replace(around, multiplied=True, opaque=True), reader)
        case Call("abs" | "real" | "imag" | "angle"):
            dtype = inner_dtype(node, {name: kind.dtype for name, kind in reader.operands})
            for child in children(node):
                yield from _places(child, tensor, _Place(None, dtype, True, True), reader)
        case _:
            for child in children(node):
                yield from _places(child, tensor, _Place(None, None, True, True), reader)


def _is_finite(node: Expr) -> bool:
    return isinstance(node, Literal) and cmath.isfinite(node.value)


def _why_not_here(place: _Place, definition: OrderedStatement) -> str:
    assert place.access is not None
    if not _is_plain(place.access):
        return f"it is read at {place.access}"
    if place.dtype is None:
        return "it is compared, tested or given to an operator"
    if place.dtype != definition.output.dtype:
        return f"it is {definition.output.dtype}, and is read in {place.dtype}"
    if place.opaque and not is_elementwise(definition):
        return "its sum is read by a function, a quotient or another reduction"
    skips = not is_sparse(definition.output) and any(is_sparse(kind) for _, kind in definition.operands)
    if place.multiplied and skips:
        return "its zeros are multiplied, also where its operands store nothing"
    return ""


def value_at(definition: Assignment, access: Access, taken: set[str]) -> Expr:
    """Returns the value of a definition at the subscripts of an access; its own variables get names that are free.

    Args:
        definition: a statement with explicit sums.
        access: an access to what it assigns.
        taken: the names that are not free; those that it gives are added.
    """
    kept = dict(zip(definition.target.indices, access.indices, strict=True))
    own = (variable for variable in _all_variables(definition.value) if variable not in kept)
    names = kept | {variable: IndexVar(_free(variable.name, taken)) for variable in own}
    return rename_variables(definition.value, names)


def _all_variables(value: Expr) -> tuple[IndexVar, ...]:
    bound = (index for node in walk(value) if isinstance(node, Reduce) for index in node.indices)
    return tuple(dict.fromkeys((*free_indices(value), *bound)))


def _free(name: str, taken: set[str]) -> str:
    names = itertools.chain([name], (f"{name}{number}" for number in itertools.count(1)))
    found = next(one for one in names if one not in taken)
    taken.add(found)
    return found
