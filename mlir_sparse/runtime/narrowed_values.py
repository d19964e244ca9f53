"""Conversion of values to a narrower element type than they were computed in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mlir_sparse.dtypes import DType
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.buffer_arrays import cast_values

__all__ = ["NarrowedCall", "narrowed"]

Array = np.ndarray[Any, Any]


def narrowed(value: Array | SparseTensor, dtype: DType) -> Array | SparseTensor:
    """Returns a value in an element type; numbers out of range become infinite, as in loops."""
    if value.dtype == dtype.numpy:
        return value
    with np.errstate(over="ignore", under="ignore"):
        return value.astype(dtype) if isinstance(value, SparseTensor) else cast_values(value, dtype)


class NarrowedCall:
    """A kernel of one call followed by a conversion of its result.

    Args:
        function: computes the result from the operands, or returns None.
        last: converts the result, optionally into an array.
    """

    def __init__(self, function: Callable[[tuple[Any, ...]], Any], last: Callable[[Any, Any], Any]) -> None:
        self._function = function
        self._last = last

    def direct(self, operands: tuple[Any, ...], out: Any = None) -> Any:
        """Returns the result; None for operands that do not fit, which the caller then names."""
        found = self._function(operands)
        return None if found is None else self._last(found, out)
