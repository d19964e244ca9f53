"""Elements of matrices, found by bisection in their rows or columns."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np

from mlir_sparse.arrays.entry_lists import EntryList, vector_of
from mlir_sparse.arrays.flat_places import Array, unlinear
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.matrix_lines import entries_at, line_order

__all__ = ["element", "elements"]


def element(tensor: SparseTensor, key: Any) -> Any:
    """Returns the element at two integers of Python's; None for other subscripts, and where it takes a search."""
    if type(key) is not tuple or len(key) != 2 or type(key[0]) is not int or type(key[1]) is not int:
        return None
    storage = tensor._storage
    order = line_order(storage.encoding)
    if order is None:
        return None
    outer, inner = key[order[0]], key[order[1]]
    size, length = storage.level_sizes
    if not (-size <= outer < size and -length <= inner < length):
        return None
    positions, coordinates = storage.positions[1], storage.coordinates[1]
    assert positions is not None  # compressed levels have both
    assert coordinates is not None
    row, place = outer % size, inner % length
    stop = positions.item(row + 1)
    at = bisect_left(coordinates, place, positions.item(row), stop)
    if at < stop and coordinates.item(at) == place:
        return storage.values[at]
    return storage.values.dtype.type(0)


def elements(matrix: SparseTensor, rows: Array, columns: Array, shape: tuple[int, ...]) -> SparseTensor:
    """Returns the elements at some places of a matrix that has a `line_order`.

    Args:
        matrix: the matrix.
        rows: integers of 64 bits in range.
        columns: likewise, as many.
        shape: the shape of the result, whose elements are these in row-major order.

    >>> from mlir_sparse.tensor import tensor
    >>> elements(tensor([[0.0, 2.0], [3.0, 0.0]]), np.array([1, 1]), np.array([1, 0]), (2,)).to_numpy().tolist()
    [0.0, 3.0]
    """
    found = entries_at(matrix, rows, columns)
    stored = np.flatnonzero(found >= 0)
    values = matrix.storage.values.take(found.take(stored))
    if len(shape) == 1:
        return vector_of(stored, values, shape[0], matrix)
    return EntryList(unlinear(stored, shape), values, shape).tensor(matrix)
