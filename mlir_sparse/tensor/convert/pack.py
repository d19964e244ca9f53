"""Coordinates and values to level storage of any encoding.

Entries are sorted into storage order, duplicates summed, and the levels built
one after the other, all natively (native/pack*.hpp).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mlir_sparse import _native
from mlir_sparse.encoding.buffer_layout import check_level_sizes, check_shape, check_supported
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.errors import CoordinatesError, EncodingError, UnsupportedError
from mlir_sparse.process.available_memory import NEVER_CHECKED, check_fits
from mlir_sparse.process.first_use import import_at_first_call
from mlir_sparse.process.progress import progress_of_many
from mlir_sparse.tensor.batch_and_slice_parts import (
    from_plain,
    is_plain,
    is_whole_slice,
    plain_encoding,
    slice_parent,
    slice_view,
)
from mlir_sparse.tensor.borders.dense_arrays import array_of
from mlir_sparse.tensor.buffer_arrays import index_columns, value_array
from mlir_sparse.tensor.convert.pack_in_memory import pack_in_memory
from mlir_sparse.tensor.convert.pack_layout import PackLayout, pack_layout
from mlir_sparse.tensor.level_storage import Array, LevelStorage
from mlir_sparse.tensor.validate import check_explicit_value
from mlir_sparse.tensor.widths import check_width

if TYPE_CHECKING:
    from mlir_sparse.tensor.convert.pack_levels import pack_levels
    from mlir_sparse.tensor.convert.through_rows import from_rows, row_form, worth_rows
    from mlir_sparse.tensor.storage_fault_messages import pack_error, pack_faults
else:
    import_at_first_call(
        __name__,
        {
            "tensor.convert.pack_levels": ("pack_levels",),
            "tensor.convert.through_rows": ("from_rows", "row_form", "worth_rows"),
            "tensor.storage_fault_messages": ("pack_error", "pack_faults"),
        },
    )

__all__ = ["pack"]


def pack(
    encoding: Encoding,
    shape: Sequence[int],
    dims: Sequence[object],
    values: object,
    *,
    dtype: object = None,
    sum_duplicates: bool = True,
    source: tuple[int | None, int | None] = (None, None),
) -> LevelStorage:
    """Returns the storage of entries given by their coordinates; the arguments are not changed.

    Args:
        encoding: the format to build; widths it does not name are chosen (see `resolve_width`).
        shape: the extent of each dimension.
        dims: for each dimension the coordinates of all entries, of any integer type.
        values: the entries' values; zeros are stored too.
        dtype: the element type to store, that of the values when None.
        sum_duplicates: add up entries of equal coordinates, in the order given; False keeps each, for encodings whose
            innermost level is nonunique.
        source: the widths of positions and coordinates in the source.

    Raises:
        CoordinatesError: for coordinates outside the shape.
        StorageError: for entries that the format cannot store.
        WidthError: for named widths too small for the data.
        TooLargeError: for storage that would not fit in memory.
    """
    extents = check_shape(shape, encoding)
    check_supported(encoding)
    _check_keeps(encoding, sum_duplicates)
    if not is_plain(encoding):
        parent, placed = _placed(encoding, extents, dims)
        whole = pack(
            plain_encoding(encoding), parent, placed, values, dtype=dtype, sum_duplicates=sum_duplicates, source=source
        )
        return from_plain(whole, extents, encoding)
    given = array_of(values, "values that are numbers")
    if not encoding.is_native:
        return _pack_foreign(encoding, extents, dims, values, dtype, sum_duplicates, source)
    layout = pack_layout(encoding, extents, given.size, source)
    resolved, sizes = layout.encoding, layout.sizes
    _check_dense_prefix(layout, given.dtype.itemsize)
    stored, kind = value_array(values, dtype)
    check_explicit_value(encoding, stored, kind)
    columns = index_columns(dims, "coordinates")
    _check_lengths(columns, stored, len(extents))
    try:
        with progress_of_many(stored.size, lambda: f"storing entries as {encoding.preset or encoding.map_text()}"):
            columns = _level_columns(layout, extents, columns)
            if layout.named_width:
                _check_coordinate_width(resolved, sizes, columns)
            widths = resolved.pos_width, resolved.crd_width
            positions, coordinates, packed = pack_in_memory(
                layout.levels, columns, stored, kind.name, widths, keep_duplicates=not sum_duplicates
            )
    except _native.LevelFault as raised:
        raise pack_error(raised, resolved, extents, layout.order) from None
    pairs = zip(positions, coordinates, strict=True)
    buffers = (*(b for pair in pairs for b in pair if b is not None), packed)
    return LevelStorage.from_buffers(resolved, sizes, buffers)


def _placed(
    encoding: Encoding, shape: tuple[int, ...], dims: Sequence[object]
) -> tuple[tuple[int, ...], Sequence[object]]:
    """Returns the shape of a slice's parent, and the entries' coordinates in it."""
    if is_whole_slice(encoding, shape):
        return shape, dims
    columns = [column.astype(np.int64, copy=False) for column in index_columns(dims, "coordinates")]
    with pack_faults(encoding, shape):
        _native.check_ranges(columns, shape)
    parent, view = slice_parent(encoding, shape), slice_view(encoding, shape)
    return parent, [column * stride + offset for column, (offset, _, stride) in zip(columns, view, strict=True)]


def _pack_foreign(
    encoding: Encoding,
    shape: tuple[int, ...],
    dims: Sequence[object],
    values: object,
    dtype: object,
    sum_duplicates: bool,
    source: tuple[int | None, int | None],
) -> LevelStorage:
    if not sum_duplicates:
        raise UnsupportedError(
            f"expected an encoding that the dialect can say to keep duplicates, but got {encoding.map_text()}: sum them"
        )
    stored, kind = value_array(values, dtype)
    check_explicit_value(encoding, stored, kind)
    columns = index_columns(dims, "coordinates")
    _check_lengths(columns, stored, len(shape))
    check_level_sizes(encoding, encoding.with_slots(2).level_sizes(shape))
    form = row_form(encoding)
    if form is not None and worth_rows(form, shape, stored.size):
        built = from_rows(pack(form, shape, columns, stored, source=source), shape, encoding, source)
        if built is not None:
            return built
    with pack_faults(encoding, shape):
        _native.check_ranges(columns, shape)
        columns = [column.astype(np.int64, copy=False) for column in columns]
        return pack_levels(encoding, shape, columns, stored, kind, source)


def _check_keeps(encoding: Encoding, sum_duplicates: bool) -> None:
    if sum_duplicates or not encoding.level_types[-1].unique:
        return
    level = encoding.lvl_rank - 1
    raise EncodingError(
        f"expected an innermost level that is nonunique to keep duplicates, but got {encoding.level_types[level]} at "
        f"level {level} of {encoding.map_text()}: declare it nonunique, or sum them"
    )


def _check_lengths(columns: Sequence[Array], values: Array, rank: int) -> None:
    if len(columns) != rank:
        raise CoordinatesError(f"expected coordinates of {rank} dimensions, as in the shape, but got {len(columns)}")
    if values.ndim != 1:
        raise CoordinatesError(f"expected values of one axis, one for each entry, but got shape {values.shape}")
    for dim, column in enumerate(columns):
        if column.size != values.size:
            raise CoordinatesError(
                f"expected one coordinate for each of the {values.size} values, but got {column.size} "
                f"in coordinates[{dim}]"
            )


def _check_dense_prefix(layout: PackLayout, itemsize: int) -> None:
    """Refuses storage that is too large by its extents alone."""
    nbytes = layout.prefix_bytes + layout.prefix_values * itemsize
    if nbytes > NEVER_CHECKED:  # the text takes longer than the check
        check_fits(nbytes, f"{layout.encoding.map_text()} with level sizes {layout.sizes}")


def _level_columns(layout: PackLayout, shape: tuple[int, ...], columns: list[Array]) -> list[Array]:
    if layout.order is not None:
        return [columns[dim] for dim in layout.order]
    encoding, sizes = layout.encoding, layout.sizes
    with pack_faults(encoding, shape):
        _native.check_ranges(columns, shape)
    if max(sizes, default=0) > np.iinfo(columns[0].dtype).max:  # block sizes beyond the range of narrow coordinates
        columns = [column.astype(np.int64) for column in columns]
    return [np.ascontiguousarray(level, columns[0].dtype) for level in encoding.dim_to_lvl.evaluate(columns)]


def _check_coordinate_width(encoding: Encoding, sizes: Sequence[int], columns: Sequence[Array]) -> None:
    """Checks a named crdWidth against the actual coordinates, not against the sizes of levels."""
    stored = [lvl for lvl, kind in enumerate(encoding.level_types) if kind.has_coordinates]
    largest = _native.check_ranges([columns[lvl] for lvl in stored], [sizes[lvl] for lvl in stored])
    check_width("crdWidth", encoding.crd_width, max(largest, default=0))
