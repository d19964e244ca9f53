"""What an encoding says of a tensor's buffers: which there are, how long, and in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from mlir_sparse.errors import EncodingError, RankError, TooLargeError, UnsupportedError
from mlir_sparse.text.given_arguments import integers_of

if TYPE_CHECKING:  # the value describes itself by what stands here
    from mlir_sparse.encoding.encoding_value import Encoding

__all__ = [
    "LevelArray",
    "LevelTuple",
    "argument_count",
    "buffer_numbers",
    "check_extents",
    "check_level_sizes",
    "check_shape",
    "check_sliceable",
    "check_supported",
    "level_buffers",
    "level_tuples",
]

# kind, unique, ordered, soa, size, n: a level as native code takes it (native/pack_levels.hpp).
LevelTuple: TypeAlias = tuple[int, bool, bool, bool, int, int]


def check_shape(shape: Sequence[int], encoding: Encoding) -> tuple[int, ...]:
    """Returns the shape as a tuple of ints of the encoding's rank.

    Raises:
        RankError: for another rank, or an extent that is no number of elements.
        TooLargeError: for an extent that 64 bits do not hold.
    """
    extents = integers_of(shape, "a shape")
    encoding.check_rank(len(extents))
    check_extents(extents)
    return extents


def check_extents(shape: tuple[int, ...]) -> None:
    """Raises RankError for a negative extent, TooLargeError for one that 64 bits do not hold."""
    if any(extent < 0 for extent in shape):
        raise RankError(f"expected extents of 0 or more, but got shape {shape}")
    if any(extent >= 1 << 63 for extent in shape):
        raise TooLargeError(f"expected extents of less than 2^63, but got shape {shape}")


def check_level_sizes(encoding: Encoding, level_sizes: Sequence[int]) -> None:
    """Raises TooLargeError for levels of more coordinates than 64 bits count, as of diagonals of a huge matrix."""
    if any(size >= 1 << 63 for size in level_sizes):
        raise TooLargeError(
            f"expected levels of less than 2^63 coordinates, but got {tuple(level_sizes)} for {encoding.map_text()}"
        )


def check_supported(encoding: Encoding) -> None:
    """Raises UnsupportedError for an encoding whose storage is not known here."""
    if encoding.has_slices:
        check_sliceable(encoding)
    if depth := encoding.batch_rank:
        _check_batched(encoding, depth)
    if not encoding.is_native:
        _check_foreign(encoding)


def check_sliceable(encoding: Encoding) -> None:
    """Raises UnsupportedError for an encoding that buffers of a slice cannot be read by."""
    if encoding.batch_rank or not (encoding.is_permutation and encoding.is_native):
        raise UnsupportedError(
            f"expected slices of a tensor whose levels are its dimensions, but got {encoding.map_text()}: "
            "convert it to CSR or CSF first"
        )
    if encoding.is_dense:
        raise UnsupportedError(f"expected slices of a sparse level, but got {encoding.map_text()}: slice the array")


def _check_batched(encoding: Encoding, depth: int) -> None:
    if not any(kind.has_coordinates for kind in encoding.level_types):
        raise UnsupportedError(
            f"expected a sparse level in batches, but got {encoding.map_text()}: use dense for batch"
        )
    for level, kind in enumerate(encoding.level_types[depth:], depth):
        # Room and groups of n would have to be told from what shorter batches leave.
        if not kind.functions.compact or kind.functions.is_grouped:
            raise UnsupportedError(
                f"expected dense, compressed or singleton levels in batches, but got {kind} at level {level} of "
                f"{encoding.map_text()}: use dense for batch, which stores the same batches"
            )
    if not encoding.is_native:
        raise UnsupportedError(
            f"expected batches in an encoding that the dialect can say, but got {encoding.foreign_reason}: "
            "use dense for batch"
        )


def _check_foreign(encoding: Encoding) -> None:
    try:
        known = encoding.with_slots(2)
        _ = known.lvl_to_dim
        # Of a tensor of extents 2, so that j - i starts below 0.
        bounds = known.level_bounds((2,) * encoding.dim_rank)
    except EncodingError as error:
        raise UnsupportedError(f"expected symbols that stand for slots (c * i), but got {error.message}") from None
    for level, kind in enumerate(encoding.level_types):
        if kind.functions.is_grouped:
            raise UnsupportedError(
                f"expected {kind} in an encoding that the dialect can say, but got {encoding.foreign_reason}"
            )
        above = encoding.level_types[level - 1] if level else kind
        if kind.functions.is_chained and above.has_intervals:
            raise UnsupportedError(
                f"expected singleton levels below levels without bounds, but got level {level} below {above} in "
                f"{encoding.map_text()}: take compressed, which can be empty too"
            )
        if kind.functions.may_be_empty and bounds[level][0] < 0:
            raise UnsupportedError(
                f"expected {kind} over coordinates from 0 on, since -1 stands for none, but got level {level} "
                f"({encoding.levels[level]}) of {encoding.map_text()}"
            )


def level_tuples(encoding: Encoding, level_sizes: Sequence[int]) -> list[LevelTuple]:
    """Returns the levels as native code takes them."""
    tuples = []
    for level, (kind, size) in enumerate(zip(encoding.level_types, level_sizes, strict=True)):
        if kind.functions.is_grouped and kind.m != size:
            raise UnsupportedError(
                f"expected structured[{kind.n}, {kind.m}] over blocks of {kind.m} coordinates, but got level {level} "
                f"of size {size}: write it as (d floordiv {kind.m} : dense, d mod {kind.m} : {kind})"
            )
        assert kind.functions.native_kind is not None
        tuples.append((kind.functions.native_kind, kind.unique, kind.ordered, kind.soa, size, kind.n or 0))
    return tuples


class LevelArray(NamedTuple):
    """One of the arrays that a tensor is stored in, besides the values.

    Args:
        level: the level that it is of, the first of several.
        kind: what it holds.
        levels: the levels whose coordinates it holds, interleaved where they are several; of positions the one.
    """

    level: int
    kind: Literal["positions", "coordinates"]
    levels: range


@lru_cache(maxsize=512)  # asked for each result of a call, however small
def level_buffers(encoding: Encoding) -> tuple[LevelArray, ...]:
    """Returns the arrays of a tensor in the order that compiled code takes them; the values follow.

    >>> from mlir_sparse.encoding import encoding
    >>> [(array.kind, *array.levels) for array in level_buffers(encoding("COO"))]
    [('positions', 0), ('coordinates', 0, 1)]
    """
    regions = {region.start: region for region in encoding.aos_regions}
    inside = {level for region in regions.values() for level in region[1:]}
    found = []
    for level, kind in enumerate(encoding.level_types):
        alone = range(level, level + 1)
        if kind.has_positions:
            found.append(LevelArray(level, "positions", alone))
        if kind.has_coordinates and level not in inside:
            found.append(LevelArray(level, "coordinates", regions.get(level, alone)))
    return tuple(found)


@lru_cache(maxsize=512)
def buffer_numbers(encoding: Encoding) -> Mapping[tuple[int, str], int]:
    """Returns for each level, and `positions` or `coordinates`, which buffer holds them.

    >>> from mlir_sparse.encoding import encoding
    >>> buffer_numbers(encoding("COO"))
    {(0, 'positions'): 0, (0, 'coordinates'): 1, (1, 'coordinates'): 1}
    """
    buffers = enumerate(level_buffers(encoding))
    return {(level, array.kind): number for number, array in buffers for level in array.levels}


def argument_count(encoding: Encoding | None) -> int:
    """Returns how many arguments of a compiled function an array is, or a tensor: buffers, values, sizes of levels."""
    return 1 if encoding is None else len(level_buffers(encoding)) + 2
