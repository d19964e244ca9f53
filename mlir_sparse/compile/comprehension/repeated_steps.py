"""Calls of a comprehension on operands of types and shapes that it was called on before: its kernels, and no checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.compile.compiled_kernel import Result, StatementKernel
from mlir_sparse.compile.comprehension.comprehension_run import StatementStep
from mlir_sparse.notation import reads
from mlir_sparse.runtime import operand_of
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.batch_and_slice_parts import is_plain

__all__ = ["RepeatedSteps", "repeated_steps"]


@dataclass(frozen=True, slots=True)
class RepeatedSteps:
    """The kernels of a call, in order.

    Args:
        parameters: the names of the operands.
        forms: what each operand is: its class, element type, shape and storage.
        kernels: each with the names of its operands and its target.
        results: the names of the results.
        order: the numbers of the operands of the kernel where there is one alone, whose value is the result; else None.
    """

    parameters: tuple[str, ...]
    forms: tuple[tuple[Any, ...], ...]
    kernels: tuple[tuple[StatementKernel, tuple[str, ...], str], ...]
    results: tuple[str, ...]
    order: tuple[int, ...] | None

    def is_for(self, operands: tuple[Any, ...]) -> bool:
        """Returns whether operands have these types and shapes."""
        if len(operands) != len(self.forms):
            return False
        for operand, (kind, dtype, shape, encoding) in zip(operands, self.forms, strict=True):
            if type(operand) is not kind or operand.shape != shape:
                return False
            if encoding is None:
                if operand.dtype != dtype:
                    return False
                continue
            storage = operand._storage
            if storage.values.dtype != dtype or (storage.encoding is not encoding and storage.encoding != encoding):
                return False
        return True

    def single(self, operands: tuple[Any, ...]) -> tuple[StatementKernel, tuple[int, ...]] | None:
        """Returns the kernel that is all that runs, and the numbers of its operands; None where more runs.

        Args:
            operands: operands; None is returned for those of other types or shapes, too.
        """
        return (self.kernels[0][0], self.order) if self.order is not None and self.is_for(operands) else None

    def run(self, operands: tuple[Any, ...]) -> Result | None:
        """Returns the results; None for operands of other types or shapes."""
        if not self.is_for(operands):
            return None
        if self.order is not None:
            return self.kernels[0][0](*map(operands.__getitem__, self.order))
        values = dict(zip(self.parameters, operands, strict=True))
        for kernel, names, target in self.kernels:
            values[target] = result = kernel(*[values[name] for name in names])
            if type(result) is SparseTensor and is_plain(result.encoding):
                operand_of(result)  # the next kernel takes it without further checks
        return values[self.results[0]] if len(self.results) == 1 else tuple(values[name] for name in self.results)


def repeated_steps(
    parameters: tuple[str, ...], given: dict[str, Any], steps: tuple[StatementStep, ...], results: tuple[str, ...]
) -> RepeatedSteps | None:
    """Returns the steps of a call for operands like these; None where more than their kernels is needed."""
    if not all(map(_is_told, steps)) or not all(type(one) in (np.ndarray, SparseTensor) for one in given.values()):
        return None
    kernels = tuple(
        (step.kernel, tuple(part.tensor for part in step.parts), step.placed.statement.target.tensor) for step in steps
    )
    (_, names, target), *others = kernels
    single = not others and results == (target,)
    order = tuple(map(parameters.index, names)) if single and {*names} <= {*parameters} else None
    return RepeatedSteps(parameters, tuple(_form(given[name]) for name in parameters), kernels, results, order)


def _is_told(step: StatementStep) -> bool:
    """Returns whether the operands of a step alone say which extents its variables have: all are whole axes."""
    assignment = step.kernel.spec.assignment
    read = {subscript for access in reads(assignment.value) for subscript in access.subscripts}
    whole = not step.placed.is_part and all(part.is_whole for part in step.parts)
    return whole and all(index in read for index in assignment.indices)


def _form(operand: Any) -> tuple[Any, ...]:
    encoding = operand.encoding if type(operand) is SparseTensor else None
    return type(operand), operand.dtype, operand.shape, encoding
