"""The children of one parent in a level of any format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlir_sparse.affine import Dim
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.levels.level_functions import Parent
from mlir_sparse.encoding.levels.sized_level import SizedLevel, sized_levels
from mlir_sparse.errors import EncodingError
from mlir_sparse.tensor.level_storage import LevelStorage

__all__ = ["ChildReader"]


class ChildReader:
    """Reads positions and coordinates of a storage with the classes of the level formats.

    Callers must pass parents in storage order: the begin of a computed interval is the sum of the lengths before it.
    """

    def __init__(self, storage: LevelStorage) -> None:
        self._storage = storage
        self._levels = _levels(storage)
        self._reached = [0] * storage.encoding.lvl_rank
        self._counts = [1]
        for level, pos, crd in zip(self._levels, storage.positions, storage.coordinates, strict=True):
            self._counts.append(level.functions.count(level, self._counts[-1], pos, crd))

    def under(self, level: int, parent: int, path: Sequence[int]) -> Iterator[tuple[int, int | None]]:
        """Yields position and coordinate of each child of a parent, then unused positions with the coordinate None."""
        known, pos, crd = self._levels[level], self._storage.positions[level], self._storage.coordinates[level]
        position = Parent(parent, tuple(path), self._reached[level], self._counts[level])
        positions, coordinates, unused = known.functions.children(known, position, pos, crd)
        self._reached[level] = positions.stop
        yield from ((place, int(coordinate)) for place, coordinate in zip(positions, coordinates, strict=True))
        yield from ((place, None) for place in unused)


def _levels(storage: LevelStorage) -> tuple[SizedLevel, ...]:
    shape = _shape(storage)
    if shape is not None:
        try:
            return sized_levels(storage.encoding, shape)
        except EncodingError:  # the data decide the number of slots
            pass
    found = []
    for level, size in enumerate(storage.level_sizes):
        low = _low(storage.encoding, level)
        found.append(SizedLevel(storage.encoding, level, low, low + size))
    return tuple(found)


def _low(encoding: Encoding, level: int) -> int:
    """Returns the least coordinate of a level, or 0 if it depends on the shape."""
    interval = encoding.level_types[level].interval
    if interval is None or interval.low is None or interval.low.dims():
        return 0
    return int(interval.low.evaluate(()))


def _shape(storage: LevelStorage) -> tuple[int, ...] | None:
    """Returns the extents of the tensor if each dimension is one level, else None."""
    sizes = {
        spec.expr.position: storage.level_sizes[level]
        for level, spec in enumerate(storage.encoding.levels)
        if isinstance(spec.expr, Dim) and (spec.type.interval is None or spec.type.has_intervals)
    }
    rank = storage.encoding.dim_rank
    return tuple(sizes[dim] for dim in range(rank)) if len(sizes) == rank else None
