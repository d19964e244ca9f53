"""Functions that move elements: those of SparseTensors, on the numbers of entries; all else is the fill value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlir_sparse.arrays import reshape
from mlir_sparse.arrays.entry_lists import EntryList, entries_of
from mlir_sparse.arrays.filled.filled_elements import filled_entries, is_sparse, stored_of
from mlir_sparse.arrays.flat_places import Array
from mlir_sparse.arrays.indexing import item
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.runtime import operand_check
from mlir_sparse.tensor import SparseTensor, tensor
from mlir_sparse.tensor.fill_values import is_filling
from mlir_sparse.tensor.filled_tensor import FilledTensor, filled
from mlir_sparse.tensor.other_values import all_are_elements

__all__ = ["expanded", "filled_item", "joined", "moved"]


def moved(function: Callable[..., Any], source: FilledTensor, *arguments: Any, **options: Any) -> Any:
    """Returns what a function of SparseTensors that only moves elements gives for a tensor with a fill value.

    Args:
        function: the function; it may return several tensors, arrays or numbers.
        source: the tensor.
        arguments: the function's other arguments.
        options: likewise.

    >>> from mlir_sparse.tensor import tensor
    >>> moved(reshape.reshaped, tensor([[1, 5], [2, 1]], fill_value=1), (4,)).to_numpy()
    array([1, 5, 2, 1])
    """
    numbers, values = _numbered(source.stored, 1)
    table = np.concatenate([np.asarray(source.fill_value).reshape(1), values])
    return _with_elements(function(numbers, *arguments, **options), table, source.fill_value)


def joined(function: Callable[..., Any], sources: Sequence[Any], *arguments: Any, **options: Any) -> Any:
    """Returns what a function that joins SparseTensors gives for tensors of one fill value, and arrays.

    Raises:
        UnsupportedError: for tensors of several fill values.
    """
    values = [
        one if is_sparse(one) else operand_check.value_of(f"operand {number}", one)
        for number, one in enumerate(sources)
    ]
    first = next(one for one in values if isinstance(one, FilledTensor))
    kind = np.result_type(*(one.dtype for one in values))
    fill: Any = np.asarray(first.fill_value).astype(kind)[()]
    numbers, table = [], [np.full(1, fill, kind)]
    for number, one in enumerate(values):
        if isinstance(one, np.ndarray):
            one = tensor(np.atleast_1d(one).astype(kind), fill_value=fill)
        stored, own = stored_of(one)
        if not is_filling(np.asarray(own).astype(kind).reshape(1), fill)[0]:
            raise UnsupportedError(
                f"expected tensors of one fill value, {fill}, to join, but got {own} in operand {number}: pass its "
                f"to_numpy(), or with_fill({fill}) for its entries beside that"
            )
        found, given = _numbered(stored, 1 + sum(part.size for part in table[1:]))
        numbers.append(found)
        table.append(given.astype(kind))
    return _with_elements(function(numbers, *arguments, **options), np.concatenate(table), fill)


def expanded(source: Any, axis: Any) -> Any:
    """Returns a tensor with new axes of one element, given their positions in the result."""
    if isinstance(source, FilledTensor):
        return moved(reshape.expanded, source, axis)
    return reshape.expanded(source, axis)


def filled_item(source: FilledTensor, key: Any) -> Any:
    """Returns the selected elements: a scalar if every axis has an integer (see `indexing.item`)."""
    keys = key if isinstance(key, tuple) else (key,)
    # A mask with a fill value is true nearly everywhere: the result has as many elements as an array of it.
    plain = tuple(one.to_numpy() if isinstance(one, FilledTensor) else one for one in keys)
    return moved(item, source, plain if isinstance(key, tuple) else plain[0])


def _numbered(stored: SparseTensor, first: int) -> tuple[SparseTensor, Array]:
    """Returns a tensor of the numbers of entries, and their values in this order."""
    if all_are_elements(stored) and stored.encoding.is_unique:
        values = stored.storage.values
        numbers = np.arange(first, first + values.size, dtype=np.int64)
        return SparseTensor._trusted(stored.encoding, stored.shape, stored.storage.with_values(numbers)), values
    entries = entries_of(stored)
    numbers = np.arange(first, first + entries.values.size, dtype=np.int64)
    return EntryList(entries.dims, numbers, stored.shape).tensor(stored), entries.values


def _with_elements(found: Any, table: Array, fill: np.generic) -> Any:
    """Returns a result with the elements of a table in place of their numbers; 0 is the fill value's."""
    if isinstance(found, list | tuple):
        return type(found)(_with_elements(one, table, fill) for one in found)
    if not isinstance(found, SparseTensor):
        return table[found]
    if all_are_elements(found) and found.encoding.is_unique:
        values = table[found.storage.values]
        return filled(SparseTensor._trusted(found.encoding, found.shape, found.storage.with_values(values)), fill)
    entries = entries_of(found)
    values = table[entries.values]
    return filled_entries(EntryList(entries.dims, values, entries.shape), fill, found)
