"""Walks storage of any encoding from the outermost level in: every position of every level with its coordinate.

It serves level formats that native code lacks. Coordinates are those of the encoding: they may be negative, as in
`j - i`.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse.encoding.levels.level_positions import ROOT, LevelPositions
from mlir_sparse.encoding.levels.sized_level import sized_levels
from mlir_sparse.tensor.level_storage import LevelStorage

__all__ = ["walk", "walk_levels"]


def walk(storage: LevelStorage, shape: Sequence[int]) -> LevelPositions:
    """Returns the positions of the innermost level, one for each value, with coordinates in every level."""
    return walk_levels(storage, shape, storage.encoding.lvl_rank)[-1]


def walk_levels(storage: LevelStorage, shape: Sequence[int], stop: int) -> list[LevelPositions]:
    """Returns the positions of the first levels."""
    found: list[LevelPositions] = []
    above = ROOT
    for level, pos, crd in zip(
        sized_levels(storage.encoding, shape)[:stop], storage.positions, storage.coordinates, strict=False
    ):
        above = level.functions.walk(level, above, pos, crd)
        found.append(above)
    return found
