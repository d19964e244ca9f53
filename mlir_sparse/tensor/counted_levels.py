"""Levels whose coordinates native code counts as they are stored, without those of each entry."""

from __future__ import annotations

from operator import mod

from mlir_sparse.affine import Dim
from mlir_sparse.classes import dataclass
from mlir_sparse.encoding.derived_fact import fact_of
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.level_maps import slots_of
from mlir_sparse.encoding.levels.sized_level import marks_empty

__all__ = ["CountedLevels", "NativeLevel", "counted_levels", "dense_blocks", "native_level"]

# The kind of levels that native code lacks: all that is counted is their coordinates.
_COORDINATES = 3


# Its kind, whether it is unique, whether it is ordered, and whether negative coordinates are empty places.
NativeLevel = tuple[int, bool, bool, bool]


@dataclass(frozen=True, slots=True)
class CountedLevels:
    """Levels that are dimensions, or blocks of one each, or slots of one, as native code counts their coordinates.

    Args:
        kinds: of each level its kind, whether it is unique, whether it is ordered, and whether negative coordinates are
            empty places.
        of_dim: the level of each dimension.
        sizes: the size of the dense blocks in each dimension, None without blocks.
        has_gaps: whether the innermost level has positions without an entry.
    """

    kinds: tuple[NativeLevel, ...]
    of_dim: tuple[int, ...]
    sizes: tuple[int, ...] | None
    has_gaps: bool

    def end_at(self, shape: tuple[int, ...]) -> bool:
        """Returns whether no block goes beyond the extents."""
        return self.sizes is None or not any(map(mod, shape, self.sizes))

    @property
    def are_dimensions(self) -> bool:
        """Returns whether each level is a dimension, of which each position has an entry."""
        return self.sizes is None and not self.has_gaps and len(self.kinds) == len(self.of_dim)


@fact_of
def counted_levels(encoding: Encoding) -> CountedLevels | None:
    """Returns the levels, if each is a dimension, its blocks or its slots, and native code counts its coordinates.

    That is so of dense, compressed and singleton levels. The innermost one may have gaps, too; those in a table, which
    the coordinates mark, below dense levels alone.
    """
    sizes = dense_blocks(encoding) if encoding.is_native and not encoding.is_permutation else None
    if sizes == ():
        return None
    levels = encoding.levels if sizes is None else encoding.levels[: encoding.dim_rank]
    kinds, dims, has_gaps = list[NativeLevel](), list[int](), False
    for number, level in enumerate(levels):
        kind, is_slot = level.type, slots_of(level) is not None
        if sizes is None and not is_slot and (not isinstance(level.expr, Dim) or kind.interval is not None):
            return None
        functions, native = kind.functions, native_level(encoding, number)
        if native is None or has_gaps:
            return None
        has_empty = native[3]
        has_gaps = has_empty or functions.has_gaps
        if has_empty and not all(one.type.functions.has_full_loop for one in levels[:number]):
            return None
        if not has_gaps and not functions.compact:
            return None
        kinds.append(native)
        dims.append(-1 if is_slot else level.expr.dims()[0])
    if sorted(dim for dim in dims if dim >= 0) != list(range(encoding.dim_rank)):
        return None
    return CountedLevels(tuple(kinds), tuple(map(dims.index, range(encoding.dim_rank))), sizes, has_gaps)


def native_level(encoding: Encoding, number: int) -> NativeLevel | None:
    """Returns a level as native code counts its coordinates; None for one that it lacks."""
    kind, has_empty = encoding.level_types[number], marks_empty(encoding, number)
    native = _COORDINATES if has_empty else kind.functions.native_kind
    return None if native is None or kind.functions.is_grouped else (native, kind.unique, kind.ordered, has_empty)


@fact_of
def dense_blocks(encoding: Encoding) -> tuple[int, ...]:
    """Returns the size of the blocks in each dimension, if all stored levels are above dense blocks; else ()."""
    if not encoding.is_native:
        return ()
    outer = encoding.dim_rank
    inner = [encoding.block_of(dim) for dim in range(outer)]
    types = encoding.level_types[outer:]
    dims = [level.expr.dims() for level in encoding.levels[:outer]]
    if not types or not all(kind.functions.has_full_loop for kind in types):
        return ()
    if sorted(dims) != [(dim,) for dim in range(outer)]:
        return ()
    # The levels above have the coordinates of blocks, those below the places inside: not the other way round.
    steps = encoding.lvl_to_dim.evaluate([1] * outer + [0] * len(types))
    return tuple(inner) if list(steps) == inner else ()
