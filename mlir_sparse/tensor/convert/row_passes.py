"""Conversions of matrices by rows or columns in one native pass, without materialised coordinates."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from mlir_sparse import _native
from mlir_sparse.encoding.derived_fact import fact_of
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.level_format import LevelFormat
from mlir_sparse.errors import TooLargeError
from mlir_sparse.process.available_memory import available_bytes, check_fits, in_units
from mlir_sparse.tensor.convert.through_rows import blocks_of
from mlir_sparse.tensor.level_storage import Array, LevelStorage
from mlir_sparse.tensor.widths import resolve_widths, width_dtype, width_limit

__all__ = ["convert_rows", "is_list_by_rows", "is_rows", "listed_rows"]


def convert_rows(storage: LevelStorage, shape: tuple[int, ...], encoding: Encoding) -> LevelStorage | None:
    """Returns a CSR matrix as COO or BSR, a CSC matrix as COO, and COO as either; None for other pairs.

    Entries must be in order without repeats; the widths must be 32 or 64 bits and stay the same.
    """
    given = storage.encoding
    if _is_list(given) and is_rows(encoding) and encoding.explicit_val is None:
        return _rows_of_list(storage, shape, encoding)
    if not is_rows(given) or min(given.pos_width, given.crd_width) < 32 or encoding.explicit_val is not None:
        return None
    if _is_list(encoding, in_order=False):
        return _list_entries(storage, shape, encoding)
    block = blocks_of(encoding) if given.level_order == (0, 1) else None
    return _block(storage, shape, encoding, block) if block is not None else None


@fact_of
def is_rows(encoding: Encoding) -> bool:
    """Returns whether an encoding lists the entries of each row or column, once and in order: CSR and CSC.

    >>> from mlir_sparse.encoding import encoding
    >>> is_rows(encoding("CSC")), is_rows(encoding("DCSR")), is_rows(encoding("CSR(unordered)"))
    (True, False, False)
    """
    formats = tuple(kind.format for kind in encoding.level_types)
    plain = encoding.is_permutation and formats == (LevelFormat.DENSE, LevelFormat.COMPRESSED)
    return plain and encoding.level_types[1].unique and encoding.level_types[1].ordered


def is_list_by_rows(encoding: Encoding) -> bool:
    """Returns whether an encoding is COO of a matrix by rows, each entry once and in order.

    >>> from mlir_sparse.encoding import encoding
    >>> is_list_by_rows(encoding("COO")), is_list_by_rows(encoding("CSR"))
    (True, False)
    """
    return encoding.explicit_val is None and _is_list(encoding) and encoding.level_order == (0, 1)


@lru_cache(maxsize=256)
def _is_list(encoding: Encoding, *, in_order: bool = True) -> bool:
    """Returns whether an encoding is COO; `in_order`: without repeats and with ascending coordinates in each row."""
    formats = tuple(kind.format for kind in encoding.level_types)
    if formats != (LevelFormat.COMPRESSED, LevelFormat.SINGLETON) or not encoding.is_permutation:
        return False
    first, last = encoding.level_types
    return not first.unique and (not in_order or (first.ordered and last.ordered and last.unique))


def _rows_of_list(storage: LevelStorage, shape: tuple[int, ...], encoding: Encoding) -> LevelStorage | None:
    given = storage.encoding
    sizes = encoding.level_sizes(shape)
    resolved = _same_widths(storage, encoding, max(sizes) - 1)
    if resolved is None or given.crd_width < 32 or storage.values.size > width_limit(given.crd_width):
        return None
    if max(sizes) > 8 * storage.values.size + 65536:  # mostly empty rows: packing states the memory in its error
        return None
    listed, crd = storage.coordinates
    assert listed is not None
    assert crd is not None
    copied = given.level_order == encoding.level_order
    pos, columns, values = _native.rows_of_list(storage.level_sizes[0], listed, crd, storage.values, copied)
    if not copied:
        pos, columns, values = _native.transpose(sizes[0], pos, crd, storage.values)
    pos = pos.astype(width_dtype(resolved.pos_width), copy=False)
    return LevelStorage.from_buffers(resolved, sizes, (pos, columns, values))


def _list_entries(storage: LevelStorage, shape: tuple[int, ...], encoding: Encoding) -> LevelStorage | None:
    resolved, sizes = _same_widths(storage, encoding, max(shape) - 1), encoding.level_sizes(shape)
    across = encoding.level_order != storage.encoding.level_order
    if resolved is None or (across and sizes[0] > 8 * storage.values.size + 65536):  # mostly empty lines
        return None
    pos, crd, values = storage.buffers()
    check_fits(2 * crd.nbytes + values.nbytes, f"{encoding.map_text()} of {values.size} entries")
    if not across:
        listed, copied = _native.list_rows(pos, crd, values, not resolved.aos_regions)
        assert copied is not None  # of values
        return _of_list(resolved, sizes, listed, crd, copied)
    pos, crd, values = _native.transpose(sizes[0], pos, crd, values)
    return listed_rows(resolved, sizes, pos, crd, values)


def listed_rows(encoding: Encoding, sizes: tuple[int, ...], pos: Array, crd: Array, values: Array) -> LevelStorage:
    """Returns rows as a list of entries, which takes their coordinates and values.

    Args:
        encoding: COO, with widths; coordinates have its own.
        sizes: of its levels.
        pos: the positions of rows, of 32 or 64 bits.
        crd: their coordinates.
        values: their values.
    """
    listed, _ = _native.list_rows(pos, crd, None, not encoding.aos_regions)
    return _of_list(encoding, sizes, listed, crd, values)


def _of_list(encoding: Encoding, sizes: tuple[int, ...], listed: Array, crd: Array, values: Array) -> LevelStorage:
    ends = np.array((0, values.size), width_dtype(encoding.pos_width))
    buffers = (ends, listed, values) if encoding.aos_regions else (ends, listed, crd, values)
    return LevelStorage.from_buffers(encoding, sizes, buffers)


def _block(
    storage: LevelStorage, shape: tuple[int, ...], encoding: Encoding, block: tuple[int, int]
) -> LevelStorage | None:
    sizes = encoding.level_sizes(shape)
    resolved = _same_widths(storage, encoding, sizes[1] - 1)
    if resolved is None:
        return None
    pos, crd, values = storage.buffers()
    what = f"{encoding.map_text()} of shape {shape}"
    check_fits((sizes[0] + 1) * pos.itemsize, what)
    try:
        buffers = _native.block_rows(*block, available_bytes(), pos, crd, values)
    except _native.LevelFault as fault:
        _, _, _, expected, got = fault.args
        raise TooLargeError(
            f"expected {what} to fit in the {in_units(expected)} of memory available, but got {in_units(got)}: "
            "choose smaller blocks"
        ) from None
    return LevelStorage.from_buffers(resolved, sizes, buffers)


def _same_widths(storage: LevelStorage, encoding: Encoding, largest: int) -> Encoding | None:
    given = storage.encoding
    widths = (given.pos_width, given.crd_width)
    if largest > width_limit(given.crd_width):
        return None
    resolved = resolve_widths(
        encoding,
        largest_position=0 if encoding.pos_width else storage.values.size,
        largest_coordinate=0 if encoding.crd_width else max(largest, 0),
        source=widths,
    )
    return resolved if (resolved.pos_width, resolved.crd_width) == widths else None
