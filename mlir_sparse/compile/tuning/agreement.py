"""Comparison of two results of a kernel, up to rounding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mlir_sparse.dtypes import DType
from mlir_sparse.tensor import SparseTensor

__all__ = ["agree"]

Array = np.ndarray[Any, Any]
Value = Array | SparseTensor


def agree(one: Value, other: Value) -> bool:
    """Returns whether two results are equal; floating-point ones up to the effect of another order of sums.

    Elements may differ by half of their digits, or, for sums that cancel, by some thousand times the rounding of the
    largest one. Missing entries are 0.

    Args:
        one: a dense array or a sparse tensor.
        other: likewise, with the same shape and element type.

    >>> agree(np.array([1.0, 2.0]), np.array([1.0, 2.0 + 1e-15])), agree(np.array([1, 2]), np.array([1, 3]))
    (True, False)
    """
    if tuple(one.shape) != tuple(other.shape) or one.dtype != other.dtype:
        return False
    left, right = _aligned(one, other)
    dtype = DType.of(one.dtype)
    if dtype.is_exact:
        return bool(np.array_equal(left, right))
    wide = np.complex128 if np.iscomplexobj(left) else np.float64
    return _close(left.astype(wide), right.astype(wide), dtype.epsilon)


def _close(left: Array, right: Array, epsilon: float) -> bool:
    finite = np.isfinite(left)
    if not np.array_equal(left[~finite], right[~finite], equal_nan=True):
        return False
    left, right = left[finite], right[finite]
    relative = math.sqrt(epsilon)
    largest = float(np.max(np.abs(left), initial=0.0))
    return bool(np.all(np.abs(left - right) <= relative * np.abs(left) + min(1e4 * epsilon, relative) * largest))


def _aligned(one: Value, other: Value) -> tuple[Array, Array]:
    """Returns the values of both at the same places."""
    if not isinstance(one, SparseTensor) or not isinstance(other, SparseTensor):
        return _dense(one), _dense(other)
    left, right = one.storage, other.storage
    if one.encoding == other.encoding and all(map(_equal, _structure(left), _structure(right))):
        return left.values, right.values
    return _united(one, other)


def _structure(storage: Any) -> tuple[Array | None, ...]:
    return (*storage.positions, *storage.coordinates)


def _equal(one: Array | None, other: Array | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)


def _dense(value: Value) -> Array:
    return value.to_numpy() if isinstance(value, SparseTensor) else value


def _united(one: SparseTensor, other: SparseTensor) -> tuple[Array, Array]:
    """Returns the values of both wherever one of them has an entry."""
    (places, values), (others, more) = one.to_coo(), other.to_coo()
    together = np.concatenate([places, others], axis=1)
    _, where = np.unique(together, axis=1, return_inverse=True)
    where = where.reshape(-1)
    count = int(where.max(initial=-1)) + 1
    left, right = np.zeros(count, values.dtype), np.zeros(count, values.dtype)
    left[where[: values.size]] = values
    right[where[values.size :]] = more
    return left, right
