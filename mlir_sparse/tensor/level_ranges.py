"""Parts of tensors along the outermost level, without a copy of entries, and parts joined again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.encoding.buffer_layout import check_extents
from mlir_sparse.encoding.derived_fact import derived_once
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.level_maps import outermost_block, slots_of
from mlir_sparse.encoding.levels.level_functions import Below
from mlir_sparse.encoding.levels.sized_level import SizedLevel, sized_levels
from mlir_sparse.tensor.convert.slots_and_hash import are_slots, are_tables
from mlir_sparse.tensor.level_storage import Array, LevelStorage
from mlir_sparse.tensor.matrix_lines import line_order, run_of_lines
from mlir_sparse.tensor.sparse_tensor import SparseTensor
from mlir_sparse.tensor.widths import width_dtype, width_limit

__all__ = ["joined_along", "levels_between", "part_around", "part_between"]


def part_between(tensor: SparseTensor, dim: int, low: int, high: int) -> SparseTensor | None:
    """Returns the part of a tensor between two coordinates, in the same storage, which shares entries with the whole.

    Positions are counted anew; so are the coordinates of an outermost level that lists them. All else is shared, and
    values written to one change the other.

    Args:
        tensor: the whole.
        dim: the dimension that is cut.
        low: the first coordinate.
        high: the coordinate behind the last, at least `low`.

    Returns:
        the part; None where the outermost level does not number that dimension, or a bound is inside of a block.

    >>> from mlir_sparse.tensor import tensor
    >>> A = tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]], "CSR")
    >>> part = part_between(A, 0, 1, 3)
    >>> part.to_numpy().tolist(), np.shares_memory(part.storage.values, A.storage.values)
    ([[0.0, 2.0], [3.0, 4.0]], True)
    """
    encoding, shape, storage = tensor.encoding, tensor.shape, tensor.storage
    order = line_order(encoding)
    if order is not None and order[0] == dim:
        return run_of_lines(tensor, low, high)
    block = _outermost_block(encoding, dim)
    below = levels_between(encoding, shape, (storage.positions, storage.coordinates), dim, low, high)
    if below is None or block is None:
        return None
    sizes = (-(-high // block) - low // block, *storage.level_sizes[1:])
    positions = tuple(level.positions if level.first == 0 else _from_zero(level) for level in below)
    coordinates = tuple(level.coordinates for level in below)
    places = below[-1].places
    part = LevelStorage(encoding, sizes, positions, coordinates, storage.values[places.start : places.stop])
    return SparseTensor._trusted(encoding, (*shape[:dim], high - low, *shape[dim + 1 :]), part)


def part_around(tensor: SparseTensor, dim: int, low: int, high: int) -> tuple[SparseTensor, int] | None:
    """Returns the least part of whole blocks with some coordinates in it, and its first coordinate; see `part_between`.

    Of slots and of hash tables of rows it is a copy, as their rows are in no run, or as wide as the longest of all.

    >>> from mlir_sparse.tensor import tensor
    >>> part, first = part_around(tensor([[1.0], [0.0], [2.0], [3.0], [4.0]], "BSR(2, 1)"), 0, 3, 4)
    >>> part.to_numpy().tolist(), first
    ([[2.0], [3.0]], 2)
    """
    tables = _tables_between(tensor, dim, low, high)
    if tables is not None:
        return tables, low
    block = _outermost_block(tensor.encoding, dim)
    if block is None:
        return None
    start, stop = low // block * block, min(-(-high // block) * block, tensor.shape[dim])
    part = part_between(tensor, dim, start, stop)
    return None if part is None else (part, start)


def _tables_between(tensor: SparseTensor, dim: int, low: int, high: int) -> SparseTensor | None:
    """Returns a copy of the part between two coordinates of slots or hash tables; None for other storage.

    >>> from mlir_sparse.tensor import tensor
    >>> A = [[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]]
    >>> [_tables_between(tensor(A, name), 0, 1, 3).to_numpy().tolist() for name in ("SlotELL", "HashedRows")]
    [[[0.0, 2.0], [3.0, 4.0]], [[0.0, 2.0], [3.0, 4.0]]]
    """
    encoding, storage = tensor.encoding, tensor.storage
    *above, coordinates = storage.coordinates
    if coordinates is None:
        return None
    if are_slots(encoding):
        slots = slots_of(encoding.levels[0])
        if slots is None or slots.dim != dim:
            return None
        lines: Sequence[Array] = [one.reshape(storage.level_sizes[:2]) for one in (coordinates, storage.values)]
        crd, values = (one[:, low:high].reshape(-1) for one in lines)
    elif are_tables(encoding) and encoding.lvl_rank > 1 and encoding.level_order[0] == dim:
        if any(one is not None for one in above):
            return None  # rows of stored coordinates are in runs of positions
        each = coordinates.size // max(1, storage.level_sizes[0])
        crd, values = (one[low * each : high * each].copy() for one in (coordinates, storage.values))
    else:
        return None
    shape = (*tensor.shape[:dim], high - low, *tensor.shape[dim + 1 :])
    unstored = (None,) * (encoding.lvl_rank - 1)
    part = LevelStorage(encoding, encoding.level_sizes(shape), (*unstored, None), (*unstored, crd), values)
    return SparseTensor._trusted(encoding, shape, part)


def levels_between(
    encoding: Encoding,
    shape: tuple[int, ...],
    arrays: tuple[Sequence[Any], Sequence[Any]],
    dim: int,
    low: int,
    high: int,
) -> list[Below] | None:
    """Returns the levels of a part, as `part_between`; of arrays, or of anything that is sliced as they are.

    Args:
        encoding: the encoding of the whole.
        shape: the shape of the whole.
        arrays: its positions, and its coordinates.
        dim: the dimension that is cut.
        low: the first coordinate.
        high: the coordinate behind the last.
    """
    block, (positions, coordinates) = _outermost_block(encoding, dim), arrays
    if block is None or low % block or (high % block and high != shape[dim]):
        return None
    outermost, *inner = sized_levels(encoding, shape)
    if outermost.low or outermost.kind.interval is not None:
        return None
    bounds = low // block, -(-high // block)
    found = [outermost.functions.outermost_between(outermost, *bounds, positions[0], coordinates[0])]
    for level, pos, crd in zip(inner, positions[1:], coordinates[1:], strict=True):
        if found[-1] is None:
            return None
        found.append(level.functions.below(level, found[-1].places, pos, crd))
    kept = [level for level in found if level is not None]
    return kept if len(kept) == len(found) else None


def _from_zero(level: Below) -> Array | None:
    if level.positions is None:
        return None
    return _concatenated([level.positions], [-level.first], level.positions.dtype)


def joined_along(parts: Sequence[SparseTensor], dim: int) -> SparseTensor | None:
    """Returns tensors of one encoding joined along the dimension of their outermost level.

    Widths of positions and coordinates grow where the sums need it.

    Args:
        parts: one or more tensors, whose shapes agree but along the dimension.
        dim: that dimension.

    Returns:
        the whole; None for tensors of unlike encodings or element types, and where levels cannot be joined.

    Raises:
        TooLargeError: for an extent that does not fit in 64 bits.

    >>> from mlir_sparse.tensor import tensor
    >>> A = tensor([[1.0, 0.0], [0.0, 2.0]], "DCSR")
    >>> joined_along([A, A], 0).storage.coordinates[0].tolist()
    [0, 1, 2, 3]
    """
    encoding, first = parts[0].encoding, parts[0]
    block = _outermost_block(encoding, dim)
    alike = all(part.dtype == first.dtype and _is_like(part.encoding, encoding) for part in parts)
    if block is None or not alike or any(part.shape[dim] % block for part in parts[:-1]):
        return None
    extent = sum(part.shape[dim] for part in parts)
    shape = (*first.shape[:dim], extent, *first.shape[dim + 1 :])
    check_extents(shape)
    levels = sized_levels(encoding, shape)
    if levels[0].low or not all(map(_can_join, levels)) or _marks_narrow(parts, levels):
        return None
    counts = [_counts(part) for part in parts]
    starts = list(accumulate((part.shape[dim] // block for part in parts[:-1]), initial=0))
    entries = max(sum(count[lvl] for count in counts) for lvl in range(encoding.lvl_rank))
    largest = max((level.size - 1 for level in levels if level.kind.has_coordinates), default=0)
    wide = encoding.with_widths(
        _width([part.encoding.pos_width for part in parts], entries),
        _width([part.encoding.crd_width for part in parts], largest),
    )
    positions = tuple(_positions(level, parts, counts, wide) for level in levels)
    coordinates = _coordinates(levels, parts, starts, wide)
    values = _concatenated([part.storage.values for part in parts], [0] * len(parts), first.dtype)
    sizes = (-(-extent // block), *first.storage.level_sizes[1:])
    return SparseTensor._trusted(wide, shape, LevelStorage(wide, sizes, positions, coordinates, values))


def _outermost_block(encoding: Encoding, dim: int) -> int | None:
    (found,) = derived_once(encoding, "outermost blocks", dim, lambda: (_found_block(encoding, dim),))
    return found


def _found_block(encoding: Encoding, dim: int) -> int | None:
    return None if encoding.has_slices or encoding.batch_rank else outermost_block(encoding.levels, dim)


def _is_like(encoding: Encoding, other: Encoding) -> bool:
    return encoding.with_widths(0, 0) == other.with_widths(0, 0)


def _can_join(level: SizedLevel) -> bool:
    return level.kind.interval is None and level.functions.is_local


def _marks_narrow(parts: Sequence[SparseTensor], levels: Sequence[SizedLevel]) -> bool:
    """Returns whether -1 marks missing entries in numbers without a sign, which widen to another number."""
    return any(level.marks_empty for level in levels) and any(part.encoding.crd_width < 32 for part in parts)


def _counts(part: SparseTensor) -> list[int]:
    """Returns the number of positions in each level."""
    found, parents = [], 1
    for level, pos, crd in zip(
        sized_levels(part.encoding, part.shape), part.storage.positions, part.storage.coordinates, strict=True
    ):
        parents = level.functions.count(level, parents, pos, crd)
        found.append(parents)
    return found


def _width(widths: Sequence[int], largest: int) -> int:
    """Returns the greatest of some widths, or the least that holds a number."""
    fitting = [width for width in (8, 16, 32, 64) if largest <= width_limit(width)]
    return max(*widths, fitting[0])


def _positions(
    level: SizedLevel, parts: Sequence[SparseTensor], counts: Sequence[Sequence[int]], wide: Encoding
) -> Array | None:
    stored = [pos for part in parts if (pos := part.storage.positions[level.number]) is not None]
    if not stored:
        return None
    own, dtype = [count[level.number] for count in counts], width_dtype(wide.pos_width)
    if level.number == 0:  # the coordinates of all are below one parent
        return level.functions.whole_segment(sum(own)).astype(dtype)
    arrays, shifts = level.functions.joined_positions(stored, own)
    return _concatenated(arrays, shifts, dtype)


def _coordinates(
    levels: Sequence[SizedLevel], parts: Sequence[SparseTensor], starts: Sequence[int], wide: Encoding
) -> tuple[Array | None, ...]:
    found: list[Array | None] = [None] * len(levels)
    dtype = width_dtype(wide.crd_width)
    regions = {level: region for region in wide.aos_regions for level in region}
    together: Array | None = None  # one array of structs for all levels of a region
    for level in range(len(levels)):
        stored = [crd for part in parts if (crd := part.storage.coordinates[level]) is not None]
        if not stored:
            continue
        region = regions.get(level, range(level, level + 1))
        if level == region.start:
            together = _native.reserve(sum(crd.size for crd in stored) * len(region), dtype)
        assert together is not None
        column = together[level - region.start :: len(region)]
        _native.concatenate(stored, starts if level == 0 else [0] * len(stored), column)
        found[level] = column
    return tuple(found)


def _concatenated(arrays: Sequence[Array], shifts: Sequence[int], dtype: np.dtype[Any]) -> Array:
    joined: Array = _native.reserve(sum(array.size for array in arrays), dtype)
    _native.concatenate(arrays, shifts, joined)
    return joined
