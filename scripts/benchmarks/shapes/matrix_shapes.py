"""Matrices of any size with the shape of real ones: drawn in chunks of rows, the same on every machine and every time.

Each function takes a number of entries and returns about as many, in CSR with sorted rows, values of f64, and
coordinates and positions of 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import scipy.sparse

from benchmarks.data import Matrix
from benchmarks.entries import Array

__all__ = ["MATRICES", "bands", "circuit", "elements", "grid", "kronecker", "uniform"]

_CHUNK = 1 << 22  # entries made at a time
_PLACES = 1 << 24  # places of a graph drawn at a time

# From a generator of random numbers and the first and last row of a chunk to the columns of all its entries and how
# many each row has; a column that comes twice in a row counts once.
Chunk = Callable[[np.random.Generator, int, int], tuple[Array, Array]]


def grid(entries: int, dimensions: int) -> Matrix:
    """Returns the differences of neighbours on a square or a cube: 5 points a row, or 7."""
    side = max(round((entries / (2 * dimensions + 1)) ** (1 / dimensions)), 1)
    made = _stencil((side,) * dimensions, [*np.eye(dimensions, dtype=int), *-np.eye(dimensions, dtype=int)], 1, 2)
    ends = np.repeat(np.arange(made.shape[0], dtype=np.int32), np.diff(made.indptr))
    made.data[:] = np.where(made.indices == ends, 2.0 * dimensions, -1.0)
    return made


def elements(entries: int, dimensions: int, unknowns: int) -> Matrix:
    """Returns the matrix of finite elements, squares or cubes, whose nodes have some unknowns each.

    A node meets the nine or 27 of its elements, and each pair of nodes has a dense block.
    """
    around = np.stack(np.meshgrid(*[[-1, 0, 1]] * dimensions), -1).reshape(-1, dimensions)
    side = max(round((entries / (len(around) * unknowns**2)) ** (1 / dimensions)), 1)
    return _stencil((side,) * dimensions, [step for step in around if step.any()], unknowns, 3)


def _stencil(sides: Sequence[int], steps: Sequence[Array], unknowns: int, seed: int) -> Matrix:
    """Builds dense blocks for each node of a grid, itself and its neighbours."""
    nodes = int(np.prod(sides))
    strides = np.array([int(np.prod(sides[axis + 1 :])) for axis in range(len(sides))])
    steps = sorted([np.zeros(len(sides), int), *steps], key=lambda step: int(step @ strides))

    def chunk(_: np.random.Generator, first: int, last: int) -> tuple[Array, Array]:
        rows = np.arange(first, last)
        at = np.stack(np.unravel_index(rows // unknowns, sides), 1)
        columns = np.stack([rows // unknowns + int(step @ strides) for step in steps], 1)
        inside = np.stack([((at + step >= 0) & (at + step < sides)).all(1) for step in steps], 1)
        spread = columns[:, :, None] * unknowns + np.arange(unknowns)
        return spread[inside].ravel(), inside.sum(1) * unknowns

    return _by_rows(nodes * unknowns, nodes * unknowns, len(steps) * unknowns, chunk, seed)


def circuit(entries: int) -> Matrix:
    """Draws a circuit: a diagonal, some five neighbours close by, and a few nets that nearly everything may reach."""
    rows = max(entries // 6, 8)
    nets = np.random.default_rng(4).integers(0, rows, 20)

    def chunk(rng: np.random.Generator, first: int, last: int) -> tuple[Array, Array]:
        lengths = rng.poisson(5.0, last - first)
        crowded = np.isin(np.arange(first, last), nets)
        lengths[crowded] = max(rows // 400, 1)
        own = np.repeat(np.arange(first, last), lengths)
        near = (own + rng.geometric(0.01, own.size) * rng.choice((-1, 1), own.size)) % rows
        far = rng.integers(0, rows, own.size)
        columns = np.where(rng.random(own.size) < 0.01, rng.choice(nets, own.size), near)
        columns = np.where(np.repeat(crowded, lengths), far, columns)
        ends = np.cumsum(lengths) - lengths
        return np.insert(columns, ends, np.arange(first, last)), lengths + 1

    return _by_rows(rows, rows, 6, chunk, 5)


def uniform(entries: int, per_row: int) -> Matrix:
    """Draws so many columns for each row."""
    rows = max(entries // per_row, 1)

    def chunk(rng: np.random.Generator, first: int, last: int) -> tuple[Array, Array]:
        return rng.integers(0, rows, (last - first) * per_row), np.full(last - first, per_row)

    return _by_rows(rows, rows, per_row, chunk, 6)


def bands(entries: int, width: int) -> Matrix:
    """Builds so many full diagonals around the main one."""
    rows = max(entries // width, width)
    offsets = np.arange(width) - width // 2

    def chunk(_: np.random.Generator, first: int, last: int) -> tuple[Array, Array]:
        columns = np.arange(first, last)[:, None] + offsets
        inside = (columns >= 0) & (columns < rows)
        return columns[inside], inside.sum(1)

    return _by_rows(rows, rows, width, chunk, 7)


def kronecker(entries: int, per_row: int, *, shuffled: bool) -> Matrix:
    """Draws a graph by the recursive products of Graph500 (0.57, 0.19, 0.19, 0.05).

    Args:
        entries: about how many; places that are drawn twice count once.
        per_row: how many a vertex has in the mean.
        shuffled: vertices have no order, as people have none; pages are numbered by site, and stay as they are drawn.
    """
    scale = max(round(np.log2(max(entries / per_row, 2))), 1)
    vertices, keys = 1 << scale, np.empty(entries, np.int64)
    names = np.random.default_rng(8).permutation(vertices) if shuffled else np.arange(vertices)
    for number, first in enumerate(range(0, entries, _PLACES)):
        rng, count = np.random.default_rng((9, number)), min(_PLACES, entries - first)
        row, column = np.zeros(count, np.int64), np.zeros(count, np.int64)
        for _ in range(scale):
            drawn = rng.random(count, dtype=np.float32)
            row = 2 * row + (drawn > 0.76)
            column = 2 * column + (((drawn > 0.57) & (drawn <= 0.76)) | (drawn > 0.95))
        keys[first : first + count] = names[row] * vertices + names[column]
    keys.sort()
    keys = keys[np.r_[True, keys[1:] != keys[:-1]]]
    starts = np.searchsorted(keys, np.arange(vertices + 1) * vertices).astype(np.int32)
    columns = (keys % vertices).astype(np.int32)
    return _matrix(np.random.default_rng(10).random(keys.size), columns, starts, vertices)


def _by_rows(rows: int, columns: int, per_row: int, chunk: Chunk, seed: int) -> Matrix:
    """Draws chunks of rows with about so many entries each, sorts their rows, and puts them together."""
    lengths, crd, values = list[Array](), list[Array](), list[Array]()
    for number, (first, last) in enumerate(_chunks(rows, per_row)):
        rng = np.random.default_rng((seed, number))
        drawn, counts = chunk(rng, first, last)
        keys = np.repeat(np.arange(last - first, dtype=np.int64), counts) * columns + drawn
        if (keys[1:] <= keys[:-1]).any():
            keys.sort()
            keys = keys[np.r_[True, keys[1:] != keys[:-1]]]
        lengths.append(np.bincount(keys // columns, minlength=last - first))
        crd.append((keys % columns).astype(np.int32))
        values.append(rng.random(keys.size))
    starts = np.zeros(rows + 1, np.int32)
    np.cumsum(np.concatenate(lengths), out=starts[1:])
    return _matrix(np.concatenate(values), np.concatenate(crd), starts, columns)


def _chunks(rows: int, per_row: int) -> Iterator[tuple[int, int]]:
    step = max(_CHUNK // per_row, 1)
    return ((first, min(first + step, rows)) for first in range(0, rows, step))


def _matrix(values: Array, columns: Array, starts: Array, width: int) -> Matrix:
    made = scipy.sparse.csr_array((values, columns, starts), shape=(starts.size - 1, width))
    made.has_canonical_format = True  # known here, and asked for over all entries otherwise
    return made


MATRICES: Mapping[str, Callable[[int], Matrix]] = {
    "5-point grid": lambda entries: grid(entries, 2),
    "7-point grid": lambda entries: grid(entries, 3),
    "FEM of 3": lambda entries: elements(entries, 3, 3),
    "FEM of 6": lambda entries: elements(entries, 2, 6),
    "circuit": circuit,
    "web": lambda entries: kronecker(entries, 10, shuffled=False),
    "social": lambda entries: kronecker(entries, 16, shuffled=True),
    "uniform": lambda entries: uniform(entries, 20),
    "uniform of 8": lambda entries: uniform(entries, 8),
    "bands": lambda entries: bands(entries, 11),
}
