"""Conversions through matrices by rows, in native passes that visit each entry once.

A conversion from diagonals to blocks, for example, goes from diagonals to rows and from rows to blocks. Two such passes
are faster than expanding and sorting coordinates.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from mlir_sparse import _native
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.encoding.derived_fact import fact_of
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.level_format import LevelFormat
from mlir_sparse.encoding.level_type import LevelType
from mlir_sparse.tensor.buffer_arrays import at_least_32_bits
from mlir_sparse.tensor.convert.diagonals import are_diagonals, rows_of_diagonals, rows_to_diagonals
from mlir_sparse.tensor.convert.slots_and_hash import (
    are_slots,
    are_tables,
    rows_of_slots,
    rows_of_tables,
    rows_to_slots,
    rows_to_tables,
)
from mlir_sparse.tensor.level_storage import Array, LevelStorage
from mlir_sparse.tensor.widths import width_dtype, width_limit

__all__ = ["blocks_of", "from_rows", "row_form", "to_rows", "worth_rows"]


def row_form(encoding: Encoding) -> Encoding | None:
    """Returns the encoding by rows from which `from_rows` builds an encoding, without widths; None for most encodings.

    >>> from mlir_sparse.encoding import encoding
    >>> row_form(encoding("HashVector")).map_text(), row_form(encoding("DIA")).map_text()
    ('(i) -> (i : compressed)', '(i, j) -> (i : dense, j : compressed)')
    """
    if encoding.explicit_val is not None or encoding.has_slices:
        return None
    if are_slots(encoding):
        by_column = encoding.levels[1].expr == as_encoding("CSC").levels[0].expr
        return as_encoding("CSC" if by_column else "CSR")
    if are_diagonals(encoding):
        return as_encoding("CSR")
    if are_tables(encoding):
        last = replace(encoding.levels[-1], type=LevelType(LevelFormat.COMPRESSED))
        return replace(encoding, levels=(*encoding.levels[:-1], last), preset=None).with_widths(0, 0)
    return None


def worth_rows(form: Encoding, shape: tuple[int, ...], entries: int) -> bool:
    """Returns whether the positions of rows are smaller than the entries: not in huge matrices with few entries."""
    dense = [kind.functions.has_full_loop for kind in form.level_types]
    leading = dense.index(False)
    return prod(form.level_sizes(shape)[:leading]) <= 8 * entries + 65536


def from_rows(
    rows: LevelStorage, shape: tuple[int, ...], encoding: Encoding, source: tuple[int | None, int | None]
) -> LevelStorage | None:
    """Returns storage of an encoding with a `row_form`; None if the format cannot store an entry.

    Args:
        rows: the tensor in the row form, with widths of 32 or 64 bits.
        shape: its extents.
        encoding: the new encoding.
        source: the widths of positions and coordinates in the source.

    Raises:
        TooLargeError: for storage that would not fit in memory.
        WidthError: for named widths too small for the data.
    """
    if are_slots(encoding):
        return rows_to_slots(rows, shape, encoding, source)
    if are_diagonals(encoding):
        return rows_to_diagonals(rows, shape, encoding, source)
    return rows_to_tables(rows, shape, encoding, source)


def to_rows(storage: LevelStorage, shape: tuple[int, ...]) -> LevelStorage | None:
    """Returns the same tensor by rows, without padding; None if no pass exists for its encoding."""
    encoding = storage.encoding
    blocks = blocks_of(encoding) is not None and encoding.is_ordered and encoding.is_unique
    form = as_encoding("CSR") if blocks else row_form(encoding)
    if form is None or encoding.explicit_val is not None or not worth_rows(form, shape, storage.values.size):
        return None
    found = _rows(storage, shape)
    position_width = 64 if encoding.pos_width == 64 else 32
    if found is None or found[2].size > width_limit(position_width):
        return None
    widths = (position_width, found[1].itemsize * 8)
    pos, crd = found[0].astype(width_dtype(widths[0]), copy=False), found[1]
    above = range(form.lvl_rank - 1)
    shared = are_tables(encoding)
    positions = [_of_width(storage.positions[at], widths[0]) if shared else None for at in above]
    coordinates = [_of_width(storage.coordinates[at], widths[1]) if shared else None for at in above]
    sizes = form.level_sizes(shape)
    return LevelStorage(form.with_widths(*widths), sizes, (*positions, pos), (*coordinates, crd), found[2])


def _rows(storage: LevelStorage, shape: tuple[int, ...]) -> tuple[Array, Array, Array] | None:
    encoding = storage.encoding
    block = blocks_of(encoding)
    if block is not None:
        pos, crd, values = storage.buffers()
        dtype = DType.of(values.dtype).name
        wide = np.int64 if shape[1] > np.iinfo(np.int32).max else crd.dtype
        crd = at_least_32_bits(crd.astype(wide, copy=False))
        return _native.rows_of_blocks(shape[0], shape[1], *block, at_least_32_bits(pos), crd, values, dtype)
    if are_slots(encoding):
        return rows_of_slots(storage)
    if are_diagonals(encoding):
        return rows_of_diagonals(storage, shape)
    return rows_of_tables(storage)


def _of_width(array: Array | None, width: int) -> Array | None:
    return None if array is None else array.astype(width_dtype(width), copy=False)


@fact_of
def blocks_of(encoding: Encoding) -> tuple[int, int] | None:
    """Returns the block size of an encoding with the levels of BSR, or None.

    >>> from mlir_sparse.encoding import encoding
    >>> blocks_of(encoding("BSR(2, 3)")), blocks_of(encoding("BSC(2, 3)"))
    ((2, 3), None)
    """
    if encoding.dim_rank != 2 or encoding.lvl_rank != 4 or encoding.has_slices:
        return None
    block = (encoding.block_of(0), encoding.block_of(1))
    if min(block) <= 1:
        return None
    known = as_encoding("BSR", block=block)
    same = encoding.dim_to_lvl == known.dim_to_lvl and all(
        replace(a, properties=()) == replace(b, properties=())
        for a, b in zip(encoding.level_types, known.level_types, strict=True)
    )
    return block if same else None
