"""How many entries there are in ranges of a dimension, counted as entries come."""

from __future__ import annotations

import numpy as np

from mlir_sparse.tensor.level_storage import Array

__all__ = ["CoordinateCounts"]

_BINS = 1 << 16


class CoordinateCounts:
    """Entries in ranges of equal length, each twice as long as before where coordinates need it.

    >>> counts = CoordinateCounts()
    >>> counts.add(np.array([0, 0, 3, 200_000]))
    >>> counts.before(4), counts.before(300_000), counts.total
    (3, 4, 4)
    """

    def __init__(self) -> None:
        self.bins, self.shift = np.zeros(_BINS, np.int64), 0  # a bin has 2 ** shift coordinates
        self._ends: Array | None = None

    def add(self, coordinates: Array) -> None:
        """Counts entries at some coordinates."""
        while coordinates.size and int(coordinates.max()) >> self.shift >= _BINS:
            self.bins = np.concatenate([self.bins.reshape(-1, 2).sum(axis=1), np.zeros(_BINS // 2, np.int64)])
            self.shift += 1
        self.bins += np.bincount(coordinates >> self.shift, minlength=_BINS)
        self._ends = None

    @property
    def total(self) -> int:
        """Returns how many entries were counted."""
        return int(self.bins.sum())

    def before(self, coordinate: int) -> int:
        """Returns how many entries are before a coordinate, those of its range in proportion."""
        if self._ends is None:
            self._ends = np.cumsum(self.bins)
        place, inside = coordinate >> self.shift, coordinate & ((1 << self.shift) - 1)
        if place >= _BINS:
            return int(self._ends[-1])
        own = int(self.bins[place])
        return int(self._ends[place]) - own + (own * inside >> self.shift)
