"""Matrices and right sides of linear systems: what is taken, and in which element type it is solved."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlir_sparse.dtypes import WIDE_TYPES, DType
from mlir_sparse.errors import DTypeError, ExtentError, OperandError, RankError
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.borders.dense_arrays import array_of
from mlir_sparse.tensor.create import tensor_with_zeros
from mlir_sparse.tensor.level_storage import Array

__all__ = ["least_type", "right_sides", "square_matrix"]

_LEAST = next(dtype for dtype in WIDE_TYPES if dtype.is_real)


def square_matrix(source: Any) -> SparseTensor:
    """Returns a square matrix as a tensor.

    Raises:
        RankError: for another number of dimensions than two.
        ExtentError: for a matrix that is not square.
    """
    matrix = source if type(source) is SparseTensor else tensor_with_zeros(source, "a linear system")
    if len(matrix.shape) != 2:
        raise RankError(f"expected a square matrix, but got a tensor of shape {matrix.shape}")
    if matrix.shape[0] != matrix.shape[1]:
        raise ExtentError(f"expected a square matrix, but got shape {matrix.shape}")
    return matrix


def right_sides(source: Any, rows: int) -> Array:
    """Returns right sides as an array of shape (rows,) or (rows, k).

    Raises:
        OperandError: for anything else than a dense array.
        RankError: for another number of dimensions than one or two.
        ExtentError: for another number of rows.
    """
    if isinstance(source, SparseTensor):
        raise OperandError("expected dense right sides, but got a SparseTensor: pass b.to_numpy()")
    sides = array_of(source, "dense right sides")
    if sides.ndim not in (1, 2):
        raise RankError(f"expected right sides of shape ({rows},) or ({rows}, k), but got shape {sides.shape}")
    if sides.shape[0] != rows:
        raise ExtentError(f"expected right sides of {rows} rows, as the matrix has, but got shape {sides.shape}")
    return sides


def least_type(*dtypes: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the type to solve in: the common one, f32 at least, and f64 for integers of 32 bits and more.

    Raises:
        DTypeError: for a type wider than native code has.

    >>> least_type(np.dtype("int32"), np.dtype("float32")), least_type(np.dtype("float16"))
    (dtype('float64'), dtype('float32'))
    """
    found = np.result_type(_LEAST.numpy, *(_widened(dtype) for dtype in dtypes))
    if found not in [dtype.numpy for dtype in WIDE_TYPES]:
        raise DTypeError(f"expected f32, f64, c64 or c128 to solve in, but got {found}: convert with astype")
    return found


def _widened(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the type that stands for one that NumPy knows no common type of."""
    return DType.of(dtype).accumulated_in.numpy if dtype.kind == "V" else dtype
