"""Where a square matrix has entries, by a sample: near the diagonal or far from it, and on both sides of it or one."""

from __future__ import annotations

import numpy as np

from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.sketch import PatternSketch
from mlir_sparse.tensor.level_storage import Array, LevelStorage

__all__ = ["is_rows", "sampled_pattern"]

# Matrices with fewer entries have no sample: estimates matter little to them, and a sample takes as long as a count.
_LEAST = 4096
# How many entries are looked at, and for how many it is looked up whether they are mirrored.
_SAMPLE, _MIRRORS = 512, 128
# Multiples of the golden ratio are spread evenly, and in step with no pattern of entries.
_STEP = (5**0.5 - 1) / 2


def sampled_pattern(storage: LevelStorage, shape: tuple[int, ...]) -> PatternSketch | None:
    """Returns where a matrix has entries; None for one that is not square, small, or neither CSR nor CSC.

    The same entries are looked at each time.
    """
    positions, coordinates = storage.positions[-1], storage.coordinates[-1]
    if not is_rows(storage.encoding) or storage.view or len(set(shape)) != 1 or coordinates is None:
        return None
    if positions is None or storage.values.size < _LEAST:
        return None
    chosen = (np.arange(_SAMPLE) * _STEP % 1.0 * storage.values.size).astype(np.int64)
    rows = np.searchsorted(positions, chosen, side="right") - 1
    columns = coordinates[chosen].astype(np.int64)
    side = 1 if storage.encoding.level_order[0] == 0 else -1
    mirrored = _has_entries(positions, coordinates, columns[:_MIRRORS], rows[:_MIRRORS])
    values = storage.values[chosen]
    return PatternSketch(float(mirrored.mean()), _shares((columns - rows) * side), bool((values == values[0]).all()))


def is_rows(encoding: Encoding) -> bool:
    """Returns whether a matrix has a compressed level of coordinates in order below a dense one."""
    kinds = encoding.level_types
    return (
        encoding.is_native
        and encoding.is_permutation
        and len(kinds) == 2
        and kinds[0].is_full
        and kinds[1].has_adjacent_lists
        and kinds[1].ordered
    )


def _has_entries(positions: Array, coordinates: Array, rows: Array, columns: Array) -> Array:
    """Returns for each of some places whether it has an entry, by bisection of its row."""
    begins, ends = positions[rows].astype(np.int64), positions[rows + 1].astype(np.int64)
    last = ends
    while (begins < ends).any():
        middle = (begins + ends) // 2
        below = (begins < ends) & (coordinates[np.minimum(middle, coordinates.size - 1)] < columns)
        begins, ends = np.where(below, middle + 1, begins), np.where(below, ends, np.minimum(middle, ends))
    found: Array = (begins < last) & (coordinates[np.minimum(begins, coordinates.size - 1)] == columns)
    return found


def _shares(offsets: Array) -> dict[int, float]:
    """Returns the share of offsets with so many bits, by their sign."""
    bits = np.frexp(np.abs(offsets).astype(float))[1] * np.sign(offsets)
    places, counts = np.unique(bits, return_counts=True)
    return {int(place): float(count) / offsets.size for place, count in zip(places, counts, strict=True)}
