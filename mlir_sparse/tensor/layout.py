"""What an encoding says of a tensor's buffers: which there are, how long, and in which order."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TypeAlias

from mlir_sparse.encoding.encoding import Encoding
from mlir_sparse.encoding.level import LevelFormat
from mlir_sparse.errors import RankError, UnsupportedError

__all__ = ["LevelTuple", "aos_regions", "check_shape", "check_supported", "has_padding", "level_tuples"]

# kind, unique, ordered, soa, size, n: a level as native code takes it (native/pack_levels.hpp).
LevelTuple: TypeAlias = tuple[int, bool, bool, bool, int, int]

_KINDS = {
    LevelFormat.DENSE: 0,
    LevelFormat.COMPRESSED: 1,
    LevelFormat.LOOSE_COMPRESSED: 2,
    LevelFormat.SINGLETON: 3,
    LevelFormat.STRUCTURED: 4,
}


def check_shape(shape: Sequence[int], encoding: Encoding) -> tuple[int, ...]:
    """Returns the shape as a tuple of ints of the encoding's rank.

    Raises:
        RankError: for another rank, or an extent that is no number of elements.
    """
    try:
        extents = tuple(operator.index(extent) for extent in shape)
    except TypeError:
        raise RankError(f"expected a shape of integers, but got {shape!r}") from None
    encoding.check_rank(len(extents))
    if any(extent < 0 for extent in extents):
        raise RankError(f"expected extents of 0 or more, but got shape {extents}")
    return extents


def check_supported(encoding: Encoding) -> None:
    """Raises UnsupportedError for an encoding that describes part of a tensor, or whose storage is not known here."""
    if encoding.has_slices:
        raise UnsupportedError(
            f"expected the encoding of a whole tensor, but got dimension slices in {encoding.to_text()}: "
            "store it with encoding.without_slices()"
        )
    for level, kind in enumerate(encoding.level_types):
        if kind.format is LevelFormat.BATCH:
            raise UnsupportedError(
                f"expected a level format with storage of its own, but got batch at level {level} of "
                f"{encoding.map_text()}: use dense, which stores the same batches"
            )
    if (reason := encoding.foreign_reason) is not None:
        raise UnsupportedError(f"expected an encoding with storage of its own here, but got {reason}")


def level_tuples(encoding: Encoding, level_sizes: Sequence[int]) -> list[LevelTuple]:
    """Returns the levels as native code takes them."""
    tuples = []
    for level, (kind, size) in enumerate(zip(encoding.level_types, level_sizes, strict=True)):
        if kind.format is LevelFormat.STRUCTURED and kind.m != size:
            raise UnsupportedError(
                f"expected structured[{kind.n}, {kind.m}] over blocks of {kind.m} coordinates, but got level {level} "
                f"of size {size}: write it as (d floordiv {kind.m} : dense, d mod {kind.m} : {kind})"
            )
        tuples.append((_KINDS[kind.format], kind.unique, kind.ordered, kind.soa, size, kind.n or 0))
    return tuples


def aos_regions(encoding: Encoding) -> tuple[range, ...]:
    """Returns the runs of levels that share one array of interleaved coordinates.

    Such a run starts at a level with positions and takes the singletons below
    it, unless they are `soa` (`SparseTensorEncodingAttr::getCOOSegments`).
    """
    types = encoding.level_types
    regions = []
    start = 0
    while start < len(types):
        stop = start + 1
        while types[start].has_positions and stop < len(types) and types[stop].format is LevelFormat.SINGLETON:
            stop += 1
        if stop - start > 1 and not types[start + 1].soa:
            regions.append(range(start, stop))
        start = stop
    return tuple(regions)


def has_padding(encoding: Encoding) -> bool:
    """Returns whether values are stored that nobody gave: below dense and structured innermost levels."""
    return encoding.level_types[-1].format in (LevelFormat.DENSE, LevelFormat.STRUCTURED)
