"""Elements that a cut of a matrix sends between nodes: counted in the matrix, or computed from how entries spread.

A matrix of m rows and n columns is cut into p parts. Whoever owns a row of the result owns the element of the operand
of the same number (of the same share of it, where the matrix is not square). Three cuts:

- `broadcast`: rows are cut, and each node gets all of the operand.
- `images`: rows are cut, and each node gets the elements that its columns name and that it does not own.
- `2-D`: a grid of nodes cuts rows and columns; a node gets the elements that its block names, and sends the partial
  results of its rows to their owner.

The computed volumes take rows and columns to be dealt to parts at random: a column of d entries is then named in
`p * (1 - (1 - 1/p) ** d)` parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isqrt

import numpy as np

Array = np.ndarray
CUTS = ("broadcast", "images", "2-D")


@dataclass(frozen=True)
class Degrees:
    """How many rows, or columns, have how many entries."""

    degrees: Array
    counts: Array

    @staticmethod
    def of(numbers: Array, extent: int) -> Degrees:
        """Returns the degrees of coordinates."""
        degrees, counts = np.unique(np.bincount(numbers, minlength=extent), return_counts=True)
        return Degrees(degrees.astype(float), counts.astype(float))

    @property
    def extent(self) -> float:
        return float(self.counts.sum())

    def scaled(self, factor: float) -> Degrees:
        """Returns the degrees of so many times as many rows, with as many entries each."""
        return Degrees(self.degrees, self.counts * factor)

    def met(self, parts: int) -> float:
        """Returns in how many parts rows have entries, summed over rows, if each entry is in any part."""
        return (
            float(parts * (self.counts * -np.expm1(self.degrees * np.log1p(-1 / parts))).sum())
            if parts > 1
            else (float(self.counts[self.degrees > 0].sum()))
        )


def grid_of(parts: int) -> tuple[int, int]:
    """Returns the rows and columns of a grid of nodes, as square as divisors are."""
    rows = next(rows for rows in range(isqrt(parts), 0, -1) if parts % rows == 0)
    return parts // rows, rows


def computed(rows: Degrees, columns: Degrees, parts: int, others: Degrees | None = None) -> Mapping[str, float]:
    """Returns the elements that all nodes together are sent, for each cut: of the operand, and of partial results.

    Args:
        rows: of the whole.
        columns: likewise.
        parts: how many nodes.
        others: columns without the diagonal, whose entries name what their node owns.
    """
    n, (down, across) = columns.extent, grid_of(parts)
    expanded = columns.met(down) * (1 - 1 / down)
    reduced = rows.met(across) * (1 - 1 / across)
    return {
        "broadcast": n * (parts - 1),
        "images": (others or columns).met(parts) * (1 - 1 / parts),
        "2-D": expanded + reduced,
    }


def counted(rows: Array, columns: Array, shape: tuple[int, int], parts: int) -> Mapping[str, int]:
    """Returns the same for a matrix, by its entries' coordinates; rows and columns are cut into ranges."""
    (m, n), (down, across) = shape, grid_of(parts)
    by_row = rows * parts // m
    images = np.unique(by_row.astype(np.int64) * n + columns)
    # Node (I, J) has rows of I and columns of J; that column belongs to one of the nodes (., J), and a row to one of
    # (I, .): both in ranges, so that an owner is the node of the range's share.
    own_row, own_column = rows * down // m, columns * across // n
    expanded = np.unique(own_row.astype(np.int64) * n + columns)
    column_owner = (expanded % n) * across % n * down // n  # in the range of J, the share that is row I's
    reduced = np.unique(own_column.astype(np.int64) * m + rows)
    row_owner = (reduced % m) * down % m * across // m
    return {
        "broadcast": n * (parts - 1),
        "images": int(np.count_nonzero(images // n != (images % n) * parts // n)),
        "2-D": int(np.count_nonzero(expanded // n != column_owner) + np.count_nonzero(reduced // m != row_owner)),
    }


def grid_images(side: int, parts: int) -> int:
    """Returns the elements that nodes are sent of a grid of five points, cut into strips of whole lines."""
    return 2 * side * (parts - 1)


def met_uniformly(entries: float, extent: float) -> float:
    """Returns how many of so many coordinates entries name, each of which names any."""
    return float(extent * -np.expm1(-entries / extent))
