"""Reductions of tensors with a fill value: stored entries, and the fill value as often as elements are missing."""

from __future__ import annotations

import warnings
from math import prod
from typing import Any

import numpy as np

from mlir_sparse.arrays.axis_arguments import axes_of, axis_of
from mlir_sparse.arrays.entry_lists import EntryList, check_dense_fits, is_wide
from mlir_sparse.arrays.filled.filled_elements import filled_entries, map_elements
from mlir_sparse.arrays.filled.moved_entries import expanded
from mlir_sparse.arrays.flat_places import Array, fits_in_64_bits
from mlir_sparse.arrays.grouped_entries import Groups, grouped
from mlir_sparse.arrays.reductions import averaged_type, mean_by
from mlir_sparse.arrays.wide_values import summed_in
from mlir_sparse.dtypes import numpy_dtype
from mlir_sparse.errors import ExtentError, OperandError, TooLargeError, UnsupportedError
from mlir_sparse.tensor.filled_tensor import FilledTensor

__all__ = [
    "count_nonzero",
    "mean",
    "nan_extreme",
    "nan_variance",
    "position",
    "reduced",
    "repeated",
    "variance",
    "warn_of_none",
]

_REDUCIBLE = (
    *(np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin, np.logical_and, np.logical_or, np.logical_xor),
    *(np.bitwise_and, np.bitwise_or, np.bitwise_xor),
)


def repeated(ufunc: np.ufunc, value: Array, counts: Array) -> Array:
    """Returns a value combined with itself a number of times, by doubling: once for one, for 0 the value too.

    Unlike `value * count`, this is what an associative ufunc gives for infinities, of complex numbers too.

    >>> repeated(np.multiply, np.array([3]), np.array([1, 2, 5])).tolist()
    [3, 9, 243]
    """
    found = np.broadcast_to(value, counts.shape).copy()
    left = np.maximum(counts, 1) - 1
    doubled = value
    while np.any(left):
        odd = left % 2 == 1
        found[odd] = ufunc(found[odd], doubled)
        left = left // 2
        if np.any(left):
            doubled = ufunc(doubled, doubled)
    return found


def reduced(
    ufunc: np.ufunc,
    tensor: FilledTensor,
    axis: Any = None,
    *,
    keepdims: bool = False,
    dtype: Any = None,
    initial: Any = None,
) -> Any:
    """Reduces a tensor over axes by a ufunc, in NumPy's choice of type where dtype is None.

    Args:
        ufunc: an associative operator.
        tensor: the tensor.
        axis: one axis, several, or None for all.
        keepdims: whether reduced axes stay, with one element.
        dtype: the element type of the result.
        initial: a number to begin with; None for the first element.

    Raises:
        UnsupportedError: for ufuncs that are not associative.
        ExtentError: without any element to reduce, if the ufunc has no identity.

    >>> from mlir_sparse.tensor import tensor
    >>> reduced(np.add, tensor([[1, 1, 5], [1, 2, 1]], fill_value=1), axis=1)
    array([7, 4])
    """
    if ufunc not in _REDUCIBLE:
        names = ", ".join(known.__name__ for known in _REDUCIBLE)
        raise UnsupportedError(
            f"expected a ufunc that reduces sparse tensors ({names}), but got {ufunc.__name__}: use A.to_numpy()"
        )
    axes = axes_of(axis, tensor.ndim)
    size = prod(tensor.shape[at] for at in axes)
    try:
        wanted = ufunc.reduce(np.ones(1, tensor.dtype), dtype=None if dtype is None else numpy_dtype(dtype)).dtype
    except TypeError as error:
        name = ufunc.__name__
        raise OperandError(f"expected a tensor that {name} reduces, but got {tensor.dtype}: {error}") from None
    if size == 0:
        return _shaped(_of_nothing(ufunc, tensor, axes, wanted, initial), tensor, axes, keepdims)
    kind = summed_in(wanted) if ufunc in (np.add, np.multiply) else wanted
    groups = grouped(tensor.stored, axes)
    with np.errstate(all="ignore"):
        fill = _cast(np.asarray(tensor.fill_value).reshape(1), kind)
        missing = repeated(ufunc, fill, _whole(np.array([size], object)))
        found = _cast_groups(ufunc, groups, kind)
        lacking = _missing_counts(groups)
        some = lacking > 0
        found[some] = ufunc(found[some], repeated(ufunc, fill, lacking)[some])
        if initial is not None:
            first = _cast(np.asarray(initial).reshape(1), kind)
            found, missing = ufunc(first, found), ufunc(first, missing)
        found, missing = found.astype(wanted, copy=False), missing.astype(wanted, copy=False)
    return _spread(groups, found, missing[0], tensor, axes, keepdims)


def _whole(counts: Array) -> Array:
    """Returns numbers of elements in 64 bits, or as Python's integers where they are more."""
    return counts.astype(np.int64) if all(int(count) < 2**63 for count in counts) else counts


def _missing_counts(groups: Groups) -> Array:
    if groups.size < 2**63:
        return groups.size - groups.counts.astype(np.int64)
    return np.array([groups.size - int(count) for count in groups.counts], object)


def _cast(values: Array, kind: np.dtype[Any]) -> Array:
    """Returns values as the reduction reads them: as truth values for logic."""
    return values != 0 if kind == np.bool_ else values.astype(kind)


def _cast_groups(ufunc: np.ufunc, groups: Groups, kind: np.dtype[Any]) -> Array:
    values = _cast(groups.values, kind)
    if groups.starts.size == 0:
        return values[:0]
    found: Array = ufunc.reduceat(values, groups.starts, dtype=None if kind == np.bool_ else kind)
    return found


def _of_nothing(
    ufunc: np.ufunc, tensor: FilledTensor, axes: tuple[int, ...], dtype: np.dtype[Any], initial: Any
) -> Array:
    shape = tuple(extent for at, extent in enumerate(tensor.shape) if at not in axes)
    value = ufunc.identity if initial is None else initial
    if value is None:
        raise ExtentError(f"expected an element or more to reduce by {ufunc.__name__}, but got shape {tensor.shape}")
    check_dense_fits(shape, dtype)
    return np.full(shape, np.asarray(value).astype(dtype))


def _spread(
    groups: Groups, found: Array, missing: Any, tensor: FilledTensor, axes: tuple[int, ...], keepdims: bool
) -> Any:
    """Returns the values of groups as a result: dense for a number or a vector, that of empty groups between."""
    entries = EntryList(groups.dims, found, groups.kept)
    is_dense = len(groups.kept) <= 1 and not is_wide(groups.kept)
    result = entries.dense(missing) if is_dense else filled_entries(entries, missing, tensor.stored)
    return _shaped(result, tensor, axes, keepdims)


def _shaped(found: Any, tensor: FilledTensor, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Returns a result in NumPy's form: a scalar without dimensions, with reduced axes if they stay."""
    if keepdims:
        if isinstance(found, np.ndarray):
            return found.reshape([1 if at in axes else extent for at, extent in enumerate(tensor.shape)])
        return expanded(found, axes)
    return found[()] if isinstance(found, np.ndarray) and found.ndim == 0 else found


def count_nonzero(tensor: FilledTensor, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Returns the number of nonzero elements over axes, missing ones included."""
    found = map_elements(np.not_equal, [tensor, 0], "count_nonzero")
    return np.sum(found, axis=axis, dtype=np.intp, keepdims=keepdims)


def mean(tensor: FilledTensor, axis: Any = None, *, keepdims: bool = False, dtype: Any = None) -> Any:
    """Returns the average over axes, in f64 for integers."""
    return mean_by(reduced, tensor, axis, keepdims=keepdims, dtype=dtype)


def variance(
    tensor: FilledTensor, axis: Any = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False
) -> Any:
    """Returns the average of squared distances from the mean, over axes; of another element type if one is given."""
    tensor = tensor if dtype is None else tensor.astype(numpy_dtype(dtype))
    return _variance(tensor, axis, ddof, keepdims, leaves_out=False)


def nan_variance(tensor: FilledTensor, axis: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Any:
    """Returns the variance over axes of what is no NaN; NaN, with NumPy's warning, where too little is."""
    return _variance(tensor, axis, ddof, keepdims, leaves_out=True)


def _variance(tensor: FilledTensor, axis: Any, ddof: float, keepdims: bool, *, leaves_out: bool) -> Any:
    axes, kind = axes_of(axis, tensor.ndim), averaged_type(tensor.dtype)
    wide = summed_in(kind)
    groups = grouped(tensor.stored.astype(wide), axes)
    fill = np.asarray(tensor.fill_value).astype(wide)
    counted = np.ones(groups.values.size, bool) if not leaves_out else ~np.isnan(groups.values)
    values = np.where(counted, groups.values, 0).astype(wide, copy=False)
    is_counted = not (leaves_out and np.isnan(fill))
    lacking = (float(groups.size) - groups.counts) * is_counted  # in floats: there may be more than integers count
    counts = lacking + _sums(groups, counted.astype(float))
    with np.errstate(all="ignore"):
        means = (_sums(groups, values) + np.where(lacking > 0, fill * lacking, 0)) / counts
        apart = np.where(counted, np.abs(values - np.repeat(means, groups.counts)) ** 2, 0)
        beside = np.where(lacking > 0, np.abs(fill - means) ** 2 * lacking, 0)
        found = _freed(_sums(groups, apart) + beside, counts - ddof, leaves_out)
        total = np.asarray(float(groups.size * is_counted))
        missing = _freed(np.abs(fill - fill) ** 2 * total, total - ddof, leaves_out)
    if leaves_out and (np.any(counts <= ddof) or (total <= ddof and groups.starts.size < prod(groups.kept))):
        warn_of_none("Degrees of freedom <= 0 for slice.")
    real = np.zeros(0, kind).real.dtype
    return _spread(groups, found.astype(real), missing.astype(real)[()], tensor, axes, keepdims)


def _freed(squares: Any, freedom: Any, leaves_out: bool) -> Any:
    return squares / np.where(freedom > 0, freedom, np.nan if leaves_out else 0)


def _sums(groups: Groups, values: Array) -> Array:
    return np.add.reduceat(values, groups.starts) if groups.starts.size else values[:0]


def nan_extreme(ufunc: np.ufunc, tensor: FilledTensor, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Returns the largest or smallest element over axes that is no NaN; NaN of none, with NumPy's warning.

    Args:
        ufunc: `np.fmax` or `np.fmin`.
        tensor: the tensor.
        axis: as for `reduced`.
        keepdims: likewise.
    """
    found = reduced(ufunc, tensor, axis, keepdims=keepdims)
    if tensor.dtype.kind in "fcV" and np.any(np.isnan(found)):
        warn_of_none("All-NaN slice encountered")
    return found


def warn_of_none(words: str) -> None:
    """Warns, as NumPy does, of elements of a result that nothing but NaN gave."""
    warnings.warn(words, RuntimeWarning, stacklevel=7)


def position(largest: bool, tensor: FilledTensor, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Returns the first position of the largest or smallest element, as a row-major index where axis is None."""
    axes = axes_of(None, tensor.ndim) if axis is None else (axis_of(axis, tensor.ndim),)
    if not fits_in_64_bits([tensor.shape[at] for at in axes]):
        raise TooLargeError(
            f"expected positions of less than 2^63 to find one, but got shape {tensor.shape}: give axis="
        )
    groups = grouped(tensor.stored, axes)
    if groups.size == 0:
        raise ExtentError(f"expected an element or more to find a position in, but got shape {tensor.shape}")
    ufunc = np.maximum if largest else np.minimum
    fill = np.asarray(tensor.fill_value).reshape(1)
    best = _cast_groups(ufunc, groups, tensor.dtype)
    lacking = groups.counts < groups.size
    with np.errstate(invalid="ignore"):
        best[lacking] = ufunc(best[lacking], fill)
        hits = _same(groups.values, np.repeat(best, groups.counts))
        is_fill = _same(best, fill)
    first = _least(groups, np.where(hits, groups.places, groups.size))
    # The first missing element is where the places in a group first skip a number.
    ranks = np.arange(groups.values.size) - np.repeat(groups.starts, groups.counts)
    gap = _least(groups, np.where(groups.places != ranks, ranks, np.repeat(groups.counts, groups.counts)))
    found = np.where(is_fill & lacking, np.minimum(first, gap), first).astype(np.int64)
    # Without entries all elements are equal, and the first is taken: position 0.
    return _spread(groups, found, np.int64(0), tensor, axes, keepdims)


def _same(values: Array, others: Array) -> Array:
    same: Array = (values == others) | (np.isnan(values) & np.isnan(others))
    return same


def _least(groups: Groups, values: Array) -> Array:
    return np.minimum.reduceat(values, groups.starts) if groups.starts.size else values[:0].astype(np.int64)
