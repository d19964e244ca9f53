"""The statements of a comprehension on operands in parts: planned as a whole, then each a statement of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.compile.compile_options import CompileOptions
from mlir_sparse.compile.comprehension.comprehension_build import compile_comprehension, may_gain
from mlir_sparse.compile.comprehension.comprehension_operands import check_given, type_of_operand
from mlir_sparse.compile.comprehension.comprehension_outputs import of_any_shape
from mlir_sparse.compile.comprehension.comprehension_run import StatementStep
from mlir_sparse.compile.entry_points import StatementCompiler
from mlir_sparse.compile.index_operands import made_operand
from mlir_sparse.compile.statement_optimizer import DataSketches, rounded_sketches
from mlir_sparse.encoding import Sketch, TensorType
from mlir_sparse.errors import OperandError, UnsupportedError
from mlir_sparse.notation import (
    Access,
    Assignment,
    Comprehension,
    Fold,
    IndexVar,
    Reduce,
    Semiring,
    accesses_of,
    fresh_name,
    has_affine_target,
    reads,
    rename_variables,
    replace_accesses,
    under,
    walk,
)
from mlir_sparse.runtime import operand_check
from mlir_sparse.spec import index_ends
from mlir_sparse.spec.range_rewriting import OperandPart, without_ranges
from mlir_sparse.spec.statement_shapes import with_made_shapes
from mlir_sparse.tensor.files.source_range import range_of
from mlir_sparse.tensor.files.tensor_source import TensorSource
from mlir_sparse.tensor.sketch_of import sketch_of

__all__ = [
    "PartsOf",
    "StatementOfParts",
    "StatementsInParts",
    "operand_of_part",
    "shapes_of",
    "statement_of_step",
    "statements_in_parts",
]


@dataclass(frozen=True, slots=True)
class PartsOf:
    """What is known of an operand in parts.

    Args:
        kind: its type.
        sketch: how its entries spread; None where that is not known yet.
    """

    kind: TensorType
    sketch: Sketch | None


@dataclass(frozen=True, slots=True, eq=False)
class StatementsInParts:
    """A comprehension's statements ready to be cut.

    Args:
        steps: the statements, in order, as they are planned.
        values: the operands by name, those at hand as kernels take them.
        account: what `explain()` says of the plan, a line each.
    """

    steps: tuple[StatementStep, ...]
    values: dict[str, Any]
    account: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class StatementOfParts:
    """A statement of a comprehension without ranges; extents follow from the shapes of its operands.

    Args:
        assignment: the statement; parts that the plan makes, and their variables, have names as texts have.
        operands: the tensor and its part that each operand is, by the names of the statement.
        shape: the shape of its value.
        target: the tensor that it assigns.
    """

    assignment: Assignment
    operands: Mapping[str, OperandPart]
    shape: tuple[int, ...]
    target: str


def statements_in_parts(
    comprehension: Comprehension,
    given: Mapping[str, Any],
    out: Any,
    ring: Semiring,
    optimize: str,
    in_parts: Callable[[Any], PartsOf | None],
) -> StatementsInParts:
    """Returns the statements of a comprehension in the cheapest way by estimate.

    Args:
        comprehension: the statements.
        given: the operands by name.
        out: the storage of the output; a mapping by name for several.
        ring: what `+` and `*` are.
        optimize: "auto", "off" or "algebra".
        in_parts: tells of an operand in parts; None of one at hand.

    Raises:
        UnknownTensorError: for an operand that is missing.
        OperandError: for operands in parts that extents may depend on.
    """
    comprehension = replace(comprehension, statements=tuple(under(one, ring) for one in comprehension.statements))
    check_given(comprehension, given)
    known = {name: in_parts(given[name]) for name in comprehension.inputs}
    types, values = dict[str, TensorType](), dict[str, Any]()
    for name, parts in known.items():
        types[name] = type_of_operand(comprehension, name, given[name] if parts is None else of_any_shape(parts.kind))
        values[name] = given[name]
        if parts is None:
            values[name] = operand_check.as_argument(name, given[name], types[name])
        elif name in comprehension.symbols:
            raise OperandError(
                f"expected a number for {name}, which extents may depend on, but got {type(given[name]).__name__}: "
                "compute it before"
            )
    sketches = _sketches(comprehension, values, known) if optimize != "off" else None
    compile_statement = StatementCompiler(CompileOptions.of("cpu", "auto", None, None, False, optimize))
    prepared = compile_comprehension(comprehension, types, out, "cpu", compile_statement, sketches).steps_for(
        values, {}
    )
    return StatementsInParts(prepared.steps, values, prepared.account)


def _sketches(
    comprehension: Comprehension, values: Mapping[str, Any], known: Mapping[str, PartsOf | None]
) -> DataSketches | None:
    """Returns what is known of the operands; None where parts are not there yet, or nothing is to gain."""
    if not may_gain(comprehension):
        return None
    found = [sketch_of(values[name]) if parts is None else parts.sketch for name, parts in known.items()]
    sketches = [one for one in found if one is not None]
    return rounded_sketches(tuple(sketches)) if len(sketches) == len(found) else None


def statement_of_step(
    step: StatementStep, shapes: Mapping[str, tuple[int, ...]], *, is_whole: Callable[[str], bool] | None = None
) -> StatementOfParts:
    """Returns a statement of a comprehension by itself.

    Args:
        step: the statement with its ranges.
        shapes: the shape of each tensor that is there before it.
        is_whole: whether a tensor cannot be sliced: ranges then stay in the statement. None where all can, and targets
            may be slices.

    Raises:
        UnsupportedError: for one that assigns a part of its target, and for extents that operands alone do not give.
    """
    written, ranges = step.placed.statement, step.placed.ranges
    everything = {name: OperandPart(name, name, (None,) * len(shapes.get(name, ()))) for name in written.inputs}
    if has_affine_target(written) and not written.ranges and is_whole is None:
        return StatementOfParts(written, everything, step.placed.shape, written.target.tensor)
    if step.placed.is_part:
        raise UnsupportedError(
            f"expected statements that assign whole tensors, where operands are in parts, but got `{written}`: assign "
            "the part to a tensor of its own, and put it in its place afterwards",
            source=written.source,
            span=written.target.span,
        )
    statement, parts, extents = step.kernel.spec.assignment, step.parts, step.extents
    if ranges:  # all that has ranges is sliced, so that shapes tell the extents
        shapes = with_made_shapes(step.placed, dict(shapes))
        ranged = without_ranges(written, ranges, shapes, lambda _: True)
        statement, parts, extents = ranged.statement, ranged.parts, ranged.extents
    if is_whole is not None and any(not part.is_whole and is_whole(part.tensor) for part in parts):
        return StatementOfParts(written, everything, step.placed.shape, written.target.tensor)
    own = {part.name: _shape_of(part, shapes[part.tensor]) for part in parts}
    ends = index_ends(statement, own, None) if own else {}
    for variable, extent in extents.items():
        if own and ends.get(variable) != extent:
            raise UnsupportedError(
                f"expected operands that give {variable} its extent {extent}, where operands are in parts, but got "
                f"`{written}`: multiply by a vector of ones along {variable}"
            )
    shape = tuple(ends[index] for index in statement.target.indices) if own else step.placed.shape
    names = _plain_names(statement)
    operands = {names.get(part.name, part.name): part for part in parts}
    return StatementOfParts(_named(statement, names), operands, shape, statement.target.tensor)


def _plain_names(statement: Assignment) -> dict[str, str]:
    """Returns the names that a statement has in place of those of parts, which no text has."""
    used = {access.tensor for access in (statement.target, *reads(statement.value))}
    used |= {index.name for index in statement.indices}
    used |= {one.name for node in walk(statement.value) if isinstance(node, Reduce | Fold) for one in node.indices}
    taken = {name for name in used if "." not in name}
    return {name: fresh_name(name.replace(".", "_"), taken) for name in sorted(used - taken)}


def _named(statement: Assignment, names: Mapping[str, str]) -> Assignment:
    if not names:
        return statement
    variables = {IndexVar(name): IndexVar(other) for name, other in names.items()}
    value = rename_variables(statement.value, variables)
    value = replace_accesses(value, {one: names[one.tensor] for one in accesses_of(value) if one.tensor in names})
    target = Access(
        names.get(statement.target.tensor, statement.target.tensor),
        tuple(variables.get(one, one) if isinstance(one, IndexVar) else one for one in statement.target.subscripts),
    )
    return replace(statement, target=target, value=value, source=None)


def _shape_of(part: OperandPart, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size if axis is None else axis[1] - axis[0] for axis, size in zip(part.box, shape, strict=True))


def operand_of_part(step: StatementStep, part: OperandPart, values: Mapping[str, Any]) -> Any:
    """Returns an operand of a statement: a tensor, a slice of one, or what is made for it.

    Args:
        step: the statement.
        part: the operand.
        values: the tensors that are there.
    """
    value = values.get(part.tensor)
    if value is None:
        value = made_operand(step.placed.statement, part.tensor, step.placed.ranges, values)
    if part.is_whole:
        return value
    if isinstance(value, TensorSource):
        return range_of(value, part.box)
    return value[tuple(slice(*(axis or (None,))) for axis in part.box)]


def shapes_of(values: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Returns the shapes of tensors."""
    return {name: tuple(map(int, np.shape(value))) for name, value in values.items()}
