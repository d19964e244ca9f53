"""Whether a matrix is its own transpose: its entries and the bits of its values, as they are now."""

from __future__ import annotations

import numpy as np

from mlir_sparse import _native
from mlir_sparse.tensor.sampled_pattern import is_rows
from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["has_one_value", "is_symmetric", "is_symmetric_of_one_value", "may_be_symmetric"]

_WIDTHS = (np.dtype(np.int32), np.dtype(np.int64))


def may_be_symmetric(tensor: SparseTensor) -> bool:
    """Returns whether `is_symmetric` looks at a tensor at all: it is square, and CSR or CSC."""
    storage = tensor.storage
    positions, coordinates = storage.positions[-1], storage.coordinates[-1]
    if len(tensor.shape) != 2 or tensor.shape[0] != tensor.shape[1] or storage.view or not is_rows(storage.encoding):
        return False
    if positions is None or coordinates is None or not {positions.dtype, coordinates.dtype} <= set(_WIDTHS):
        return False
    return all(array.flags.c_contiguous for array in (positions, coordinates, storage.values))


def has_one_value(tensor: SparseTensor) -> bool:
    """Returns whether a tensor has entries, and the bits of all their values are the same, as they are now.

    >>> from mlir_sparse.tensor import tensor
    >>> has_one_value(tensor([[0.0, 2.0], [2.0, 0.0]])), has_one_value(tensor([[0.0, 2.0], [3.0, 0.0]]))
    (True, False)
    """
    values = tensor._storage.values
    return bool(values.size) and values.flags.c_contiguous and _native.are_equal(values)


def is_symmetric(tensor: SparseTensor) -> bool:
    """Returns whether a matrix is the same, bit for bit, as its transpose; False for storage other than CSR and CSC.

    Values may be written in place, so that this holds as long as nothing writes to the tensor. It takes as long as a
    few products with a vector. Where all values are equal, as those of graphs are, the structure alone decides, which
    never changes: from the second time on it takes the time of comparing the values, a tenth of that or less.

    >>> from mlir_sparse.tensor import tensor
    >>> is_symmetric(tensor([[1.0, 2.0], [2.0, 0.0]])), is_symmetric(tensor([[1.0, 2.0], [3.0, 0.0]]))
    (True, False)
    """
    storage, mirrored = tensor._storage, tensor._mirrored
    if mirrored is False:
        return False
    if mirrored and storage.values.flags.c_contiguous and _native.are_equal(storage.values):
        return True
    if not may_be_symmetric(tensor):
        return False
    positions, coordinates = storage.positions[-1], storage.coordinates[-1]
    assert positions is not None
    assert coordinates is not None
    found = _native.is_symmetric(positions, coordinates, storage.values)
    # The structure of a symmetric matrix is symmetric, whatever its values will be.
    if mirrored is None and (found or _native.are_equal(storage.values)):
        tensor._mirrored = found
    return found


def is_symmetric_of_one_value(tensor: SparseTensor) -> bool:
    """Returns whether a matrix has one value, and is its own transpose: both `has_one_value` and `is_symmetric`.

    >>> from mlir_sparse.tensor import tensor
    >>> is_symmetric_of_one_value(tensor([[0.0, 2.0], [2.0, 0.0]]))
    True
    """
    mirrored = tensor._mirrored
    return mirrored is not False and has_one_value(tensor) and (mirrored is True or is_symmetric(tensor))
