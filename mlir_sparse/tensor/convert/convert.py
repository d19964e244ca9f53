"""Conversion from any encoding to any other of the same rank, by the shortest way."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from mlir_sparse import _native
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.encoding.buffer_layout import check_supported
from mlir_sparse.encoding.derived_fact import fact_of
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.level_format import LevelFormat
from mlir_sparse.encoding.level_type import LevelType
from mlir_sparse.process.available_memory import check_fits
from mlir_sparse.process.first_use import import_at_first_call
from mlir_sparse.tensor.batch_and_slice_parts import from_plain, is_plain, is_whole_slice, plain_encoding, to_plain
from mlir_sparse.tensor.batch_levels import batch_depth
from mlir_sparse.tensor.buffer_arrays import stored_integers
from mlir_sparse.tensor.convert.pack import pack
from mlir_sparse.tensor.level_storage import Array, LevelStorage
from mlir_sparse.tensor.widths import resolve_widths

if TYPE_CHECKING:
    from mlir_sparse.tensor.convert.coordinates_of import expand_dims
    from mlir_sparse.tensor.convert.row_passes import convert_rows
    from mlir_sparse.tensor.convert.through_rows import blocks_of, from_rows, row_form, to_rows, worth_rows
    from mlir_sparse.tensor.drop_entries import largest_of_groups
else:
    import_at_first_call(
        __name__,
        {
            "tensor.convert.coordinates_of": ("expand_dims",),
            "tensor.convert.row_passes": ("convert_rows",),
            "tensor.convert.through_rows": ("blocks_of", "from_rows", "row_form", "to_rows", "worth_rows"),
            "tensor.drop_entries": ("largest_of_groups",),
        },
    )

__all__ = ["convert_storage", "same_formats", "serves_as", "work_of"]

_UNBOUNDED = 1 << 63


def convert_storage(
    storage: LevelStorage,
    shape: tuple[int, ...],
    encoding: Encoding,
    *,
    sum_duplicates: bool = True,
    drop_zeros: bool = False,
    prune: bool = False,
) -> LevelStorage:
    """Returns the same tensor in another encoding.

    Buffers are shared where only properties (unique, ordered) are dropped; values are shared where only widths differ.

    Args:
        storage: the storage to convert.
        shape: the extents of the dimensions.
        encoding: the new encoding; widths that it does not name stay if they are 32 or 64 and suffice.
        sum_duplicates: see `pack`.
        drop_zeros: leave out stored zeros, also duplicates that add up to zero.
        prune: keep the largest n of every m, for `structured[n, m]` levels.
    """
    check_supported(encoding)
    encoding.check_rank(len(shape))
    if not (drop_zeros or prune or storage.view) and _goes_straight(storage.encoding, encoding):
        return _converted(storage, shape, encoding, sum_duplicates)
    options = {"sum_duplicates": sum_duplicates, "drop_zeros": drop_zeros, "prune": prune}
    if not is_plain(encoding):
        plain = convert_storage(storage, shape, plain_encoding(encoding), **options)
        if is_whole_slice(encoding, shape):
            return from_plain(plain, shape, encoding)
        return _packed_again(plain, shape, encoding, sum_duplicates)
    if drop_zeros or prune:
        return _convert_part(storage, shape, encoding, drop_zeros, prune)
    if batch_depth(storage.encoding) or _is_whole(storage):
        return convert_storage(to_plain(storage), shape, encoding, **options)
    if not (encoding.is_native and storage.encoding.is_native):
        return _convert_foreign(storage, shape, encoding, sum_duplicates)
    if storage.view:
        return _packed_again(storage, shape, encoding, sum_duplicates)
    relabelled = _relabel(storage, encoding)
    if relabelled is not None:
        return relabelled
    rows = to_rows(storage, shape)
    if rows is not None:
        return convert_storage(rows, shape, encoding, sum_duplicates=sum_duplicates)
    return _converted(storage, shape, encoding, sum_duplicates)


def work_of(storage: LevelStorage, shape: tuple[int, ...], encoding: Encoding) -> int:
    """Returns through how many entries and rows a conversion goes; with padding that may be any number."""
    bounded = encoding.is_native and not encoding.has_padding
    return sum(shape, storage.values.size) if bounded else _UNBOUNDED


@lru_cache(maxsize=1024)
def _goes_straight(given: Encoding, wanted: Encoding) -> bool:
    """Returns whether nothing but a transposition, a pass over rows or packing makes one encoding of the other."""
    plain = is_plain(given) and is_plain(wanted) and given.is_native and wanted.is_native
    return plain and not serves_as(given, wanted) and blocks_of(given) is None and row_form(given) is None


def _converted(storage: LevelStorage, shape: tuple[int, ...], encoding: Encoding, sum_duplicates: bool) -> LevelStorage:
    transposed = _transpose(storage, encoding)
    if transposed is not None:
        return transposed
    direct = convert_rows(storage, shape, encoding) if sum_duplicates else None
    if direct is not None:
        return direct
    return _packed_again(storage, shape, encoding, sum_duplicates)


def _packed_again(
    storage: LevelStorage, shape: tuple[int, ...], encoding: Encoding, sum_duplicates: bool
) -> LevelStorage:
    dims, values = expand_dims(storage, shape)
    source = (storage.encoding.pos_width, storage.encoding.crd_width)
    return pack(encoding, shape, dims, values, sum_duplicates=sum_duplicates, source=source)


def _is_whole(storage: LevelStorage) -> bool:
    """Returns whether a slice is all of its parent."""
    order = storage.encoding.level_order if storage.view else ()
    return bool(order) and all(storage.view[dim] == (0, storage.level_sizes[at], 1) for at, dim in enumerate(order))


def _convert_part(
    storage: LevelStorage, shape: tuple[int, ...], encoding: Encoding, drop_zeros: bool, prune: bool
) -> LevelStorage:
    """Returns the tensor with some entries left out."""
    source = (storage.encoding.pos_width, storage.encoding.crd_width)
    storage = to_rows(storage, shape) or storage
    dims, values = expand_dims(storage, shape)
    if not (storage.encoding.is_native and _holds_each_once(storage.encoding)):
        name = "SparseVector" if len(shape) == 1 else "COO"
        summed = pack(as_encoding(name, rank=len(shape)), shape, dims, values, source=source)
        dims, values = expand_dims(summed, shape)
    keep = values != 0 if drop_zeros else np.ones(values.size, bool)
    dims, values = [dim[keep] for dim in dims], values[keep]
    if prune:
        keep = largest_of_groups(encoding, dims, values)
        dims, values = [dim[keep] for dim in dims], values[keep]
    return pack(encoding, shape, dims, values, source=source)


def _convert_foreign(
    storage: LevelStorage, shape: tuple[int, ...], encoding: Encoding, sum_duplicates: bool
) -> LevelStorage:
    given = storage.encoding
    if same_formats(given, encoding) and encoding.explicit_val in (None, given.explicit_val):
        wanted = encoding.with_widths(encoding.pos_width or given.pos_width, encoding.crd_width or given.crd_width)
        if (wanted.pos_width, wanted.crd_width) == (given.pos_width, given.crd_width):
            return LevelStorage.from_buffers(wanted, storage.level_sizes, storage.buffers())
    rows = to_rows(storage, shape)
    if rows is not None:
        return convert_storage(rows, shape, encoding, sum_duplicates=sum_duplicates)
    source = (given.pos_width, given.crd_width)
    form = row_form(encoding) if sum_duplicates else None
    if form is not None and worth_rows(form, shape, storage.values.size):
        built = from_rows(convert_storage(storage, shape, form), shape, encoding, source)
        if built is not None:
            return built
    dims, values = expand_dims(storage, shape)
    return pack(encoding, shape, dims, values, sum_duplicates=sum_duplicates, source=source)


def _holds_each_once(encoding: Encoding) -> bool:
    """Returns whether the encoding rules out that an entry is stored twice."""
    types = encoding.level_types
    is_followed = (*(kind.functions.is_chained for kind in types[1:]), False)
    return all(k.unique or chained for k, chained in zip(types, is_followed, strict=True))


def _relabel(storage: LevelStorage, encoding: Encoding) -> LevelStorage | None:
    """Returns the same storage under an encoding with the same layout and no further properties, or None."""
    given = storage.encoding
    if not serves_as(given, encoding):
        return None
    if encoding.explicit_val is not None and encoding.explicit_val != given.explicit_val:
        return None
    wanted = _resolve(storage, encoding)
    if (wanted.pos_width, wanted.crd_width) == (given.pos_width, given.crd_width):
        return LevelStorage.from_buffers(wanted, storage.level_sizes, storage.buffers())
    positions = tuple(_resized(p, wanted.pos_width, "posWidth", lvl) for lvl, p in enumerate(storage.positions))
    coordinates = tuple(_resized(c, wanted.crd_width, "crdWidth", lvl) for lvl, c in enumerate(storage.coordinates))
    return LevelStorage(wanted, storage.level_sizes, positions, coordinates, storage.values)


def _transpose(storage: LevelStorage, encoding: Encoding) -> LevelStorage | None:
    """Returns a matrix by rows as one by columns, or the reverse; None for other encodings.

    One counting pass suffices if both have the same widths, 32 or 64 bits, and no entry is stored twice.
    """
    given = storage.encoding
    if not (_is_rows(given) and _is_rows(encoding)) or given.level_order == encoding.level_order:
        return None
    if not given.level_types[1].unique or min(given.pos_width, given.crd_width) < 32 or encoding.explicit_val:
        return None
    rows, columns = storage.level_sizes
    largest = {"largest_position": storage.values.size, "largest_coordinate": rows - 1}
    resolved = resolve_widths(encoding, **largest, source=(given.pos_width, given.crd_width))
    if (resolved.pos_width, resolved.crd_width) != (given.pos_width, given.crd_width):
        return None
    check_fits((columns + 1) * resolved.pos_width // 8, f"{encoding.map_text()} of {columns} by {rows}")
    pos, crd, values = storage.buffers()
    buffers = _native.transpose(columns, pos, crd, values)
    return LevelStorage.from_buffers(resolved, (columns, rows), buffers)


@fact_of
def _is_rows(encoding: Encoding) -> bool:
    formats = tuple(kind.format for kind in encoding.level_types)
    return encoding.is_permutation and formats == (LevelFormat.DENSE, LevelFormat.COMPRESSED)


@lru_cache(maxsize=1024)
def same_formats(a: Encoding, b: Encoding) -> bool:
    """Returns whether two encodings have the same layout, up to widths and properties."""
    if a.dim_to_lvl != b.dim_to_lvl or a.aos_regions != b.aos_regions:
        return False
    pairs = zip(a.level_types, b.level_types, strict=True)
    return all(replace(x, properties=()) == replace(y, properties=()) for x, y in pairs)


@lru_cache(maxsize=1024)
def serves_as(given: Encoding, wanted: Encoding) -> bool:
    """Returns whether storage of an encoding is storage of another, up to widths: the layout, with all its guarantees.

    >>> from mlir_sparse.encoding import encoding
    >>> loose = encoding("(i, j) -> (i : dense, j : compressed(nonordered))")
    >>> serves_as(encoding("CSR"), loose), serves_as(loose, encoding("CSR"))
    (True, False)
    """
    pairs = zip(given.level_types, wanted.level_types, strict=False)
    return same_formats(given, wanted) and all(_implies(a, b) for a, b in pairs)


def _implies(given: LevelType, wanted: LevelType) -> bool:
    """Returns whether a level has all guarantees of another."""
    return (given.unique or not wanted.unique) and (given.ordered or not wanted.ordered)


def _resolve(storage: LevelStorage, encoding: Encoding) -> Encoding:
    given = storage.encoding
    stored = [size for size, kind in zip(storage.level_sizes, given.level_types, strict=True) if kind.has_coordinates]
    longest = max((c.size for c in storage.coordinates if c is not None), default=0)
    return resolve_widths(
        encoding,
        largest_position=0 if encoding.pos_width else longest,
        largest_coordinate=0 if encoding.crd_width else max(stored, default=0) - 1,
        source=(given.pos_width, given.crd_width),
    )


def _resized(array: Array | None, width: int, key: str, level: int) -> Array | None:
    if array is None or array.dtype.itemsize * 8 == width:
        return array
    name = "positions" if key == "posWidth" else "coordinates"
    return stored_integers(array, width, key, f"{name} of level {level}")
