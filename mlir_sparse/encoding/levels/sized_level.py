"""A level of tensors with one shape: the context that the methods of its format need."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from mlir_sparse.affine import AffineExpr
from mlir_sparse.classes import dataclass
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.level_type import LevelType
from mlir_sparse.encoding.levels.level_functions import LevelFunctions
from mlir_sparse.encoding.levels.level_positions import Array, LevelPositions
from mlir_sparse.process.available_memory import check_fits

__all__ = ["SizedLevel", "dims_of", "marks_empty", "sized_levels"]


@dataclass(frozen=True, slots=True)
class SizedLevel:
    """A level with its bounds, in its encoding.

    Args:
        encoding: the encoding it is part of.
        number: the number of the level; the outermost is 0.
        low: the least coordinate.
        high: one more than the greatest, at least `low`.
        shape: the extents of the dimensions; empty where only the sizes of levels are known.
    """

    encoding: Encoding
    number: int
    low: int
    high: int
    shape: tuple[int, ...] = ()

    @property
    def expr(self) -> AffineExpr:
        """Returns its expression over the dimensions."""
        return self.encoding.levels[self.number].expr

    @property
    def kind(self) -> LevelType:
        """Returns the level's type."""
        return self.encoding.levels[self.number].type

    @property
    def functions(self) -> LevelFunctions:
        """Returns the class of its format."""
        return self.kind.functions

    @property
    def above(self) -> tuple[LevelType, ...]:
        """Returns the types of the levels above it."""
        return self.encoding.level_types[: self.number]

    @property
    def size(self) -> int:
        """Returns the number of its coordinates."""
        return self.high - self.low

    @property
    def marks_empty(self) -> bool:
        """Returns whether -1 in its coordinates array marks a missing entry."""
        return marks_empty(self.encoding, self.number)

    @property
    def tuple_levels(self) -> range:
        """Returns the level with the singleton levels below it, which store tuples of coordinates together."""
        stop = self.number + 1
        while stop < self.encoding.lvl_rank and self.encoding.levels[stop].type.functions.is_chained:
            stop += 1
        return range(self.number, stop)

    def evaluate(self, expr: AffineExpr, above: LevelPositions) -> Array:
        """Returns an expression over dimensions at each position of the level above."""
        # Dimensions that the levels above do not decide cancel, which the verifier has checked.
        value = expr.evaluate(dims_of(self.encoding, above.columns, above.count))
        return np.array(np.broadcast_to(value, (above.count,)), np.int64)

    def check_memory(self, nbytes: int) -> None:
        """Raises TooLargeError where an array of the level would not fit in memory."""
        check_fits(nbytes, f"level {self.number} of {self.encoding.map_text()} of shape {self.shape}")


@lru_cache(maxsize=512)  # as parts of one tensor ask it again and again
def _sized_levels(encoding: Encoding, extents: tuple[int, ...]) -> tuple[SizedLevel, ...]:
    bounds = encoding.level_bounds(extents)
    return tuple(SizedLevel(encoding, at, low, max(low, high), extents) for at, (low, high) in enumerate(bounds))


def sized_levels(encoding: Encoding, shape: Sequence[int]) -> tuple[SizedLevel, ...]:
    """Returns the levels of the tensors of a shape.

    Raises:
        EncodingError: for slots of unknown number.
    """
    return _sized_levels(encoding, tuple(shape))


def marks_empty(encoding: Encoding, level: int) -> bool:
    """Returns whether -1 in a level marks a missing entry: in hash tables, and in singletons below full levels."""
    types = encoding.level_types
    return types[level].functions.marks_empty(types[:level])


def dims_of(encoding: Encoding, columns: Sequence[Array], count: int) -> list[Array]:
    """Returns the coordinates in each dimension, given those in the levels; unknown levels count as 0."""
    missing = [np.zeros(count, np.int64)] * (encoding.lvl_rank - len(columns))
    found = encoding.lvl_to_dim.evaluate([*columns, *missing])
    return [np.ascontiguousarray(np.broadcast_to(dim, (count,))) for dim in found]
