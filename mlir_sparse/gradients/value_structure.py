"""The structure of a sparse operand apart from its values: what a gradient on its pattern is computed on."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.errors import StorageError, UnsupportedError
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.convert.coordinates_of import expand_dims
from mlir_sparse.tensor.other_values import all_are_elements, value_places

__all__ = ["ValueStructure"]

Array = np.ndarray[Any, Any]


class ValueStructure:
    """The places of stored values: a tensor's levels without its values.

    Args:
        tensor: a tensor with this structure, whose values are not read.

    Raises:
        UnsupportedError: for a slice, whose values are its parent's.
    """

    def __init__(self, tensor: SparseTensor) -> None:
        if tensor.storage.view:
            raise UnsupportedError(
                "expected a tensor with values of its own to differentiate by, but got a slice, which shows some of "
                "its parent's: convert it first, as in A.convert('CSR')"
            )
        self._tensor = tensor
        self.size: int = tensor.storage.values.size
        self.shape = tensor.shape
        self.encoding: Encoding = tensor.encoding
        self._are_elements = all_are_elements(tensor)
        self._is_plain = self._are_elements and _has_one_order(tensor.encoding)
        self._found: tuple[list[Array], Array] | None = None
        self._ones: dict[DType, SparseTensor] = {}
        self._beside: Array | None = None

    def type_of(self, dtype: DType) -> TensorType:
        """Returns the type of a tensor of this structure."""
        return TensorType(dtype, (None,) * len(self.shape), self.encoding)

    def filled(self, values: Array) -> SparseTensor:
        """Returns a tensor with these values.

        Raises:
            StorageError: for another number of values; for values where the tensor has no element.
        """
        if values.size != self.size:
            raise StorageError(f"expected {self.size} values, one for each that is stored, but got {values.size}")
        if not self._are_elements:
            self._check_beside(values)
        storage = self._tensor.storage.with_values(values.reshape(-1))
        return SparseTensor._from_parts(self.shape, storage, DType.of(values.dtype))

    def shares(self, tensor: SparseTensor) -> bool:
        """Returns whether a tensor has this very structure, in the same memory."""
        mine, others = self._tensor.storage.buffers()[:-1], tensor.storage.buffers()[:-1]
        if tensor.encoding != self.encoding or tensor.shape != self.shape or len(mine) != len(others):
            return False
        addresses = [(one.ctypes.data, one.size) for one in mine]
        return addresses == [(one.ctypes.data, one.size) for one in others]

    def inside(self) -> Array:
        """Returns which stored values are elements: all, but for empty slots and what is beyond the edges."""
        inside = np.ones(self.size, bool)
        if not self._are_elements:
            inside[self._places_beside()] = False
        return inside

    def ones(self, dtype: DType) -> SparseTensor:
        """Returns a tensor with 1 at each element that is stored, in the storage that results are computed in."""
        known = self._ones.get(dtype)
        if known is not None:
            return known
        made = self.filled(self.inside().astype(dtype.numpy))
        if not self._is_plain:
            made = made.convert("SparseVector" if made.ndim == 1 else "COO")  # elements stored twice are one
            made = made.with_values(np.ones(made.storage.values.size, dtype.numpy))
        self._ones[dtype] = made
        return made

    def values_of(self, result: SparseTensor) -> Array:
        """Returns the values of a tensor at each place of this structure, zero where it has no entry.

        Args:
            result: a tensor with entries nowhere else.
        """
        if self._is_plain and result.storage.values.size == self.size:
            return result.storage.values
        dims, values = expand_dims(result.storage, result.shape, padding=True)
        mine, places = self._places()
        keys, wanted = _keys(dims, mine, self.shape)
        found = np.zeros(self.size, values.dtype)
        if values.size and wanted.size:
            order = np.argsort(keys, kind="stable")
            at = np.minimum(np.searchsorted(keys, wanted, sorter=order), keys.size - 1)
            hits = order[at]
            found[places] = np.where(keys[hits] == wanted, values[hits], np.zeros((), values.dtype))
        return found

    def coordinates(self) -> tuple[list[Array], Array]:
        """Returns the coordinates of elements in each dimension, and the place of each among the stored values."""
        return self._places()

    def places_in(self, other: ValueStructure) -> Array:
        """Returns where the values of another structure have the element of each value of this one; -1 for nowhere."""
        mine, places = self._places()
        theirs, others = other._places()
        found = np.full(self.size, -1, np.int64)
        if not places.size or not others.size:
            return found
        keys, wanted = _keys(theirs, mine, self.shape)
        order = np.argsort(keys, kind="stable")
        hits = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), keys.size - 1)]
        found[places] = np.where(keys[hits] == wanted, others[hits], -1)
        return found

    def _places(self) -> tuple[list[Array], Array]:
        if self._found is None:
            self._found = value_places(self._tensor)
        return self._found

    def _places_beside(self) -> Array:
        if self._beside is None:
            outside = np.ones(self.size, bool)
            outside[self._places()[1]] = False
            self._beside = np.flatnonzero(outside)
        return self._beside

    def _check_beside(self, values: Array) -> None:
        beside = self._places_beside()
        wrong = beside[values.reshape(-1)[beside] != 0]
        if wrong.size:
            raise StorageError(
                f"expected zeros where {self.encoding.map_text()} has no element of shape {self.shape}, but got "
                f"{values.reshape(-1)[wrong[0]]} at values[{wrong[0]}]"
            )


def _has_one_order(encoding: Encoding) -> bool:
    """Returns whether two tensors with the same elements have the same levels in this storage."""
    innermost = encoding.level_types[-1]
    return encoding.is_ordered and innermost.unique


def _keys(dims: list[Array], wanted: list[Array], shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Returns one integer for the coordinates of each entry, in two lists of entries."""
    total = 1
    for extent in shape:
        total *= extent
    if total >= 2**63:
        both = np.concatenate([np.stack(dims), np.stack(wanted)], axis=1)
        _, numbers = np.unique(both, axis=1, return_inverse=True)
        flat = numbers.reshape(-1)
        return flat[: dims[0].size], flat[dims[0].size :]
    keys = [np.zeros(one[0].size if one else 1, np.int64) for one in (dims, wanted)]
    for at, extent in enumerate(shape):
        keys = [key * extent + one[at] for key, one in zip(keys, (dims, wanted), strict=True)]
    return keys[0], keys[1]
