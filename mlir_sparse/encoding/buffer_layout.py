"""The buffers of a tensor, as its encoding decides: their kinds, lengths and order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from mlir_sparse.encoding.derived_fact import fact_of
from mlir_sparse.errors import EncodingError, RankError, TooLargeError, UnsupportedError
from mlir_sparse.text.given_arguments import integers_of

if TYPE_CHECKING:  # encoding_value imports this module
    from mlir_sparse.encoding.encoding_value import Encoding

__all__ = [
    "LevelArray",
    "LevelTuple",
    "argument_count",
    "buffer_numbers",
    "buffer_places",
    "check_extents",
    "check_level_sizes",
    "check_shape",
    "check_sliceable",
    "check_supported",
    "level_buffers",
    "level_tuples",
]

# A level in native code: kind, unique, ordered, soa, size, n (native/pack_levels.hpp).
LevelTuple: TypeAlias = tuple[int, bool, bool, bool, int, int]


def check_shape(shape: Sequence[int], encoding: Encoding) -> tuple[int, ...]:
    """Returns the shape as a tuple of ints of the encoding's rank.

    Raises:
        RankError: for another rank, or a negative extent.
        TooLargeError: for an extent that does not fit in 64 bits.
    """
    extents = integers_of(shape, "a shape")
    encoding.check_rank(len(extents))
    check_extents(extents)
    return extents


def check_extents(shape: tuple[int, ...]) -> None:
    """Raises RankError for a negative extent, TooLargeError for one that does not fit in 64 bits."""
    if not shape:
        return
    if min(shape) < 0:
        raise RankError(f"expected extents of 0 or more, but got shape {shape}")
    if max(shape) >= 1 << 63:
        raise TooLargeError(f"expected extents of less than 2^63, but got shape {shape}")


def check_level_sizes(encoding: Encoding, level_sizes: Sequence[int]) -> None:
    """Raises TooLargeError for level sizes beyond 64 bits, such as the diagonals of a huge matrix."""
    if any(size >= 1 << 63 for size in level_sizes):
        raise TooLargeError(
            f"expected levels of less than 2^63 coordinates, but got {tuple(level_sizes)} for {encoding.map_text()}"
        )


def check_supported(encoding: Encoding) -> None:
    """Raises UnsupportedError for an encoding without a storage layout."""
    if encoding.has_slices:
        check_sliceable(encoding)
    if depth := encoding.batch_rank:
        _check_batched(encoding, depth)
    if not encoding.is_native:
        _check_foreign(encoding)


def check_sliceable(encoding: Encoding) -> None:
    """Raises UnsupportedError for an encoding with slices whose buffers cannot be sliced."""
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
        # Gaps and groups of n could not be distinguished from the padding of shorter batches.
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
        # Bounds for a tensor with extents 2: there j - i starts below 0.
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
    """Returns the levels as tuples for native code."""
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
    """A positions or coordinates array of a tensor.

    Args:
        level: the level that it belongs to, or the first of several.
        kind: "positions" or "coordinates".
        levels: all levels that it belongs to; the coordinates of several levels are interleaved.
    """

    level: int
    kind: Literal["positions", "coordinates"]
    levels: range


@fact_of  # each call needs it for each result
def level_buffers(encoding: Encoding) -> tuple[LevelArray, ...]:
    """Returns the arrays of a tensor in the order of compiled functions' arguments; the values follow.

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


@fact_of
def buffer_places(encoding: Encoding) -> tuple[int, ...]:
    """Returns for each array of the structure, in order, its first level, 1 for positions, and how many levels it has.

    >>> from mlir_sparse.encoding import encoding
    >>> buffer_places(encoding("COO"))
    (0, 1, 1, 0, 0, 2)
    """
    arrays = level_buffers(encoding)
    return tuple(n for one in arrays for n in (one.level, int(one.kind == "positions"), len(one.levels)))


@fact_of
def buffer_numbers(encoding: Encoding) -> Mapping[tuple[int, str], int]:
    """Returns the number of the buffer for each level and kind, `positions` or `coordinates`.

    >>> from mlir_sparse.encoding import encoding
    >>> buffer_numbers(encoding("COO"))
    {(0, 'positions'): 0, (0, 'coordinates'): 1, (1, 'coordinates'): 1}
    """
    buffers = enumerate(level_buffers(encoding))
    return {(level, array.kind): number for number, array in buffers for level in array.levels}


def argument_count(encoding: Encoding | None) -> int:
    """Returns the number of a compiled function's arguments for a tensor (buffers, values, level sizes) or an array."""
    return 1 if encoding is None else len(level_buffers(encoding)) + 2
