"""Large matrices within seconds: rows are written where they belong, so that nothing has to be sorted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse

__all__ = ["Matrix", "grid", "power_rows", "uniform"]

Matrix = Any  # SciPy's, which has no types to check against
Array = np.ndarray[Any, Any]


def grid(*sides: int) -> Matrix:
    """Builds a matrix with the places of the Poisson equation on a grid, and numbers drawn for them."""
    size = math.prod(sides)
    steps = [math.prod(sides[axis + 1 :]) for axis in range(len(sides))]
    lines = [np.arange(side) for side in sides]
    # What a row has before its diagonal, and after it, from the least column on.
    there: list[tuple[int, Array]] = [(-step, line > 0) for step, line in zip(steps, lines, strict=True)]
    after = [(step, line < side - 1) for step, line, side in zip(steps, lines, sides, strict=True)]
    masks = []
    for number, (_, along) in enumerate([*there, *after[::-1]]):
        axis = number if number < len(sides) else 2 * len(sides) - 1 - number
        shape = [side if axis == at else 1 for at, side in enumerate(sides)]
        masks.append(np.broadcast_to(along.reshape(shape), sides).reshape(-1))
    masks.insert(len(sides), np.ones(size, bool))
    offsets = [offset for offset, _ in there] + [0] + [offset for offset, _ in after[::-1]]
    places = np.zeros(size + 1, np.int32)
    np.cumsum(sum(mask.astype(np.int32) for mask in masks), out=places[1:])
    columns = np.empty(int(places[-1]), np.int32)
    at, rows = places[:-1].copy(), np.arange(size, dtype=np.int32)
    for mask, offset in zip(masks, offsets, strict=True):
        columns[at[mask]] = rows[mask] + np.int32(offset)
        at += mask
    return _matrix(columns, places, size)


def uniform(rows: int, per_row: int) -> Matrix:
    """Draws `per_row` columns for each row, one of each part of the columns."""
    lengths = np.full(rows, per_row, np.int32)
    return _spread(lengths, rows, 1.0)


def power_rows(rows: int, entries: int) -> Matrix:
    """Draws rows whose lengths follow a power law, as of links between pages, most of them to popular ones."""
    rng = np.random.default_rng(5)
    weights = (1 - rng.random(rows)) ** (-1 / 1.8)
    lengths = rng.poisson(weights * (1.1 * entries / weights.sum()))
    return _spread(np.minimum(lengths, rows // 200 + 1).astype(np.int32), rows, 3.0)


def _spread(lengths: Array, columns: int, skew: float) -> Matrix:
    """Draws the columns of rows: one in each of as many parts, which are narrow where columns are popular."""
    rng, total = np.random.default_rng(7), int(lengths.sum())
    starts = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    part = np.arange(total, dtype=np.int64)
    part -= np.repeat(starts[:-1], lengths)
    place = rng.random(total)
    place += part
    place /= np.repeat(lengths, lengths)
    if skew != 1:
        place **= skew
    place *= columns
    drawn = np.minimum(place.astype(np.int32), columns - 1)
    again = np.zeros(total, bool)
    again[1:] = (drawn[1:] == drawn[:-1]) & (part[1:] > 0)
    fewer = np.zeros(lengths.size + 1, np.int32)
    np.cumsum(again, out=part)
    ends = starts[1:]
    fewer[1:] = np.where(ends > 0, ends - part[np.maximum(ends - 1, 0)], 0)
    return _matrix(drawn[~again], fewer, columns)


def _matrix(columns: Array, places: Array, size: int) -> Matrix:
    values = np.random.default_rng(1).random(columns.size)
    values += 0.5
    made = scipy.sparse.csr_array((values, columns, places), shape=(places.size - 1, size))
    made.has_canonical_format = True
    return made
