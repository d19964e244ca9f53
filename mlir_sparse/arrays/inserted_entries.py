"""Entries put between those of a matrix that is stored by lines, in place of sorting all of them."""

from __future__ import annotations

import numpy as np

from mlir_sparse.arrays.entry_lists import EntryList
from mlir_sparse.arrays.flat_places import Array, fits_in_64_bits, linear
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.kept_entries import kept_entries
from mlir_sparse.tensor.level_storage import LevelStorage
from mlir_sparse.tensor.matrix_lines import line_order
from mlir_sparse.tensor.widths import width_limit

__all__ = ["with_entries"]


def with_entries(whole: SparseTensor, entries: EntryList, left: Array, new: EntryList) -> SparseTensor | None:
    """Returns a matrix with some of its entries, and others beside them, in its storage.

    Args:
        whole: the matrix.
        entries: its own, in storage order.
        left: which of them stay.
        new: others, each once, at places where none of these is.

    Returns:
        the matrix; None for other storage than one with a `line_order` and numbers of 32 bits or more, and for what
            these do not hold.

    >>> from mlir_sparse.arrays.entry_lists import entries_of
    >>> from mlir_sparse.tensor import tensor
    >>> A = tensor([[0.0, 2.0], [3.0, 4.0]])
    >>> new = EntryList((np.array([0]), np.array([0])), np.array([9.0]), (2, 2))
    >>> with_entries(A, entries_of(A), np.array([True, False, True]), new).to_numpy().tolist()
    [[9.0, 2.0], [0.0, 4.0]]
    """
    encoding = whole.encoding
    order = line_order(encoding)
    if order is None or min(encoding.pos_width, encoding.crd_width) < 32 or not fits_in_64_bits(whole.shape):
        return None
    if entries.values.size + new.values.size > width_limit(encoding.pos_width):
        return None
    kept = whole if left.all() else kept_entries(whole, left)
    assert kept is not None  # lines list their entries
    begins, coordinates, values = kept.storage.buffers()
    sizes = kept.storage.level_sizes
    stored = [dim if kept is whole else dim[left] for dim in entries.dims]
    numbers = linear([new.dims[order[0]], new.dims[order[1]]], sizes)
    sorting = np.argsort(numbers, kind="stable")
    at = np.searchsorted(linear([stored[order[0]], stored[order[1]]], sizes), numbers[sorting])
    more = np.bincount(new.dims[order[0]], minlength=sizes[0]) if new.values.size else np.zeros(sizes[0], np.int64)
    positions = begins.copy()
    positions[1:] += np.cumsum(more).astype(begins.dtype, copy=False)
    named = np.insert(coordinates, at, new.dims[order[1]][sorting].astype(coordinates.dtype, copy=False))
    together = np.insert(values, at, new.values[sorting])
    buffers = positions, named, together
    return SparseTensor._trusted(encoding, whole.shape, LevelStorage.from_buffers(encoding, sizes, buffers))
