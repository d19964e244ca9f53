"""Functions along an axis whose results have values everywhere, or move all entries by the same steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlir_sparse.arrays.axis_arguments import axis_of
from mlir_sparse.arrays.entry_lists import EntryList, check_dense_fits, entries_of
from mlir_sparse.arrays.flat_places import Array
from mlir_sparse.arrays.indexing import item
from mlir_sparse.arrays.reshape import reshaped
from mlir_sparse.arrays.wide_values import narrowed, widened
from mlir_sparse.errors import OperandError, RankError, UnsupportedError
from mlir_sparse.tensor import SparseTensor

__all__ = ["cumulative", "pad", "take_along_axis", "unstack"]


def cumulative(ufunc: np.ufunc, a: SparseTensor, axis: int | None = None, dtype: Any = None) -> Array:
    """Returns running sums or products along an axis, or over all elements in row-major order: a dense array.

    Raises:
        TooLargeError: for a result that would not fit in memory.
    """
    check_dense_fits(a.shape, a.dtype)
    if dtype is None and (wide := widened(a)) is not None:
        running: Array = narrowed(cumulative(ufunc, wide, axis), a.dtype)
        return running
    dense = a.to_numpy()
    if axis is None:
        dense, axis = dense.reshape(-1), 0
    along = axis_of(axis, dense.ndim)
    return (np.cumsum if ufunc is np.add else np.cumprod)(dense, along, dtype=dtype)


def pad(array: SparseTensor, pad_width: Any, mode: str = "constant", **options: Any) -> SparseTensor:
    """Returns a tensor with zeros before and after each axis.

    Args:
        array: the tensor.
        pad_width: as NumPy takes it: a number, (before, after), or a pair for each axis.
        mode: `constant`.
        options: `constant_values`, zero.

    Raises:
        UnsupportedError: for other modes and values, which give dense arrays.
        OperandError: for widths of another form, or negative ones.

    >>> from mlir_sparse.tensor import tensor
    >>> pad(tensor([[5.0]]), ((1, 0), (0, 2))).to_numpy().tolist()
    [[0.0, 0.0, 0.0], [5.0, 0.0, 0.0]]
    """
    if mode != "constant" or set(options) - {"constant_values"} or np.any(options.get("constant_values", 0) != 0):
        raise UnsupportedError("expected zeros to pad a tensor with, but got others: use A.to_numpy()")
    widths = np.asarray(pad_width)
    try:
        pairs = np.broadcast_to(widths, (array.ndim, 2))
    except ValueError:
        raise OperandError(f"expected a pair of widths for each of {array.ndim} axes, but got {pad_width!r}") from None
    if widths.dtype.kind not in "iu" or (pairs < 0).any():
        raise OperandError(f"expected widths of zero or more to pad, but got {pad_width!r}")
    entries = entries_of(array)
    before = [int(pair[0]) for pair in pairs]
    shape = tuple(extent + int(pair.sum()) for extent, pair in zip(array.shape, pairs, strict=True))
    dims = tuple(dim + step for dim, step in zip(entries.dims, before, strict=True))
    return EntryList(dims, entries.values, shape).tensor(array)


def unstack(x: SparseTensor, /, *, axis: int = 0) -> tuple[Any, ...]:
    """Returns the parts of a tensor along an axis, without that axis."""
    if x.ndim == 0:
        raise RankError("expected a tensor of one dimension or more to unstack, but got a number")
    along = axis_of(axis, x.ndim)
    lead = (slice(None),) * along
    return tuple(item(x, (*lead, at)) for at in range(x.shape[along]))


def take_along_axis(arr: SparseTensor, indices: Any, axis: int | None = -1) -> Any:
    """Returns the elements at positions along an axis, one for each element of an array of them.

    Raises:
        RankError: for positions of another number of dimensions.
        IndexRangeError: for positions out of range.
    """
    if axis is None:
        arr, axis = reshaped(arr, -1), 0
    along, places = axis_of(axis, arr.ndim), np.asarray(indices)
    if places.ndim != arr.ndim:
        raise RankError(f"expected positions of {arr.ndim} dimensions, as the tensor has, but got {places.ndim}")
    rest = np.ogrid[tuple(slice(extent) for extent in arr.shape)]
    return item(arr, tuple(places if at == along else rest[at] for at in range(arr.ndim)))
