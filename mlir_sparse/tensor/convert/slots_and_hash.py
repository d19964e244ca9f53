"""Rows to slots (ELL) and hash tables, and back: the row of an entry gives its place, without sorting."""

from __future__ import annotations

from mlir_sparse import _native
from mlir_sparse.affine import Dim
from mlir_sparse.encoding.derived_fact import fact_of
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.level_format import LevelFormat
from mlir_sparse.encoding.level_maps import slots_of
from mlir_sparse.encoding.level_type import LevelType
from mlir_sparse.process.available_memory import check_fits
from mlir_sparse.tensor.buffer_arrays import at_least_32_bits
from mlir_sparse.tensor.convert.pack_levels import narrowed_coordinates, narrowed_positions, with_resolved_widths
from mlir_sparse.tensor.level_storage import Array, LevelStorage

__all__ = ["are_slots", "are_tables", "rows_of_slots", "rows_of_tables", "rows_to_slots", "rows_to_tables"]

_Rows = tuple[Array, Array, Array]


@fact_of
def are_slots(encoding: Encoding) -> bool:
    """Returns whether an encoding is ELL: slots of rows or columns, with one coordinate a slot.

    >>> from mlir_sparse.encoding import encoding
    >>> are_slots(encoding("SlotELL")), are_slots(encoding("CountedELL"))
    (True, False)
    """
    if encoding.lvl_rank != 3 or encoding.dim_rank != 2:
        return False
    slots = slots_of(encoding.levels[0])
    counted, other = encoding.levels[1:]
    formats = (counted.type.format, other.type.format)
    if slots is None or formats != (LevelFormat.DENSE, LevelFormat.SINGLETON) or counted.type.interval is not None:
        return False
    return counted.expr == Dim(slots.dim) and other.expr == Dim(1 - slots.dim) and other.type.properties == ()


@fact_of
def are_tables(encoding: Encoding) -> bool:
    """Returns whether an encoding is hash tables below dense and compressed levels of dimensions.

    >>> from mlir_sparse.encoding import encoding
    >>> are_tables(encoding("HashVector")), are_tables(encoding("HashedRows")), are_tables(encoding("CSR"))
    (True, True, False)
    """
    *above, last = encoding.level_types
    plain = LevelType(LevelFormat.DENSE), LevelType(LevelFormat.COMPRESSED)
    return encoding.is_permutation and last == LevelType(LevelFormat.HASHED) and all(kind in plain for kind in above)


def rows_to_slots(
    rows: LevelStorage, shape: tuple[int, ...], encoding: Encoding, source: tuple[int | None, int | None]
) -> LevelStorage | None:
    """Returns a matrix by rows or columns as slots of these; None if a row needs more slots.

    Raises:
        TooLargeError: for slots that would not fit in memory.
        WidthError: for named widths too small for the data.
    """
    pos, crd, values = rows.buffers()
    slots = slots_of(encoding.levels[0])
    assert slots is not None
    most, count = _native.longest_row(pos), pos.size - 1
    width = max(1, most) if slots.width is None else slots.width
    if most > width:
        return None
    resolved = encoding if slots.width is not None else encoding.with_slots(width)
    resolved = with_resolved_widths(resolved, shape, width * count, source)
    check_fits(width * count * (values.itemsize + crd.itemsize), f"{width} slots of {count} rows")
    coordinates, stored = _native.slots_of_rows(width, False, pos, crd, values)
    narrow = _narrowed(resolved, shape, 2, coordinates)
    return LevelStorage(resolved, resolved.level_sizes(shape), (None,) * 3, (None, None, narrow), stored)


def rows_to_tables(
    rows: LevelStorage, shape: tuple[int, ...], encoding: Encoding, source: tuple[int | None, int | None]
) -> LevelStorage:
    """Returns storage with hash tables in place of the last, compressed level. Half of each table or more is free.

    Raises:
        TooLargeError: for tables that would not fit in memory.
        WidthError: for named widths too small for the data.
    """
    pos, crd, values = rows.positions[-1], rows.coordinates[-1], rows.values
    assert pos is not None
    assert crd is not None
    most, count = _native.longest_row(pos), pos.size - 1
    width = 1 << (2 * most - 1).bit_length() if most else 1
    check_fits(width * count * (values.itemsize + crd.itemsize), f"{count} hash tables of {width}")
    above = [p for p in rows.positions[:-1] if p is not None]
    largest = max(width * count, *(int(p[-1]) for p in above), 0)
    resolved = with_resolved_widths(encoding, shape, largest, source)
    table, stored = _native.slots_of_rows(width, True, pos, crd, values)
    last = encoding.lvl_rank - 1
    return LevelStorage(
        resolved,
        resolved.level_sizes(shape),
        (*(p if p is None else narrowed_positions(resolved, p) for p in rows.positions[:-1]), None),
        (
            *(c if c is None else _narrowed(resolved, shape, at, c) for at, c in enumerate(rows.coordinates[:-1])),
            _narrowed(resolved, shape, last, table),
        ),
        stored,
    )


def rows_of_slots(storage: LevelStorage) -> _Rows | None:
    """Returns ELL as positions, coordinates and values by rows; None if a row repeats a coordinate."""
    lines, count = storage.level_sizes[:2]
    crd = storage.coordinates[2]
    assert crd is not None
    return _native.rows_of_slots(count, lines, False, at_least_32_bits(crd), storage.values)


def rows_of_tables(storage: LevelStorage) -> _Rows | None:
    """Returns hash tables as positions, coordinates and values of a compressed level; None if one repeats."""
    *above, crd = storage.coordinates
    assert crd is not None
    count = 1
    for size, coordinates in zip(storage.level_sizes, above, strict=False):
        count = count * size if coordinates is None else coordinates.size
    return _native.rows_of_slots(count, crd.size // max(1, count), True, at_least_32_bits(crd), storage.values)


def _narrowed(encoding: Encoding, shape: tuple[int, ...], level: int, coordinates: Array) -> Array:
    if coordinates.itemsize * 8 == encoding.crd_width:
        return coordinates
    return narrowed_coordinates(encoding, shape, level, coordinates)
