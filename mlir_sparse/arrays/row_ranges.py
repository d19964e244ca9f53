"""The entries in a range of rows, without reading the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlir_sparse.arrays.entry_lists import EntryList, entries_of
from mlir_sparse.encoding import LevelFormat
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.batch_and_slice_parts import is_plain

__all__ = ["entries_between"]


def entries_between(tensor: SparseTensor, ranges: Sequence[range]) -> EntryList:
    """Returns the entries of a tensor; for matrices by rows or columns, only those in a range of them.

    The result may have entries outside the ranges.
    """
    encoding = tensor.encoding
    formats = tuple(kind.format for kind in encoding.level_types)
    by_rows = formats == (LevelFormat.DENSE, LevelFormat.COMPRESSED) and encoding.is_permutation
    if not (by_rows and is_plain(encoding) and encoding.is_unique and encoding.is_native):
        return entries_of(tensor)
    outer = encoding.level_order[0]
    wanted = ranges[outer]
    if len(wanted) == tensor.shape[outer]:
        return entries_of(tensor)
    low, high = (min(wanted), max(wanted) + 1) if wanted else (0, 0)
    positions, coordinates = tensor.storage.positions[1], tensor.storage.coordinates[1]
    assert positions is not None  # compressed levels have both
    assert coordinates is not None
    start, stop = int(positions[low]), int(positions[high])
    bounds = positions[low : high + 1].astype(np.int64)
    counts = bounds[1:] - bounds[:-1]
    dims = [np.repeat(np.arange(low, high), counts), coordinates[start:stop].astype(np.int64)]
    ordered = (dims[0], dims[1]) if outer == 0 else (dims[1], dims[0])
    return EntryList(ordered, tensor.storage.values[start:stop], tensor.shape)
