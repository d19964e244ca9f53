"""What a call keeps to: the extents that types have, and the memory that there is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import ExtentError, TooLargeError
from mlir_sparse.notation import Assignment
from mlir_sparse.runtime import operand_check
from mlir_sparse.spec import KernelSpec, shape_text, warn_of_dense
from mlir_sparse.spec.large_dense_results import MOST_TIMES, SMALL
from mlir_sparse.tensor import SparseTensor

__all__ = ["check_static", "fitting", "repeated", "warn_if_large"]

T = TypeVar("T")


def check_static(inputs: Iterable[tuple[str, TensorType]], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raises ExtentError for operands with other extents than their types have.

    Args:
        inputs: the types, by name.
        shapes: the shapes of the operands.
    """
    for name, kind in inputs:
        for axis, (static, size) in enumerate(zip(kind.shape, shapes[name], strict=True)):
            if static is not None and static != size:
                raise ExtentError(
                    f"expected {name} of shape {shape_text(kind.shape)}, "
                    f"but got {shape_text(shapes[name])} (axis {axis})"
                )


def fitting(planned: Callable[[], T], written: Callable[[], T] | None, statement: Assignment) -> tuple[T, bool]:
    """Returns the result of a plan and True; where what it makes first does not fit in memory, another one and False.

    Args:
        planned: computes by the plan.
        written: computes the statement as it is written; None where that is the plan, or the user chose it.
        statement: the statement.

    Raises:
        TooLargeError: where neither fits.
    """
    try:
        return planned(), True
    except MemoryError as error:
        if written is None:
            raise _refusal(error, statement) from error.__cause__
    try:
        return written(), False
    except MemoryError as error:
        raise _refusal(error, statement) from error.__cause__


def repeated(
    direct: Callable[[tuple[Any, ...], Any], Any],
    given: tuple[Any, ...],
    out: Any,
    statement: Assignment,
    inferred: tuple[tuple[str, TensorType], ...] = (),
) -> Any:
    """Returns what a call like an earlier one gives; None where it takes another way: also without enough memory.

    Args:
        direct: makes the call.
        given: the operands.
        out: the array for the result.
        statement: the statement, which may fit as it is written.
        inferred: the types of the operands, where a dense result was inferred, and is warned of if it is far too large.

    Raises:
        TooLargeError: where the call may have changed what another one would read.
    """
    try:
        found = direct(given, out)
    except MemoryError as error:
        _check_unwritten(error, out, statement)
        return None
    if inferred and out is None and type(found) is np.ndarray and found.nbytes > SMALL and not _is_near(found, given):
        operands = sum(operand_check.value_of("", one).nbytes for one in given)
        warn_of_dense(found.nbytes, operands, statement, inferred)
    return found


def warn_if_large(
    spec: KernelSpec,
    inferred: tuple[tuple[str, TensorType], ...],
    values: Mapping[str, Any],
    extents: Mapping[str, int],
) -> None:
    """Warns of a dense result that is far larger than the operands.

    Args:
        spec: the statement.
        inferred: the types of the operands; none where the user asked for a dense one.
        values: the operands by name.
        extents: the extents of the index variables.
    """
    if inferred:
        elements = math.prod(extents[index.name] for index in spec.assignment.target.indices)
        operands = sum(value.nbytes for value in values.values())
        warn_of_dense(elements * spec.output.dtype.itemsize, operands, spec.assignment, inferred)


def _is_near(found: np.ndarray[Any, Any], given: tuple[Any, ...]) -> bool:
    """Returns whether one operand alone is not far smaller than a result.

    After a kernel has gone through its operands, caches hold no code: to count the bytes of all takes as long as a
    twentieth of a product by a matrix of 3 MB.
    """
    for one in given:
        array = one if type(one) is np.ndarray else one._storage.values if type(one) is SparseTensor else None
        if array is not None and found.nbytes <= MOST_TIMES * array.nbytes:
            return True
    return False


def _check_unwritten(error: MemoryError, out: Any, statement: Assignment) -> None:
    """Raises TooLargeError where a call without enough memory may have changed what another call would read.

    Args:
        error: what the call raised.
        out: its array for the result.
        statement: the statement.
    """
    if out is not None and statement.op.reads_target:
        raise _refusal(error, statement) from error.__cause__


def _refusal(error: MemoryError, statement: Assignment) -> MemoryError:
    if isinstance(error, TooLargeError):
        return error
    return TooLargeError(
        f"expected memory for the result of {statement} and for what is computed before it, but there is too little "
        "left: choose compressed levels for the result, or fewer entries"
    )
