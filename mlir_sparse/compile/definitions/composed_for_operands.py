"""Which statement is computed in place of one that reads defined tensors, for operands at hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from mlir_sparse.compile.definitions.composed_call import ComposedCall, Text
from mlir_sparse.compile.definitions.composed_statement import Composable, ComposedStatement, compose_statement
from mlir_sparse.compile.definitions.defined_tensor import DefinedTensor
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import OperandError, RankError
from mlir_sparse.notation import (
    Assignment,
    Comprehension,
    IndexVar,
    Monoid,
    Operator,
    Semiring,
    has_affine_target,
    reads,
)
from mlir_sparse.notation import semiring as semiring_named
from mlir_sparse.runtime.device.device_operands import type_of_given
from mlir_sparse.spec import check_names, infer_output
from mlir_sparse.spec.split_variables import RadixDigit, SplitStatement, split_variables

__all__ = ["Parse", "composed_for"]

Parse = Callable[..., Assignment | Comprehension]


def composed_for(
    parse: Parse,
    text: Text,
    given: Mapping[str, Any],
    semiring: str | Semiring | None,
    instead: str,
    dense: bool,
    gathers: bool,
) -> ComposedCall:
    """Returns how a statement is computed.

    Args:
        parse: parses a statement with operators by name.
        text: the statement.
        given: its operands and operators by name.
        semiring: the meaning of `+` and `*`.
        instead: why all defined tensors are made first; "" where each is decided on its own.
        dense: whether the result may be an array.
        gathers: whether elements may be gathered in place of sums over selections, all of which have an entry a row.

    Raises:
        OperandError: for a defined tensor as the result.
        SparseError: one of its kinds, as for any statement.
    """
    operators = {name: value for name, value in given.items() if isinstance(value, Operator | Monoid)}
    operands = {name: value for name, value in given.items() if name not in operators}
    defined = {name: value for name, value in operands.items() if type(value) is DefinedTensor}
    statement = parse(text, **operators)
    ring = semiring_named("plus_times" if semiring is None else semiring)
    if isinstance(statement, Comprehension):
        instead = instead or "several statements may read it"
        return ComposedCall(text, None, statement.inputs, _all_made(defined, instead))
    if statement.target.tensor in defined:
        raise OperandError(
            f"expected a tensor of data as the result, but got {statement.target.tensor}, which is defined as "
            f"{defined[statement.target.tensor].notation}: give the result another name"
        )
    result = statement.target.tensor if statement.target.tensor not in statement.inputs else ""
    check_names(statement, tuple(name for name in operands if name != result))
    if not instead and ring != semiring_named("plus_times"):
        instead = f"the statement is computed under {ring.name}"
    if not instead and has_affine_target(statement):
        instead = "its values are put in their places afterwards"
    if not instead and operators:
        instead = "the statement has operators of its own"
    if instead:
        return ComposedCall(text, None, statement.inputs, _all_made(defined, instead))
    types = {name: type_of_given(name, operands[name]) for name in statement.inputs if name not in defined}
    composables = {name: one.composable for name, one in defined.items()}
    _check_ranks(statement, types | {name: one.kind for name, one in composables.items()})
    dtypes = {name: kind.dtype for name, kind in types.items()}
    found = compose_statement(statement, composables, dtypes, gathers=gathers and not _has_digits(composables))
    if found.gathers:
        found = replace(found, checks=(*found.checks, *_same_extents(statement, composables)))
    storage = _storage(statement, found, composables, types)
    split = _split(statement, found, composables, types) if dense and storage in (None, "dense") else None
    if split is None:
        return ComposedCall(str(found.assignment), found, statement.inputs, found.account, storage)
    found = replace(found, assignment=split.assignment, checks=(*found.checks, *_same_extents(statement, composables)))
    account = (f"composed: {split.assignment}", *found.account[1:], f"  split: {_accounted(split)}")
    used = tuple(one for one in found.operands if one[0] in split.assignment.inputs)
    found = replace(found, operands=used)
    return ComposedCall(
        str(split.assignment), found, statement.inputs, account, "dense", dict(split.operands), split.target
    )


def _has_digits(defined: Mapping[str, Composable]) -> bool:
    """Returns whether variables may be split into quotients and remainders, which no gathers have."""
    return any(operand.digit is not None for one in defined.values() for operand in one.operands.values())


def _split(
    statement: Assignment,
    found: ComposedStatement,
    defined: Mapping[str, Composable],
    types: Mapping[str, TensorType],
) -> SplitStatement | None:
    """Returns a composed statement with variables split into quotients and remainders, if its result is dense."""
    result = infer_output(statement, {**types, **{name: one.kind for name, one in defined.items()}})
    if result.encoding is not None:
        return None
    digits: dict[str, RadixDigit] = {}
    arrays = {name for name, _ in found.ones}
    for new, name, leaf in found.operands:
        operand = defined[name].operands[leaf] if leaf else None
        kind = operand.kind if operand else defined[name].kind if name in defined else types[name]
        if operand is not None and operand.digit is not None:
            digits[new] = operand.digit
        elif kind.encoding is None:
            arrays.add(new)
    return split_variables(found.assignment, digits, arrays) if digits else None


def _same_extents(statement: Assignment, defined: Mapping[str, Composable]) -> list[tuple[str, int, str, int]]:
    """Returns the axes of operands that must have the extents of defined tensors."""
    first: dict[IndexVar, tuple[str, int]] = {}
    accesses = [*reads(statement.value), *([statement.target] if statement.op.reads_target else [])]
    places = [
        (subscript, access.tensor, axis)
        for access in sorted(accesses, key=lambda access: access.tensor not in defined)
        for axis, subscript in enumerate(access.subscripts)
        if isinstance(subscript, IndexVar)
    ]
    found = [(*first.setdefault(subscript, (name, axis)), name, axis) for subscript, name, axis in places]
    return [one for one in found if one[:2] != one[2:]]


def _accounted(split: SplitStatement) -> str:
    axes = [f"axis {axis} of {name} by {radix}" for name, each in split.operands.items() for axis, radix in each]
    return ", ".join([*axes, *(f"axis {axis} of the result by {radix}" for axis, radix in split.target)])


def _check_ranks(statement: Assignment, types: Mapping[str, TensorType]) -> None:
    for access in reads(statement.value):
        rank = types[access.tensor].rank
        if len(access.subscripts) != rank:
            raise RankError(
                f"expected {rank} subscripts for {access.tensor}, but got {len(access.subscripts)} in {access}",
                source=statement.source,
                span=access.span,
            )


def _storage(
    statement: Assignment,
    found: ComposedStatement,
    defined: Mapping[str, Composable],
    types: Mapping[str, TensorType],
) -> str | None:
    """Returns the storage of a result, if what is composed has another one than the statement as it was written."""
    as_written = infer_output(statement, {**types, **{name: one.kind for name, one in defined.items()}})
    own = {
        new: (defined[name].operands[leaf].kind if leaf else defined[name].kind) if name in defined else types[name]
        for new, name, leaf in found.operands
    }
    composed = infer_output(found.assignment, {**own, **{name: one.kind for name, one in found.ones}})
    if as_written.encoding == composed.encoding:
        return None
    return "dense" if as_written.encoding is None else as_written.encoding.with_widths(0, 0).to_text()


def _all_made(defined: Mapping[str, DefinedTensor], reason: str) -> tuple[str, ...]:
    return tuple(f"{name}: {one.notation}; made first, because {reason}" for name, one in defined.items())
