"""Runs of levels whose coordinates share one array."""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse.encoding.level_type import LevelType

__all__ = ["coordinate_regions"]


def coordinate_regions(types: Sequence[LevelType]) -> tuple[range, ...]:
    """Returns the runs of levels whose coordinates share one array of structs, MLIR's AoS COO segments.

    A run starts at a level with positions and continues over singleton levels that are not `soa`. Each singleton below
    another level has its own array.

    Args:
        types: the type of each level, outermost first.

    >>> from mlir_sparse.encoding import encoding
    >>> coordinate_regions(encoding("COO", rank=3).level_types), coordinate_regions(encoding("CSR").level_types)
    ((range(0, 3),), ())
    """
    regions, start = [], 0
    while start < len(types):
        stop = start + 1
        is_tuple = types[start].functions.is_segmented
        while is_tuple and stop < len(types) and types[stop].functions.is_chained:
            stop += 1
        if stop - start > 1 and not types[start + 1].soa:
            regions.append(range(start, stop))
        start = stop
    return tuple(regions)
