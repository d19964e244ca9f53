"""NumPy's reductions by name, with its arguments, of what reduces the elements of one kind of tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from mlir_sparse.arrays.wide_values import narrowed, widened
from mlir_sparse.dtypes import numpy_dtype

__all__ = ["Reductions", "reduction_functions", "root"]

Function = Callable[..., Any]


class Reductions(Protocol):
    """What reduces elements: `arrays.reductions` of sparse tensors, `arrays.filled.filled_reductions` of others."""

    reduced: Function
    position: Function
    mean: Function
    variance: Function


def reduction_functions(of: Reductions) -> dict[str, Function]:
    """Returns NumPy's reductions by the names of its tables.

    >>> from mlir_sparse.arrays import reductions
    >>> from mlir_sparse.tensor import tensor
    >>> reduction_functions(reductions)["np.max"](tensor([[0.0, 2.0], [3.0, 0.0]]), 1).tolist()
    [2.0, 3.0]
    """
    return {
        "np.sum": _in_a_type(of, np.add),
        "np.prod": _in_a_type(of, np.multiply),
        "np.max": _reduction(of, np.maximum),
        "np.min": _reduction(of, np.minimum),
        "np.any": _reduction(of, np.logical_or),
        "np.all": _reduction(of, np.logical_and),
        "np.mean": _mean(of),
        "np.var": _variance(of),
        "np.std": root(_variance(of)),
        "np.argmax": _position(of, largest=True),
        "np.argmin": _position(of, largest=False),
    }


def root(function: Function) -> Function:
    """Returns the square root of a variance."""

    def apply(a: Any, axis: Any = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Any:
        a = a if dtype is None else a.astype(numpy_dtype(dtype))
        wide = widened(a)  # the variance may be too large for numbers whose root is not
        if wide is not None:
            return narrowed(apply(wide, axis, ddof=ddof, keepdims=keepdims), a.dtype)
        return np.sqrt(function(a, axis, ddof=ddof, keepdims=keepdims))

    return apply


def _in_a_type(of: Reductions, ufunc: np.ufunc) -> Function:
    def apply(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
        return of.reduced(ufunc, a, axis, dtype=dtype, keepdims=keepdims)

    return apply


def _reduction(of: Reductions, ufunc: np.ufunc) -> Function:
    def apply(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        return of.reduced(ufunc, a, axis, keepdims=keepdims)

    return apply


def _position(of: Reductions, *, largest: bool) -> Function:
    def apply(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        return of.position(largest, a, axis, keepdims=keepdims)

    return apply


def _mean(of: Reductions) -> Function:
    def apply(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
        return of.mean(a, axis, dtype=dtype, keepdims=keepdims)

    return apply


def _variance(of: Reductions) -> Function:
    def apply(a: Any, axis: Any = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Any:
        return of.variance(a, axis, dtype, ddof=ddof, keepdims=keepdims)

    return apply
