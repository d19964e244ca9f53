"""The level arrays that a file holds, before there is a tensor of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.errors import CoordinatesError
from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["StoredLevels", "tensor_of_levels"]

_ANY_ORDER = {
    "CSR": "(i, j) -> (i : dense, j : compressed(nonunique, nonordered))",
    "CSC": "(i, j) -> (j : dense, i : compressed(nonunique, nonordered))",
}


@dataclass(frozen=True, slots=True, eq=False)
class StoredLevels:
    """The level arrays of a file.

    Args:
        encoding: without widths where those of the arrays count.
        shape: the extents.
        dtype: the element type.
        positions: an array for each level, NumPy's or a `FileArray`, or None.
        coordinates: likewise.
        values: the values.
        any_order: whether the coordinates of a row may be in any order, and repeat, as in SciPy's matrices.
        place: where a part of a tensor that was cut stands: its first coordinate, the one behind its last, the extent.
    """

    encoding: Encoding
    shape: tuple[int, ...]
    dtype: DType
    positions: tuple[Any, ...]
    coordinates: tuple[Any, ...]
    values: Any
    any_order: bool
    place: tuple[int, int, int] | None = None

    @property
    def arrays(self) -> tuple[Any, ...]:
        """Returns the arrays that there are."""
        return tuple(one for one in (*self.positions, *self.coordinates, self.values) if one is not None)

    def in_memory(self) -> StoredLevels:
        """Returns the levels with all arrays read."""
        return self.each(np.asarray)

    def each(self, function: Callable[[Any], Any]) -> StoredLevels:
        """Returns the levels with what a function makes of each array."""
        positions, coordinates = (
            tuple(one if one is None else function(one) for one in arrays)
            for arrays in (self.positions, self.coordinates)
        )
        return replace(self, positions=positions, coordinates=coordinates, values=function(self.values))


def tensor_of_levels(stored: StoredLevels) -> SparseTensor:
    """Returns the tensor of levels whose arrays are NumPy's.

    Raises:
        StorageError: for levels that break a rule of their encoding.
    """
    values = stored.values if stored.values.dtype == stored.dtype.numpy else stored.values.view(stored.dtype.numpy)
    if stored.encoding.batch_rank == 0:
        values = values.reshape(-1)
    try:
        return SparseTensor.from_levels(stored.encoding, stored.shape, stored.positions, stored.coordinates, values)
    except CoordinatesError:
        if not stored.any_order or stored.encoding.preset not in _ANY_ORDER:
            raise
        loose = as_encoding(_ANY_ORDER[stored.encoding.preset])
        given = SparseTensor.from_levels(loose, stored.shape, stored.positions, stored.coordinates, values)
        return given.convert(stored.encoding)  # entries that are there twice are added up
