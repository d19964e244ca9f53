"""Values in a narrower element type than they were computed in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mlir_sparse.dtypes import DType
from mlir_sparse.tensor import SparseTensor

__all__ = ["Rounded", "rounded"]

Array = np.ndarray[Any, Any]


def rounded(value: Array | SparseTensor, dtype: DType) -> Array | SparseTensor:
    """Returns a value in an element type; what that does not hold is infinite, as in loops."""
    if value.dtype == dtype.numpy:
        return value
    with np.errstate(over="ignore", under="ignore"):
        return value.astype(dtype) if isinstance(value, SparseTensor) else value.astype(dtype.numpy)


class Rounded:
    """A function and what is done with its result, as what a user calls.

    Args:
        function: computes the result from the operands; None where something is not as it must be.
        last: takes that, and the array that a dense result is to be written to.
    """

    def __init__(self, function: Callable[[tuple[Any, ...]], Any], last: Callable[[Any, Any], Any]) -> None:
        self._function = function
        self._last = last

    def direct(self, operands: tuple[Any, ...], out: Any = None) -> Any:
        """Returns the result; None where something is not as it must be, for the caller to say what."""
        found = self._function(operands)
        return None if found is None else self._last(found, out)
