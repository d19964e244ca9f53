"""Rows into slots (CSR to ELL): the place of each entry follows from its row's position, so nothing is sorted."""

from __future__ import annotations

import numpy as np

from mlir_sparse.affine import Dim
from mlir_sparse.encoding.encoding import Encoding
from mlir_sparse.encoding.level import LevelFormat
from mlir_sparse.encoding.level_maps import slots_of
from mlir_sparse.tensor.level_pack import with_resolved_widths
from mlir_sparse.tensor.memory import check_fits
from mlir_sparse.tensor.storage import LevelStorage

__all__ = ["rows_to_slots"]


def rows_to_slots(storage: LevelStorage, shape: tuple[int, ...], encoding: Encoding) -> LevelStorage | None:
    """Returns a matrix stored by rows, or by columns, in slots of these; None for anything else.

    Args:
        storage: what to convert.
        shape: its extents.
        encoding: the format wanted.

    Raises:
        TooLargeError: for slots that would not fit in memory.
    """
    given = storage.encoding
    if not _is_rows(given) or not _is_slots_of(encoding, given.level_order):
        return None
    pos, crd = storage.positions[1], storage.coordinates[1]
    assert pos is not None
    assert crd is not None
    begins = pos[:-1].astype(np.int64)
    lengths = np.diff(pos)
    most, rows = int(lengths.max(initial=0)), storage.level_sizes[0]
    slots = slots_of(encoding.levels[0])
    assert slots is not None
    width = max(2, most) if slots.width is None else slots.width
    if most > width:
        return None  # refused where the rest is packed
    resolved = encoding if slots.width is not None else encoding.with_slots(width)
    resolved = with_resolved_widths(resolved, shape, width * rows, (given.pos_width, given.crd_width))
    if (resolved.pos_width, resolved.crd_width) != (given.pos_width, given.crd_width) or resolved.crd_width < 32:
        return None
    check_fits(width * rows * (storage.values.itemsize + crd.itemsize), f"{width} slots of {rows} rows")
    # Entry e of the row that begins at b is in slot e - b.
    place = np.arange(crd.size) * rows + np.repeat(np.arange(rows) - begins * rows, lengths)
    coordinates = np.full(width * rows, -1, crd.dtype)
    coordinates[place] = crd
    values = np.zeros(width * rows, storage.values.dtype)
    values[place] = storage.values[: crd.size]
    return LevelStorage(resolved, resolved.level_sizes(shape), (None,) * 3, (None, None, coordinates), values)


def _is_rows(encoding: Encoding) -> bool:
    formats = tuple(kind.format for kind in encoding.level_types)
    plain = encoding.is_permutation and encoding.is_ordered and encoding.is_unique
    return plain and formats == (LevelFormat.DENSE, LevelFormat.COMPRESSED)


def _is_slots_of(encoding: Encoding, order: tuple[int, ...]) -> bool:
    levels = encoding.levels
    if len(levels) != 3 or encoding.explicit_val is not None:
        return False
    slots = slots_of(levels[0])
    formats = tuple(kind.format for kind in encoding.level_types[1:])
    same = tuple(level.expr for level in levels[1:]) == tuple(Dim(dim) for dim in order)
    return (
        slots is not None and slots.dim == order[0] and same and formats == (LevelFormat.DENSE, LevelFormat.SINGLETON)
    )
