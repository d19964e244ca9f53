"""Vectors in other storage for one call: sparse where few elements count, dense where loops would meet many."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import Encoding, encoding
from mlir_sparse.plan.order.storage_choice import ordered_as
from mlir_sparse.plan.vector_uses import VectorUse
from mlir_sparse.process.first_use import import_at_first_call
from mlir_sparse.tensor import SparseTensor

if TYPE_CHECKING:
    from mlir_sparse.tensor.listed_vector import few_listed, is_listed
else:
    import_at_first_call(__name__, {"tensor.listed_vector": ("few_listed", "is_listed")})

__all__ = ["Restored", "few_entries", "is_small", "probed_step", "restored"]

Array = np.ndarray[Any, Any]

# Calls on fewer elements and entries take too little time to look at the elements first.
_LEAST = 1 << 18
# An array with at most this part of elements that count is read as a sparse vector.
_FEW = 4
# So many elements are looked at first: where all count, the rest is not looked at; then so many, at most half of which.
_PROBED, _SAMPLED = 8, 64
# To look an array up at each entry takes as long as to meet a vector of twice as many entries as a slice has.
_MET = 2
# To bring an entry to another order takes as long as to meet so many.
_TURNED = 8
_FINITE = (np.float32, np.float64, np.complex64, np.complex128)


@dataclass(frozen=True, slots=True, eq=False)
class Restored:
    """An operand in other storage.

    Args:
        use: how the statement uses the vector.
        name: the vector or the tensor.
        value: the operand.
        count: how many elements of the vector count.
    """

    use: VectorUse
    name: str
    value: Array | SparseTensor
    count: int

    def __str__(self) -> str:
        vector, tensor = self.use.vector, self.use.tensor
        if self.name == tensor:
            met = f"{vector} has {self.count:,} entries, which would be met with each slice of {tensor}"
            return f"{tensor} is converted first: {met}; loops go through the slices of entries alone (push)"
        of = f"{self.count:,} of its {self.value.shape[0]:,} elements"
        if self.use.level == 0:
            few = f"{of} are not {self.use.absent}, and loops go through their slices of {tensor} alone (push)"
            return f"{vector} is read as a sparse vector: {few}"
        return f"{vector} is read as an array, looked up at the entries of {tensor}: {of} are entries (pull)"


def is_small(vector: Any, tensor: Any) -> bool:
    """Returns whether an array is used in a call that takes too little time to look at its elements."""
    if type(vector) is not np.ndarray or type(tensor) is not SparseTensor:
        return False
    return bool(vector.size + tensor._storage.values.size < _LEAST)


def few_entries(elements: int) -> int:
    """Returns the greatest number of entries that a tensor has in such a call, for a number of elements."""
    return _LEAST - 1 - elements


def probed_step(elements: int) -> int:
    """Returns the distance of the elements that are looked at first, for a number of elements."""
    return elements // _PROBED + 1


def restored(uses: tuple[VectorUse, ...], values: Mapping[str, Any]) -> Restored | None:
    """Returns an operand with which the call takes less time in other storage; None where there is none.

    Args:
        uses: the vectors that may be read otherwise.
        values: the operands by name, which may be any objects.
    """
    for use in uses:
        vector, tensor = values[use.vector], values[use.tensor]
        if type(tensor) is not SparseTensor:
            continue
        found = None
        if type(vector) is np.ndarray:
            found = _listed(use, vector, tensor, values)
        elif type(vector) is SparseTensor:
            found = _filled(use, vector, tensor, values)
        if found is not None:
            return found
    return None


def _listed(use: VectorUse, vector: Array, tensor: SparseTensor, values: Mapping[str, Any]) -> Restored | None:
    """Returns an array as a sparse vector, if few of its elements count."""
    extent = vector.size
    if is_small(vector, tensor) or use.level > 0 or use.absent is None:
        return None
    if vector.ndim != 1 or vector.dtype != use.kind.dtype.numpy:
        return None
    if all(vector.item(at) != use.absent for at in range(0, extent, probed_step(extent))):
        return None
    sample = vector[:: max(1, extent // _SAMPLED)]
    if 2 * np.count_nonzero(sample != use.absent) > sample.size:
        return None
    found = few_listed(vector, _sparse_vector(), use.absent, extent // _FEW)
    few = found is not None and _are_finite(use, values)
    return Restored(use, use.vector, found, found.nse) if found is not None and few else None


def _filled(use: VectorUse, vector: SparseTensor, tensor: SparseTensor, values: Mapping[str, Any]) -> Restored | None:
    """Returns a sparse vector as an array, or else the tensor in the other order, if many entries would be met."""
    entries, positions = tensor.storage.values.size, tensor.storage.positions
    if use.level == 0 or vector.nse < 2 or use.level >= len(positions) or not is_listed(vector.encoding):
        return None
    begins = positions[use.level]
    meetings = vector.nse * (1 if begins is None else begins.size - 1)
    if meetings < max(_LEAST, _MET * entries) or vector.dtype != use.kind.dtype.numpy:
        return None
    if use.absent is not None and _are_finite(use, values):
        found = np.full(vector.shape, use.absent, vector.dtype)
        found[vector.storage.coordinates[0]] = vector.storage.values
        return Restored(use, use.vector, found, vector.nse)
    if meetings < _TURNED * entries or not use.turns or tensor.ndim != 2:
        return None
    order = tensor.encoding.level_order[::-1]
    storage = ordered_as(tensor.type, order).encoding
    assert storage is not None, "it is a sparse tensor"
    return Restored(use, use.tensor, tensor.convert(storage), vector.nse)


@lru_cache(maxsize=1)
def _sparse_vector() -> Encoding:
    return encoding("SparseVector").with_widths(64, 64)


def _are_finite(use: VectorUse, values: Mapping[str, Any]) -> bool:
    return all(_is_finite(values[name]) for name in use.finite)


def _is_finite(value: Any) -> bool:
    """Returns whether all numbers of an operand are known to be finite."""
    numbers = value.storage.values if isinstance(value, SparseTensor) else np.asarray(value)
    if numbers.dtype.kind in "iub":
        return True
    if numbers.dtype not in _FINITE:
        return False
    if not (numbers.flags.c_contiguous and numbers.flags.aligned):
        return bool(np.isfinite(numbers).all())
    return _native.are_finite(numbers.reshape(-1).view(numbers.real.dtype))
