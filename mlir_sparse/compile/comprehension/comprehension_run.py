"""Runs the statements of a comprehension, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.compile.compiled_kernel import StatementKernel
from mlir_sparse.compile.comprehension.comprehension_operands import part_of
from mlir_sparse.compile.comprehension.comprehension_outputs import type_of_target
from mlir_sparse.compile.comprehension.placed_values import with_part
from mlir_sparse.compile.comprehension.values_by_lines import sum_by_lines
from mlir_sparse.compile.index_operands import made_operand
from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import Assignment, IndexVar, is_made_by_calls
from mlir_sparse.spec.range_rewriting import OperandPart
from mlir_sparse.spec.statement_shapes import RangedStatement
from mlir_sparse.tensor import SparseTensor

__all__ = ["StatementRun", "StatementStep", "run", "writable_targets"]

Array = np.ndarray[Any, Any]
Value = Array | SparseTensor


@dataclass(frozen=True, slots=True)
class StatementStep:
    """A statement ready to run: with its ranges, its kernel, its operands and the extent of each variable."""

    placed: RangedStatement
    kernel: StatementKernel
    parts: tuple[OperandPart, ...]
    extents: Mapping[IndexVar, int]

    @property
    def output(self) -> TensorType:
        """Returns the type of the statement's target."""
        return type_of_target(self.placed.statement, self.kernel.output)


@dataclass(frozen=True, slots=True)
class StatementRun:
    """A statement's operands and result in a call.

    Args:
        statement: the statement without ranges; all variables run from 0.
        operands: its operands, by their names in the statement.
        extents: the extent of each variable.
        result: its result, or the part of the target that it assigned.
    """

    statement: Assignment
    operands: Mapping[str, Value]
    extents: Mapping[IndexVar, int]
    result: Value


def run(
    steps: tuple[StatementStep, ...],
    inputs: Mapping[str, Value],
    targets: Mapping[str, Array],
    report: Callable[[StatementRun], None] | None = None,
) -> dict[str, Value]:
    """Runs the statements and returns all tensors by name; final values are written to their targets, if any.

    Targets share no memory with operands. `report` is called with each statement that ran.
    """
    values = dict(inputs)
    last = {step.placed.statement.target.tensor: at for at, step in enumerate(steps)}
    for at, step in enumerate(steps):
        operands = {part.name: part_of(_value(step, part.tensor, values), part.box) for part in step.parts}
        target = step.placed.statement.target
        summed = _summed_by_lines(step, operands, values.get(target.tensor)) if report is None else None
        if summed is not None:
            values[target.tensor] = summed
            continue
        array = targets.get(target.tensor) if last[target.tensor] == at and not step.placed.is_part else None
        result = step.kernel._call(operands, array, step.extents)
        assert isinstance(result, np.ndarray | SparseTensor), "this runs on the processor"
        if report is not None:
            report(StatementRun(step.kernel.spec.assignment, operands, step.extents, result))
        if step.placed.is_part:
            assert isinstance(result, np.ndarray), "parts of arrays are assigned"
            result = with_part(step.placed, values.get(target.tensor), result)
        values[target.tensor] = result
    return values


def _summed_by_lines(step: StatementStep, operands: Mapping[str, Value], present: Any) -> Array | None:
    """Returns the target of a statement whose many values are added up in few elements; None for any other."""
    if not step.placed.summed:
        return None
    kernel, extents, statement = step.kernel, step.extents, step.kernel.spec.assignment
    subscripts = {one for access in statement.reads for one in access.subscripts}
    made = any(map(is_made_by_calls, statement.inputs))
    # Then calls repeat the first one, which takes a tenth of the time.
    plain = not made and subscripts.issuperset(statement.indices)

    def compute(own: dict[str, Any], first: dict[IndexVar, int], out: Array) -> None:
        if plain:
            kernel(*[own[name] for name in statement.inputs], out=out)
        else:
            kernel._call(own, out, {name: first.get(name, extent) for name, extent in extents.items()})

    dtype = kernel.output.dtype.numpy
    return sum_by_lines(step.placed, statement, operands, present, dtype, compute)


def _value(step: StatementStep, tensor: str, values: Mapping[str, Value]) -> Value:
    """Returns a tensor that a statement reads."""
    if tensor in values:
        return values[tensor]
    made: Array = made_operand(step.placed.statement, tensor, step.placed.ranges, values)
    return made


def writable_targets(targets: Mapping[str, Array], values: Mapping[str, Value]) -> dict[str, Array]:
    """Returns the targets that statements may write directly: they share no memory with other values."""
    read = [array for v in values.values() for array in (v.storage.buffers() if isinstance(v, SparseTensor) else (v,))]
    return {
        name: target
        for name, target in targets.items()
        if not any(
            np.may_share_memory(target, other) for other in (*read, *(t for t in targets.values() if t is not target))
        )
    }
