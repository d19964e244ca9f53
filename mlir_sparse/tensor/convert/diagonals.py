"""Storage by diagonals, to and from rows and SciPy's dia.

In SciPy, `data[k, j]` is the element of diagonal k in column j; here, position `k * rows + i` is the element in row i.
So a copy has to shift each diagonal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.encoding.derived_fact import fact_of
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.process.available_memory import check_fits
from mlir_sparse.tensor.buffer_arrays import value_array
from mlir_sparse.tensor.convert.pack_levels import narrowed_coordinates, narrowed_positions, with_resolved_widths
from mlir_sparse.tensor.level_storage import Array, LevelStorage

if TYPE_CHECKING:
    from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["are_diagonals", "dia_to_scipy", "is_diagonals", "rows_of_diagonals", "rows_to_diagonals", "storage_of_dia"]


def is_diagonals(encoding: Encoding) -> bool:
    """Returns whether an encoding is the preset DIA, with any widths."""
    return encoding.levels == as_encoding("DIA").levels and encoding.explicit_val is None and not encoding.has_slices


@fact_of
def are_diagonals(encoding: Encoding) -> bool:
    """Returns whether an encoding has the levels of the preset DIA, or of Banded with any band.

    >>> from mlir_sparse.encoding import encoding
    >>> are_diagonals(encoding("DIA")), are_diagonals(encoding("Banded(2, 1)")), are_diagonals(encoding("Skyline"))
    (True, True, False)
    """
    known = as_encoding("DIA").levels
    if encoding.levels == known:
        return True
    if len(encoding.levels) != 2 or encoding.levels[1] != known[1]:
        return False
    outer = encoding.levels[0]
    return outer.expr == known[0].expr and outer.type.functions.has_full_loop


def storage_of_dia(source: Any, encoding: Encoding, dtype: object) -> LevelStorage | None:
    """Returns the storage by diagonals of SciPy's dia, diagonals of zeros included; None if a diagonal is repeated."""
    rows, columns = source.shape
    order = np.argsort(source.offsets, kind="stable")
    offsets = source.offsets[order].astype(np.int64)
    order, offsets = order[(offsets > -rows) & (offsets < columns)], offsets[(offsets > -rows) & (offsets < columns)]
    if (offsets[1:] == offsets[:-1]).any():
        return None
    data, _ = value_array(source.data, dtype)
    check_fits(offsets.size * rows * data.itemsize, f"{offsets.size} diagonals of {rows} rows")
    values = np.zeros((offsets.size, rows), data.dtype)
    for at, (diagonal, offset) in enumerate(zip(order, offsets.tolist(), strict=True)):
        first, last = _rows_of(offset, rows, min(columns, data.shape[1]))
        values[at, first:last] = data[diagonal, first + offset : last + offset]
    positions = np.array([0, offsets.size])
    width = source.offsets.dtype.itemsize * 8
    resolved = with_resolved_widths(encoding, source.shape, offsets.size, (width, width))
    return LevelStorage(
        resolved,
        resolved.level_sizes(source.shape),
        (narrowed_positions(resolved, positions), None),
        (narrowed_coordinates(resolved, source.shape, 0, offsets), None),
        values.reshape(-1),
    )


def rows_to_diagonals(
    rows: LevelStorage, shape: tuple[int, ...], encoding: Encoding, source: tuple[int | None, int | None]
) -> LevelStorage | None:
    """Returns a matrix by rows as diagonals, in two passes without sorting; None for an entry outside the band.

    Raises:
        TooLargeError: for diagonals that would not fit in memory.
        WidthError: for named widths too small for the data.
    """
    height, width = shape
    check_fits(9 * (height + width), f"the diagonals of a matrix of shape {shape}")
    present = _native.present_diagonals(width, *rows.buffers())
    offsets = np.flatnonzero(present) - (height - 1)
    banded = encoding.level_types[0].functions.has_full_loop
    if banded:
        low, high = encoding.level_bounds(shape)[0]
        if offsets.size and (offsets[0] < low or offsets[-1] >= high):
            return None
        offsets = np.arange(low, max(low, high))
    check_fits(offsets.size * height * rows.values.itemsize, f"{offsets.size} diagonals of {height} rows")
    begins = np.zeros(present.size, np.int64)  # unused elements are never touched, nor paged in
    inside = (offsets > -height) & (offsets < width)
    begins[offsets[inside] + (height - 1)] = np.flatnonzero(inside) * height
    stored = _native.diagonals_of_rows(width, begins, offsets.size * height, *rows.buffers())
    resolved = with_resolved_widths(encoding, shape, 0 if banded else offsets.size, source)
    sizes = resolved.level_sizes(shape)
    if banded:
        return LevelStorage(resolved, sizes, (None, None), (None, None), stored)
    positions = narrowed_positions(resolved, np.array([0, offsets.size]))
    coordinates = narrowed_coordinates(resolved, shape, 0, offsets)
    return LevelStorage(resolved, sizes, (positions, None), (coordinates, None), stored)


def rows_of_diagonals(storage: LevelStorage, shape: tuple[int, ...]) -> tuple[Array, Array, Array] | None:
    """Returns positions, coordinates and values by rows, given diagonals, without zeros; None beyond 32 bits."""
    encoding, offsets = storage.encoding, storage.coordinates[0]
    if offsets is None:
        low, high = encoding.level_bounds(shape)[0]
        offsets = np.arange(low, max(low, high))
    rows, columns = shape
    wide = encoding.crd_width == 64 or columns > np.iinfo(np.int32).max
    dtype = DType.of(storage.values.dtype).name
    return _native.rows_of_diagonals(rows, columns, 64 if wide else 32, offsets.astype(np.int64), storage.values, dtype)


def dia_to_scipy(tensor: SparseTensor, sparse: Any) -> Any:
    """Returns a tensor stored by diagonals as SciPy's dia."""
    rows, columns = tensor.shape
    offsets = tensor.storage.coordinates[0]
    assert offsets is not None
    values: Array = tensor.storage.values.reshape(offsets.size, rows)
    check_fits(offsets.size * columns * values.itemsize, f"{offsets.size} diagonals of {columns} columns")
    data = np.zeros((offsets.size, columns), values.dtype)
    for at, offset in enumerate(offsets.tolist()):
        first, last = _rows_of(offset, rows, columns)
        data[at, first + offset : last + offset] = values[at, first:last]
    wide = offsets.astype(np.int64 if offsets.itemsize == 8 else np.int32)
    return sparse.dia_array((data, wide), shape=tensor.shape)


def _rows_of(offset: int, rows: int, columns: int) -> tuple[int, int]:
    """Returns the range of rows that a diagonal crosses."""
    first = max(0, -offset)
    return first, max(first, min(rows, columns - offset))
