"""Tensors as lists of entries, for what rearranges, merges or selects entries without any loop over levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from mlir_sparse.encoding import Encoding
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.errors import TooLargeError
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.expand import expand_dims
from mlir_sparse.tensor.memory import check_fits
from mlir_sparse.tensor.pack import pack
from mlir_sparse.tensor.plain import is_plain

__all__ = [
    "Array",
    "Entries",
    "check_dense_fits",
    "entries_of",
    "linear",
    "result_encoding",
    "sorted_unique",
    "unlinear",
    "with_values",
]

Array = np.ndarray[Any, Any]

_DEFAULTS = {1: "SparseVector", 2: "CSR"}


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of a tensor, each coordinate once, in any order.

    Args:
        dims: for each dimension the coordinates, int64.
        values: the values.
        shape: the extents.
    """

    dims: tuple[Array, ...]
    values: Array
    shape: tuple[int, ...]

    @property
    def keys(self) -> Array:
        """Returns the row-major number of each entry's place."""
        return linear(self.dims, self.shape)

    def where(self, kept: Array) -> Entries:
        """Returns the entries that a mask or an array of numbers selects."""
        return Entries(tuple(dim[kept] for dim in self.dims), self.values[kept], self.shape)

    def tensor(self, like: SparseTensor | None = None) -> SparseTensor:
        """Returns the tensor of these entries, stored as another one is where any tensor can be."""
        encoding = result_encoding(len(self.shape), None if like is None else like.encoding)
        widths = (None, None) if like is None else (_wide(like.encoding.pos_width), _wide(like.encoding.crd_width))
        values = self.values.astype(np.int8) if self.values.dtype == np.bool_ else self.values
        storage = pack(encoding, self.shape, self.dims, values, source=widths)
        return SparseTensor._trusted(storage.encoding, self.shape, storage)

    def dense(self, missing: Any = 0) -> Array:
        """Returns an array of the entries, all other elements having one value."""
        check_dense_fits(self.shape, self.values.dtype)
        array = np.full(self.shape, missing, dtype=self.values.dtype)
        array[self.dims] = self.values
        return array


def _wide(width: int) -> int | None:
    return width if width in (32, 64) else None


def entries_of(tensor: SparseTensor) -> Entries:
    """Returns the entries of a tensor; those stored more than once are added.

    >>> from mlir_sparse.tensor import tensor
    >>> entries_of(tensor([[0.0, 2.0], [3.0, 0.0]], "CSC")).keys.tolist()
    [2, 1]
    """
    if not tensor.encoding.is_unique:
        tensor = tensor.convert(as_encoding("COO", rank=tensor.ndim) if tensor.ndim > 1 else as_encoding(_DEFAULTS[1]))
    dims, values = expand_dims(tensor.storage, tensor.shape)
    return Entries(tuple(dim.astype(np.int64, copy=False) for dim in dims), values, tensor.shape)


def linear(dims: Sequence[Array], shape: Sequence[int]) -> Array:
    """Returns the row-major number of each place.

    Raises:
        TooLargeError: for a shape of more places than 64 bits count.
    """
    if prod(shape) > np.iinfo(np.int64).max:
        raise TooLargeError(f"expected a shape of less than 2**63 places, but got {tuple(shape)}")
    keys = np.zeros(dims[0].shape if dims else (1,), dtype=np.int64)
    for dim, extent in zip(dims, shape, strict=True):
        keys = keys * extent + dim
    return keys


def sorted_unique(keys: Array) -> Array:
    """Returns the distinct numbers of an array, ascending; runs that ascend already are merged."""
    ordered = np.sort(keys, kind="stable")
    first = np.ones(ordered.size, bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def unlinear(keys: Array, shape: Sequence[int]) -> tuple[Array, ...]:
    """Returns the coordinates of places given by their row-major numbers."""
    dims: list[Array] = []
    for extent in reversed(shape):
        keys, dim = np.divmod(keys, extent) if extent else (keys, keys)
        dims.append(dim)
    return tuple(reversed(dims))


@lru_cache(maxsize=256)
def result_encoding(rank: int, like: Encoding | None) -> Encoding:
    """Returns how a result of a rank is stored: as an operand of that rank where any tensor fits, else CSR or CSF.

    >>> print(result_encoding(2, as_encoding("DCSC")).map_text())
    (i, j) -> (j : compressed, i : compressed)
    """
    if like is not None and like.dim_rank == rank and like.holds_all and is_plain(like):
        return replace(like.with_widths(0, 0), explicit_val=None, implicit_val=None)
    return as_encoding(_DEFAULTS.get(rank, "CSF"), rank=rank)


def with_values(tensor: SparseTensor, values: Array) -> SparseTensor | None:
    """Returns a tensor of the same structure with other values; None where entries share values or are not all its own.

    Args:
        tensor: gives positions and coordinates, which are shared.
        values: as many as it stores, zero wherever its own are padding.
    """
    encoding = tensor.encoding
    if not (encoding.is_unique and is_plain(encoding)) or encoding.explicit_val is not None:
        return None
    buffers = (*tensor.storage.buffers()[:-1], values)
    return SparseTensor._trusted(encoding, tensor.shape, replace(tensor.storage, values=values, _buffers=buffers))


def check_dense_fits(shape: Sequence[int], dtype: Any) -> None:
    """Raises TooLargeError where a dense array would not fit in memory."""
    check_fits(prod(shape) * np.dtype(dtype).itemsize, f"a dense array of shape {tuple(shape)}")
