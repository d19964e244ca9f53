"""Functions of elements on tensors with a fill value: the result's is what the function gives for the operands'."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlir_sparse.arrays.broadcast import broadcast_shape, stretched
from mlir_sparse.arrays.elementwise import as_operand
from mlir_sparse.arrays.entry_lists import EntryList, check_dense_fits, entries_of
from mlir_sparse.arrays.flat_places import Array, united
from mlir_sparse.dtypes import DType
from mlir_sparse.errors import OperandError, SparseError
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.fill_values import is_zero_fill
from mlir_sparse.tensor.filled_tensor import FilledTensor, filled
from mlir_sparse.tensor.other_values import all_are_elements

__all__ = ["Filling", "filled_entries", "is_sparse", "map_elements", "stored_of"]

# What has a value everywhere and stores some: tensors with a fill value, and those with zeros.
Filling = FilledTensor | SparseTensor


def is_sparse(value: object) -> bool:
    """Returns whether an operand stores entries, beside a fill value or zeros."""
    return isinstance(value, FilledTensor | SparseTensor)


def stored_of(tensor: Filling) -> tuple[SparseTensor, np.generic]:
    """Returns what a tensor stores, and the value of all else."""
    if isinstance(tensor, FilledTensor):
        return tensor.stored, tensor.fill_value
    return tensor, tensor.fill_value


def filled_entries(entries: EntryList, fill: Any, like: SparseTensor | None) -> Any:
    """Returns the tensor of entries beside a fill value; truth values are stored where they are not the fill value.

    Args:
        entries: the entries, without repeats.
        fill: the value of all else.
        like: a tensor whose storage the result has, if that can store it.
    """
    if entries.values.dtype == np.bool_:
        entries = entries.where(entries.values != fill)
    # A fill value is no entry: storage with padding would hold it.
    model = None if like is not None and like.encoding.has_padding and not is_zero_fill(fill) else like
    return filled(entries.tensor(model), fill)


def map_elements(function: Callable[..., Any], sources: Sequence[Any], name: str, **options: Any) -> Any:
    """Computes a function of elements, with one operand or more that has a fill value.

    With a dense operand the result is a dense array.

    Args:
        function: a function like a ufunc: its arguments are arrays of one shape, or numbers; it may return several
            arrays.
        sources: operands that broadcast.
        name: NumPy's name of the function.
        options: of the function.

    Raises:
        ExtentError: for shapes that do not broadcast.
        OperandError: for operands that the function refuses.
    """
    operands = [one if is_sparse(one) else as_operand(name, one) for one in sources]
    shape = broadcast_shape([_shape_of(one) for one in operands], name)
    ready = [one.reshape(1) if isinstance(one, np.ndarray) and one.size == 1 else one for one in operands]
    try:
        if any(isinstance(one, np.ndarray) and one.shape != (1,) for one in ready):
            return _dense(function, operands, shape, options)
        return _at_entries(function, ready, shape, options)
    except SparseError:
        raise
    except (TypeError, ValueError) as error:  # NumPy's errors for types that a function lacks, and the like
        kinds = ", ".join(str(getattr(one, "dtype", type(one).__name__)) for one in operands)
        raise OperandError(f"expected operands that {name} takes, but got {kinds}: {error}") from None


def _dense(function: Any, operands: Sequence[Any], shape: tuple[int, ...], options: dict[str, Any]) -> Any:
    check_dense_fits(shape, np.float64)
    found = function(*(one.to_numpy() if is_sparse(one) else one for one in operands), **options)
    several = found if isinstance(found, tuple) else (found,)
    spread = tuple(np.broadcast_to(part, shape).copy() if part.shape != shape else part for part in several)
    return spread if isinstance(found, tuple) else spread[0]


def _at_entries(function: Any, operands: Sequence[Any], shape: tuple[int, ...], options: dict[str, Any]) -> Any:
    tensors: list[Filling] = [one for one in operands if is_sparse(one)]
    try:
        with np.errstate(all="ignore"):  # values that no element may have
            missing = function(*(_filling(one) for one in operands), **options)
    except ValueError:  # an integer to a negative power, which some element may be or none
        return _dense(function, operands, shape, options)
    stored, _ = stored_of(tensors[0])
    if len(tensors) == 1 and stored.shape == shape and all_are_elements(stored) and stored.encoding.is_unique:
        found = function(*(stored.storage.values if is_sparse(one) else one for one in operands), **options)

        def made(values: Array, fill: Any) -> Any:
            DType.of(values.dtype)  # refuses what tensors do not hold
            same = SparseTensor._trusted(
                stored.encoding, shape, stored.storage.with_values(np.ascontiguousarray(values))
            )
            return filled_entries(entries_of(same), fill, stored) if values.dtype == np.bool_ else filled(same, fill)

    else:
        lists = [stretched(entries_of(stored_of(one)[0]), shape) for one in tensors]
        places, where = united([entries.dims for entries in lists], shape)
        aligned = iter(
            _scattered(entries.values, at, places[0].size, stored_of(one)[1])
            for entries, at, one in zip(lists, where, tensors, strict=True)
        )
        found = function(*(next(aligned) if is_sparse(one) else one for one in operands), **options)

        def made(values: Array, fill: Any) -> Any:
            return filled_entries(EntryList(places, values, shape), fill, stored)

    if isinstance(found, tuple):
        return tuple(made(values, fill[0]) for values, fill in zip(found, missing, strict=True))
    return made(found, missing[0])


def _shape_of(operand: Any) -> tuple[int, ...]:
    found: tuple[int, ...] = getattr(operand, "shape", ())  # of Python's numbers
    return found


def _filling(operand: Any) -> Any:
    # A vector of one element: in NumPy 1 a 0-d array is a weak number.
    return np.asarray(stored_of(operand)[1]).reshape(1) if is_sparse(operand) else operand


def _scattered(values: Array, at: Array, size: int, fill: np.generic) -> Array:
    spread = np.full(size, fill, values.dtype)
    spread[at] = values
    return spread
