"""SciPy's dia and storage by diagonals: the same numbers, there by columns, here by rows.

`data[k, j]` of SciPy is the element of diagonal k in column j; the value of
position `k * rows + i` here is the one in row i. A copy shifts each diagonal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.encoding.encoding import Encoding
from mlir_sparse.tensor.arrays import value_array
from mlir_sparse.tensor.level_pack import narrowed_coordinates, narrowed_positions, with_resolved_widths
from mlir_sparse.tensor.memory import check_fits
from mlir_sparse.tensor.storage import Array, LevelStorage

if TYPE_CHECKING:
    from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["dia_to_scipy", "is_diagonals", "pack_diagonals", "storage_of_dia"]


def is_diagonals(encoding: Encoding) -> bool:
    """Returns whether an encoding is that of the preset DIA, widths aside."""
    return encoding.levels == as_encoding("DIA").levels and encoding.explicit_val is None and not encoding.has_slices


def storage_of_dia(source: Any, encoding: Encoding, dtype: object) -> LevelStorage | None:
    """Returns the storage of SciPy's dia by diagonals, all it has, those of zeros too; None if one is there twice."""
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


def pack_diagonals(
    encoding: Encoding,
    shape: tuple[int, ...],
    dims: Sequence[Array],
    values: Array,
    source: tuple[int | None, int | None],
) -> LevelStorage:
    """Returns the storage by diagonals of entries none of which is there twice: two passes, and no sorting.

    Raises:
        TooLargeError: for diagonals that would not fit in memory.
        WidthError: for named widths too small for the data.
    """
    rows, columns = shape
    what = f"the diagonals of a matrix of shape {shape}"
    check_fits(9 * (rows + columns), what)
    wide = np.int64 if rows + columns > np.iinfo(np.int32).max else dims[0].dtype
    diagonal = np.subtract(dims[1], dims[0], dtype=wide) + (rows - 1)
    present = np.zeros(max(0, rows + columns - 1), bool)
    present[diagonal] = True
    offsets = np.flatnonzero(present) - (rows - 1)
    check_fits(offsets.size * rows * values.itemsize, f"{offsets.size} diagonals of {rows} rows")
    begins = (np.cumsum(present) - 1) * rows
    stored = np.zeros(offsets.size * rows, values.dtype)
    stored[begins[diagonal] + dims[0]] = values
    resolved = with_resolved_widths(encoding, shape, offsets.size, source)
    return LevelStorage(
        resolved,
        resolved.level_sizes(shape),
        (narrowed_positions(resolved, np.array([0, offsets.size])), None),
        (narrowed_coordinates(resolved, shape, 0, offsets), None),
        stored,
    )


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
    """Returns the first row that a diagonal crosses, and the one after the last."""
    first = max(0, -offset)
    return first, max(first, min(rows, columns - offset))
