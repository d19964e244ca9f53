"""Quantiles and histograms of tensors, whatever stands where nothing is stored: each missing element counts."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from mlir_sparse.arrays.axis_arguments import axes_of
from mlir_sparse.arrays.entry_lists import check_dense_fits, entries_of
from mlir_sparse.arrays.flat_places import Array
from mlir_sparse.arrays.wide_values import narrowed, widened
from mlir_sparse.errors import DTypeError, ExtentError, OperandError, RankError, UnsupportedError
from mlir_sparse.tensor import FilledTensor

__all__ = ["bincount", "histogram", "nanpercentile", "nanquantile", "percentile", "quantile"]


def quantile(
    a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False, interpolation: Any = None
) -> Any:
    """Returns `np.quantile`: the elements at shares of the order along axes, with NaN where there is one. Dense.

    Args:
        a: the tensor.
        q: a share from 0 to 1, or an array of them, whose axes are the first of the result.
        axis: one axis, several, or None for all.
        method: `linear`, between the neighbours.
        keepdims: whether reduced axes stay, with one element.
        interpolation: `method`, by its old name.

    Raises:
        DTypeError: for complex numbers, which have no order.
        ExtentError: without an element.
        OperandError: for shares out of range.
        UnsupportedError: for other methods.

    >>> from mlir_sparse.tensor import tensor
    >>> quantile(tensor([[0.0, 2.0], [3.0, 0.0]]), [0.5, 1])
    array([1., 3.])
    """
    if (method if interpolation is None else interpolation) != "linear":
        raise UnsupportedError(f"expected method='linear' for quantiles, but got {method!r}: use A.to_numpy()")
    if a.dtype.kind == "c":
        raise DTypeError(f"expected numbers with an order for quantiles, but got {a.dtype}")
    if (wide := widened(a)) is not None:
        return narrowed(quantile(wide, q, axis, keepdims=keepdims), a.dtype)
    shares = np.asarray(q, a.dtype if isinstance(q, int | float) and a.dtype.kind == "f" else np.float64)
    if not np.all((shares >= 0) & (shares <= 1)):
        raise OperandError(f"expected shares from 0 to 1 (percentages to 100), but got {q!r}")
    axes = axes_of(tuple(axis) if isinstance(axis, list) else axis, a.ndim)
    kept = [extent for at, extent in enumerate(a.shape) if at not in axes]
    count = prod(a.shape[at] for at in axes)
    if count == 0:
        raise ExtentError(f"expected an element or more for a quantile, but got shape {a.shape}")
    order = (*(at for at in range(a.ndim) if at not in axes), *axes)
    places = (shares * (count - 1)).ravel()
    found = _between(np.sort(np.reshape(np.transpose(a, order), (*kept, count)), axis=-1), places)
    found = found.reshape(
        (*shares.shape, *(1 if at in axes else n for at, n in enumerate(a.shape)))
        if keepdims
        else (*shares.shape, *kept)
    )
    return found[()]


def _between(ordered: Any, places: Array) -> Array:
    """Returns the elements at places along the last axis, the first of the result, as NumPy weighs neighbours."""
    low = np.floor(places)
    rest = places - low
    below = low.astype(np.intp)
    last = ordered.shape[-1] - 1
    picked = [np.moveaxis(_dense(np.take(ordered, at, axis=-1)), -1, 0) for at in (below, np.minimum(below + 1, last))]
    rest = rest.reshape((-1, *(1,) * (ordered.ndim - 1)))
    with np.errstate(invalid="ignore"):
        step = picked[1] - picked[0] if picked[0].dtype.kind != "b" else picked[1] ^ picked[0]
        found: Array = np.where(rest >= 0.5, picked[1] - step * (1 - rest), picked[0] + step * rest)
        greatest = _dense(np.take(ordered, last, axis=-1))
        return np.where(np.isnan(greatest), np.asarray(np.nan, found.dtype), found)


def _dense(value: Any) -> Array:
    found: Array = value.to_numpy() if hasattr(value, "to_numpy") else np.asarray(value)
    return found


def percentile(a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False) -> Any:
    """Returns `quantile` of shares in percent."""
    kind = a.dtype if isinstance(q, int | float) and a.dtype.kind == "f" else np.dtype(np.float64)
    share: Any = np.true_divide(q, kind.type(100))
    return quantile(a, float(share) if isinstance(q, int | float) else share, axis, method=method, keepdims=keepdims)


def nanquantile(a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False) -> Any:
    """Returns `quantile` without NaN; where there is one, of a dense array.

    Raises:
        TooLargeError: for a tensor with NaN that would not fit in memory as an array.
    """
    if a.dtype.kind in "fV" and bool(np.any(np.isnan(a))):
        wide, of_array = widened(a), np.nanquantile
        dense, shares = (a if wide is None else wide).to_numpy(), np.asarray(q)
        # In one dimension, as NumPy 2.4 puts the axes of others elsewhere.
        found: Any = of_array(dense, shares.ravel(), axis, method=method, keepdims=keepdims)  # type: ignore[call-overload]
        kind = a.dtype if isinstance(q, int | float) else np.result_type(a.dtype, np.float64)
        return narrowed(found.reshape((*shares.shape, *found.shape[1:])), kind if wide is None else a.dtype)[()]
    return quantile(a, q, axis, method=method, keepdims=keepdims)


def nanpercentile(a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False) -> Any:
    """Returns `nanquantile` of shares in percent."""
    return nanquantile(a, np.true_divide(q, 100), axis, method=method, keepdims=keepdims)


def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Array, Array]:
    """Returns `np.histogram`: how many elements are in each bin, and the edges.

    Args:
        a: the tensor.
        bins: the number of bins of equal width, or their edges.
        range: the least and the greatest edge; those of the elements when None.
        density: whether counts are divided by their sum and the widths.
        weights: None.

    Raises:
        UnsupportedError: for weights, and for numbers of bins that are chosen from the elements.
        TooLargeError: for more bins than fit in memory.

    >>> from mlir_sparse.tensor import tensor
    >>> histogram(tensor([[0.0, 2.0], [3.0, 0.0]]), bins=[0, 1, 4])
    (array([2, 2]), array([0, 1, 4]))
    """
    if weights is not None or isinstance(bins, str):
        raise UnsupportedError("expected a number of bins or their edges, and no weights: use A.to_numpy()")
    stored = a.stored if isinstance(a, FilledTensor) else a
    values = entries_of(stored).values
    missing = a.size - values.size
    beside = np.asarray(a.fill_value).reshape(1)[: min(missing, 1)]
    if values.dtype == np.bool_:
        values, beside = values.astype(np.uint8), beside.astype(np.uint8)
    if isinstance(bins, int | np.integer):
        check_dense_fits((bins + 1,), np.float64)
    edges = np.histogram_bin_edges(np.concatenate([values, beside]), bins, range)
    between = range if range is not None or np.ndim(bins) else (edges[0], edges[-1])
    counts = np.histogram(values, bins, between)[0]
    if missing:
        counts = counts + np.histogram(beside, bins, between)[0] * missing
    return (counts / np.diff(edges) / counts.sum() if density else counts), edges


def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Array:
    """Returns how often each number from 0 on is an element of a vector, or the sum of weights of those that are it.

    Args:
        x: a vector of integers that are not negative.
        weights: one for each element, an array or a tensor; how often when None.
        minlength: the least length of the result.

    Raises:
        RankError: for a tensor that is no vector.
        DTypeError: for elements that are no integers.
        OperandError: for negative elements, and a negative length.
        ExtentError: for another number of weights.
        TooLargeError: for an element, or a length, of which no array of counts fits in memory.

    >>> from mlir_sparse.tensor import tensor
    >>> bincount(tensor([0, 2, 0, 0, 1, 2])).tolist()
    [3, 1, 2]
    """
    if x.ndim != 1:
        raise RankError(f"expected a vector for np.bincount, but got {x.ndim} dimensions: use np.ravel(A)")
    if x.dtype.kind not in "biu":
        raise DTypeError(f"expected integers for np.bincount, but got {x.dtype}: use np.histogram(A)")
    if minlength < 0:
        raise OperandError(f"expected minlength= of 0 or more, but got {minlength}")
    entries = entries_of(x.stored if isinstance(x, FilledTensor) else x)
    fill = int(x.fill_value) if isinstance(x, FilledTensor) else 0
    listed = [fill] if entries.values.size < x.size else []
    if entries.values.size:
        listed += [int(entries.values.min()), int(entries.values.max())]
    if min(listed, default=0) < 0:
        raise OperandError(f"expected elements that are not negative for np.bincount, but got {min(listed)}")
    check_dense_fits((max(minlength, *listed, 0) + 1,), np.intp)
    values = entries.values.astype(np.intp)
    if weights is None:
        beside: Any = x.size - values.size
        found = np.bincount(values, minlength=minlength)
    else:
        each = np.asarray(weights.to_numpy() if hasattr(weights, "to_numpy") else weights, np.float64)
        if each.shape != x.shape:
            raise ExtentError(f"expected weights of shape {x.shape}, but got {each.shape}")
        is_missing = np.ones(x.size, bool)
        is_missing[entries.dims[0]] = False
        beside = each[is_missing].sum()
        found = np.bincount(values, each[entries.dims[0]], minlength).astype(np.float64 if x.size else np.intp)
    if values.size < x.size:
        if found.size <= fill:
            found = np.concatenate([found, np.zeros(fill + 1 - found.size, found.dtype)])
        found[fill] += beside
    return found
