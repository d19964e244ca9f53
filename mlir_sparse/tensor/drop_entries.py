"""Entries that a conversion drops on request: all but the largest n of every m."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.errors import EncodingError
from mlir_sparse.tensor.level_storage import Array

__all__ = ["largest_of_groups", "structured_level"]


def structured_level(encoding: Encoding) -> int:
    """Returns the level that is `structured[n, m]`.

    Raises:
        EncodingError: for an encoding without one.
    """
    for level, kind in enumerate(encoding.level_types):
        if kind.functions.is_grouped:
            return level
    raise EncodingError(f"expected a structured[n, m] level to prune for, but got {encoding.map_text()}")


def largest_of_groups(encoding: Encoding, dims: Sequence[Array], values: Array) -> Array:
    """Returns a mask of the entries to keep, given entries without repeats.

    In each group of m coordinates the n of greatest magnitude are kept: NaN before all numbers, the first of equals,
    zeros last.
    """
    level = structured_level(encoding)
    columns = [np.asarray(column) for column in encoding.dim_to_lvl.evaluate(dims)]
    kind = encoding.level_types[level]
    wide = values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)
    magnitude = np.abs(wide)
    magnitude[np.isnan(magnitude)] = np.inf
    groups = [column for lvl, column in enumerate(columns) if lvl != level]
    order = np.lexsort([columns[level], -magnitude, *groups[::-1]])
    begins = np.ones(values.size, bool)
    if values.size:
        begins[1:] = np.any([group[order][1:] != group[order][:-1] for group in groups], axis=0) if groups else False
    starts = np.flatnonzero(begins)
    rank = np.arange(values.size) - np.repeat(starts, np.diff(np.append(starts, values.size)))
    keep = np.empty(values.size, bool)
    keep[order] = rank < (kind.n or 0)
    return keep
