"""Level storage to coordinates of the stored values, first in levels, then in dimensions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlir_sparse import _native
from mlir_sparse.encoding.buffer_layout import buffer_numbers, level_tuples
from mlir_sparse.encoding.derived_fact import derived_once, fact_of
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.levels.sized_level import dims_of
from mlir_sparse.errors import StorageError
from mlir_sparse.process.available_memory import NEVER_CHECKED, check_fits
from mlir_sparse.tensor.batch_and_slice_parts import is_plain, to_plain
from mlir_sparse.tensor.batch_levels import batch_depth
from mlir_sparse.tensor.level_storage import Array, LevelStorage
from mlir_sparse.tensor.stored_padding import is_given
from mlir_sparse.tensor.walk_storage import walk

__all__ = ["check_inside", "count_entries", "expand_dims", "expand_levels", "flat_coordinates"]


def expand_levels(storage: LevelStorage) -> tuple[list[Array], Array]:
    """Returns the level coordinates of all stored values, and the values, in storage order.

    Arrays that are stored in this form are returned without a copy.
    """
    if not is_plain(storage.encoding):
        storage = to_plain(storage)
    encoding = storage.encoding
    needed = 8 * storage.values.size * encoding.lvl_rank
    if needed > NEVER_CHECKED:  # the text takes longer than the check
        check_fits(needed, f"the coordinates of {storage.values.size} values")
    sizes = storage.level_sizes
    levels = derived_once(encoding, "level tuples", sizes, lambda: level_tuples(encoding, sizes))
    flat = flat_coordinates(storage)
    columns, places = _native.expand(levels, storage.positions, flat)
    if places is not None:
        return columns, storage.values[places]
    reached = columns[0].size  # without a gap at the end of a loose level
    return columns, storage.values if reached == storage.values.size else storage.values[:reached]


def flat_coordinates(storage: LevelStorage) -> list[Array | None]:
    """Returns coordinates by level; each level of an array of structs has the whole array."""
    buffers = storage.buffers()
    return [None if number is None else buffers[number] for number in _coordinate_numbers(storage.encoding)]


@fact_of
def _coordinate_numbers(encoding: Encoding) -> tuple[int | None, ...]:
    numbers = buffer_numbers(encoding)
    return tuple([numbers.get((level, "coordinates")) for level in range(encoding.lvl_rank)])


def expand_dims(storage: LevelStorage, shape: tuple[int, ...], *, padding: bool = False) -> tuple[list[Array], Array]:
    """Returns the coordinates of the stored values in each dimension, and the values.

    Where the innermost level is dense or structured, zeros are left out, except -0.0: they cannot be distinguished from
    padding. Elsewhere every stored zero is kept.

    Args:
        storage: the storage.
        shape: the extent of each dimension.
        padding: True keeps all values whose coordinates are inside the tensor.
    """
    encoding = storage.encoding
    if not encoding.is_native:
        return _expand_foreign(storage, shape, padding=padding)
    if batch_depth(encoding):
        return expand_dims(to_plain(storage), shape, padding=padding)
    columns, values = expand_levels(storage)
    if encoding.is_permutation:
        order = encoding.level_order
        dims = [columns[order.index(dim)] for dim in range(encoding.dim_rank)]
    else:
        dims = _evaluate_inverse(encoding, columns, shape)
    if storage.view:
        dims, values = _inside_slice(storage.view, dims, values)
    if padding:
        return (dims, values) if encoding.is_permutation else _inside_tensor(dims, values, shape)
    if encoding.has_padding:
        stored = np.flatnonzero(is_given(values))
        if stored.size < values.size:
            dims, values = [dim[stored] for dim in dims], values[stored]
        if not encoding.is_permutation and _reaches_beyond(dims, shape):  # with -0.0 at most
            check_inside(dims, values, shape)
            return _inside_tensor(dims, values, shape)
    return dims, values


def _reaches_beyond(dims: Sequence[Array], shape: Sequence[int]) -> bool:
    return any(dim.size > 0 and dim.max() >= extent for dim, extent in zip(dims, shape, strict=True))


def check_inside(dims: Sequence[Array], values: Array, shape: Sequence[int]) -> None:
    """Raises StorageError for nonzero values that blocks store beyond the edge of the tensor, which loops would read.

    Args:
        dims: the coordinates in each dimension.
        values: the values.
        shape: the extent of each dimension.
    """
    outside = np.zeros(values.size, dtype=bool)
    for dim, extent in zip(dims, shape, strict=True):
        outside |= dim >= extent
    at = np.flatnonzero(outside & (values != 0))
    if at.size:
        where = tuple(int(dim[at[0]]) for dim in dims)
        raise StorageError(
            f"expected zeros in the parts of blocks beyond shape {tuple(shape)}, but got {values[at[0]]} at {where}"
        )


def _inside_slice(view: Sequence[tuple[int, int, int]], dims: list[Array], values: Array) -> tuple[list[Array], Array]:
    """Returns the parent's entries inside a slice, with their coordinates in the slice."""
    for dim, (offset, size, stride) in enumerate(view):
        if offset == 0 and stride == 1 and (dims[dim].size == 0 or int(dims[dim].max()) < size):
            continue
        steps, beside = np.divmod(dims[dim].astype(np.int64) - offset, stride)
        inside = (beside == 0) & (steps >= 0) & (steps < size)
        narrow = steps.astype(dims[dim].dtype)
        dims = [(narrow if at == dim else column)[inside] for at, column in enumerate(dims)]
        values = values[inside]
    return dims, values


def _expand_foreign(storage: LevelStorage, shape: tuple[int, ...], *, padding: bool) -> tuple[list[Array], Array]:
    encoding, values = storage.encoding, storage.values
    check_fits(8 * values.size * encoding.lvl_rank, f"the coordinates of {values.size} values")
    places = walk(storage, shape)
    stored = is_given(values) if encoding.has_padding and not padding else places.live
    columns = places.columns
    if stored is not None and not stored.all():
        if places.live is not None:
            stored = stored & places.live
        columns, values = tuple(column[stored] for column in columns), values[stored]
    return _inside_tensor(dims_of(encoding, columns, values.size), values, shape)


def _inside_tensor(dims: list[Array], values: Array, shape: tuple[int, ...]) -> tuple[list[Array], Array]:
    """Returns the values whose coordinates are inside the tensor: blocks and diagonals go beyond."""
    inside = np.ones(values.size, bool)
    for dim, extent in zip(dims, shape, strict=True):
        inside &= (dim >= 0) & (dim < extent)
    if inside.all():
        return dims, values
    return [dim[inside] for dim in dims], values[inside]


def _evaluate_inverse(encoding: Encoding, columns: list[Array], shape: tuple[int, ...]) -> list[Array]:
    if max(shape, default=0) > np.iinfo(np.int32).max:  # products of narrow block coordinates would overflow
        columns = [column.astype(np.int64) for column in columns]
    return [np.ascontiguousarray(dim) for dim in encoding.lvl_to_dim.evaluate(columns)]


def count_entries(storage: LevelStorage) -> int:
    """Returns the number of stored entries: all values except those in gaps of loose levels and in empty slots."""
    if not storage.encoding.is_native:
        *above, last = storage.encoding.level_types
        coordinates = storage.coordinates[-1]
        stored = None if coordinates is None else last.functions.live(above, coordinates)
        return int(storage.values.size if stored is None else np.count_nonzero(stored))
    if batch_depth(storage.encoding):
        return count_entries(to_plain(storage))
    if storage.view:
        columns, values = expand_levels(storage)
        dims = [columns[storage.encoding.level_order.index(dim)] for dim in range(storage.encoding.dim_rank)]
        return int(_inside_slice(storage.view, dims, values)[1].size)
    if any(kind.functions.has_gaps for kind in storage.encoding.level_types):
        return int(expand_levels(storage)[1].size)
    return int(storage.values.size)
