"""Every position of every level with its coordinate: storage of any encoding, walked from the outermost level in.

This reads the level formats that native code does not know, by the definitions
in `mlir_sparse.encoding.level_functions`. Coordinates are the true ones: those
of `j - i` start below 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlir_sparse.affine import AffineExpr
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.level_functions import Children
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.tensor.allocation import check_fits
from mlir_sparse.tensor.level_storage import Array, LevelStorage

__all__ = ["ROOT", "Places", "below", "computed_bounds", "dims_of", "intervals_of", "marks_empty", "walk"]


@dataclass(frozen=True, slots=True)
class Places:
    """The positions of a level.

    Args:
        columns: for this level and those above it the coordinate of each position.
        live: whether something is stored at a position; None where that holds for all.
        count: how many positions there are.
        parents: the position in the level above, None where it is the same.
    """

    columns: tuple[Array, ...]
    live: Array | None
    count: int
    parents: Array | None = None


ROOT = Places((), None, 1)


def marks_empty(encoding: Encoding, level: int) -> bool:
    """Returns whether a level stores -1 where it has no entry: hash tables, and singletons below such as dense."""
    functions = [kind.functions for kind in encoding.level_types]
    if functions[level].children is Children.TABLES:
        return True
    at = level
    while functions[at].is_chained and at > 0:
        at -= 1
    return functions[level].is_chained and not functions[at].is_segmented


def walk(storage: LevelStorage, shape: Sequence[int]) -> Places:
    """Returns the positions of the innermost level, those of the values, with coordinates in every level."""
    places = ROOT
    for level in range(storage.encoding.lvl_rank):
        places = below(storage.encoding, shape, places, level, storage.positions[level], storage.coordinates[level])
    return places


def below(
    encoding: Encoding, shape: Sequence[int], above: Places, level: int, pos: Array | None, crd: Array | None
) -> Places:
    """Returns the positions that a level has under those of the level above."""
    kind = encoding.level_types[level]
    match kind.functions.children:
        case Children.PARENTS if kind.functions.is_computed:
            return _narrowed(above, None, _evaluate(encoding, encoding.levels[level].expr, above.columns, above.count))
        case Children.INTERVALS if kind.interval is not None:
            starts, lengths = intervals_of(encoding, shape, above, level, pos, crd)
            return _narrowed(above, _repeated(lengths), _counted(starts, lengths))
        case Children.PRODUCT | Children.INTERVALS:
            low, high = encoding.level_bounds(shape)[level]
            size = max(0, high - low)
            check_fits(8 * above.count * size, f"the coordinates of {above.count * size} places")
            return _narrowed(
                above, np.repeat(np.arange(above.count), size), np.tile(np.arange(low, low + size), above.count)
            )
        case Children.PARENTS:
            coordinates = _wide(crd)
            return _narrowed(above, None, coordinates, coordinates >= 0 if marks_empty(encoding, level) else None)
        case Children.TABLES:
            coordinates = _wide(crd)
            width = coordinates.size // max(1, above.count)
            return _narrowed(above, np.repeat(np.arange(above.count), width), coordinates, coordinates >= 0)
        case Children.LAST_POSITION:
            return _narrowed(above, _repeated(np.diff(_wide(pos))), _wide(crd))
        case Children.COORDINATES:
            return _loose(above, _wide(pos), _wide(crd))
        case Children.KEPT:
            raise UnsupportedError(f"expected a level that can be walked, but got {kind} at level {level}")


def _loose(above: Places, pos: Array, crd: Array) -> Places:
    if above.count == 0:  # all of it is room between parents
        nowhere = np.zeros(crd.size, np.int64)
        columns = (nowhere,) * len(above.columns)
        return Places((*columns, crd), np.zeros(crd.size, bool), crd.size, nowhere)
    parents, reached = np.zeros(crd.size, np.int64), np.zeros(crd.size, bool)
    lengths = pos[1::2] - pos[::2]
    places = _counted(pos[::2], lengths)
    parents[places], reached[places] = _repeated(lengths), True
    return _narrowed(above, parents, crd, reached)


def _narrowed(above: Places, parents: Array | None, coordinates: Array, live: Array | None = None) -> Places:
    """Returns the positions below with the columns of the levels above repeated."""
    columns, alive = above.columns, above.live
    if parents is not None:
        columns = tuple(column[parents] for column in columns)
        alive = None if alive is None else alive[parents]
    if alive is not None and live is not None:
        alive = alive & live
    return Places((*columns, coordinates), live if alive is None else alive, coordinates.size, parents)


def intervals_of(
    encoding: Encoding, shape: Sequence[int], above: Places, level: int, pos: Array | None, crd: Array | None
) -> tuple[Array, Array]:
    """Returns the first coordinate of each parent's interval and how many it holds, for a `range` with bounds."""
    interval = encoding.level_types[level].interval
    assert interval is not None
    low, high = computed_bounds(encoding, shape, above, level)
    if crd is not None:
        return _wide(crd), np.diff(_wide(pos))
    if pos is None:
        return low, high - low
    lengths = np.diff(_wide(pos))
    return (low if interval.low is not None else high - lengths), lengths


def computed_bounds(encoding: Encoding, shape: Sequence[int], above: Places, level: int) -> tuple[Array, Array]:
    """Returns where each parent's interval begins and ends as far as that is computed, within the level's own bounds.

    A bound that is stored counts as the level's own.
    """
    interval = encoding.level_types[level].interval
    assert interval is not None
    least, most = encoding.level_bounds(shape)[level]
    most = max(least, most)

    def clipped(expr: AffineExpr | None, otherwise: int) -> Array:
        if expr is None:
            return np.full(above.count, otherwise)
        return np.clip(_evaluate(encoding, expr, above.columns, above.count), least, most)

    low = clipped(interval.low, least)
    return low, np.maximum(low, clipped(interval.high, most))


def dims_of(encoding: Encoding, columns: Sequence[Array], count: int) -> list[Array]:
    """Returns the coordinates in each dimension, from those in the levels; unknown levels count as 0."""
    missing = [np.zeros(count, np.int64)] * (encoding.lvl_rank - len(columns))
    found = encoding.lvl_to_dim.evaluate([*columns, *missing])
    return [np.ascontiguousarray(np.broadcast_to(dim, (count,))) for dim in found]


def _evaluate(encoding: Encoding, expr: AffineExpr, columns: Sequence[Array], count: int) -> Array:
    # What the levels above do not say cancels: the verifier has seen to it.
    value = expr.evaluate(dims_of(encoding, columns, count))
    return np.array(np.broadcast_to(value, (count,)), np.int64)


def _wide(array: Array | None) -> Array:
    assert array is not None
    wide: Array = array.astype(np.int64, copy=False)
    return wide


def _repeated(lengths: Array) -> Array:
    return np.repeat(np.arange(lengths.size), lengths)


def _counted(starts: Array, lengths: Array) -> Array:
    """Returns start, start + 1, ... of each interval, one interval after the other."""
    total = int(lengths.sum())
    check_fits(8 * total, f"the coordinates of {total} places")
    counted: Array = np.arange(total) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    return counted
