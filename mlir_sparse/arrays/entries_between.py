"""The entries in a range of coordinates of the outermost level, without a pass over the others."""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse.arrays.entry_lists import EntryList, entries_of
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.level_ranges import part_around

__all__ = ["entries_between"]

_FEW = 1 << 12  # entries that are read no later than a part of them is cut


def entries_between(tensor: SparseTensor, ranges: Sequence[range]) -> EntryList:
    """Returns the entries of a tensor; only those near a range where the outermost level numbers its dimension.

    The result may have entries outside the ranges.

    >>> import numpy as np
    >>> from mlir_sparse.tensor import tensor
    >>> entries_between(tensor(np.eye(9000), "COO"), [range(7, 8), range(4)]).dims
    (array([7]), array([7]))
    """
    if tensor.storage.values.size <= _FEW:
        return entries_of(tensor)
    for dim, (wanted, extent) in enumerate(zip(ranges, tensor.shape, strict=True)):
        if len(wanted) == extent:
            continue
        low, high = (min(wanted), max(wanted) + 1) if wanted else (0, 0)
        if (found := part_around(tensor, dim, low, high)) is not None:
            part, first = found
            entries = entries_of(part)
            dims = tuple(one + first if at == dim else one for at, one in enumerate(entries.dims))
            return EntryList(dims, entries.values, tensor.shape)
    return entries_of(tensor)
