"""Inputs of statements as values: drawn when they are asked for, of any size, the same in every process."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import scipy.sparse

from benchmarks.data import narrow
from benchmarks.entries import Coordinates, Fibers, fibers
from benchmarks.on_lines import on_lines

__all__ = [
    "Array",
    "Drawn",
    "Few",
    "Graph",
    "Hubs",
    "Keys",
    "Number",
    "Numbers",
    "OneOf",
    "Tensor",
    "Uniform",
    "VectorEntries",
]

_LEAST = 4  # what no extent is divided below


class Drawn(Protocol):
    """An input."""

    def made(self) -> Any:
        """Returns the data: an array, a SciPy matrix, or a tensor of `entries.py`."""

    def shrunk(self, by: int) -> Drawn:
        """Returns the same with its large extents divided, and as many entries a row."""


def _less(extent: int, by: int) -> int:
    return max(_LEAST, extent // by)


@dataclass(frozen=True)
class Number:
    """A number."""

    value: float

    def made(self) -> np.float64:
        return np.float64(self.value)

    def shrunk(self, by: int) -> Number:
        return self


@dataclass(frozen=True)
class Array:
    """An array of numbers in [0, 1).

    Args:
        shape: extents, of which those below `narrow` are of features and stay.
        seed: of the numbers.
        scale: what they are multiplied by.
    """

    shape: tuple[int, ...]
    seed: int = 1
    scale: float = 1.0
    narrow: int = 1000

    def made(self) -> np.ndarray[Any, Any]:
        return on_lines(self.scale * np.random.default_rng(self.seed).random(self.shape))

    def shrunk(self, by: int) -> Array:
        extents = (_less(n, by) if n >= self.narrow else min(n, 8) for n in self.shape)
        return replace(self, shape=tuple(extents))


@dataclass(frozen=True)
class Numbers:
    """A vector of whole numbers.

    Args:
        extent: of the vector.
        below: what the numbers are below.
    """

    extent: int
    below: int

    def made(self) -> np.ndarray[Any, Any]:
        return np.random.default_rng(1).integers(0, self.below, self.extent)

    def shrunk(self, by: int) -> Numbers:
        return Numbers(_less(self.extent, by), _less(self.below, by))


@dataclass(frozen=True)
class OneOf:
    """An array of zeros with a one at its middle."""

    extent: int

    def made(self) -> np.ndarray[Any, Any]:
        found = np.zeros(self.extent)
        found[self.extent // 2] = 1
        return found

    def shrunk(self, by: int) -> OneOf:
        return OneOf(_less(self.extent, by))


@dataclass(frozen=True)
class Uniform:
    """A matrix whose entries are anywhere: CSR, or CSC.

    Args:
        rows, columns: extents.
        per_row: entries a row, some fewer where columns were drawn twice.
        seed: of places and numbers.
        by_column: whether it is CSC.
    """

    rows: int
    columns: int
    per_row: int
    seed: int = 1
    by_column: bool = False

    def made(self) -> Any:
        rng = np.random.default_rng(self.seed)
        entries = self.rows * self.per_row
        drawn = rng.integers(0, self.columns, entries, dtype=np.int32)
        starts = np.arange(0, entries + 1, self.per_row, dtype=np.int32)
        matrix = scipy.sparse.csr_array((rng.random(entries), drawn, starts), shape=(self.rows, self.columns))
        matrix.sum_duplicates()
        return matrix.tocsc() if self.by_column else narrow(matrix)

    def shrunk(self, by: int) -> Uniform:
        return replace(self, rows=_less(self.rows, by), columns=_less(self.columns, by), per_row=min(self.per_row, 5))


@dataclass(frozen=True)
class Few:
    """A square matrix with few entries, whatever its extent."""

    extent: int
    entries: int
    seed: int = 1

    def made(self) -> Any:
        rng = np.random.default_rng(self.seed)
        places = rng.integers(0, self.extent, (2, self.entries))
        return narrow(
            scipy.sparse.coo_array((rng.random(self.entries) + 0.5, places), shape=(self.extent,) * 2).tocsr()
        )

    def shrunk(self, by: int) -> Few:
        return replace(self, extent=_less(self.extent, by))


@dataclass(frozen=True)
class Hubs:
    """A square matrix whose entries are mostly in a few rows, or in a few columns: the same few for every seed.

    Args:
        extent: of both dimensions.
        entries: how many are drawn.
        dimension: 0 for hubs among rows, 1 among columns.
        power: how strong they are: popularity falls with rank to this power.
        seed: of the entries.
    """

    extent: int
    entries: int
    dimension: int
    power: float = 0.8
    seed: int = 1

    def made(self) -> Any:
        rng = np.random.default_rng(self.seed)
        hubs = _popular(rng, self.extent, self.entries, self.power)
        others = rng.integers(0, self.extent, self.entries)
        places = (hubs, others) if self.dimension == 0 else (others, hubs)
        matrix = scipy.sparse.coo_array((rng.random(self.entries), places), shape=(self.extent,) * 2).tocsr()
        matrix.sum_duplicates()
        return narrow(matrix)

    def shrunk(self, by: int) -> Hubs:
        return replace(self, extent=_less(self.extent, by), entries=_less(self.entries, by))


def _popular(rng: np.random.Generator, extent: int, count: int, power: float) -> Any:
    """Draws coordinates by Zipf's law; which are popular is the same for every generator."""
    weights = np.arange(1, extent + 1) ** -power
    ranks = rng.choice(extent, count, p=weights / weights.sum())
    return np.random.default_rng(0).permutation(extent)[ranks]


@dataclass(frozen=True)
class Keys:
    """A table of facts as a matrix: each row has a one at its key, and keys follow Zipf's law.

    Args:
        rows: facts.
        keys: rows of the table that they refer to.
    """

    rows: int
    keys: int
    power: float = 0.8
    seed: int = 1

    def made(self) -> Any:
        drawn = _popular(np.random.default_rng(self.seed), self.keys, self.rows, self.power).astype(np.int32)
        starts = np.arange(self.rows + 1, dtype=np.int32)
        return scipy.sparse.csr_array((np.ones(self.rows), drawn, starts), shape=(self.rows, self.keys))

    def shrunk(self, by: int) -> Keys:
        return replace(self, rows=_less(self.rows, by), keys=_less(self.keys, by))


@dataclass(frozen=True)
class Graph:
    """The adjacency matrix of an undirected graph without loops; entries are ones.

    Args:
        vertices: how many.
        edges: how many are drawn, each of two entries.
        power: how popular the most popular are; 0 for all alike.
        lower: whether only the entries below the diagonal are there.
    """

    vertices: int
    edges: int
    power: float = 0.0
    lower: bool = False
    seed: int = 1

    def made(self) -> Any:
        rng = np.random.default_rng(self.seed)
        ends = _popular(rng, self.vertices, 2 * self.edges, self.power).reshape(2, -1)
        ends = ends[:, ends[0] != ends[1]]
        below = scipy.sparse.coo_array(
            (np.ones(ends.shape[1]), (ends.max(0), ends.min(0))), shape=(self.vertices,) * 2
        ).tocsr()
        below.data[:] = 1
        return narrow(below if self.lower else (below + below.T).tocsr())

    def shrunk(self, by: int) -> Graph:
        return replace(self, vertices=_less(self.vertices, by), edges=_less(self.edges, by))


@dataclass(frozen=True)
class Tensor:
    """A 3-tensor in CSF whose entries are anywhere."""

    shape: tuple[int, int, int]
    entries: int
    seed: int = 1

    def made(self) -> Fibers:
        rng = np.random.default_rng(self.seed)
        keys = np.unique(rng.integers(0, int(np.prod(self.shape)), self.entries))
        coords = np.stack(np.unravel_index(keys, self.shape), 1).astype(np.int32)
        return fibers(Coordinates(self.shape, coords, rng.random(keys.size)))

    def shrunk(self, by: int) -> Tensor:
        i, j, k = (_less(n, by) for n in self.shape)
        return replace(self, shape=(i, j, k), entries=_less(self.entries, by))


@dataclass(frozen=True)
class VectorEntries:
    """A vector with few entries, in SciPy's coordinates."""

    extent: int
    entries: int
    seed: int = 1

    def made(self) -> Any:
        rng = np.random.default_rng(self.seed)
        places = np.unique(rng.integers(0, self.extent, self.entries)).astype(np.int32)
        return scipy.sparse.coo_array((rng.random(places.size), (places,)), shape=(self.extent,))

    def shrunk(self, by: int) -> VectorEntries:
        return replace(self, extent=_less(self.extent, by), entries=_less(self.entries, by))
