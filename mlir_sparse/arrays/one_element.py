"""One element of a matrix, found by bisection in its row or column."""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from typing import Any

from mlir_sparse.encoding import Encoding, LevelFormat
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.batch_and_slice_parts import is_plain

__all__ = ["element"]


def element(tensor: SparseTensor, key: Any) -> Any:
    """Returns the element at two integers of Python's; None for other subscripts, and where it takes a search."""
    if type(key) is not tuple or len(key) != 2 or type(key[0]) is not int or type(key[1]) is not int:
        return None
    storage = tensor._storage
    order = _bisected(storage.encoding)
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


@lru_cache(maxsize=256)
def _bisected(encoding: Encoding) -> tuple[int, int] | None:
    """Returns the dimensions of rows and of coordinates in them; None for other storage than sorted rows or columns."""
    formats = tuple(kind.format for kind in encoding.level_types)
    by_rows = formats == (LevelFormat.DENSE, LevelFormat.COMPRESSED) and encoding.is_permutation
    if not (by_rows and is_plain(encoding) and encoding.is_unique and encoding.is_native and encoding.is_ordered):
        return None
    outer, inner = encoding.level_order
    return outer, inner
