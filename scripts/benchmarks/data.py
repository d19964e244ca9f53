"""Matrices, the same on every machine and in every run: values of f64, coordinates and positions of 32 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

__all__ = [
    "Matrix",
    "blocky",
    "circuit",
    "grid",
    "narrow",
    "poisson",
    "power_law",
    "power_rows",
    "shifted",
    "shuffled",
    "triangulated",
    "turned",
    "uniform",
]

Matrix = Any  # SciPy's, which has no types to check against


def narrow(matrix: Matrix) -> Matrix:
    """Returns a CSR matrix with sorted rows and 32-bit coordinates and positions."""
    matrix.sort_indices()
    index = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return scipy.sparse.csr_array((matrix.data, *index), shape=matrix.shape)


def uniform(rows: int, per_row: int, columns: int | None = None) -> Matrix:
    """Draws `per_row` columns for each row; columns drawn twice are one entry."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, columns or rows, (rows, per_row), dtype=np.int32)
    starts = np.arange(0, rows * per_row + 1, per_row, dtype=np.int32)
    matrix = scipy.sparse.csr_array((rng.random(rows * per_row), drawn.ravel(), starts), shape=(rows, columns or rows))
    matrix.sum_duplicates()
    return matrix


def grid(*sides: int) -> Matrix:
    """Builds the matrix of the Poisson equation on a grid: 5 points in two dimensions, 7 in three."""
    total: Matrix = 0
    for axis, side in enumerate(sides):
        line: Matrix = scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(side, side))
        for before in reversed(sides[:axis]):
            line = scipy.sparse.kron(scipy.sparse.eye_array(before), line)
        for after in sides[axis + 1 :]:
            line = scipy.sparse.kron(line, scipy.sparse.eye_array(after))
        total = total + line
    return narrow(scipy.sparse.csr_array(total))


def poisson(n: int) -> Matrix:
    """Builds the 5-point matrix on an n x n grid."""
    return grid(n, n)


def power_rows(rows: int, entries: int, seed: int = 5) -> Matrix:
    """Draws rows whose lengths follow a power law, as of links between pages.

    Half of the links go to pages near by, half to popular ones.
    """
    rng = np.random.default_rng(seed)
    weights = (1 - rng.random(rows)) ** (-1 / 1.8)
    lengths = np.minimum(rng.poisson(weights * (1.06 * entries / weights.sum())), rows // 200 + 1)
    ends = np.repeat(np.arange(rows), lengths)
    near = (ends + rng.geometric(0.02, ends.size) * rng.choice((-1, 1), ends.size)) % rows
    popular = (rows * rng.random(ends.size) ** 3).astype(np.int64)
    return _drawn(rng, ends, np.where(rng.random(ends.size) < 0.5, near, popular), (rows, rows), entries)


def circuit(nodes: int, entries: int, seed: int = 6) -> Matrix:
    """Draws a symmetric matrix of a circuit: a diagonal, neighbours close by, and a few nets that reach everywhere."""
    rng = np.random.default_rng(seed)
    pairs = (entries - nodes) // 2
    ends = rng.integers(0, nodes, 2 * pairs)
    others = (ends + rng.geometric(0.01, ends.size)) % nodes
    nets = rng.integers(0, nodes, 20)
    others = np.where(rng.random(ends.size) < 0.01, rng.choice(nets, ends.size), others)
    lower, upper = np.maximum(ends, others), np.minimum(ends, others)
    half = _drawn(rng, lower[lower > upper], upper[lower > upper], (nodes, nodes), pairs)
    return narrow(half + half.T.tocsr() + scipy.sparse.diags_array(4 + rng.random(nodes)).tocsr())


def blocky(nodes: int, per_node: int, side: int, seed: int = 7) -> Matrix:
    """Builds a matrix of finite elements: dense blocks of side x side in bands beside the diagonal.

    Neighbours come in runs, as the nodes of an element's layers are numbered.
    """
    rng = np.random.default_rng(seed)
    layer = max(int(nodes**0.5), per_node)
    runs = np.repeat(np.array([-layer, 0, layer]), -(-per_node // 3))[:per_node]
    offsets = runs + np.tile(np.arange(-(-per_node // 3)), 3)[:per_node] - per_node // 6
    nodes_of, others = np.repeat(np.arange(nodes), per_node), (np.arange(nodes)[:, None] + offsets).ravel()
    inside = (others >= 0) & (others < nodes)
    pattern = scipy.sparse.csr_array((np.ones(inside.sum()), (nodes_of[inside], others[inside])), shape=(nodes, nodes))
    filled = narrow(scipy.sparse.kron(pattern, np.ones((side, side))).tocsr())
    filled.data[:] = rng.random(filled.nnz)
    return filled


def _drawn(rng: np.random.Generator, rows: Any, columns: Any, shape: tuple[int, int], entries: int) -> Matrix:
    """Returns `entries` of the drawn places, fewer where they are not that many, with values in [0, 1)."""
    keys = np.unique(rows.astype(np.int64) * shape[1] + columns)
    if keys.size > entries:
        keys = np.sort(rng.choice(keys, entries, replace=False))
    where = (keys // shape[1]).astype(np.int32), (keys % shape[1]).astype(np.int32)
    return narrow(scipy.sparse.coo_array((rng.random(keys.size), where), shape=shape).tocsr())


def power_law(rows: int, entries: int) -> Matrix:
    """Draws edges of a graph with a few vertices of many neighbours, as a lower triangle."""
    rng, weights = np.random.default_rng(3), np.arange(1, rows + 1) ** -0.75
    ends = rng.choice(rows, (2, entries), p=weights / weights.sum())
    ends = ends[:, ends[0] != ends[1]]
    graph = scipy.sparse.coo_array((np.ones(ends.shape[1]), (ends.max(0), ends.min(0))), shape=(rows, rows)).tocsr()
    graph.data[:] = 1
    return narrow(graph)


def triangulated(side: int) -> Matrix:
    """Builds the lower triangle of a grid whose squares have one diagonal each."""
    ones, size = np.ones(side * side), side * side
    offsets = [-1, -side, -side - 1]
    return narrow(scipy.sparse.diags_array([ones] * 3, offsets=offsets, shape=(size, size), format="csr"))


def turned(matrix: Matrix) -> Matrix:
    """Returns the transpose, by rows."""
    return narrow(matrix.T.tocsr())


def shifted(matrix: Matrix, by: int) -> Matrix:
    """Returns the matrix with its columns moved round by some, as TACO's additions are measured."""
    columns = ((matrix.indices.astype(np.int64) + by) % matrix.shape[1]).astype(np.int32)
    return narrow(scipy.sparse.csr_array((matrix.data.copy(), columns, matrix.indptr.copy()), shape=matrix.shape))


def shuffled(matrix: Matrix) -> Matrix:
    """Returns the same entries in no order, as coordinates."""
    A = matrix.tocoo()
    order = np.random.default_rng(2).permutation(A.nnz)
    return scipy.sparse.coo_array((A.data[order], (A.row[order], A.col[order])), shape=A.shape)
