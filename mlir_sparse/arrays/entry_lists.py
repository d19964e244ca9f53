"""Tensors as lists of entries, for functions that rearrange, merge or select entries without loops over levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from mlir_sparse.arrays.flat_places import Array, numbered
from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import Encoding
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.encoding.derived_fact import derived_once, fact_of
from mlir_sparse.process.available_memory import check_fits
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.batch_and_slice_parts import is_plain
from mlir_sparse.tensor.convert.coordinates_of import expand_dims
from mlir_sparse.tensor.convert.pack import pack
from mlir_sparse.tensor.convert.pack_layout import pack_layout
from mlir_sparse.tensor.dense_entries import lists_entries
from mlir_sparse.tensor.level_storage import LevelStorage
from mlir_sparse.tensor.matrix_lines import line_order
from mlir_sparse.tensor.widths import width_dtype

__all__ = [
    "WIDEST",
    "Array",
    "EntryList",
    "by_rows",
    "check_dense_fits",
    "entries_of",
    "is_by_rows",
    "is_in_order",
    "is_wide",
    "result_encoding",
    "values_once",
    "vector_of",
    "with_values",
]

# A result has no dense axis and no dense level of more elements than this: hardly any memory is large enough.
WIDEST = (1 << 31) - 1

# Storage with more places than this for each entry is left, if it is not small.
_MOST_PLACES, _FEW_PLACES = 4, 1 << 12

_DEFAULTS = {1: "SparseVector", 2: "CSR"}
_COMPRESSED = {1: "SparseVector", 2: "DCSR"}


@dataclass(frozen=True, slots=True)
class EntryList:
    """The entries of a tensor, without repeats, in any order: int64 coordinates for each dimension, and the values."""

    dims: tuple[Array, ...]
    values: Array
    shape: tuple[int, ...]

    @property
    def keys(self) -> Array:
        """Returns integers that order the entries row-major."""
        return numbered([self.dims], self.shape)[0]

    def where(self, kept: Array) -> EntryList:
        """Returns the entries that a mask or an array of numbers selects."""
        # NumPy's indexing by a mask without runs takes five times as long as finding the places once.
        places = np.flatnonzero(kept) if kept.dtype == np.bool_ else kept
        return EntryList(tuple(dim.take(places) for dim in self.dims), self.values.take(places), self.shape)

    def tensor(self, like: SparseTensor | None = None) -> SparseTensor:
        """Returns the tensor of these entries, with the storage of another one if that can store every tensor.

        Diagonals are left where these entries are on many: a matrix in DIA whose rows are reversed is one in CSR.
        """
        if like is not None and _has_sums(like.encoding) and self._is_strewn(like):
            like = None
        encoding = result_encoding(self.shape, None if like is None else like.encoding)
        widths = (None, None) if like is None else (_wide(like.encoding.pos_width), _wide(like.encoding.crd_width))
        storage = pack(encoding, self.shape, self.dims, self.values, source=widths)
        return SparseTensor._trusted(storage.encoding, self.shape, storage)

    def _is_strewn(self, like: SparseTensor) -> bool:
        """Returns whether levels of sums of dimensions, as diagonals are, would have far more places than entries."""
        encoding = like.encoding
        if encoding.dim_rank != len(self.shape) or not self.values.size:
            return False
        wide = [dim.astype(np.int64, copy=False) for dim in self.dims]
        lines = np.unique(encoding.levels[0].expr.evaluate(wide)).size
        places = lines * prod(encoding.level_sizes(self.shape)[1:])
        times = max(_MOST_PLACES, 2 * like.storage.values.size / max(like.nse, 1))
        return places > max(times * self.values.size, _FEW_PLACES)

    def dense(self, missing: Any = 0) -> Array:
        """Returns an array of the entries, with one value for all other elements."""
        check_dense_fits(self.shape, self.values.dtype)
        array = np.full(self.shape, missing, dtype=self.values.dtype)
        if self.dims:
            array[self.dims] = self.values
        elif self.values.size:
            array[...] = self.values[0]
        return array


@fact_of
def _has_sums(encoding: Encoding) -> bool:
    """Returns whether levels of results are of sums of dimensions, and not of dimensions or their parts."""
    kept = encoding.holds_all and is_plain(encoding)  # as in `result_encoding`
    return kept and not (encoding.is_permutation or encoding.is_blocked)


def vector_of(places: Array, values: Array, extent: int, like: SparseTensor) -> SparseTensor:
    """Returns the vector with values at some places, as `EntryList.tensor` does.

    Args:
        places: in range, ascending.
        values: one for each place.
        extent: of the vector.
        like: whose storage it has.

    >>> from mlir_sparse.tensor import tensor
    >>> vector_of(np.array([1, 3]), np.array([5.0, 7.0]), 4, tensor([[1.0]])).to_numpy().tolist()
    [0.0, 5.0, 0.0, 7.0]
    """
    shape = (extent,)
    few = values.size <= WIDEST
    (kind,) = derived_once(like.encoding, "vectors", (extent, few), lambda: _vector_kind(like.encoding, extent, few))
    if kind is None:
        return EntryList((places,), values, shape).tensor(like)
    positions = np.array((0, values.size), width_dtype(kind.pos_width))
    buffers = positions, places.astype(width_dtype(kind.crd_width)), values
    return SparseTensor._trusted(kind, shape, LevelStorage.from_buffers(kind, shape, buffers))


def _vector_kind(like: Encoding, extent: int, few: bool) -> tuple[Encoding | None]:
    """Returns the encoding of vectors in `vector_of`, with widths; (None,) where it is no list of entries."""
    encoding = result_encoding((extent,), like)
    widths = _wide(like.pos_width), _wide(like.crd_width)
    listed = lists_entries(encoding) == 0
    return (pack_layout(encoding, (extent,), 0 if few else WIDEST + 1, widths).encoding if listed else None,)


def _wide(width: int) -> int | None:
    return width if width in (32, 64) else None


def entries_of(tensor: SparseTensor, *, narrow: bool = False) -> EntryList:
    """Returns the entries of a tensor; repeated ones are added up.

    Args:
        tensor: the tensor.
        narrow: whether coordinates may have 32 bits, as they are stored: they are not to be computed with.

    >>> from mlir_sparse.tensor import tensor
    >>> entries_of(tensor([[0.0, 2.0], [3.0, 0.0]], "CSC")).keys.tolist()
    [2, 1]
    """
    if not tensor.encoding.is_unique:
        tensor = tensor.convert(as_encoding("COO", rank=tensor.ndim) if tensor.ndim > 1 else as_encoding(_DEFAULTS[1]))
    if narrow and lists_entries(tensor.encoding) == 0 and tensor.encoding.crd_width >= 32:
        named = tensor.storage.coordinates  # as they are
        listed = tuple(one for level in _levels_of_dims(tensor.encoding) if (one := named[level]) is not None)
        return EntryList(listed, tensor.storage.values, tensor.shape)
    dims, values = expand_dims(tensor.storage, tensor.shape)
    return EntryList(
        tuple(dims) if narrow else tuple([dim.astype(np.int64, copy=False) for dim in dims]), values, tensor.shape
    )


@fact_of
def _levels_of_dims(encoding: Encoding) -> tuple[int, ...]:
    return tuple(encoding.level_order.index(dim) for dim in range(encoding.dim_rank))


def is_by_rows(encoding: Encoding) -> bool:
    """Returns whether levels store the dimensions in their order."""
    return encoding.is_permutation and encoding.level_order == tuple(range(encoding.dim_rank))


@fact_of
def is_in_order(encoding: Encoding) -> bool:
    """Returns whether `entries_of` lists the entries of a tensor in row-major order.

    >>> [is_in_order(as_encoding(name)) for name in ("CSR", "COO", "CSF", "CSC", "BSR(2, 2)", "CSR(unordered)")]
    [True, True, True, False, False, False]
    """
    return is_plain(encoding) and encoding.is_native and is_by_rows(encoding) and encoding.is_ordered


def by_rows(tensor: SparseTensor) -> SparseTensor:
    """Returns a matrix by columns as one by rows, if it has no more rows than take little to count."""
    is_counted = line_order(tensor.encoding) == (1, 0) and tensor.shape[0] <= 4 * tensor.nse
    return tensor.convert("CSR") if is_counted else tensor


def values_once(tensor: SparseTensor) -> Array | None:
    """Returns all values as they are stored, zeros that pad storage among them; None where an element may have two.

    >>> from mlir_sparse.tensor import tensor
    >>> values_once(tensor([[0.0, 2.0], [3.0, 0.0]], "CSC")).tolist()
    [3.0, 2.0]
    """
    return tensor.storage.values if _stores_once(tensor.encoding) else None


@fact_of
def _stores_once(encoding: Encoding) -> bool:
    gaps = any(kind.functions.has_gaps for kind in encoding.level_types)
    return is_plain(encoding) and encoding.is_native and encoding.is_unique and not gaps


def is_wide(shape: Sequence[int]) -> bool:
    """Returns whether some axis is too long for dense results."""
    return max(shape, default=0) > WIDEST


def result_encoding(shape: tuple[int, ...], like: Encoding | None) -> Encoding:
    """Returns the encoding of a result: an operand's of its rank that can store every tensor, else CSR or CSF.

    If that has a dense level of more than 2^31 - 1 coordinates, all levels are compressed: SparseVector, DCSR or CSF.

    >>> print(result_encoding((3, 4), as_encoding("DCSC")).map_text())
    (i, j) -> (j : compressed, i : compressed)
    >>> print(result_encoding((2**40, 4), None).map_text())
    (i, j) -> (i : compressed, j : compressed)
    """
    found = _result_encoding(len(shape), like)
    if is_wide(shape) and _has_wide_level(found, shape):
        return as_encoding(_COMPRESSED.get(len(shape), "CSF"), rank=len(shape))
    return found


def _has_wide_level(encoding: Encoding, shape: tuple[int, ...]) -> bool:
    pairs = zip(encoding.level_types, encoding.level_sizes(shape), strict=True)
    return any(kind.functions.has_full_loop and size > WIDEST for kind, size in pairs)


@lru_cache(maxsize=256)
def _result_encoding(rank: int, like: Encoding | None) -> Encoding:
    if like is not None and like.dim_rank == rank and like.holds_all and is_plain(like):
        return replace(like.with_widths(0, 0), explicit_val=None, implicit_val=None)
    return as_encoding(_DEFAULTS.get(rank, "CSF"), rank=rank)


def with_values(tensor: SparseTensor, values: Array) -> SparseTensor | None:
    """Returns a tensor of the same structure with other values; None for a slice, or if entries share values.

    Args:
        tensor: the tensor whose structure is shared.
        values: as many as it stores, zero where its own are padding.
    """
    encoding = tensor.encoding
    if not (encoding.is_unique and is_plain(encoding)) or encoding.explicit_val is not None:
        return None
    return SparseTensor._trusted(encoding, tensor.shape, tensor.storage.with_values(values))


def check_dense_fits(shape: Sequence[int], dtype: Any) -> None:
    """Raises TooLargeError for a dense array that would not fit in memory."""
    check_fits(prod(shape) * np.dtype(dtype).itemsize, f"a dense array of shape {tuple(shape)}")
