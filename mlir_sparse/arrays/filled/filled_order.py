"""Order along axes of tensors with a fill value: sorting, medians, distinct elements, running sums."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from mlir_sparse.arrays.axis_arguments import axes_of, axis_of
from mlir_sparse.arrays.entry_lists import EntryList, check_dense_fits, entries_of
from mlir_sparse.arrays.filled.filled_elements import filled_entries, map_elements
from mlir_sparse.arrays.filled.moved_entries import expanded, filled_item, moved
from mlir_sparse.arrays.flat_places import Array
from mlir_sparse.arrays.grouped_entries import grouped
from mlir_sparse.arrays.reshape import moved as moved_axes
from mlir_sparse.arrays.reshape import reshaped
from mlir_sparse.arrays.wide_values import narrowed, widened
from mlir_sparse.dtypes import INTEGER, REAL
from mlir_sparse.errors import DTypeError, ExtentError
from mlir_sparse.tensor.filled_tensor import FilledTensor

__all__ = ["argsort", "isin", "median", "nonzero", "running", "searchsorted", "sort", "unique"]


def sort(a: FilledTensor, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """Returns the elements in ascending order along an axis, NaN last; of all of them when the axis is None.

    The result stores what the tensor does: what is less than the fill value comes first, what is more last.

    Raises:
        DTypeError: for complex numbers.

    >>> from mlir_sparse.tensor import tensor
    >>> sort(tensor([[7, 1, 0], [1, 1, 1]], fill_value=1)).to_numpy().tolist()
    [[0, 1, 7], [1, 1, 1]]
    """
    if a.dtype.kind == "c":
        raise DTypeError(f"expected real numbers to sort beside a fill value, but got {a.dtype}: use A.to_numpy()")
    if axis is None:
        return sort(moved(reshaped, a, -1))
    if (wide := widened(a)) is not None:
        return narrowed(sort(wide, axis), a.dtype)
    along = axis_of(axis, a.ndim)
    groups = grouped(a.stored, (along,))
    lanes = np.repeat(np.arange(groups.starts.size), groups.counts)
    by_value = np.argsort(groups.values, kind="stable")
    order_of_lanes = by_value[np.argsort(lanes[by_value], kind="stable")]
    values = groups.values[order_of_lanes]
    ranks = np.arange(values.size) - np.repeat(groups.starts, groups.counts)
    before = ~np.isnan(values) if np.isnan(a.fill_value) else values < a.fill_value
    places = np.where(before, ranks, groups.size - groups.counts[lanes] + ranks)
    dims = (*(dim[lanes] for dim in groups.dims), places)
    found = filled_entries(EntryList(dims, values, (*groups.kept, groups.size)), a.fill_value, None)
    return found if along == a.ndim - 1 else moved(moved_axes, found, -1, along)


def median(
    a: FilledTensor, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    """Returns the middle element along axes, or the average of both; NaN where there is one.

    Raises:
        ExtentError: without an element.
        DTypeError: for complex numbers, which have no order.
    """
    if (wide := widened(a)) is not None:
        return narrowed(median(wide, axis, keepdims=keepdims), a.dtype)
    if isinstance(axis, tuple | list):
        return _median_over(a, axes_of(tuple(axis), a.ndim), keepdims)
    along = -1 if axis is None else axis_of(axis, a.ndim)
    size = a.size if axis is None else a.shape[along]
    if size == 0:
        raise ExtentError(f"expected an element or more for the median, but got shape {a.shape}")
    ordered = sort(a, axis)
    at = ordered.ndim - 1 if axis is None else along
    lead = (slice(None),) * at
    low, high, last = (filled_item(ordered, (*lead, place)) for place in ((size - 1) // 2, size // 2, size - 1))
    kind = a.dtype if a.dtype.kind == "f" else REAL.numpy
    found = _average(low, high, last, kind)
    if not keepdims:
        return found
    if axis is None:
        return np.asarray(found).reshape((1,) * a.ndim)
    return np.expand_dims(found, along) if isinstance(found, np.ndarray | np.generic) else expanded(found, (along,))


def _median_over(a: FilledTensor, axes: tuple[int, ...], keepdims: bool) -> Any:
    kept = [at for at in range(a.ndim) if at not in axes]
    extents = (*(a.shape[at] for at in kept), prod(a.shape[at] for at in axes))
    found = median(a.transpose((*kept, *axes)).reshape(extents), -1)
    return found if not keepdims else np.reshape(found, [1 if at in axes else n for at, n in enumerate(a.shape)])


def _average(low: Any, high: Any, last: Any, kind: Any) -> Any:
    low, high = (one.astype(kind) for one in (low, high))
    with np.errstate(all="ignore"):
        found = (low + high) / kind.type(2)
    # Equal infinities average to themselves; NaN, which sorts last, stays.
    chosen = np.where(np.isnan(last), kind.type(np.nan), np.where(low == high, low, found)).astype(kind)
    return chosen[()] if isinstance(chosen, np.ndarray) else chosen


def unique(
    ar: FilledTensor,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
) -> Any:
    """Returns the distinct elements, ascending; the other results of NumPy's function on request.

    Raises:
        TooLargeError: where an index of each element is asked for that would not fit in memory.
    """
    options = {"return_index": return_index, "return_inverse": return_inverse, "return_counts": return_counts}
    if (wide := widened(ar)) is not None:
        parts = unique(wide, return_index, return_inverse, return_counts, axis, equal_nan=equal_nan)
        return (narrowed(parts[0], ar.dtype), *parts[1:]) if any(options.values()) else narrowed(parts, ar.dtype)
    lacking = ar.size - ar.nse
    if return_index or return_inverse or axis is not None or not equal_nan:
        of_array: Any = np.unique
        return of_array(ar.to_numpy(), **options, axis=axis, equal_nan=equal_nan)
    values = entries_of(ar.stored).values
    beside = np.asarray(ar.fill_value).reshape(1)[: min(lacking, 1)]
    found, counts = np.unique(np.concatenate([values, beside]), return_counts=True)
    if not return_counts:
        return found
    if lacking > 0:
        is_fill = (found == ar.fill_value) | (np.isnan(found) & np.isnan(beside))
        counts[np.flatnonzero(is_fill)[0]] += lacking - 1
    return found, counts


def argsort(a: FilledTensor, axis: int | None = -1) -> Array:
    """Returns the positions that sort the elements along an axis, a dense array; equal elements keep their order.

    Raises:
        TooLargeError: for a result that would not fit in memory.
    """
    check_dense_fits(a.shape, INTEGER.numpy)
    wide = widened(a)
    return np.argsort((a if wide is None else wide).to_numpy(), axis, kind="stable")


def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: str | None = None
) -> Any:
    """Returns where elements are among others, each of which may have a fill value."""
    tested = np.unique(test_elements) if hasattr(test_elements, "fill_value") else np.asarray(test_elements)
    wide = widened(tested)
    among = tested if wide is None else wide  # NumPy orders no NaN of ml_dtypes

    def within(values: Array) -> Array:
        return np.isin(values if (found := widened(values)) is None else found, among, invert=invert)

    if not hasattr(element, "fill_value"):
        return within(np.asarray(element))
    return map_elements(within, [element], "isin")


def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    """Returns where elements belong in a vector in ascending order: dense, as both are read.

    Raises:
        TooLargeError: for an operand that would not fit in memory as an array.
    """
    given = (one.to_numpy() if hasattr(one, "fill_value") else np.asarray(one) for one in (a, v))
    where, values = (one if (wide := widened(one)) is None else wide for one in given)
    return np.searchsorted(where, values, side, sorter)


def running(ufunc: np.ufunc, a: FilledTensor, axis: int | None = None, dtype: Any = None) -> Array:
    """Returns running sums or products along an axis, or over all elements in row-major order: a dense array.

    Raises:
        TooLargeError: for a result that would not fit in memory.
    """
    check_dense_fits(a.shape, a.dtype)
    if dtype is None and (wide := widened(a)) is not None:
        sequence: Array = narrowed(running(ufunc, wide, axis), a.dtype)
        return sequence
    return (np.cumsum if ufunc is np.add else np.cumprod)(a.to_numpy(), axis, dtype=dtype)


def nonzero(a: FilledTensor) -> tuple[Array, ...]:
    """Returns the coordinates of all nonzero elements, in row-major order: nearly all, for a nonzero fill value.

    Raises:
        TooLargeError: for coordinates that would not fit in memory.
    """
    check_dense_fits((*a.shape, a.ndim), np.intp)
    return np.nonzero(a.to_numpy())
