"""What a sparse array of another library is made of, in the words of levels, and the storage that it becomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.levels.level_property import LevelProperty
from mlir_sparse.errors import CoordinatesError, RankError
from mlir_sparse.tensor.convert.convert import convert_storage, same_formats
from mlir_sparse.tensor.convert.pack import pack
from mlir_sparse.tensor.level_storage import Array, LevelStorage
from mlir_sparse.tensor.validate import storage_of_levels

__all__ = ["ForeignParts", "compressed", "entries", "rows_of_coordinates", "storage_of_parts"]

_ROWS = {name: as_encoding(name) for name in ("CSR", "CSC")}


@dataclass(frozen=True, slots=True)
class ForeignParts:
    """Arrays of another library's sparse array, as it has them.

    Args:
        encoding: the levels that they are, if entries are in order and not repeated.
        shape: the extent of each dimension.
        positions: for each level an array, or None.
        coordinates: likewise.
        values: the values; for levels that end dense, of any shape.
        interleaved: the array of shape (entries, rank) whose columns the coordinates are, if they are.
        fill: the value of what is not stored; None for zero.
    """

    encoding: Encoding
    shape: tuple[int, ...]
    positions: tuple[Array | None, ...]
    coordinates: tuple[Array | None, ...]
    values: Array
    interleaved: Array | None = None
    fill: Any = None

    @property
    def is_list(self) -> bool:
        """Returns whether the arrays are one coordinate an entry and dimension."""
        return all(column is not None for column in self.coordinates)


def entries(shape: Sequence[int], dims: Sequence[Array], values: Array) -> ForeignParts:
    """Returns the parts of entries given by their coordinates; a vector's are compressed.

    Args:
        shape: the extent of each dimension.
        dims: the coordinates, one array a dimension.
        values: the values.
    """
    return _listed(shape, dims, values, "SoA-COO", None)


def rows_of_coordinates(shape: Sequence[int], indices: Array, values: Array) -> ForeignParts:
    """Returns the parts of entries whose coordinates are the rows of one array, of shape (entries, rank)."""
    whole = indices if indices.flags.c_contiguous and indices.shape[1] > 1 else None
    return _listed(shape, list(indices.T), values, "COO", whole)


def _listed(
    shape: Sequence[int], dims: Sequence[Array], values: Array, name: str, interleaved: Array | None
) -> ForeignParts:
    rank = len(dims)
    if rank == 0:
        raise RankError("expected a sparse array of one dimension or more, but got a number: pass it as it is")
    kind = _of_list("SparseVector" if rank == 1 else name, rank)
    first = np.array([0, len(values)], np.int64 if dims[0].dtype.itemsize == 8 else np.int32)
    return ForeignParts(kind, tuple(map(int, shape)), (first, *[None] * (rank - 1)), tuple(dims), values, interleaved)


@lru_cache(maxsize=64)
def _of_list(name: str, rank: int) -> Encoding:
    return as_encoding(name, rank=rank)


def compressed(name: str, shape: Sequence[int], positions: Array, coordinates: Array, values: Array) -> ForeignParts:
    """Returns the parts of CSR or CSC; unused capacity at the end is left out."""
    used = int(positions[-1]) if len(positions) else 0
    if 0 <= used < len(coordinates):
        coordinates, values = coordinates[:used], values[:used]
    extents = shape if type(shape) is tuple else tuple(map(int, shape))
    return ForeignParts(_ROWS[name], extents, (None, positions), (None, coordinates), values)


def storage_of_parts(parts: ForeignParts, encoding: Encoding, dtype: object) -> LevelStorage:
    """Returns storage in an encoding, which shares the arrays where they are its levels as they are.

    Entries out of order or repeated are sorted and summed; the source is not changed.

    Raises:
        CoordinatesError: for coordinates out of range.
        PositionsError: for positions that are not those of the coordinates.
    """
    direct = encoding if same_formats(parts.encoding, encoding) else parts.encoding
    try:
        storage, shape, _ = _validated(parts, direct, dtype)
    except CoordinatesError:
        if parts.is_list:
            width = max(column.dtype.itemsize for column in parts.coordinates if column is not None) * 8
            dims = [column for column in parts.coordinates if column is not None]
            return pack(encoding, parts.shape, dims, parts.values, dtype=dtype, source=(width, width))
        # Entries out of order or repeated are no fault here; any other raises again.
        storage, shape, _ = _validated(parts, _without_promises(parts.encoding), dtype)
        direct = parts.encoding
    if direct is encoding and storage.encoding.level_types == encoding.level_types:
        return storage
    return convert_storage(storage, shape, encoding)


def _validated(parts: ForeignParts, encoding: Encoding, dtype: object) -> tuple[LevelStorage, tuple[int, ...], object]:
    return storage_of_levels(encoding, parts.shape, parts.positions, parts.coordinates, parts.values, dtype)


def _without_promises(encoding: Encoding) -> Encoding:
    loose = (LevelProperty.NONUNIQUE, LevelProperty.NONORDERED)
    levels = tuple(
        replace(level, type=replace(level.type, properties=loose)) if level.type.functions.is_segmented else level
        for level in encoding.levels
    )
    return replace(encoding, levels=levels)
