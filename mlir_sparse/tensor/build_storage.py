"""Builds levels from entries, one after the other, for formats that native packing lacks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.levels.level_positions import ROOT, Array
from mlir_sparse.encoding.levels.placed_entries import PlacedEntries
from mlir_sparse.encoding.levels.sized_level import sized_levels
from mlir_sparse.process.available_memory import check_fits

__all__ = ["build_levels"]

_Arrays = list[Array | None]


def build_levels(
    encoding: Encoding, shape: tuple[int, ...], columns: Sequence[Array], values: Array
) -> tuple[_Arrays, _Arrays, Array]:
    """Returns positions and coordinates of each level, and the values, of entries in any order without repeats.

    Raises:
        StorageError: for entries that the format cannot store.
        TooLargeError: for storage that would not fit in memory.
    """
    positions: _Arrays = [None] * encoding.lvl_rank
    coordinates: _Arrays = [None] * encoding.lvl_rank
    entries, above = PlacedEntries(encoding, columns, values), ROOT
    # Only computed bounds need the coordinates of all positions.
    last = max((lvl for lvl, kind in enumerate(encoding.level_types) if kind.has_intervals), default=0)
    known = sized_levels(encoding, shape)
    built = 0
    for level in known:
        at = level.number
        if at == built:
            positions[at], stored = level.functions.build(level, above, entries)
            built += max(1, len(stored))
            coordinates[at : at + len(stored)] = stored
        if at < last:
            above = level.functions.walk(level, above, positions[at], coordinates[at])
    check_fits(entries.count * values.itemsize, f"the values of {encoding.map_text()} of shape {shape}")
    placed = np.zeros(entries.count, entries.values.dtype)
    placed[entries.place] = entries.values
    return positions, coordinates, placed
