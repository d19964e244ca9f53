"""What a level stores under one parent, for every level format, one parent at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlir_sparse.affine import AffineExpr, Dim
from mlir_sparse.encoding.coordinate_interval import Interval
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.level_functions import Children
from mlir_sparse.errors import EncodingError
from mlir_sparse.tensor.level_storage import Array, LevelStorage

__all__ = ["ChildReader"]


class ChildReader:
    """Reads positions and coordinates by the definitions in `mlir_sparse.encoding.level_functions`.

    Parents are to be asked for in the order in which they are stored: where
    intervals are computed, only their lengths so far say where one begins.
    """

    def __init__(self, storage: LevelStorage) -> None:
        self._storage = storage
        self._encoding = storage.encoding
        self._bounds = _bounds(storage)
        self._reached = [0] * storage.encoding.lvl_rank

    def under(self, level: int, parent: int, path: Sequence[int]) -> Iterator[tuple[int, int | None]]:
        """Yields position and coordinate of each child; None as coordinate of room after them that nothing uses.

        Args:
            level: the level of the children.
            parent: the parent's position.
            path: the coordinates in the levels above.
        """
        kind = self._encoding.level_types[level]
        crd = self._storage.coordinates[level]
        low, high = self._bounds[level]
        match kind.functions.children:
            case Children.INTERVALS if kind.interval is not None:
                yield from self._interval(level, kind.interval, parent, path)
            case Children.PRODUCT | Children.INTERVALS:
                size = high - low
                yield from ((parent * size + at, low + at) for at in range(size))
            case Children.PARENTS if kind.functions.is_computed:
                yield parent, self._at(self._encoding.levels[level].expr, path)
            case _:
                assert crd is not None
                places, gap = self._places(level, parent)
                yield from ((place, int(crd[place])) for place in places)
                yield from ((place, None) for place in gap)

    def _places(self, level: int, parent: int) -> tuple[range, range]:
        """Returns the positions under a parent, and those between it and the next parent."""
        kind = self._encoding.level_types[level]
        pos, crd = self._storage.positions[level], self._storage.coordinates[level]
        none = range(0)
        if kind.functions.has_room and pos is not None:
            stop = int(pos[2 * parent + 1])
            following = int(pos[2 * parent + 2]) if 2 * parent + 2 < len(pos) else _length(crd)
            return range(int(pos[2 * parent]), stop), range(stop, following)
        if pos is not None:
            return range(int(pos[parent]), int(pos[parent + 1])), none
        if kind.functions.children is Children.KEPT:
            kept = kind.n or 0
            return range(parent * kept, (parent + 1) * kept), none
        if kind.functions.children is Children.TABLES:
            width = _length(crd) // max(1, _parents(self._storage, level))
            return range(parent * width, (parent + 1) * width), none
        return range(parent, parent + 1), none

    def _interval(self, level: int, interval: Interval, parent: int, path: Sequence[int]) -> Iterator[tuple[int, int]]:
        pos, crd = self._storage.positions[level], self._storage.coordinates[level]
        least, most = self._bounds[level]
        low = least if interval.low is None else min(max(self._at(interval.low, path), least), most)
        high = most if interval.high is None else min(max(self._at(interval.high, path), low), most)
        length = high - low if pos is None else int(pos[parent + 1]) - int(pos[parent])
        place = self._reached[level] if pos is None else int(pos[parent])
        self._reached[level] = place + length
        if crd is not None:
            low = int(crd[parent])
        elif interval.low is None:
            low = high - length
        yield from ((place + at, low + at) for at in range(length))

    def _at(self, expr: AffineExpr, path: Sequence[int]) -> int:
        below = [0] * (self._encoding.lvl_rank - len(path))
        # What the levels above do not say cancels: the verifier has seen to it.
        dims = self._encoding.lvl_to_dim.evaluate([*path, *below])
        return int(expr.evaluate([int(dim) for dim in dims]))


def _bounds(storage: LevelStorage) -> list[tuple[int, int]]:
    """Returns between which coordinates each level runs."""
    shape = _shape(storage)
    if shape is not None:
        try:
            found = storage.encoding.level_bounds(shape)
        except EncodingError:  # slots are as many as the data has
            found = ()
        if len(found) == storage.encoding.lvl_rank:
            return [(int(low), max(int(low), int(high))) for low, high in found]
    return [_own_bounds(storage.encoding, level, size) for level, size in enumerate(storage.level_sizes)]


def _own_bounds(encoding: Encoding, level: int, size: int) -> tuple[int, int]:
    interval = encoding.level_types[level].interval
    constant = interval is not None and interval.low is not None and not interval.low.dims()
    low = int(interval.low.evaluate(())) if constant and interval is not None and interval.low is not None else 0
    return low, low + size


def _shape(storage: LevelStorage) -> tuple[int, ...] | None:
    """Returns the extents of the tensor where each dimension is a level of its own, else None."""
    sizes = {
        spec.expr.position: storage.level_sizes[level]
        for level, spec in enumerate(storage.encoding.levels)
        if isinstance(spec.expr, Dim)
        and (spec.type.interval is None or spec.type.functions.children is Children.INTERVALS)
    }
    rank = storage.encoding.dim_rank
    return tuple(sizes[dim] for dim in range(rank)) if len(sizes) == rank else None


def _parents(storage: LevelStorage, level: int) -> int:
    """Returns how many positions the levels above a level have."""
    count = 1
    for above in range(level):
        kind, stored = storage.encoding.level_types[above], storage.positions[above]
        match kind.functions.children:
            case Children.PRODUCT:
                count *= storage.level_sizes[above]
            case Children.KEPT:
                count *= kind.n or 0
            case Children.COORDINATES | Children.TABLES:
                count = _length(storage.coordinates[above])
            case Children.LAST_POSITION | Children.INTERVALS:
                count = count * storage.level_sizes[above] if stored is None else int(stored[-1])
            case Children.PARENTS:
                pass
    return count


def _length(array: Array | None) -> int:
    return 0 if array is None else array.size
