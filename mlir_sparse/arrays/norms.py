"""Norms of vectors and matrices, from sums and extremes."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlir_sparse.arrays.axis_arguments import axes_of
from mlir_sparse.arrays.elementwise import elementwise
from mlir_sparse.arrays.entry_lists import values_once
from mlir_sparse.arrays.reductions import count_nonzero, reduced
from mlir_sparse.arrays.wide_values import narrowed, widened
from mlir_sparse.errors import ExtentError, RankError, UnsupportedError
from mlir_sparse.tensor import SparseTensor

__all__ = ["norm", "norm_of_nothing"]


def norm(x: SparseTensor, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Returns NumPy's norm of vectors or matrices.

    Args:
        x: the tensor.
        ord: the norm: any without a negative exponent for vectors; None, "fro", 1, -1, inf, -inf for matrices.
        axis: the axis of vectors, or the two axes of matrices; all when None.
        keepdims: whether these axes stay, with one element.

    Raises:
        RankError: for other numbers of axes.
        UnsupportedError: for norms that need singular values.

    >>> from mlir_sparse.tensor import tensor
    >>> norm(tensor([[3.0, 0.0], [0.0, 4.0]])), norm(tensor([3.0, -4.0]), 1)
    (np.float64(5.0), np.float64(7.0))
    """
    kind = x.dtype.kind
    if kind == "f" and (wide := widened(x)) is not None:
        return narrowed(norm(wide, ord, axis, keepdims), x.dtype)
    x = x if kind in "fc" else x.astype(np.float64)
    is_whole = axis is None and not keepdims and (ord is None or (ord == "fro" and x.ndim == 2))
    if is_whole and (values := values_once(x)) is not None:
        # As NumPy's function, which takes longer to say so of a few numbers.
        return np.linalg.norm(values) if kind == "c" else np.sqrt(values.dot(values))
    sizes = elementwise(np.absolute, [x])
    axes = axes_of(axis, x.ndim)
    if axis is not None and len(axes) not in (1, 2):
        raise RankError(f"expected the axis of vectors or the two of matrices for norm, but got axis={axis!r}")
    if ord is None or (ord == "fro" and len(axes) == 2) or (ord == 2 and len(axes) == 1):
        squares = reduced(np.add, elementwise(np.square, [sizes]), axes, keepdims=keepdims)
        return elementwise(np.sqrt, [squares]) if isinstance(squares, SparseTensor) else np.sqrt(squares)
    if ord in (1, np.inf, -1, -np.inf) and 0 in [x.shape[at] for at in axes]:
        return norm_of_nothing(x.shape, axes, ord, keepdims, sizes.dtype)
    if len(axes) == 1:
        return _vectors(sizes, ord, axes, keepdims)
    if len(axes) == 2 and ord in (1, -1, np.inf, -np.inf):
        first, second = axes_of(axis, x.ndim) if axis is None else (int(a) % x.ndim for a in axis)
        summed = first if abs(ord) == 1 else second
        sums = reduced(np.add, sizes, summed, keepdims=True)
        largest = np.maximum if ord > 0 else np.minimum
        if not isinstance(sums, SparseTensor):
            return (np.max if ord > 0 else np.min)(sums, (first, second), keepdims=keepdims)
        return reduced(largest, sums, (first, second), keepdims=keepdims)
    raise UnsupportedError(f"expected a norm without singular values, but got ord={ord!r}: use A.to_numpy()")


def norm_of_nothing(shape: tuple[int, ...], axes: tuple[int, ...], ord: Any, keepdims: bool, dtype: Any) -> Any:
    """Returns norms over axes without an element: zeros.

    Raises:
        ExtentError: for the least sum or size, of which there is none.
    """
    if ord < 0:
        raise ExtentError(f"expected an element or more for a norm with ord={ord}, but got shape {shape}")
    kept = [1 if at in axes else extent for at, extent in enumerate(shape) if keepdims or at not in axes]
    return np.zeros(kept, dtype)[()]


def _vectors(sizes: SparseTensor, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if ord in (np.inf, -np.inf):
        return reduced(np.maximum if ord > 0 else np.minimum, sizes, axes, keepdims=keepdims)
    if ord == 0:
        return np.asarray(count_nonzero(sizes, axes, keepdims=keepdims)).astype(sizes.dtype)[()]
    if not isinstance(ord, int | float) or ord < 0:
        raise UnsupportedError(f"expected a norm of a positive exponent or inf, but got ord={ord!r}: use A.to_numpy()")
    total = reduced(np.add, elementwise(np.power, [sizes, ord]), axes, keepdims=keepdims)
    return elementwise(np.power, [total, 1 / ord]) if isinstance(total, SparseTensor) else total ** (1 / ord)
