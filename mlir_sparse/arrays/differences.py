"""Differences of neighbours along an axis, and what is made of them: gradients, and integrals by trapezoids.

They are linear: where both neighbours are missing, so is the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlir_sparse.arrays.axis_arguments import axis_of, listed_axes
from mlir_sparse.arrays.reshape import reshaped
from mlir_sparse.arrays.wide_values import narrowed, widened
from mlir_sparse.dtypes import REAL
from mlir_sparse.errors import DTypeError, ExtentError, OperandError, RankError
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.text.given_arguments import shown

__all__ = ["diff", "ediff1d", "gradient", "trapezoid", "with_ends"]


def with_ends(a: Any, axis: int, prepend: Any, append: Any) -> Any:
    """Returns an array between others along an axis, as NumPy's `diff` takes them: numbers stand for a plane each."""
    parts = []
    for part in (prepend, a, append):
        if part is np._NoValue or part is None:
            continue
        value = part if hasattr(part, "ndim") else np.asarray(part)
        shape = tuple(1 if at == axis else extent for at, extent in enumerate(a.shape))
        parts.append(np.broadcast_to(value, shape) if value.ndim == 0 else value)
    return a if len(parts) == 1 else np.concatenate(parts, axis)


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = np._NoValue, append: Any = np._NoValue) -> Any:
    """Returns the n-th differences of neighbours along an axis; for truth values, whether they differ.

    Args:
        a: the tensor.
        n: how often.
        axis: the axis, which has no elements left where `n` is its extent or more.
        prepend: elements that stand before it, or a number.
        append: likewise, behind it.
    """
    if n < 0:
        raise RankError(f"expected a difference of order 0 or more, but got {n}")
    along = axis_of(axis, a.ndim)
    found: Any = with_ends(a, along, prepend, append) if n else a
    difference = np.logical_xor if a.dtype == np.bool_ else np.subtract
    n = min(n, max(found.shape[along], 1))  # of differences of nothing there is nothing
    for done in range(n):
        if isinstance(found, np.ndarray):  # for a tensor with dense levels only
            return np.diff(found, n - done, axis)
        lead = (slice(None),) * along
        found = difference(found[(*lead, slice(1, None))], found[(*lead, slice(None, -1))])
    return found


def ediff1d(ary: SparseTensor, to_end: Any = None, to_begin: Any = None) -> Any:
    """Returns the differences of neighbours of all elements in row-major order, between others if they are given.

    Raises:
        DTypeError: for others that the tensor's element type does not hold.
    """
    found = diff(reshaped(ary, -1))
    ends = [None if end is None else np.ravel(end) for end in (to_begin, to_end)]
    for end in ends:
        if end is not None and not np.can_cast(end.dtype, ary.dtype, "same_kind"):
            raise DTypeError(f"expected elements of {ary.dtype} beside the differences, but got {end.dtype}")
    before, behind = (None if end is None else end.astype(ary.dtype) for end in ends)
    return with_ends(found, 0, before, behind)


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Returns the derivative of samples along an axis, by central differences; a tuple of them for several axes.

    Args:
        f: the tensor.
        varargs: the distance of samples, one for all axes or one for each; or their coordinates, one vector an axis.
        axis: an axis, or several; all when None.
        edge_order: 1 or 2: that of the one-sided differences at both ends.

    Returns:
        Tensors of `f`'s shape and element type, float64 for integers.

    Raises:
        ExtentError: for too few samples, and for coordinates of another number.
        OperandError: for another number of distances, another order, and two neighbours at one coordinate.
        DTypeError: for truth values.

    >>> from mlir_sparse.tensor import tensor
    >>> gradient(tensor([0.0, 0.0, 1.0, 4.0, 9.0, 0.0]), 0.5).to_numpy().tolist()
    [0.0, 1.0, 4.0, 8.0, -4.0, -18.0]
    """
    if f.dtype == np.bool_:
        raise DTypeError("expected numbers for np.gradient, but got truth values: use A.astype(float)")
    if edge_order not in (1, 2):
        raise OperandError(f"expected edge_order=1 or edge_order=2, but got {shown(edge_order)}")
    axes = list(range(f.ndim)) if axis is None else [axis_of(one, f.ndim) for one in listed_axes(axis)]
    distances = _distances(f.shape, axes, varargs)
    kind = f.dtype if f.dtype.kind in "fc" or widened(f) is not None else REAL.numpy
    wide = widened(f)
    samples = f.astype(kind) if wide is None else wide
    found = []
    for at, distance in zip(axes, distances, strict=True):
        if f.shape[at] < edge_order + 1:
            raise ExtentError(
                f"expected {edge_order + 1} samples or more along axis {at} for edge_order={edge_order}, "
                f"but got {f.shape[at]}"
            )
        slope = _slope(samples, at, distance, edge_order)
        found.append(slope.astype(kind) if wide is None else narrowed(slope, f.dtype))
    return found[0] if len(found) == 1 else tuple(found)


def _distances(shape: tuple[int, ...], axes: list[int], given: tuple[Any, ...]) -> list[Any]:
    """Returns the distances of samples along each axis: a number where they are alike, else a vector."""
    if not given:
        return [1.0] * len(axes)
    several = list(given) * len(axes) if len(given) == 1 and np.ndim(given[0]) == 0 else list(given)
    if len(several) != len(axes):
        raise OperandError(f"expected one distance, or one for each of {len(axes)} axes, but got {len(several)}")
    found: list[Any] = []
    for at, one in zip(axes, several, strict=True):
        places = np.asarray(one)
        if places.ndim == 0:
            found.append(places.item())
            continue
        if places.shape != (shape[at],):
            raise ExtentError(
                f"expected coordinates of shape {(shape[at],)} along axis {at}, but got {places.shape}: "
                "pass one number for samples at equal distances"
            )
        steps = np.diff(places.astype(REAL.numpy) if places.dtype.kind in "biu" else places)
        if not steps.all():
            twice = places[:-1][steps == 0][0]
            raise OperandError(
                f"expected coordinates along axis {at} that differ from sample to sample, but got {twice} "
                "twice: two samples at one place have no slope, which NumPy calls NaN for all elements there; leave "
                "one of them out, or pass f.to_numpy()"
            )
        found.append(steps[0].item() if steps.size and (steps == steps[0]).all() else steps)
    return found


def _slope(samples: Any, at: int, distance: Any, edge_order: int) -> Any:
    """Returns central differences, between one-sided ones at both ends.

    All is made of differences, which are zero between missing samples whatever their value.
    """
    lead = (slice(None),) * at
    steps = np.full(samples.shape[at] - 1, distance) if np.ndim(distance) == 0 else distance

    def part(of: Any, low: int | None, high: int | None) -> Any:
        return of[(*lead, slice(low, high))]

    def times(of: Any, factors: Any) -> Any:
        return of * np.reshape(factors, [-1 if axis == at else 1 for axis in range(of.ndim)]).astype(samples.dtype)

    slopes = times(np.diff(samples, axis=at), 1 / steps)
    before, behind = steps[:-1], steps[1:]
    if np.ndim(distance) == 0:  # without the sample between, which may be large, or NaN
        inner = (part(samples, 2, None) - part(samples, None, -2)) / (2 * distance)
    else:
        inner = times(part(slopes, None, -1), behind / (before + behind))
        inner = inner + times(part(slopes, 1, None), before / (before + behind))
    low, high = part(slopes, None, 1), part(slopes, -1, None)
    if edge_order == 2:  # of the parabola through three samples
        low = low + times(low - part(slopes, 1, 2), before[:1] / (before + behind)[:1])
        high = high + times(high - part(slopes, -2, -1), behind[-1:] / (before + behind)[-1:])
    return np.concatenate([low, inner, high], at)


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Returns the integral of samples along an axis by trapezoids.

    Args:
        y: the samples.
        x: their coordinates: a vector, or an array of `y`'s shape; at equal distances when None.
        dx: the distance of samples, without coordinates.
        axis: the axis.

    Raises:
        ExtentError: for coordinates of another shape.

    >>> from mlir_sparse.tensor import tensor
    >>> trapezoid(tensor([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0]]), dx=0.5, axis=1).tolist()
    [1.0, 0.0]
    """
    at = axis_of(axis, y.ndim)
    wide, steps = widened(y), dx
    if x is not None:
        places = x if hasattr(x, "ndim") else np.asarray(x)
        if places.shape not in ((y.shape[at],), y.shape):
            raise ExtentError(f"expected coordinates of shape {(y.shape[at],)} or {y.shape}, but got {places.shape}")
        steps = np.diff(places, axis=-1 if places.ndim == 1 else at)
        if places.ndim == 1:
            steps = np.reshape(steps, [-1 if one == at else 1 for one in range(y.ndim)])
    lead = (slice(None),) * at
    samples = y if wide is None else wide
    middles = samples[(*lead, slice(1, None))] + samples[(*lead, slice(None, -1))]
    found = np.sum(middles * steps / 2.0, axis=at)
    is_narrow = wide is not None and getattr(steps, "dtype", y.dtype) == y.dtype
    return narrowed(found, y.dtype) if is_narrow else found
