"""Tensors whose level arrays lie in files, of which ranges are read."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from mlir_sparse.encoding import TensorType
from mlir_sparse.encoding.levels.level_functions import Below
from mlir_sparse.errors import FileFormatError, StorageError, UnsupportedError
from mlir_sparse.tensor.files.file_array import FileArray
from mlir_sparse.tensor.files.stored_levels import StoredLevels, tensor_of_levels
from mlir_sparse.tensor.files.tensor_source import TensorSource
from mlir_sparse.tensor.level_ranges import levels_between
from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["LevelSource"]


class LevelSource(TensorSource):
    """A tensor whose level arrays are read in ranges.

    Args:
        name: the file, and what of it, for messages.
        stored: the level arrays.
        axis: the dimension of the parts; that of the outermost level by default.

    Raises:
        UnsupportedError: for storage whose outermost level is not of that dimension.
    """

    reads_ranges = True

    def __init__(self, name: str, stored: StoredLevels, axis: int | None) -> None:
        self.name = name
        self._keep(stored)
        encoding, positions = stored.encoding, stored.positions
        if not encoding.pos_width:
            widths = [8 * array.dtype.itemsize for array in (*positions, *stored.coordinates) if array is not None]
            encoding = encoding.with_widths(widths[0] if widths else 32, widths[-1] if widths else 32)
        self.shape, self.place = stored.shape, stored.place
        outer = [dim for dim in range(len(self.shape)) if self._between(0, 0, dim) is not None]
        if not outer or axis not in (None, *outer):
            which = "a dimension" if axis is None else f"dimension {axis}"
            raise UnsupportedError(
                f"{name}: expected storage whose outermost level numbers {which}, but got {stored.encoding.map_text()}"
            )
        self.axis = outer[0]
        self.unit = stored.encoding.block_of(self.axis)
        self.type = TensorType(stored.dtype, (None,) * len(self.shape), encoding)

    def _keep(self, stored: StoredLevels) -> None:
        positions = tuple(pos.read_at_once() if isinstance(pos, FileArray) else pos for pos in stored.positions)
        self._stored, self._given = replace(stored, positions=positions), stored
        self._unread = stored.each(lambda array: array.unchecked() if isinstance(array, FileArray) else array)

    @contextmanager
    def one_pass(self) -> Iterator[TensorSource]:
        """Yields what reads the parts in one pass; arrays without checksums of blocks are checked when it ends."""
        stored = self._given.each(lambda array: array.one_pass() if isinstance(array, FileArray) else array)
        found = copy.copy(self)
        found._keep(stored)
        yield found
        for array in stored.arrays:
            if isinstance(array, FileArray):
                array.finish()

    def __repr__(self) -> str:
        return self.name

    def _between(self, low: int, high: int, axis: int, *, unread: bool = False) -> list[Below] | None:
        stored = self._unread if unread else self._stored
        return levels_between(stored.encoding, self.shape, (stored.positions, stored.coordinates), axis, low, high)

    def read(self, low: int, high: int) -> SparseTensor:
        """Returns the part between two coordinates of the axis."""
        self._check_range(low, high)
        try:
            return self._read(low, high)
        except (StorageError, FileFormatError) as error:
            message = error.message.removeprefix(f"{self.name}: ")
            raise FileFormatError(f"{self.name}, {self._range(low, high)}: {message}") from error

    def _read(self, low: int, high: int) -> SparseTensor:
        below = self._between(low, high, self.axis)
        assert below is not None  # bounds are multiples of the unit
        stored, places = self._stored, below[-1].places
        inner = prod(stored.values.shape[1:])
        values = np.asarray(stored.values[places.start // inner : places.stop // inner]).reshape(-1)
        positions = tuple(None if one.positions is None else _counted(one) for one in below)
        coordinates = tuple(None if one.coordinates is None else np.asarray(one.coordinates) for one in below)
        if values.size != len(places):
            raise FileFormatError(f"expected {len(places)} values, but got {values.size}")
        shape = (*self.shape[: self.axis], high - low, *self.shape[self.axis + 1 :])
        encoding = self.type.encoding or stored.encoding
        return tensor_of_levels(
            StoredLevels(encoding, shape, stored.dtype, positions, coordinates, values, stored.any_order)
        )

    def nbytes_between(self, low: int, high: int) -> int:
        """Returns the bytes of the part between two coordinates, without reading its entries."""
        below = self._between(low, high, self.axis, unread=True)
        assert below is not None
        arrays = [array for one in below for array in (one.positions, one.coordinates) if array is not None]
        return sum(array.nbytes for array in arrays) + len(below[-1].places) * self._stored.dtype.numpy.itemsize

    def beside(self, nbytes: int) -> int:
        """Returns about how many bytes are held beside a part of so many while it is read, an array at a time."""
        given = [array for array in self._given.arrays if isinstance(array, FileArray)]
        whole = max(1, sum(array.nbytes for array in given))
        return max((array.beside(nbytes * array.nbytes // whole) for array in given), default=0)


def _counted(level: Below) -> Any:
    """Returns positions that count from the part's first entry."""
    positions = np.asarray(level.positions)
    return positions - positions.dtype.type(level.first)
