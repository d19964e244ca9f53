"""What a sparse array of another library is made of, in the words of levels, and the storage that it becomes."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

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

__all__ = ["FAULTS", "Entries", "ForeignParts", "Given", "Lines", "storage_of_parts"]

FAULTS = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What libraries raise where they read arrays of theirs whose parts do not belong together."""

_ROWS = {name: as_encoding(name) for name in ("CSR", "CSC")}


@dataclass(frozen=True, slots=True)
class ForeignParts:
    """Arrays of another library's sparse array, level by level.

    Args:
        encoding: the levels that they are, if entries are in order and not repeated.
        shape: the extent of each dimension.
        positions: for each level an array, or None.
        coordinates: likewise.
        values: the values; for levels that end dense, of any shape.
        fill: the value of what is not stored; None for zero.
    """

    encoding: Encoding
    shape: tuple[int, ...]
    positions: tuple[Array | None, ...]
    coordinates: tuple[Array | None, ...]
    values: Array
    fill: Any = None

    def parts(self) -> ForeignParts:
        """Returns itself, as the other kinds of arrays return theirs."""
        return self

    @property
    def is_list(self) -> bool:
        """Returns whether the arrays are one coordinate an entry and dimension."""
        return all(column is not None for column in self.coordinates)


class Lines(NamedTuple):
    """Compressed rows or columns of another library, or of blocks, as it has them.

    Args:
        format: CSR, CSC, BSR or BSC.
        shape: the extents.
        positions: the positions of each line, of columns for CSC and BSC.
        coordinates: the coordinates; unused capacity may follow.
        values: the values, of blocks of shape (entries, height, width).
        fill: the value of what is not stored; None for zero.
    """

    format: str
    shape: tuple[int, ...]
    positions: Array
    coordinates: Array
    values: Array
    fill: Any = None

    @property
    def by_rows(self) -> bool:
        """Returns whether rows are compressed, and not columns."""
        return self.format in ("CSR", "BSR")

    def parts(self) -> ForeignParts:
        """Returns the arrays level by level; unused capacity is left out."""
        positions, coordinates, values = self.positions, self.coordinates, self.values
        used = int(positions[-1]) if len(positions) else 0
        if 0 <= used < len(coordinates):
            coordinates, values = coordinates[:used], values[:used]
        block = values.shape[1:]
        none = [None] * len(block)
        kind = as_encoding(self.format, block=block) if block else _ROWS[self.format]
        pos, crd = (None, positions, *none), (None, coordinates, *none)
        return ForeignParts(kind, tuple(map(int, self.shape)), pos, crd, values, self.fill)


class Entries(NamedTuple):
    """A list of entries of another library, as it has them.

    Args:
        shape: the extents.
        indices: the coordinates: an array of shape (rank, entries), or (entries, rank) if interleaved; or a tuple of an
            array a dimension.
        values: the values.
        interleaved: whether the coordinates of an entry lie side by side.
        bounded: whether all coordinates are in range; else those that are not are no entries.
        fill: the value of what is not stored; None for zero.
    """

    shape: tuple[int, ...]
    indices: Array | tuple[Array, ...]
    values: Array
    interleaved: bool = False
    bounded: bool = True
    fill: Any = None

    def parts(self) -> ForeignParts:
        """Returns the arrays level by level, of a vector as a compressed level.

        Raises:
            RankError: for no dimensions.
        """
        rank, indices, values = len(self.shape), self.indices, self.values
        if rank == 0:
            raise RankError("expected a sparse array of one dimension or more, but got a number: pass it as it is")
        dims = list(indices.T if self.interleaved else indices)  # type: ignore[union-attr]  # one array, if interleaved
        if not self.bounded:
            each = zip(dims, self.shape, strict=True)
            inside: Array = np.logical_and.reduce([column < extent for column, extent in each])
            if not inside.all():
                dims, values = [column[inside] for column in dims], values[inside]
        kind = _of_list("SparseVector" if rank == 1 else "COO" if self.interleaved else "SoA-COO", rank)
        first = np.array([0, len(values)], np.int64 if dims[0].dtype.itemsize == 8 else np.int32)
        positions = (first, *[None] * (rank - 1))
        return ForeignParts(kind, tuple(map(int, self.shape)), positions, tuple(dims), values, self.fill)


Given: TypeAlias = Lines | Entries | ForeignParts


@lru_cache(maxsize=64)
def _of_list(name: str, rank: int) -> Encoding:
    return as_encoding(name, rank=rank)


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
