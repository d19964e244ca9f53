"""Operands of statements with index variables as values: calls make the vectors of positions that these read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mlir_sparse.dtypes import INTEGER
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import TooLargeError
from mlir_sparse.notation import Assignment, index_vectors, tensors_given
from mlir_sparse.process.available_memory import check_fits
from mlir_sparse.runtime.device.device_operands import is_on_device
from mlir_sparse.spec import bind, bind_parameters, check_names, index_lengths
from mlir_sparse.tensor import to_device

__all__ = ["bound_operands", "index_account", "index_arrays", "with_index_arrays"]

Array = np.ndarray[Any, Any]
_DECLARED = TensorType(INTEGER, (None,))


_MOST_KEPT = 1 << 23
"""Positions that are kept from call to call: 64 MiB."""

_kept: Array = np.zeros(0, INTEGER.numpy)
"""The longest positions so far; all shorter ones are their beginning."""


def _positions(length: int) -> Array:
    global _kept
    if length <= len(_kept):
        return _kept[:length]
    try:
        check_fits(length * INTEGER.numpy.itemsize, "the positions of an index variable")
    except TooLargeError as error:
        raise TooLargeError(
            f"{error.message.partition(': choose')[0]}: in place of the variable as a value, multiply by a tensor that "
            "has its values at the entries"
        ) from error
    found = np.arange(length, dtype=INTEGER.numpy)
    found.flags.writeable = False
    if length <= _MOST_KEPT:
        _kept = found
    return found


def index_arrays(assignment: Assignment, given: Mapping[str, Any], out: Any = None) -> dict[str, Any]:
    """Returns the vectors of positions that a statement reads, for its operands.

    Args:
        assignment: the statement.
        given: the operands by name, data or types.
        out: the tensor for the result, if there is one.

    Returns:
        the vectors by name; none where the operands have them.

    Raises:
        UnknownTensorError: for a tensor without an operand.
        ExtentError: for a variable without an extent, or with two.
    """
    vectors = index_vectors(assignment)
    if given.keys() >= vectors.keys():  # there are none, or pieces of a statement are given their parts of them
        return {}
    if any(isinstance(one, str | TensorType) for one in given.values()):
        return dict.fromkeys(vectors, _DECLARED)
    target = assignment.target.tensor
    names = tensors_given(assignment)
    check_names(assignment, (*(name for name in given if name != target or name in names), *vectors))
    shapes = {name: tuple(np.shape(given[name])) for name in names}
    shape = None if out is None or not hasattr(out, "shape") else tuple(out.shape)
    found: dict[str, Any] = {
        name: _positions(length) for name, length in index_lengths(assignment, shapes, shape).items()
    }
    if any(map(is_on_device, given.values())):
        return {name: to_device(one) for name, one in found.items()}
    return found


def with_index_arrays(assignment: Assignment, given: Mapping[str, Any], out: Any = None) -> dict[str, Any]:
    """Returns operands with the vectors of positions that a statement reads; `index_arrays` says which."""
    return {**given, **index_arrays(assignment, given, out)}


def bound_operands(
    assignment: Assignment, operands: tuple[Any, ...], named: Mapping[str, Any], out: Any = None
) -> dict[str, Any]:
    """Returns the operands of a kernel's call by name, with the vectors of positions that the statement reads.

    Args:
        assignment: the statement.
        operands: the operands that are given by position; none of them is such a vector.
        named: those by name; pieces of a statement are given their parts of the vectors.
        out: the tensor for the result, if there is one.

    Raises:
        OperandError: for too many operands, or a repeated one.
        UnknownTensorError: for a tensor without an operand, or an operand without a tensor.
        ExtentError: for an index variable that is read as a value, and that no operand gives an extent.
    """
    if not index_vectors(assignment):
        return bind(assignment, operands, named)
    bound = with_index_arrays(assignment, bind_parameters(tensors_given(assignment), operands, named), out)
    check_names(assignment, tuple(bound), called=True)
    return bound


def index_account(assignment: Assignment) -> str:
    """Returns what `explain()` adds of index variables as values; nothing for a statement without."""
    vectors = index_vectors(assignment).items()
    lines = (f"  {name}: the positions 0, 1, ... along {variable}, made by calls" for name, variable in vectors)
    return "\n".join(("\n\nindices as values", *lines)) if vectors else ""
