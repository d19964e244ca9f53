"""Entries grouped by the coordinates that a reduction keeps."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from mlir_sparse.arrays.entry_lists import EntryList, entries_of, is_wide
from mlir_sparse.arrays.flat_places import Array, numbered
from mlir_sparse.classes import dataclass
from mlir_sparse.tensor import SparseTensor

__all__ = ["Groups", "grouped"]


@dataclass(frozen=True, slots=True)
class Groups:
    """Entries sorted by group, and inside a group by place, without empty groups.

    Args:
        dims: the coordinates of each group in the kept dimensions.
        starts: the begin of each group.
        counts: the number of entries of each group.
        places: the place of each entry along the reduced axes, ascending: the row-major index if it fits in 64 bits.
        values: the values.
        size: the number of places of a group.
        kept: the kept extents.
    """

    dims: tuple[Array, ...]
    starts: Array
    counts: Array
    places: Array
    values: Array
    size: int
    kept: tuple[int, ...]

    def reduced(self, ufunc: np.ufunc, dtype: Any = None) -> Array:
        """Reduces each group; missing entries are zeros."""
        if self.starts.size == 0:
            return ufunc.reduceat(np.zeros(1, self.values.dtype), [0], dtype=dtype)[:0]
        found: Array = ufunc.reduceat(self.values, self.starts, dtype=dtype)
        lacking = self.counts < self.size
        found[lacking] = ufunc(found[lacking], np.zeros(1, found.dtype))
        return found

    def spread(self, found: Array, missing: Any, like: SparseTensor) -> Any:
        """Returns the values of groups as a result.

        It is sparse if empty groups are zero and it has two dimensions or more, or too many elements for an array.
        """
        entries = EntryList(self.dims, found, self.kept)
        if missing == 0 and (len(self.kept) > 1 or is_wide(self.kept)):
            return (entries.where(found) if found.dtype == np.bool_ else entries).tensor(like)
        return entries.dense(missing)


def grouped(tensor: SparseTensor, axes: tuple[int, ...]) -> Groups:
    """Returns a tensor's entries, grouped for a reduction over some axes."""
    entries = entries_of(tensor)
    rest = [axis for axis in range(tensor.ndim) if axis not in axes]
    kept = tuple(tensor.shape[axis] for axis in rest)
    inner = tuple(tensor.shape[axis] for axis in axes)
    count = entries.values.size
    outer = [entries.dims[axis] for axis in rest]
    keys = numbered([outer], kept)[0] if rest else np.zeros(count, np.int64)
    places = numbered([[entries.dims[a] for a in axes]], inner)[0] if axes else np.zeros(count, np.int64)
    values = entries.values
    order = _order(keys, places)
    if order is not None:
        keys, places, values = keys[order], places[order], values[order]
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if count else np.zeros(0, np.intp)
    first = starts if order is None else order[starts]
    counts = np.diff(starts, append=count)
    return Groups(tuple(dim[first] for dim in outer), starts, counts, places, values, prod(inner), kept)


def _order(keys: Array, places: Array) -> Array | None:
    """Returns the order of entries by group, and inside a group by place; None if they are in this order already."""
    rises, same = keys[1:] > keys[:-1], keys[1:] == keys[:-1]
    if np.all(rises | (same & (places[1:] > places[:-1]))):
        return None
    return np.lexsort((places, keys))
