"""Checks a caller's buffers against their encoding, before compiled code can read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mlir_sparse import _native
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.encoding.buffer_layout import (
    check_level_sizes,
    check_shape,
    check_supported,
    level_tuples,
)
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.level_maps import slots_of
from mlir_sparse.encoding.levels.sized_level import marks_empty
from mlir_sparse.errors import OperandError, RankError, StorageError, UnsupportedError
from mlir_sparse.process.first_use import import_at_first_call
from mlir_sparse.tensor.batch_and_slice_parts import from_plain, is_plain, is_whole_slice, plain_encoding
from mlir_sparse.tensor.batch_levels import batch_depth, flat_levels
from mlir_sparse.tensor.borders.dense_arrays import array_of
from mlir_sparse.tensor.buffer_arrays import index_array, stored_integers, value_array
from mlir_sparse.tensor.level_storage import Array, LevelStorage
from mlir_sparse.tensor.widths import check_width, resolve_widths
from mlir_sparse.text.given_arguments import integers_of, shown

if TYPE_CHECKING:
    from mlir_sparse.tensor.check_storage import check_levels
    from mlir_sparse.tensor.convert.coordinates_of import check_inside, expand_levels
    from mlir_sparse.tensor.convert.pack_levels import narrowed_coordinates, with_resolved_widths
    from mlir_sparse.tensor.storage_fault_messages import storage_faults
else:
    import_at_first_call(
        __name__,
        {
            "tensor.check_storage": ("check_levels",),
            "tensor.convert.coordinates_of": ("check_inside", "expand_levels"),
            "tensor.convert.pack_levels": ("narrowed_coordinates", "with_resolved_widths"),
            "tensor.storage_fault_messages": ("storage_faults",),
        },
    )

__all__ = ["check_explicit_value", "storage_of_levels", "validate_storage"]


def storage_of_levels(
    encoding: str | Encoding,
    shape: Sequence[int],
    positions: Sequence[object],
    coordinates: Sequence[object],
    values: object,
    dtype: object = None,
) -> tuple[LevelStorage, tuple[int, ...], DType]:
    """Validates a caller's arrays, and returns storage that shares their memory where the layout agrees.

    Returns:
        the storage, the shape as a tuple, and the element type.

    Raises:
        StorageError: for buffers that break their encoding, by level and position.
        WidthError: for widths too small for the data.
        DTypeError: for arrays of the wrong type.
    """
    shape = integers_of(shape, "a shape")
    wanted = as_encoding(encoding, rank=len(shape))
    extents = check_shape(shape, wanted)
    check_supported(wanted)
    check_level_sizes(wanted, wanted.with_slots(2).level_sizes(extents))
    _check_array_kinds(wanted, positions, coordinates)
    if not is_plain(wanted):
        _check_whole(wanted, extents)
        if batch_depth(wanted):
            positions, coordinates, values = _of_batches(wanted, extents, positions, coordinates, values)
        plain, _, kind = storage_of_levels(plain_encoding(wanted), extents, positions, coordinates, values, dtype)
        return from_plain(plain, extents, wanted), extents, kind
    pos = [None if p is None else index_array(p, f"positions[{lvl}]") for lvl, p in enumerate(positions)]
    crd = [None if c is None else index_array(c, f"coordinates[{lvl}]") for lvl, c in enumerate(coordinates)]
    # Before values are copied: more of them than positions may count take seconds.
    resolved = _resolve(wanted, pos, crd) if wanted.is_native else wanted
    stored, kind = value_array(values, dtype)
    if not wanted.is_native:
        return _foreign_storage(wanted, extents, pos, crd, stored.reshape(-1), kind), extents, kind
    storage = LevelStorage(
        resolved,
        wanted.level_sizes(extents),
        tuple(
            None if p is None else stored_integers(p, resolved.pos_width, "posWidth", f"positions[{lvl}]")
            for lvl, p in enumerate(pos)
        ),
        _stored_coordinates(resolved, crd),
        stored.reshape(-1),
    )
    validate_storage(storage, extents)
    check_explicit_value(resolved, storage.values, kind)
    return storage, extents, kind


def _check_whole(encoding: Encoding, shape: tuple[int, ...]) -> None:
    # The buffers would be the parent's, whose extents are unknown here.
    if not is_whole_slice(encoding, shape):
        raise UnsupportedError(
            f"expected buffers of a whole tensor, but got slices in {encoding.map_text()}: "
            "make the tensor that they are of, then take A.slice(...), which shares them"
        )


def _of_batches(
    encoding: Encoding,
    shape: tuple[int, ...],
    positions: Sequence[object],
    coordinates: Sequence[object],
    values: object,
) -> tuple[list[Array | None], list[Array | None], Array]:
    pos = [None if p is None else _index_rows(p, f"positions[{lvl}]") for lvl, p in enumerate(positions)]
    crd = [None if c is None else _index_rows(c, f"coordinates[{lvl}]") for lvl, c in enumerate(coordinates)]
    return flat_levels(encoding, encoding.level_sizes(shape), pos, crd, array_of(values, "values that are numbers"))


def _index_rows(given: object, name: str) -> Array:
    """Returns integers of any number of axes."""
    array = array_of(given, f"{name} of integers")
    return index_array(array.reshape(-1) if array.size else [], name).reshape(array.shape)


def _foreign_storage(
    encoding: Encoding,
    shape: tuple[int, ...],
    pos: Sequence[Array | None],
    crd: Sequence[Array | None],
    values: Array,
    kind: DType,
) -> LevelStorage:
    _check_slots(encoding)
    for region in encoding.aos_regions:
        _check_region_lengths(region, crd)
    sized = max((c.size for lvl, c in enumerate(crd) if c is not None and marks_empty(encoding, lvl)), default=0)
    counted = max((int(p.max()) for p in pos if p is not None and p.size), default=0)
    resolved = with_resolved_widths(encoding, shape, max(sized, counted), (_widest(pos), _widest(crd)))
    positions = (
        None if p is None else stored_integers(p, resolved.pos_width, "posWidth", f"positions[{lvl}]")
        for lvl, p in enumerate(pos)
    )
    coordinates = (None if c is None else narrowed_coordinates(resolved, shape, lvl, c) for lvl, c in enumerate(crd))
    storage = LevelStorage(resolved, resolved.level_sizes(shape), tuple(positions), tuple(coordinates), values)
    check_levels(storage, shape)
    check_explicit_value(resolved, values[values != 0], kind)  # empty slots have zeros
    return storage


def _check_slots(encoding: Encoding) -> None:
    slots = [found for level in encoding.levels if (found := slots_of(level)) is not None]
    if any(found.width is None for found in slots):
        raise StorageError(
            f"expected the number of slots, but got {encoding.map_text()}: write it, as in c * 3 * i, or take "
            "encoding.with_slots(3)"
        )


def _check_array_kinds(encoding: Encoding, positions: Sequence[object], coordinates: Sequence[object]) -> None:
    for name, given in (("positions", positions), ("coordinates", coordinates)):
        if not isinstance(given, Sequence | np.ndarray) or getattr(given, "ndim", 1) == 0:
            raise OperandError(f"expected {name} as a list, an array or None for each level, but got {shown(given)}")
        if len(given) != encoding.lvl_rank:
            raise RankError(
                f"expected {name} of {encoding.lvl_rank} levels (an array or None each), but got {len(given)}"
            )
    for level, kind in enumerate(encoding.level_types):
        for name, given, has in (
            ("positions", positions, kind.has_positions),
            ("coordinates", coordinates, kind.has_coordinates),
        ):
            if (given[level] is not None) != has:
                rule = "an array" if has else "None"
                got = "an array" if given[level] is not None else "None"
                raise StorageError(f"expected {rule} as {name}[{level}] of level {level} ({kind}), but got {got}")


def _resolve(encoding: Encoding, pos: Sequence[Array | None], crd: Sequence[Array | None]) -> Encoding:
    """Returns the encoding with the widths of the arrays if it names none."""
    longest = max((c.size for c in crd if c is not None), default=0)
    if encoding.pos_width and any(p is not None for p in pos):
        check_width("posWidth", encoding.pos_width, longest)
    return resolve_widths(
        encoding,
        largest_position=longest if any(p is not None for p in pos) else 0,
        # Named widths are checked when coordinates are stored.
        largest_coordinate=0 if encoding.crd_width else _largest(crd),
        source=(_widest(pos), _widest(crd)),
    )


def _widest(arrays: Sequence[Array | None]) -> int | None:
    return max((a.dtype.itemsize * 8 for a in arrays if a is not None), default=None)


def _largest(arrays: Sequence[Array | None]) -> int:
    wide = [a for a in arrays if a is not None and a.size and a.dtype == np.uint32]
    return max((int(a.max()) for a in wide), default=0)


def _stored_coordinates(encoding: Encoding, crd: Sequence[Array | None]) -> tuple[Array | None, ...]:
    # Levels that share an array keep their strides, as they may be views of it already.
    shared = {level for region in encoding.aos_regions for level in region}
    stored: list[Array | None] = []
    for level, array in enumerate(crd):
        if array is None:
            stored.append(None)
        elif level in shared and array.dtype.itemsize * 8 == encoding.crd_width and array.dtype.kind == "i":
            stored.append(array)
        else:
            stored.append(stored_integers(array, encoding.crd_width, "crdWidth", f"coordinates[{level}]"))
    for region in encoding.aos_regions:
        _check_region_lengths(region, stored)
    return tuple(stored)


def _check_region_lengths(region: range, stored: Sequence[Array | None]) -> None:
    sizes = [array.size for level in region if (array := stored[level]) is not None]
    if len(set(sizes)) > 1:
        level = region[next(i for i, size in enumerate(sizes) if size != sizes[0])]
        raise StorageError(
            f"expected coordinates[{level}] to have length {sizes[0]}, that of coordinates[{region.start}] in the same "
            f"array of structs, but got {sizes[level - region.start]}"
        )


def validate_storage(storage: LevelStorage, shape: tuple[int, ...]) -> None:
    """Raises StorageError for the first rule of the encoding that the buffers break.

    Args:
        storage: the buffers, of the right dtypes.
        shape: the extents of the tensor's dimensions.
    """
    encoding = storage.encoding
    if not encoding.is_native:
        check_levels(storage, shape)
        return
    levels = level_tuples(encoding, storage.level_sizes)
    with storage_faults(encoding):
        _native.validate(levels, storage.positions, storage.coordinates, storage.values.size)
    _check_padding(storage, shape)


def _check_padding(storage: LevelStorage, shape: tuple[int, ...]) -> None:
    """Raises StorageError for nonzero values that blocks store beyond the edge of the tensor."""
    encoding = storage.encoding
    if all(extent % encoding.block_of(dim) == 0 for dim, extent in enumerate(shape)):
        return
    columns, values = expand_levels(storage)
    check_inside(encoding.lvl_to_dim.evaluate(columns), values, shape)


def check_explicit_value(encoding: Encoding, values: Array, dtype: DType) -> None:
    """Raises StorageError for values other than the encoding's explicitVal, except zeros that pad blocks."""
    given = encoding.explicit_val
    if given is None:
        return
    differs = values != np.asarray(given.value).astype(dtype.numpy)
    if encoding.has_padding:
        differs &= values != 0
    if differs.any():
        at = int(np.argmax(differs))
        raise StorageError(f"expected all values to be explicitVal = {given}, but got {values[at]} at values[{at}]")
