"""Operands that calls make: vectors of positions for index variables as values, places of gathers with offsets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mlir_sparse.dtypes import INTEGER
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import CoordinatesError, OperandError, TooLargeError
from mlir_sparse.notation import (
    Assignment,
    ShiftedGather,
    index_vectors,
    is_made_by_calls,
    shifted_gather_of,
    shifted_gathers,
    tensors_given,
)
from mlir_sparse.process.available_memory import check_fits
from mlir_sparse.runtime import operand_check
from mlir_sparse.runtime.device.device_operands import is_on_device, type_of_given
from mlir_sparse.spec import bind, bind_parameters, check_names, index_lengths
from mlir_sparse.spec.made_types import made_types
from mlir_sparse.spec.variable_ranges import Ranges
from mlir_sparse.tensor import SparseTensor, to_device
from mlir_sparse.tensor.borders.dask_arrays import is_in_chunks

__all__ = ["bound_operands", "made_account", "made_operand", "makes_operands", "shifted_places", "with_made_operands"]

Array = np.ndarray[Any, Any]


_MOST_KEPT = 1 << 23
"""Positions that are kept from call to call: 64 MiB."""

_kept: Array = np.zeros(0, INTEGER.numpy)
"""The longest positions so far; all shorter ones are their beginning."""


def shifted_places(gather: ShiftedGather, value: Any) -> Any:
    """Returns the places of a gather with an offset, for the tensor that it reads.

    Args:
        gather: the gather.
        value: the tensor: data, or a collection of Dask.

    Raises:
        OperandError: for a tensor on a device, and for what is no data, as a source of parts.
        CoordinatesError: for places that 64 bits do not hold.
    """
    if is_in_chunks(value):
        return value.astype(INTEGER.numpy) * gather.factor + gather.constant
    if is_on_device(value):
        raise OperandError(
            f"expected an array or a tensor in host memory for {gather.tensor}, to read `{gather}` from, but got "
            f"{type(value).__name__}: compute `{gather}` first, and gather by it"
        )
    known = operand_check.value_of(gather.tensor, value)
    array: Array = known.to_numpy() if isinstance(known, SparseTensor) else known
    if array.dtype.kind not in "iu":
        return array  # which is refused with the place in the text
    ends = [gather.factor * int(end) + gather.constant for end in (array.min(), array.max())] if array.size else []
    limits = np.iinfo(INTEGER.numpy)
    for end in ends:
        if not limits.min <= end <= limits.max:
            raise CoordinatesError(f"expected {gather} to hold positions of 64 bits, but got {end}")
    # Unsigned numbers wrap around, and sums within 64 bits back.
    places = array.astype(INTEGER.numpy, copy=False)
    return (places if gather.factor == 1 else places * gather.factor) + gather.constant


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


def with_made_operands(assignment: Assignment, given: Mapping[str, Any], out: Any = None) -> dict[str, Any]:
    """Returns operands as kernels of a statement read them: with vectors of positions, and places of shifted gathers.

    Args:
        assignment: the statement.
        given: the operands by name, data or types; pieces of a statement are given their parts of what is made.
        out: the tensor for the result, if there is one.

    Raises:
        UnknownTensorError: for a tensor without an operand.
        ExtentError: for a variable without an extent, or with two.
        CoordinatesError: for places that 64 bits do not hold.
    """
    shifted, vectors = shifted_gathers(assignment), index_vectors(assignment)
    if given.keys() >= shifted.keys() | vectors.keys():
        return dict(given)
    are_types = any(isinstance(one, str | TensorType) for one in given.values())
    target, names = assignment.target.tensor, tensors_given(assignment)
    if not are_types:
        check_names(assignment, (*(name for name in given if name != target or name in names), *vectors))
    kept = {name: one for name, one in given.items() if name in assignment.inputs or name not in names}
    if are_types:
        declared = {name: type_of_given(name, given[name]) for name in names if name in given}
        return {**kept, **made_types(assignment, declared)}
    places = {name: shifted_places(gather, given[gather.tensor]) for name, gather in shifted.items()}
    if not vectors:
        return {**kept, **places}
    shapes = {name: tuple(np.shape(one)) for name, one in {**given, **places}.items() if name in assignment.inputs}
    shape = None if out is None or not hasattr(out, "shape") else tuple(out.shape)
    found: dict[str, Any] = {
        name: _positions(length) for name, length in index_lengths(assignment, shapes, shape).items()
    }
    if any(map(is_on_device, given.values())):
        found = {name: to_device(one) for name, one in found.items()}
    return {**kept, **places, **found}


def makes_operands(assignment: Assignment) -> bool:
    """Returns whether a statement reads operands that calls make."""
    return any(is_made_by_calls(name) for name in assignment.inputs)


def made_operand(assignment: Assignment, name: str, ranges: Ranges, values: Mapping[str, Any]) -> Any:
    """Returns an operand that a statement of a comprehension reads, and that is made for it.

    Args:
        assignment: the statement.
        name: the operand.
        ranges: the ranges of the statement's variables.
        values: the tensors that are there.
    """
    gather = shifted_gather_of(name)
    if gather is not None:
        return shifted_places(gather, values[gather.tensor])
    return _positions(ranges[index_vectors(assignment)[name]][1])


def bound_operands(
    assignment: Assignment, operands: tuple[Any, ...], named: Mapping[str, Any], out: Any = None
) -> dict[str, Any]:
    """Returns the operands of a kernel's call by name, with those that calls make; see `with_made_operands`.

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
    if tensors_given(assignment) == assignment.inputs:
        return bind(assignment, operands, named)
    bound = with_made_operands(assignment, bind_parameters(tensors_given(assignment), operands, named), out)
    check_names(assignment, tuple(bound), called=True)
    return bound


def made_account(assignment: Assignment) -> str:
    """Returns what `explain()` adds of operands that calls make; nothing for a statement without."""
    vectors, shifted = index_vectors(assignment).items(), shifted_gathers(assignment).items()
    lines = [f"  {name}: the positions 0, 1, ... along {variable}, made by calls" for name, variable in vectors]
    lines += [f"  {name}: {gather}, made by calls" for name, gather in shifted]
    return "\n".join(("\n\nindices as values", *lines)) if lines else ""
