"""Storage that lists its entries, each once, and dense arrays of these."""

from __future__ import annotations

from math import prod

import numpy as np

from mlir_sparse import _native
from mlir_sparse.encoding.derived_fact import derived_once, fact_of
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.tensor.batch_and_slice_parts import is_plain
from mlir_sparse.tensor.level_storage import Array, LevelStorage

__all__ = ["dense_of_listed", "lists_entries"]


@fact_of
def lists_entries(encoding: Encoding) -> int | None:
    """Returns the level that lists the entries, each once, of all dense levels above it; None for other storage.

    >>> from mlir_sparse.encoding import encoding
    >>> [lists_entries(encoding(name)) for name in ("CSR", "COO", "SparseVector", "DCSR", "BSR(2, 2)")]
    [1, 0, 0, None, None]
    """
    if not (is_plain(encoding) and encoding.is_native and encoding.is_permutation and encoding.is_unique):
        return None
    functions = [kind.functions for kind in encoding.level_types]
    level = next((at for at, one in enumerate(functions) if not one.has_full_loop), None)
    if level is None or not (functions[level].is_segmented and functions[level].compact):
        return None
    chained = functions[level + 1 :]
    together = not chained or any(region.start == level for region in encoding.aos_regions)
    return level if together and all(one.is_chained for one in chained) else None


def dense_of_listed(storage: LevelStorage, shape: tuple[int, ...]) -> Array | None:
    """Returns a dense array of the entries; None for storage that lists them of no level or of several together.

    Args:
        storage: the storage.
        shape: the extent of each dimension, of an array that fits in memory.

    Raises:
        IndexError: for coordinates that another library changed to be beyond the shape.
    """
    encoding = storage.encoding
    (steps,) = derived_once(encoding, "strides of lists", shape, lambda: (_strides(encoding, shape),))
    if steps is None:
        return None
    begins, coordinates, values = storage.buffers()
    found: Array = np.zeros(shape, values.dtype)
    _native.write_dense(begins, coordinates, values, found, *steps)
    return found


def _strides(encoding: Encoding, shape: tuple[int, ...]) -> tuple[int, tuple[int, ...], tuple[int, ...]] | None:
    """Returns the distance of parents in a dense array, and extents and distances of the listed coordinates."""
    level = lists_entries(encoding)
    if level is None or level > 1:
        return None
    order = encoding.level_order
    strides = [prod(shape[dim + 1 :]) for dim in order]
    return strides[0] if level else 0, tuple([shape[dim] for dim in order[level:]]), tuple(strides[level:])
