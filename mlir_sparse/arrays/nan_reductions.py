"""Reductions that leave NaN out: NumPy's `nansum`, `nanmean` and others. Missing entries are zeros, and count."""

from __future__ import annotations

import warnings
from math import prod
from typing import Any

import numpy as np

from mlir_sparse.arrays import reductions
from mlir_sparse.arrays.axis_arguments import axes_of
from mlir_sparse.arrays.dense_sequences import cumulative
from mlir_sparse.arrays.elementwise import map_entries
from mlir_sparse.arrays.grouped_entries import grouped
from mlir_sparse.arrays.ordered_entries import median
from mlir_sparse.arrays.wide_values import narrowed, widened
from mlir_sparse.dtypes import numpy_dtype
from mlir_sparse.errors import ExtentError
from mlir_sparse.tensor import SparseTensor

__all__ = [
    *("nanargmax", "nanargmin", "nancumulative", "nanmax", "nanmean", "nanmedian", "nanmin", "nanprod", "nanstd"),
    *("nansum", "nanvar"),
]


def _has_nan(a: SparseTensor) -> bool:
    return a.dtype.kind in "fcV" and bool(np.isnan(a.storage.values).any())


def _with(a: SparseTensor, value: Any) -> Any:
    """Returns a tensor with another value for NaN."""
    if not _has_nan(a):
        return a

    def replaced(x: Any) -> Any:
        return np.where(np.isnan(x), np.asarray(value, x.dtype), x)

    return map_entries(replaced, [a], a.shape)


def _counts(a: SparseTensor, axis: Any, keepdims: bool) -> Any:
    """Returns the number of elements that are no NaN, over axes."""
    size = prod(a.shape[at] for at in axes_of(axis, a.ndim))
    if not _has_nan(a):
        return size
    lacking = reductions.reduced(np.add, map_entries(np.isnan, [a], a.shape), axis, keepdims=keepdims, dtype=np.int64)
    return size - (lacking.to_numpy() if isinstance(lacking, SparseTensor) else lacking)


def nansum(a: SparseTensor, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    """Returns the sum over axes, without NaN."""
    return reductions.reduced(np.add, _with(a, 0), axis, dtype=dtype, keepdims=keepdims)


def nanprod(a: SparseTensor, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    """Returns the product over axes, without NaN."""
    return reductions.reduced(np.multiply, _with(a, 1), axis, dtype=dtype, keepdims=keepdims)


def nanmean(a: SparseTensor, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    """Returns the average over axes, without NaN; NaN of none, with NumPy's warning."""
    if not _has_nan(a):
        return reductions.mean(a, axis, dtype=dtype, keepdims=keepdims)
    if dtype is None and (wide := widened(a)) is not None:
        return narrowed(nanmean(wide, axis, keepdims=keepdims), a.dtype)
    total, counts = nansum(a, axis, dtype, keepdims=keepdims), _counts(a, axis, keepdims)
    _warn_of_none(counts, "Mean of empty slice")
    with np.errstate(invalid="ignore", divide="ignore"):
        found = total / counts
    return found.astype(total.dtype) if found.dtype != total.dtype else found


def _warn_of_none(counts: Any, words: str) -> None:
    if np.any(np.asarray(counts) == 0):
        warnings.warn(words, RuntimeWarning, stacklevel=6)


def _extreme(a: SparseTensor, ufunc: np.ufunc, least: float, axis: Any, keepdims: bool) -> Any:
    if (wide := widened(a)) is not None:  # which may have no infinities
        return narrowed(_extreme(wide, ufunc, least, axis, keepdims), a.dtype)
    found = reductions.reduced(ufunc, _with(a, least), axis, keepdims=keepdims)
    none = np.asarray(_counts(a, axis, keepdims)) == 0
    if not none.any():
        return found
    _warn_of_none(0, "All-NaN slice encountered")
    dense = found.to_numpy() if isinstance(found, SparseTensor) else found
    return np.where(none, np.nan, dense).astype(a.dtype)[()]


def nanmax(a: SparseTensor, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Returns the largest element over axes, without NaN; NaN of none, with NumPy's warning."""
    return _extreme(a, np.maximum, -np.inf, axis, keepdims)


def nanmin(a: SparseTensor, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Returns the smallest element over axes, without NaN; NaN of none, with NumPy's warning."""
    return _extreme(a, np.minimum, np.inf, axis, keepdims)


def _position(a: SparseTensor, largest: bool, axis: Any, keepdims: bool) -> Any:
    if (wide := widened(a)) is not None:
        return _position(wide, largest, axis, keepdims)
    if np.any(np.asarray(_counts(a, axis, keepdims)) == 0):
        raise ExtentError("expected an element that is no NaN to find a position in, but got All-NaN slice encountered")
    return reductions.position(largest, _with(a, -np.inf if largest else np.inf), axis, keepdims=keepdims)


def nanargmax(a: SparseTensor, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Returns the first position of the largest element, as `np.argmax`, without NaN.

    Raises:
        ExtentError: of nothing but NaN; a ValueError, as NumPy's.
    """
    return _position(a, True, axis, keepdims)


def nanargmin(a: SparseTensor, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Returns the first position of the smallest element, likewise."""
    return _position(a, False, axis, keepdims)


def nanvar(a: SparseTensor, axis: Any = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Any:
    """Returns the average of squared distances from the mean, over axes, without NaN. Dense where there is one."""
    if dtype is not None:
        a = a.astype(numpy_dtype(dtype))
    if not _has_nan(a):
        return reductions.variance(a, axis, ddof=ddof, keepdims=keepdims)
    if (wide := widened(a)) is not None:
        return narrowed(nanvar(wide, axis, ddof=ddof, keepdims=keepdims), a.dtype)
    axes = axes_of(axis, a.ndim)
    groups = grouped(a, axes)
    lacking = np.isnan(groups.values)
    values = np.where(lacking, 0, groups.values)
    counts = groups.size - np.add.reduceat(lacking.astype(np.int64), groups.starts)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.add.reduceat(values, groups.starts) / counts
        apart = np.where(lacking, 0, np.abs(values - np.repeat(means, groups.counts)) ** 2)
        found = np.add.reduceat(apart, groups.starts) + (groups.size - groups.counts) * np.abs(means) ** 2
        found = found / np.where(counts - ddof > 0, counts - ddof, np.nan)
    _warn_of_none(counts, "Degrees of freedom <= 0 for slice.")
    result = groups.spread(found.astype(values.real.dtype), 0, a)
    dense = result.to_numpy() if isinstance(result, SparseTensor) else result
    if keepdims:
        return dense.reshape([1 if at in axes else extent for at, extent in enumerate(a.shape)])
    return dense[()]


def nanstd(a: SparseTensor, axis: Any = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Any:
    """Returns the standard deviation over axes, without NaN."""
    if dtype is None and (wide := widened(a)) is not None:  # the variance may be too large where its root is not
        return narrowed(nanstd(wide, axis, ddof=ddof, keepdims=keepdims), a.dtype)
    return np.sqrt(nanvar(a, axis, dtype, ddof=ddof, keepdims=keepdims))


def nanmedian(a: SparseTensor, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Returns the middle element along an axis, without NaN; where there is one, of a dense array.

    Raises:
        TooLargeError: for a tensor with NaN that would not fit in memory as an array.
    """
    if (wide := widened(a)) is not None:
        return narrowed(nanmedian(wide, axis, keepdims=keepdims), a.dtype)
    return np.nanmedian(a.to_numpy(), axis, keepdims=keepdims) if _has_nan(a) else median(a, axis, keepdims=keepdims)


def nancumulative(ufunc: np.ufunc, a: SparseTensor, axis: int | None = None, dtype: Any = None) -> Any:
    """Returns running sums or products without NaN: a dense array."""
    return cumulative(ufunc, _with(a, ufunc.identity), axis, dtype)
