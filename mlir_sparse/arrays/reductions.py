"""Reductions with NumPy's meaning: missing entries are zeros.

Sums are kernels, and so are extremes and logic that give a number or a vector. Other reductions reduce the entries of
each group, with one zero for all missing entries, so that nothing becomes dense.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from mlir_sparse.arrays.axis_arguments import axes_of, axis_of
from mlir_sparse.arrays.contraction import cast, contracted
from mlir_sparse.arrays.elementwise import elementwise
from mlir_sparse.arrays.entry_lists import EntryList, check_dense_fits, is_wide, values_once
from mlir_sparse.arrays.extremes_of_entries import best_in_lines, best_of_all, best_position, nonzero_of_lines
from mlir_sparse.arrays.flat_places import Array, fits_in_64_bits
from mlir_sparse.arrays.grouped_entries import Groups, grouped
from mlir_sparse.arrays.operator_kernels import access, assignment, computed
from mlir_sparse.arrays.recent_kernels import RecentKernels
from mlir_sparse.arrays.reshape import expanded
from mlir_sparse.arrays.wide_values import summed_in
from mlir_sparse.dtypes import numpy_dtype
from mlir_sparse.errors import ExtentError, OperandError, TooLargeError, UnsupportedError
from mlir_sparse.notation import Assignment, IndexVar, Reduce, ReduceOp
from mlir_sparse.tensor import SparseTensor

__all__ = ["averaged_type", "count_nonzero", "mean", "mean_by", "position", "reduced", "variance"]

# Ufuncs for which one zero has the effect of many.
_IDEMPOTENT = (np.maximum, np.minimum, np.fmax, np.fmin, np.multiply, np.logical_and, np.logical_or)
# Of sums over one axis, or over all.
_recent_sums: dict[int | None, RecentKernels] = {}
_STATEMENTS: dict[np.ufunc, ReduceOp] = {
    np.maximum: ReduceOp.MAX,
    np.minimum: ReduceOp.MIN,
    np.logical_or: ReduceOp.OR,
    np.logical_and: ReduceOp.AND,
}
_REDUCIBLE = (np.add, *_IDEMPOTENT, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.logical_xor)


def reduced(
    ufunc: np.ufunc, tensor: SparseTensor, axis: Any = None, *, keepdims: bool = False, dtype: Any = None
) -> Any:
    """Reduces a tensor over axes by a ufunc; missing entries are zeros.

    Args:
        ufunc: an associative operator for which one zero has the effect of many.
        tensor: the tensor.
        axis: one axis, several, or None for all.
        keepdims: whether reduced axes stay, with one element.
        dtype: the element type of the result; NumPy's choice when None: 64 bits for sums and products of small
            integers.

    Raises:
        UnsupportedError: for other ufuncs.
        ExtentError: without any element to reduce, if the ufunc has no identity.

    >>> from mlir_sparse.tensor import tensor
    >>> reduced(np.maximum, tensor([[0.0, 2.0], [-3.0, -1.0]]), axis=1)
    array([ 2., -1.])
    """
    recent = _recent_sums.get(axis) if ufunc is np.add and dtype is None and not keepdims and _is_plain(axis) else None
    if recent is not None and (total := recent.run((tensor,))) is not None:
        return total if total.ndim else total[()]
    if axis is None and dtype is None and not keepdims and ufunc in _STATEMENTS:
        best = best_of_all(ufunc, tensor)
        if best is not None:
            return best
    if ufunc not in _REDUCIBLE:
        names = ", ".join(known.__name__ for known in _REDUCIBLE)
        raise UnsupportedError(
            f"expected a ufunc that reduces sparse tensors ({names}), but got {ufunc.__name__}: use A.to_numpy()"
        )
    axes = axes_of(axis, tensor.ndim)
    wanted = _dtype_of(ufunc, tensor.dtype, None if dtype is None else numpy_dtype(dtype))
    if ufunc is np.add:
        if recent is None and dtype is None and _is_plain(axis):
            recent = _recent_sums.setdefault(axis, RecentKernels())
        found = _summed(tensor, axes, wanted, recent)
    elif prod(tensor.shape[axis] for axis in axes) == 0:
        found = _of_nothing(ufunc, tensor, axes, wanted)
    elif _is_statement(ufunc, tensor, axes, wanted):
        found = _by_statement(_STATEMENTS[ufunc], tensor, axes)
    else:
        groups = grouped(tensor, axes)
        found = groups.spread(_of_groups(groups, ufunc, wanted), 0, tensor)
    return _shaped(found, tensor, axes, keepdims)


@lru_cache(maxsize=256)
def _dtype_of(ufunc: np.ufunc, present: np.dtype[Any], dtype: np.dtype[Any] | None) -> np.dtype[Any]:
    try:
        return ufunc.reduce(np.ones(1, present), dtype=dtype).dtype  # type: ignore[no-any-return]
    except TypeError as error:
        raise OperandError(
            f"expected a tensor that {ufunc.__name__} reduces, but got one of {present}: {error}"
        ) from None


def _is_plain(axis: Any) -> bool:
    return axis is None or type(axis) is int


def _summed(
    tensor: SparseTensor, axes: tuple[int, ...], dtype: np.dtype[Any], recent: RecentKernels | None = None
) -> Any:
    wide = summed_in(dtype)
    names = _axis_names(tensor.ndim)
    kept = tuple([name for axis, name in enumerate(names) if axis not in axes])
    ready = cast(tensor, wide)
    found = contracted([ready], [names], kept, recent=recent if ready is tensor and wide == dtype else None)
    return found if wide == dtype else found.astype(dtype)


def _is_statement(ufunc: np.ufunc, tensor: SparseTensor, axes: tuple[int, ...], wanted: np.dtype[Any]) -> bool:
    """Returns whether a kernel reduces to an array: of what has an order, with places that 64 bits number."""
    op = _STATEMENTS.get(ufunc)
    if op is None or tensor.dtype.kind == "c" or len(axes) < tensor.ndim - 1:
        return False
    kept = tuple(size for axis, size in enumerate(tensor.shape) if axis not in axes)
    fits = fits_in_64_bits([tensor.shape[axis] for axis in axes]) and not is_wide(kept)
    return fits and wanted == (np.bool_ if op.gives_truth else tensor.dtype)


def _by_statement(op: ReduceOp, tensor: SparseTensor, axes: tuple[int, ...]) -> Any:
    names = _axis_names(tensor.ndim)
    kept = [name for axis, name in enumerate(names) if axis not in axes]

    def made() -> Assignment:
        over = tuple(IndexVar(names[axis]) for axis in axes)
        return assignment(kept, Reduce(op, over, access(0, names)))

    return computed((op, axes, tensor.ndim), made, [tensor], "dense")


def _of_groups(groups: Groups, ufunc: np.ufunc, wanted: np.dtype[Any]) -> Array:
    if ufunc is not np.multiply:
        return groups.reduced(ufunc, None if wanted == np.bool_ else wanted)
    with np.errstate(all="ignore"):
        return groups.reduced(ufunc, summed_in(wanted)).astype(wanted, copy=False)


@lru_cache(maxsize=64)
def _axis_names(rank: int) -> tuple[str, ...]:
    return tuple(f"i{axis}" for axis in range(rank))


def _of_nothing(ufunc: np.ufunc, tensor: SparseTensor, axes: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    shape = tuple(size for axis, size in enumerate(tensor.shape) if axis not in axes)
    if ufunc.identity is None:
        raise ExtentError(f"expected an element or more to reduce by {ufunc.__name__}, but got shape {tensor.shape}")
    check_dense_fits(shape, dtype)
    identity = -1 if ufunc is np.bitwise_and else ufunc.identity
    return np.full(shape, identity, dtype=dtype)


def _shaped(found: Any, tensor: SparseTensor, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Returns a result in NumPy's form: a scalar without dimensions, with reduced axes if they stay."""
    if keepdims:
        shape = tuple(1 if axis in axes else size for axis, size in enumerate(tensor.shape))
        return expanded(found, axes) if isinstance(found, SparseTensor) else found.reshape(shape)
    return found[()] if isinstance(found, np.ndarray) and found.ndim == 0 else found


def count_nonzero(tensor: SparseTensor, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Returns the number of nonzero elements over axes; stored zeros do not count."""
    if axis is None and not keepdims:
        if (values := values_once(tensor)) is not None:
            return np.intp(np.count_nonzero(values))
        return np.intp(np.count_nonzero(grouped(tensor, axes_of(None, tensor.ndim)).values))
    if type(axis) is int and -2 <= axis < 2 and not keepdims and (counts := nonzero_of_lines(tensor, axis)) is not None:
        return counts
    return reduced(np.add, elementwise(np.not_equal, [tensor, 0]), axis, keepdims=keepdims, dtype=np.int64)


def mean(tensor: SparseTensor, axis: Any = None, *, keepdims: bool = False, dtype: Any = None) -> Any:
    """Returns the average over axes, in f64 for integers."""
    return mean_by(reduced, tensor, axis, keepdims=keepdims, dtype=dtype)


def mean_by(sum_of: Callable[..., Any], tensor: Any, axis: Any, *, keepdims: bool, dtype: Any) -> Any:
    """Returns the average over axes of what a function reduces, in f64 for integers."""
    count = prod(tensor.shape[at] for at in axes_of(axis, tensor.ndim))
    kind = averaged_type(tensor.dtype) if dtype is None else numpy_dtype(dtype)
    wide = summed_in(kind)
    total = sum_of(np.add, tensor, axis, keepdims=keepdims, dtype=wide)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = total / np.asarray(count, wide)[()]
    return found.astype(kind) if found.dtype != kind else found


def averaged_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the element type of averages."""
    return np.dtype(np.float64) if dtype.kind in "iub" else dtype


def variance(
    tensor: SparseTensor, axis: Any = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False
) -> Any:
    """Returns the average of squared distances from the mean, over axes; of another element type if one is given."""
    tensor = tensor if dtype is None else tensor.astype(numpy_dtype(dtype))
    axes = axes_of(axis, tensor.ndim)
    kind = averaged_type(tensor.dtype)
    groups = grouped(tensor.astype(summed_in(kind)), axes)
    real = np.zeros(0, kind).real.dtype
    with np.errstate(invalid="ignore", divide="ignore"):
        means = _sums(groups, groups.values) / float(groups.size)
        distances = np.abs(groups.values - np.repeat(means, groups.counts)) ** 2
        # In floats: the number of places may exceed every integer type.
        found = _sums(groups, distances) + (float(groups.size) - groups.counts) * np.abs(means) ** 2
        found = (found / float(max(groups.size - ddof, 0))).astype(real)
        missing = np.zeros(1) / float(max(groups.size - ddof, 0)) if groups.size else np.full(1, np.nan)
        missing = missing.astype(real)[0]
    return _shaped(groups.spread(found, missing, tensor), tensor, axes, keepdims)


def _sums(groups: Groups, values: Array) -> Array:
    return np.add.reduceat(values, groups.starts) if groups.starts.size else values[:0]


def position(largest: bool, tensor: SparseTensor, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Returns the first position of the largest or smallest element, as a row-major index where axis is None."""
    shape = tensor.shape
    axes = tuple(range(len(shape))) if axis is None else (axis_of(axis, len(shape)),)
    if not fits_in_64_bits(shape if axis is None else (shape[axes[0]],)):
        raise TooLargeError(
            f"expected positions of less than 2^63 to find one, but got shape {tensor.shape}: give axis="
        )
    if axis is None and not keepdims and (first := best_position(largest, tensor)) is not None:
        return first
    if axis is not None and not keepdims and (places := best_in_lines(largest, tensor, axes[0])) is not None:
        return places
    groups = grouped(tensor, axes)
    if groups.size == 0:
        raise ExtentError(f"expected an element or more to find a position in, but got shape {tensor.shape}")
    best = groups.reduced(np.maximum if largest else np.minimum)
    wanted = np.repeat(best, groups.counts)
    with np.errstate(invalid="ignore"):
        hits = (groups.values == wanted) | (np.isnan(groups.values) & np.isnan(wanted))
    first = np.minimum.reduceat(np.where(hits, groups.places, groups.size), groups.starts) if best.size else best
    # The first missing entry is where the places in a group first skip a number.
    ranks = np.arange(groups.values.size) - np.repeat(groups.starts, groups.counts)
    gaps = np.where(groups.places != ranks, ranks, np.repeat(groups.counts, groups.counts))
    gap = np.minimum.reduceat(gaps, groups.starts) if best.size else best
    found = np.where((best == 0) & (groups.counts < groups.size), np.minimum(first, gap), first)
    # Without entries the first element is the largest: position 0.
    entries = EntryList(groups.dims, found.astype(np.int64), groups.kept)
    return _shaped(entries.tensor() if is_wide(groups.kept) else entries.dense(), tensor, axes, keepdims)
