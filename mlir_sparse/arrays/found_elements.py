"""Elements of matrices, found by bisection in their rows or columns."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np

from mlir_sparse.arrays.entry_lists import EntryList, vector_of
from mlir_sparse.arrays.flat_places import Array, unlinear
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.matrix_lines import entries_at, line_order, lines_at

__all__ = ["at_arrays", "element", "elements"]

_ALL = slice(None)
_FEW = 1 << 20  # coordinates that are numbered anew, whatever the number of entries


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


def at_arrays(tensor: SparseTensor, key: Any) -> SparseTensor | None:
    """Returns the rows or columns of a matrix at an array, or its elements at two; None for other subscripts.

    What subscripts mean is not parsed: these name places as they are. Numbers from the end, those out of range, and
    those along an axis too long to be numbered anew, are left to `parsed_index.parsed`.

    >>> from mlir_sparse.tensor import tensor
    >>> A = tensor([[0.0, 2.0], [3.0, 0.0]])
    >>> at_arrays(A, (np.array([1, 0]), np.array([0, 0]))).to_numpy().tolist()
    [3.0, 0.0]
    >>> at_arrays(A, np.array([False, True])).to_numpy().tolist()
    [[3.0, 0.0]]
    >>> at_arrays(A, (np.array([-1, 0]), np.array([0, 0]))) is None
    True
    """
    keys = key if type(key) is tuple else (key,)
    if not 0 < len(keys) < 3 or type(keys[-1]) is not np.ndarray:
        return None
    order = line_order(tensor.encoding)
    if order is None:
        return None
    axis = len(keys) - 1
    last = _places(keys[axis], tensor.shape[axis])
    if last is None:
        return None
    if axis == 0 or (type(keys[0]) is slice and keys[0] == _ALL):
        return lines_at(tensor, axis, last) if axis == order[0] or tensor.shape[axis] <= _FEW else None
    first = _places(keys[0], tensor.shape[0]) if type(keys[0]) is np.ndarray else None
    if first is None or first.size != last.size:
        return None
    return elements(tensor, first, last, first.shape)


def _places(array: Array, extent: int) -> Array | None:
    """Returns the places that an array of integers or truth values names; None for others, and for wrong ones."""
    if array.ndim != 1 or not array.size:
        return None
    kind = array.dtype.kind
    if kind == "b":
        return array.nonzero()[0] if array.size == extent else None
    if kind not in "iu":
        return None
    wide = array.astype(np.int64, order="C", copy=False)
    # As unsigned numbers, negative ones are above every extent.
    return wide if np.maximum.reduce(wide.view(np.uint64)) < extent else None


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
    (stored,) = (found >= 0).nonzero()
    values = matrix.storage.values.take(found.take(stored))
    if len(shape) == 1:
        return vector_of(stored, values, shape[0], matrix)
    return EntryList(unlinear(stored, shape), values, shape).tensor(matrix)
