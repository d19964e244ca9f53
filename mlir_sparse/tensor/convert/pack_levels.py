"""Coordinates and values to storage of an encoding that the dialect lacks.

Native packing sorts the entries by level coordinates and sums duplicates; the classes of the level formats then build
the levels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlir_sparse.dtypes import DType
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.level_maps import independent_levels, slots_of
from mlir_sparse.encoding.levels.placed_entries import is_sorted
from mlir_sparse.encoding.levels.sized_level import dims_of, marks_empty
from mlir_sparse.errors import StorageError, WidthError
from mlir_sparse.tensor.build_storage import build_levels
from mlir_sparse.tensor.convert.pack_in_memory import pack_in_memory
from mlir_sparse.tensor.level_storage import Array, LevelStorage
from mlir_sparse.tensor.widths import check_width, resolve_widths, width_dtype

__all__ = ["is_signed", "narrowed_coordinates", "narrowed_positions", "pack_levels", "with_resolved_widths"]


def pack_levels(
    encoding: Encoding,
    shape: tuple[int, ...],
    dims: Sequence[Array],
    values: Array,
    dtype: DType,
    source: tuple[int | None, int | None],
) -> LevelStorage:
    """Returns the storage of entries; duplicates are summed.

    Args:
        encoding: the format to build.
        shape: the extent of each dimension.
        dims: for each dimension the coordinates of all entries, inside the shape.
        values: the values, in stored form.
        dtype: their element type.
        source: the widths of positions and coordinates in the source.

    Raises:
        StorageError: for entries that the format cannot store.
        TooLargeError: for storage that would not fit in memory.
        WidthError: for named widths too small for the data.
    """
    kept = independent_levels(encoding.levels)
    given = {lvl: np.asarray(encoding.levels[lvl].expr.evaluate(dims), np.int64) for lvl in kept}
    columns, summed = _sorted(encoding, shape, given, values, dtype)
    resolved = _number_slots(encoding, columns, summed.size)
    positions, coordinates, stored = build_levels(
        resolved, shape, [columns[lvl] for lvl in range(encoding.lvl_rank)], summed
    )
    largest = max((int(p[-1]) for p in positions if p is not None and p.size), default=0)
    largest = max(largest, _largest_derived_position(resolved, coordinates))
    narrowed = with_resolved_widths(resolved, shape, largest, source)
    return LevelStorage(
        narrowed,
        narrowed.level_sizes(shape),
        tuple(None if p is None else narrowed_positions(narrowed, p) for p in positions),
        tuple(
            None if c is None else narrowed_coordinates(narrowed, shape, lvl, c) for lvl, c in enumerate(coordinates)
        ),
        stored,
    )


def _sorted(
    encoding: Encoding, shape: tuple[int, ...], columns: dict[int, Array], values: Array, dtype: DType
) -> tuple[dict[int, Array], Array]:
    """Returns the entries in storage order, with duplicates summed."""
    sizes, shifted, lows = [], [], []
    known = encoding.with_slots(2).level_bounds(shape)
    for lvl, column in columns.items():
        low, high = known[lvl]
        outside = (column < low) | (column >= high)
        if outside.any():
            got = column[int(np.argmax(outside))]
            raise StorageError(
                f"expected coordinates from {low} to {high - 1} at level {lvl} of {encoding.map_text()}, but got "
                f"{got}: drop it, or choose a format that can store it"
            )
        lows.append(low)
        sizes.append(max(0, high - low))
        shifted.append(np.ascontiguousarray(column - low))
    # For native code, structure of arrays is a compressed level with `soa` singletons below it.
    last = len(sizes) - 1
    levels = [(3 if at else 1, at == last, True, True, size, 0) for at, size in enumerate(sizes)]
    _, coordinates, packed = pack_in_memory(levels, shifted, values, dtype.name, (64, 64))
    found = {}
    for lvl, low, stored in zip(columns, lows, coordinates, strict=True):
        assert stored is not None
        found[lvl] = stored + low if low else stored
    for lvl in range(encoding.lvl_rank):
        found.setdefault(lvl, np.zeros(0, np.int64))
    return found, packed


def _number_slots(encoding: Encoding, columns: dict[int, Array], entries: int) -> Encoding:
    """Puts the n-th entry with the same coordinate in slot n, and returns the encoding with the number of slots."""
    resolved = encoding
    for lvl, level in enumerate(encoding.levels):
        slots = slots_of(level)
        if level.type.functions.is_computed:
            columns[lvl] = np.zeros(entries, np.int64)  # one slot is not stored
        if slots is None:
            continue
        by_level = [columns[at] if columns[at].size else np.zeros(entries, np.int64) for at in range(encoding.lvl_rank)]
        counted = dims_of(encoding, by_level, entries)[slots.dim]
        keys = [counted, *by_level[lvl + 1 :]]
        order = np.arange(entries) if is_sorted(keys) else np.lexsort(keys[::-1])
        ordered = counted[order]
        begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if entries else ordered
        lengths = np.diff(np.append(begins, entries))
        most = int(lengths.max(initial=0))
        if slots.width is not None and most > slots.width:
            at = ordered[begins[int(np.argmax(lengths))]]
            raise StorageError(
                f"expected at most {slots.width} entries with the same {encoding.dim_names[slots.dim]} in "
                f"{encoding.map_text()}, but got {most} with {encoding.dim_names[slots.dim]} = {at}: give a width of "
                f"{most}, or none"
            )
        numbers = np.empty(entries, np.int64)
        numbers[order] = np.arange(entries) - np.repeat(begins, lengths)
        columns[lvl] = numbers
        if slots.width is None:
            resolved = resolved.with_slots(max(1, most))
    return resolved


def _largest_derived_position(encoding: Encoding, coordinates: Sequence[Array | None]) -> int:
    """Returns the largest derived position in the plain view of the levels."""
    sizes = (c.size for lvl, c in enumerate(coordinates) if c is not None and marks_empty(encoding, lvl))
    return max(sizes, default=0)


def with_resolved_widths(
    encoding: Encoding, shape: Sequence[int], largest_position: int, source: tuple[int | None, int | None]
) -> Encoding:
    """Returns the encoding with both widths concrete; level sizes decide that of coordinates, as in native code."""
    sizes = encoding.level_sizes(shape)
    stored = [size for size, kind in zip(sizes, encoding.level_types, strict=True) if kind.has_coordinates]
    return resolve_widths(
        encoding,
        largest_position=largest_position,
        largest_coordinate=0 if encoding.crd_width else max(stored, default=0) - 1,
        source=source,
    )


def narrowed_positions(encoding: Encoding, positions: Array) -> Array:
    """Returns positions in the width of the encoding.

    Raises:
        WidthError: for a width too small.
    """
    check_width("posWidth", encoding.pos_width, int(positions.max(initial=0)))
    return positions.astype(width_dtype(encoding.pos_width))


def is_signed(encoding: Encoding, shape: Sequence[int], level: int) -> bool:
    """Returns whether a level stores negative numbers: -1 for a missing entry, or coordinates such as j - i."""
    return marks_empty(encoding, level) or encoding.level_bounds(shape)[level][0] < 0


def narrowed_coordinates(encoding: Encoding, shape: Sequence[int], level: int, coordinates: Array) -> Array:
    """Returns the coordinates of a level in the width of the encoding, signed if some can be negative.

    Raises:
        WidthError: for a width too small.
    """
    width = encoding.crd_width
    low = encoding.level_bounds(shape)[level][0]
    smallest, largest = int(coordinates.min(initial=0)), int(coordinates.max(initial=0))
    # Coordinates in level space start at 0.
    check_width("crdWidth", width, largest - min(0, low))
    dtype = width_dtype(width)
    if is_signed(encoding, shape, level):
        dtype = np.dtype(f"i{width // 8}")
        limits = np.iinfo(dtype)
        if smallest < limits.min or largest > limits.max:
            got = smallest if smallest < limits.min else largest
            raise WidthError(
                f"expected coordinates from {limits.min} to {limits.max} for crdWidth = {width} at level {level}, some "
                f"of which can be below 0, but got {got}: use a wider crdWidth"
            )
    return coordinates.astype(dtype)
