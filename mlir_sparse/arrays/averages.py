"""Weighted averages, and the distance of extremes, of tensors whatever stands where nothing is stored."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from mlir_sparse.arrays.axis_arguments import axes_of
from mlir_sparse.arrays.wide_values import narrowed, widened
from mlir_sparse.errors import ExtentError, OperandError

__all__ = ["average", "spread"]


def spread(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Returns `np.ptp`: the largest minus the smallest element over axes."""
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    """Returns the weighted average over axes; with its sum of weights if `returned`.

    Args:
        a: the tensor.
        axis: one axis, several, or None for all.
        weights: one for each element, or, along one axis, for each position; all 1 when None.
        returned: whether the sums of weights are returned too.
        keepdims: whether reduced axes stay, with one element.

    Raises:
        ExtentError: for weights of another shape, or whose sum is zero.

    >>> from mlir_sparse.tensor import tensor
    >>> average(tensor([[0.0, 2.0], [3.0, 0.0]]), axis=0, weights=[1, 3])
    array([2.25, 0.5 ])
    """
    if (wide := widened(a)) is not None:
        found = average(wide, axis, weights, returned, keepdims=keepdims)
        return tuple(narrowed(one, a.dtype) for one in found) if returned else narrowed(found, a.dtype)
    axes = axes_of(axis, a.ndim)
    if weights is None:
        found = np.mean(a, axis=axes, keepdims=keepdims)
        counts = np.full(found.shape, prod(a.shape[at] for at in axes), found.dtype) if returned else None
        return (found, counts[()]) if counts is not None else found
    given = weights if hasattr(weights, "ndim") else np.asarray(weights)
    if given.shape != a.shape:
        if axis is None or len(axes) != 1:
            raise OperandError("expected axis=, of one axis, for weights of another shape than the tensor has")
        if given.ndim != 1 or given.shape[0] != a.shape[axes[0]]:
            raise ExtentError(f"expected weights of shape {(a.shape[axes[0]],)}, but got {given.shape}")
        given = np.reshape(given, [-1 if at == axes[0] else 1 for at in range(a.ndim)])
    kind = np.result_type(a.dtype, given.dtype)
    given = given.astype(kind if kind.kind in "fc" else np.float64)
    total = np.sum(np.broadcast_to(given, a.shape), axis=axes, keepdims=keepdims)
    if np.any(np.asarray(total) == 0):
        raise ExtentError("expected weights whose sum is not zero, but got a sum of zero")
    found = np.sum(np.multiply(a, given), axis=axes, keepdims=keepdims) / total
    return (found, total) if returned else found
