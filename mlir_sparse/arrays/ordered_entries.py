"""Order along axes: sorting, medians, and distinct elements. Missing entries are zeros among the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlir_sparse.arrays.axis_arguments import axes_of, axis_of
from mlir_sparse.arrays.entry_lists import EntryList, check_dense_fits, entries_of, is_wide
from mlir_sparse.arrays.flat_places import Array
from mlir_sparse.arrays.grouped_entries import Groups, grouped
from mlir_sparse.arrays.reshape import expanded, moved, reshaped
from mlir_sparse.arrays.wide_values import narrowed, widened
from mlir_sparse.dtypes import INTEGER, REAL
from mlir_sparse.errors import DTypeError, ExtentError, IndexRangeError
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.text.given_arguments import shown

__all__ = ["argpartition", "argsort", "isin", "median", "partition", "searchsorted", "sort", "unique"]


def sort(a: SparseTensor, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """Returns the elements in ascending order along an axis, NaN last; of all of them when the axis is None.

    The result is sparse: what is negative comes first, and what is positive last.

    >>> from mlir_sparse.tensor import tensor
    >>> sort(tensor([[2.0, 0.0, -1.0], [0.0, 0.0, 3.0]])).to_numpy().tolist()
    [[-1.0, 0.0, 2.0], [0.0, 0.0, 3.0]]
    """
    if axis is None:
        return sort(reshaped(a, -1))
    if (wide := widened(a)) is not None:
        return narrowed(sort(wide, axis), a.dtype)
    along = axis_of(axis, a.ndim)
    groups = grouped(a, (along,))
    ranks, values, lanes = _ranked(groups)
    places = np.where(_before_zero(values), ranks, groups.size - groups.counts[lanes] + ranks)
    rest = [dim[lanes] for dim in groups.dims]
    dims = (*rest, places)
    shape = (*groups.kept, groups.size)
    kept = values != 0  # NaN too
    found = EntryList(dims, values, shape).where(kept).tensor(a if along == a.ndim - 1 else None)
    return found if along == a.ndim - 1 else moved(found, -1, along)


def _ordered(values: Array) -> Array:
    """Returns numbers in a type whose NaN NumPy orders last."""
    wide: Array | None = widened(values)
    return values if wide is None else wide


def _before_zero(values: Array) -> Array:
    if values.dtype.kind == "c":  # NumPy orders by real part, then by imaginary part
        values = np.where(values.real == 0, values.imag, values.real)
    negative: Array = values < 0
    return negative


def _ranked(groups: Groups) -> tuple[Array, Array, Array]:
    """Returns the rank of each entry in its group, the values in that order, and the group of each."""
    lanes = np.repeat(np.arange(groups.starts.size), groups.counts)
    values = groups.values
    by_value = np.argsort(values, kind="stable")
    order = by_value[np.argsort(lanes[by_value], kind="stable")]
    ranks = np.arange(values.size) - np.repeat(groups.starts, groups.counts)
    return ranks, values[order], lanes


def argsort(
    a: SparseTensor, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Array:
    """Returns the positions that sort the elements along an axis, a dense array; equal elements keep their order.

    Raises:
        TooLargeError: for a result that would not fit in memory.
    """
    check_dense_fits(a.shape, INTEGER.numpy)
    return np.argsort(_ordered(a.to_numpy()), axis, kind="stable")


def partition(a: Any, kth: Any, axis: int | None = -1, kind: Any = None, order: Any = None) -> Any:
    """Returns the elements with those of some ranks in their sorted places: all are sorted, which is one such order.

    Raises:
        IndexRangeError: for a rank that no element has.

    >>> from mlir_sparse.tensor import tensor
    >>> partition(tensor([0.0, 3.0, -1.0, 0.0]), 1).to_numpy().tolist()
    [-1.0, 0.0, 0.0, 3.0]
    """
    _check_ranks(a, kth, axis)
    return np.sort(a, axis)


def argpartition(a: Any, kth: Any, axis: int | None = -1, kind: Any = None, order: Any = None) -> Any:
    """Returns the positions of the elements in the order of `partition`, a dense array.

    Raises:
        IndexRangeError: for a rank that no element has.
        TooLargeError: for a result that would not fit in memory.
    """
    _check_ranks(a, kth, axis)
    return np.argsort(a, axis)


def _check_ranks(a: Any, kth: Any, axis: int | None) -> None:
    size = a.size if axis is None else a.shape[axis_of(axis, a.ndim)]
    ranks = np.asarray(kth)
    if ranks.dtype.kind not in "iu":
        raise DTypeError(f"expected kth= of integers, but got {ranks.dtype}")
    if ((ranks < -size) | (ranks >= size)).any():
        raise IndexRangeError(f"expected kth= from {-size} to {size - 1}, but got {shown(kth)}")


def median(
    a: SparseTensor, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    """Returns the middle element along axes, or the average of both; NaN where there is one. Dense.

    Raises:
        ExtentError: without an element.
        DTypeError: for complex numbers, which have no order.
    """
    if a.dtype.kind == "c":
        raise DTypeError(f"expected numbers with an order for the median, but got {a.dtype}")
    if (wide := widened(a)) is not None:
        return narrowed(median(wide, axis, keepdims=keepdims), a.dtype)
    along = axes_of(tuple(axis) if isinstance(axis, list) else axis, a.ndim)  # the only reduction that takes lists
    groups = grouped(a, along)
    if groups.size == 0:
        raise ExtentError(f"expected an element or more for the median, but got shape {a.shape}")
    _, values, lanes = _ranked(groups)
    kind = a.dtype if a.dtype.kind == "f" else REAL.numpy
    negative = np.bincount(lanes[_before_zero(values)], minlength=groups.starts.size)
    middle = [_at_rank(groups, values, negative, rank) for rank in ((groups.size - 1) // 2, groups.size // 2)]
    found = np.mean(np.stack(middle).astype(kind), axis=0, dtype=kind)
    has_nan = np.bincount(lanes[np.isnan(values)], minlength=groups.starts.size) > 0
    found[has_nan] = np.nan
    entries = EntryList(groups.dims, found, groups.kept)
    result: Any = entries.tensor() if is_wide(groups.kept) else entries.dense()
    if keepdims:
        return expanded(result, along) if isinstance(result, SparseTensor) else np.expand_dims(result, along)
    return result[()] if isinstance(result, np.ndarray) and result.ndim == 0 else result


def _at_rank(groups: Groups, values: Array, negative: Array, rank: int) -> Array:
    """Returns the element of a rank of each group: a stored one, or one of the zeros between."""
    zeros = groups.size - groups.counts
    place = np.where(rank < negative, rank, rank - zeros)
    stored = (rank < negative) | (rank >= negative + zeros)
    found = np.zeros(groups.starts.size, values.dtype)
    found[stored] = values[(groups.starts + place)[stored]]
    return found


def unique(
    ar: SparseTensor,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """Returns the distinct elements in ascending order, zero among them where an entry is missing.

    Positions, and rows along an axis, are found in a dense array.

    Raises:
        TooLargeError: for positions that would not fit in memory.

    >>> from mlir_sparse.tensor import tensor
    >>> unique(tensor([0.0, 2.0, 0.0, 2.0]), return_counts=True)
    (array([0., 2.]), array([2, 2]))
    """
    if (wide := widened(ar)) is not None:
        found = unique(wide, return_index, return_inverse, return_counts, axis, equal_nan=equal_nan)
        several = return_index or return_inverse or return_counts
        return (narrowed(found[0], ar.dtype), *found[1:]) if several else narrowed(found, ar.dtype)
    if return_index or return_inverse or axis is not None:
        check_dense_fits(ar.shape, INTEGER.numpy)
        wanted = {"return_index": return_index, "return_inverse": return_inverse, "return_counts": return_counts}
        unique_of_array: Any = np.unique  # whose types are many
        return unique_of_array(ar.to_numpy(), axis=axis, equal_nan=equal_nan, **wanted)
    stored = entries_of(ar).values
    missing = ar.size - stored.size
    values, counts = np.unique(stored, return_counts=True, equal_nan=equal_nan)
    if missing:
        at = int(np.argmax(values == 0)) if (values == 0).any() else None
        if at is None:
            at = int(np.count_nonzero(_before_zero(values)))
            values, counts = np.insert(values, at, 0), np.insert(counts, at, 0)
        counts[at] += missing
    return (values, counts) if return_counts else values


def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: str | None = None
) -> Any:
    """Returns where elements are among others: sparse if missing ones are not."""
    tested = unique(test_elements) if isinstance(test_elements, SparseTensor) else np.asarray(test_elements)
    tested = _ordered(tested)
    if isinstance(element, SparseTensor) and (wide := widened(element)) is not None:
        return isin(wide, tested, assume_unique, invert, kind=kind)
    if not isinstance(element, SparseTensor):
        return np.isin(element, tested, assume_unique, invert, kind=kind)  # type: ignore[arg-type]
    entries = entries_of(element)
    found = EntryList(entries.dims, np.isin(entries.values, tested, invert=invert), entries.shape)
    missing = bool(np.isin(np.zeros(1, element.dtype), tested, invert=invert)[0])
    return found.dense(True) if missing else found.where(found.values).tensor(element)


def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    """Returns where elements belong in a vector in ascending order: dense, as both are read.

    Raises:
        TooLargeError: for an operand that would not fit in memory as an array.
    """
    given = (one.to_numpy() if isinstance(one, SparseTensor) else np.asarray(one) for one in (a, v))
    where, values = (_ordered(one) for one in given)
    return np.searchsorted(where, values, side, sorter)
