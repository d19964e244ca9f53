"""The statements of lazy expressions, whatever their data: equal ones are one object, inferred and checked once.

So an expression that is recorded again costs look-ups, and its structure is its statements by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, reduce
from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import DTypeError, UnsupportedError
from mlir_sparse.notation import (
    Access,
    Assignment,
    AssignOp,
    Binary,
    BinaryOp,
    Expr,
    IndexVar,
    Reduce,
    ReduceOp,
    children,
    rebuild,
    with_explicit_sums,
)
from mlir_sparse.spec import KernelSpec, check_spec, infer_output

__all__ = [
    "Labels",
    "OperandForm",
    "RecordedStep",
    "StatementForm",
    "axis_names",
    "checked",
    "product",
    "recorded_step",
]

# The number of an operand's value among those of a step, its type, the axis of the value behind each axis of the
# operand, None for one of one element that it lacks, and which axes of the value have one element.
OperandForm = tuple[int, TensorType, tuple[int | None, ...], tuple[bool, ...]]
# The index variable of each axis.
Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class StatementForm:
    """A statement on operands of some types: equal ones are one object.

    Args:
        assignment: the statement, with explicit sums, of operands `a0`, `a1`, ...
        kind: the type of its value, with any shape.
    """

    assignment: Assignment
    kind: TensorType


@dataclass(frozen=True, slots=True, eq=False)
class RecordedStep:
    """What a step records for operands of some forms.

    Args:
        form: the statement.
        inputs: the number of the value that it reads by each of its names.
        extents: for each axis of its value the number of a value with its extent, and the axis there.
        axes: the axis of its value behind each axis of the result; None for one of one element.
    """

    form: StatementForm
    inputs: tuple[int, ...]
    extents: tuple[tuple[int, int], ...]
    axes: tuple[int | None, ...]


@lru_cache(maxsize=2048)
def recorded_step(
    operands: tuple[OperandForm, ...],
    labels: tuple[Labels, ...],
    output: Labels,
    value: Callable[..., Expr],
    wanted: np.dtype[Any],
    what: str,
) -> RecordedStep:
    """Returns what a step records.

    Args:
        operands: the forms of what it reads.
        labels: the index variable of each axis of each operand; an axis of one element is stretched.
        output: the index variables of the result.
        value: a function from the accesses of the operands to the expression, with explicit sums over other variables;
            equal functions give equal expressions.
        wanted: the element type that NumPy gives.
        what: the operation, for errors.

    Raises:
        UnsupportedError: if a kernel would give another element type.
    """
    places: dict[str, tuple[int, int]] = {}
    for (number, _, axes, single), names in zip(operands, labels, strict=True):
        for name, axis in zip(names, axes, strict=True):
            if axis is not None and not single[axis]:
                places[name] = number, axis
    reads = [_read(operand, names, places) for operand, names in zip(operands, labels, strict=True)]
    kept = [name for name in output if name in places]
    expression = _without_single(value(*reads), {name for names in labels for name in names} - {*places})
    assignment = Assignment(Access("t", tuple(map(IndexVar, kept))), AssignOp.ASSIGN, expression)
    kinds = {number: kind for number, kind, _, _ in operands}
    form, names = checked(assignment, tuple(kinds[number] for number in sorted(kinds)), wanted, what)
    # Names in the order of the text, so that equal steps are equal statements.
    inputs = tuple(int(name[1:]) for name in names)
    axes = tuple(kept.index(name) if name in places else None for name in output)
    return RecordedStep(form, inputs, tuple(places[name] for name in kept), axes)


def _read(operand: OperandForm, labels: Labels, places: Mapping[str, object]) -> Expr:
    """Returns the access of an operand, whose stretched axes have variables of their own."""
    number, kind, axes, single = operand
    of_axis = {axis: label for axis, label in zip(axes, labels, strict=True) if axis is not None}
    own, subscripts = [], []
    for axis, is_single in enumerate(single):
        label = of_axis.get(axis)
        if label is None or is_single or label not in places:
            label = f"a{number}u{axis}"
            own.append(IndexVar(label))
        subscripts.append(IndexVar(label))
    access = Access(f"a{number}", tuple(subscripts))
    if not own:
        return access
    return Reduce(ReduceOp.OR if kind.dtype.is_truth else ReduceOp.SUM, tuple(own), access)


def _without_single(node: Expr, single: set[str]) -> Expr:
    """Returns an expression without sums over variables of one element, which no operand has."""
    node = rebuild(node, tuple(_without_single(child, single) for child in children(node)))
    if not isinstance(node, Reduce):
        return node
    indices = tuple(index for index in node.indices if index.name not in single)
    return Reduce(node.op, indices, node.body) if indices else node.body


@lru_cache(maxsize=2048)
def checked(
    assignment: Assignment, kinds: tuple[TensorType, ...], wanted: np.dtype[Any], what: str
) -> tuple[StatementForm, tuple[str, ...]]:
    """Returns a statement on `a0`, `a1`, ... of some types with its sums written out, and the names that it reads.

    Raises:
        UnsupportedError: if a kernel would give another element type than `wanted`.
    """
    assignment = with_explicit_sums(assignment)
    types = {name: kinds[int(name[1:])] for name in assignment.inputs}
    try:
        found = infer_output(assignment, types)
        kind = TensorType(found.dtype, (None,) * found.rank, found.encoding)
        check_spec(KernelSpec(assignment, tuple(types.items()), kind))
    except (DTypeError, UnsupportedError) as error:
        raise UnsupportedError(f"{error.message}: call .compute() on the operands of {what} first") from None
    if kind.dtype.numpy != wanted:
        raise UnsupportedError(
            f"expected {what} in {wanted}, as NumPy has it, but got {kind.dtype} from a kernel: "
            "call .compute() on its operands first, or cast one with .astype"
        )
    return _form(assignment, kind), tuple(types)


@lru_cache(maxsize=2048)
def _form(assignment: Assignment, kind: TensorType) -> StatementForm:
    return StatementForm(assignment, kind)


@lru_cache(maxsize=64)
def axis_names(rank: int) -> Labels:
    """Returns a variable for each axis."""
    return tuple(f"i{axis}" for axis in range(rank))


def product(accesses: Sequence[Expr]) -> Expr:
    """Returns the product of expressions."""
    return reduce(lambda left, right: Binary(BinaryOp.MUL, left, right), accesses)
