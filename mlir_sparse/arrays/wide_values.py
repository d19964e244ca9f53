"""Narrow real numbers (f16, bf16 and those of 8 bits) in the type that sums are made in, and results rounded once.

NumPy computes them step by step in their own type, where partial results overflow, and orders no NaN among numbers of
ml_dtypes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from mlir_sparse.dtypes import DType
from mlir_sparse.tensor import FilledTensor, SparseTensor

__all__ = ["narrowed", "summed_in", "widened"]


@lru_cache(maxsize=64)
def summed_in(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the element type that sums and products are made in: like NumPy's, those of half precision in single."""
    return DType.of(dtype).accumulated_in.numpy


def widened(values: Any) -> Any:
    """Returns a tensor, or an array, of narrow numbers in the type that sums are made in; None for any other.

    >>> from mlir_sparse.tensor import tensor
    >>> widened(tensor([1.0, 0.0], dtype="f16")).dtype, widened(tensor([1.0, 0.0]))
    (dtype('float32'), None)
    """
    wide = summed_in(values.dtype)
    return None if wide == values.dtype else values.astype(wide)


def narrowed(found: Any, dtype: np.dtype[Any]) -> Any:
    """Returns a result that was made of widened numbers in their own type: rounded once, NaN where it is too large."""
    if isinstance(found, SparseTensor | FilledTensor):
        return found.astype(dtype)
    with np.errstate(all="ignore"):
        return found.astype(dtype)
