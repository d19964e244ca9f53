"""Extremes and counts of tensors whose storage lists entries, by one pass of NumPy's over the values."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.arrays.entry_lists import is_in_order
from mlir_sparse.arrays.flat_places import Array, linear
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.convert.coordinates_of import expand_dims
from mlir_sparse.tensor.dense_entries import lists_entries
from mlir_sparse.tensor.matrix_lines import line_order

__all__ = ["best_in_lines", "best_of_all", "best_position", "nonzero_in_lines", "nonzero_in_list", "nonzero_of_lines"]


def best_of_all(ufunc: np.ufunc, tensor: SparseTensor) -> Any:
    """Returns the reduction of all elements by a ufunc for which one zero has the effect of many, of ordered numbers.

    Returns:
        a number; None for storage that has padding, or an element twice, for other numbers, and without elements.

    >>> from mlir_sparse.tensor import tensor
    >>> best_of_all(np.maximum, tensor([[0.0, -2.0], [-3.0, 0.0]]))
    np.float64(0.0)
    """
    values, size = tensor.storage.values, tensor.size
    if size == 0 or values.dtype.kind not in "iufb" or lists_entries(tensor.encoding) is None:
        return None
    zero = np.zeros(1, values.dtype)
    if values.size == 0:
        return ufunc.reduce(zero)
    best = ufunc.reduce(values)
    return best if values.size == size else ufunc(best, zero)[0]


def best_position(largest: bool, tensor: SparseTensor) -> Any:
    """Returns the row-major index of the first greatest or least element, or of the first NaN, where an entry is it.

    Returns:
        the index; None where it may be that of a missing entry, and where `best_of_all` has none.

    >>> from mlir_sparse.tensor import tensor
    >>> best_position(True, tensor([[0.0, 2.0], [0.0, 2.0]])), best_position(False, tensor([[0.0, 2.0]]))
    (np.int64(1), None)
    """
    values = tensor.storage.values
    if values.size == 0 or values.dtype.kind not in "iufb" or lists_entries(tensor.encoding) is None:
        return None
    first = values.argmax() if largest else values.argmin()
    best = values[first]
    if values.size < tensor.size and not (best > 0 if largest else best < 0) and best == best:
        return None
    if is_in_order(tensor.encoding):
        return np.int64(_place_of(tensor, int(first)))
    at = np.flatnonzero(values == best if best == best else values != values)
    return linear(_coordinates_at(tensor, at), tensor.shape).min()


def _place_of(tensor: SparseTensor, at: int) -> int:
    """Returns the row-major index of an entry of a tensor that `lists_entries` in order."""
    buffers, shape = tensor.storage.buffers(), tensor.shape
    if line_order(tensor.encoding) is not None:
        return (int(buffers[0].searchsorted(at, "right")) - 1) * shape[1] + int(buffers[1][at])
    if lists_entries(tensor.encoding) == 0:
        coordinates = buffers[1][at * len(shape) : (at + 1) * len(shape)].tolist()
    else:
        coordinates = [int(dim[at]) for dim in expand_dims(tensor.storage, shape)[0]]
    place = 0
    for coordinate, extent in zip(coordinates, shape, strict=True):
        place = place * extent + coordinate
    return place


def best_in_lines(largest: bool, matrix: SparseTensor, axis: int) -> Array | None:
    """Returns the first position of the greatest or least element of each row (axis 1) or column (axis 0), or of a NaN.

    Returns:
        positions in 64 bits; None for storage that does not list rows or columns, and where lines have no element.

    >>> from mlir_sparse.tensor import tensor
    >>> best_in_lines(True, tensor([[0.0, 2.0, 0.0], [-3.0, 0.0, 0.0], [-1.0, -1.0, -1.0]]), 1).tolist()
    [1, 1, 0]
    """
    order = line_order(matrix.encoding)
    if order is None or matrix.dtype.kind not in "iufb" or matrix.shape[axis] == 0:
        return None
    if matrix.shape[1 - axis] > 4 * matrix.nse + _FEW:
        return None  # to be counted all the same
    begins, coordinates, values = matrix.storage.buffers()
    if values.dtype.kind == "f" and values.itemsize < 4:
        values = values.astype(np.float32)  # which are in the same order
    return _native.best_places(begins, coordinates, values, matrix.storage.level_sizes[1], order[1] != axis, largest)


def _coordinates_at(tensor: SparseTensor, at: Array) -> tuple[Array, ...]:
    """Returns the coordinates in each dimension of some entries of a tensor that `lists_entries`."""
    order, buffers = tensor.encoding.level_order, tensor.storage.buffers()
    if line_order(tensor.encoding) is not None:
        levels = [np.searchsorted(buffers[0], at, "right") - 1, buffers[1][at]]
    elif lists_entries(tensor.encoding) == 0:
        levels = list(buffers[1].reshape(tensor.nse, -1)[at].T)
    else:
        return tuple(dim[at] for dim in expand_dims(tensor.storage, tensor.shape)[0])
    return tuple(levels[order.index(dim)] for dim in range(tensor.ndim))


def nonzero_of_lines(matrix: SparseTensor, axis: int) -> Array | None:
    """Returns how many elements of each row (axis 1) or column (axis 0) of a matrix are not zero, in 64 bits.

    Returns:
        the counts; None for other tensors, and for storage that does not list the entries, each once.
    """
    if matrix.ndim != 2 or lists_entries(matrix.encoding) is None:
        return None
    kept, values, order = 1 - axis % 2, matrix.storage.values, line_order(matrix.encoding)
    given = _given(values)
    if order is not None and kept == order[0] and given is None:
        begins = matrix.storage.buffers()[0].astype(np.int64, copy=False)
        return begins[1:] - begins[:-1]
    if matrix.shape[kept] > 4 * values.size + _FEW:
        return None  # to be counted all the same
    dim = _coordinates_along(matrix, kept)
    return np.bincount(dim if given is None else dim[given], minlength=matrix.shape[kept]).astype(np.int64, copy=False)


def _given(values: Array) -> Array | None:
    """Returns which values are not zero; None where all are."""
    # NumPy counts a few numbers in less time than it compares them, but counts floats one by one.
    if values.size < _SHORT and values.dtype.kind in "biufc" and np.count_nonzero(values) == values.size:
        return None
    given: Array = values != 0
    return None if given.all() else given


def _coordinates_along(matrix: SparseTensor, dim: int) -> Array:
    """Returns the coordinates of the entries of a matrix that `lists_entries` in a dimension, as stored if they are."""
    kind, order = matrix.encoding, line_order(matrix.encoding)
    if order is not None and dim == order[1]:
        stored = matrix.storage.buffers()[1]
    elif lists_entries(kind) == 0:
        stored = matrix.storage.buffers()[1].reshape(-1, matrix.ndim)[:, kind.level_order.index(dim)]
    else:
        return expand_dims(matrix.storage, matrix.shape)[0][dim]
    return stored.astype(np.int64, copy=False)


def nonzero_in_lines(matrix: SparseTensor) -> tuple[Array, Array] | None:
    """Returns the rows and columns of the elements that are not zero, in row-major order; None for other storage.

    Columns are not turned to rows where these are far more than the entries: to sort the entries takes less.

    >>> from mlir_sparse.tensor import tensor
    >>> [one.tolist() for one in nonzero_in_lines(tensor([[0.0, 2.0], [3.0, 0.0]], "CSC"))]
    [[0, 1], [1, 0]]
    """
    order, values = line_order(matrix.encoding), matrix.storage.values
    if order is None or (order == (1, 0) and matrix.shape[0] > 4 * values.size + _FEW):
        return None
    begins, coordinates, _ = matrix.storage.buffers()
    lines, named = _native.listed_lines(
        begins, coordinates, _given(values), matrix.storage.level_sizes[1], order == (0, 1)
    )
    return (lines, named) if order == (0, 1) else (named, lines)


def nonzero_in_list(tensor: SparseTensor) -> tuple[Array, ...] | None:
    """Returns the coordinates of the nonzero elements where storage is one list of entries by rows; else None.

    >>> from mlir_sparse.tensor import tensor
    >>> [one.tolist() for one in nonzero_in_list(tensor([[0.0, 2.0], [3.0, 0.0]], "COO"))]
    [[0, 1], [1, 0]]
    """
    if lists_entries(tensor.encoding) != 0 or not is_in_order(tensor.encoding):
        return None
    _, named, values = tensor.storage.buffers()
    by_entry = named.reshape(-1, tensor.ndim)
    given = _given(values)
    return tuple(np.array((by_entry if given is None else by_entry[given]).T, np.int64, order="C"))


_FEW = 1 << 20  # counts that are made in any case
_SHORT = 1 << 8  # values that are counted before they are compared
