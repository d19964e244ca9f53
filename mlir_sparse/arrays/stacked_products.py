"""NumPy's products of stacks of vectors and matrices, chains of matrices, and powers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from mlir_sparse.arrays import matrix_products
from mlir_sparse.arrays.axis_arguments import axis_of
from mlir_sparse.arrays.einsum import einsum
from mlir_sparse.arrays.entry_lists import EntryList, entries_of
from mlir_sparse.arrays.wide_values import narrowed, widened
from mlir_sparse.errors import ExtentError, OperandError, RankError, UnsupportedError
from mlir_sparse.runtime import operand_check
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.text.given_arguments import shown

__all__ = ["STACKED", "matrix_power", "multi_dot", "outer", "stacked", "vecdot"]

STACKED = {"vecdot": "...i,...i->...", "matvec": "...ij,...j->...i", "vecmat": "...i,...ij->...j"}


def stacked(name: str, left: Any, right: Any, *, axis: int = -1, dtype: Any = None) -> Any:
    """Returns one of the products of stacks; NumPy's vecdot and vecmat conjugate the first operand.

    Args:
        name: NumPy's name of the product.
        left: a vector or matrix, or a stack of them.
        right: likewise.
        axis: the axis of the vectors of `vecdot`.
        dtype: the element type to compute in; the common one when None.

    Raises:
        OperandError: for an axis that is no integer.
        RankError: for operands without their vector or matrix.
        ExtentError: for inner extents that differ, even if one is 1, which einsum would stretch.
    """
    sources = enumerate((left, right))
    values: list[Any] = [operand_check.value_of(f"operand {number} of np.{name}", source) for number, source in sources]
    if not isinstance(axis, int | np.integer):
        raise OperandError(f"expected an integer for axis of np.{name}, but got {shown(axis)}")
    if axis != -1:
        values = [np.moveaxis(value, axis_of(axis, value.ndim), -1) for value in values]
    inner_axis = -2 if name == "vecmat" else -1
    if values[0].ndim > 0 and values[1].ndim >= -inner_axis:
        inner = values[0].shape[-1], values[1].shape[inner_axis]
        if inner[0] != inner[1]:
            raise ExtentError(f"expected equal inner extents for np.{name}, but got {inner[0]} and {inner[1]}")
    first = values[0] if name == "matvec" else matrix_products.conjugated(values[0])
    return einsum(STACKED[name], first, values[1], dtype=dtype, casting="same_kind")


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Returns `np.linalg.vecdot`."""
    return stacked("vecdot", x1, x2, axis=axis)


def outer(x1: Any, x2: Any, /) -> Any:
    """Returns `np.linalg.outer`, which accepts vectors only and does not flatten its operands.

    Raises:
        RankError: for operands of other ranks.
    """
    ranks = [np.ndim(value) for value in (x1, x2)]
    if ranks != [1, 1]:
        raise RankError(f"expected vectors for np.linalg.outer, but got {ranks[0]} and {ranks[1]} dimensions")
    return matrix_products.outer(x1, x2)


def multi_dot(arrays: Sequence[Any]) -> Any:
    """Returns the product of matrices in the cheapest order; the first and the last may be vectors.

    Raises:
        OperandError: for fewer than two.
        RankError: for other operands.
        ExtentError: for inner extents that differ, even if one is 1, which einsum would stretch.
    """
    if len(arrays) < 2:
        raise OperandError(f"expected two matrices or more for np.linalg.multi_dot, but got {len(arrays)}")
    if len(arrays) == 2:
        return matrix_products.dot(*arrays)
    values = [operand_check.value_of(f"operand {number}", array) for number, array in enumerate(arrays)]
    names = [[number, number + 1] for number in range(len(values))]
    if values[0].ndim == 1:
        names[0] = [1]
    if values[-1].ndim == 1:
        names[-1] = names[-1][:1]
    _check_inner(values)
    outer = [*([0] if values[0].ndim > 1 else []), *([len(values)] if values[-1].ndim > 1 else [])]
    return einsum(*(part for pair in zip(values, names, strict=True) for part in pair), outer)


def _check_inner(values: Sequence[Any]) -> None:
    for left, right in pairwise(values):
        inner = left.shape[-1:], right.shape[:1]
        if inner[0] != inner[1]:
            raise ExtentError(
                f"expected equal inner extents for np.linalg.multi_dot, but got {inner[0]} and {inner[1]}"
            )


def matrix_power(a: SparseTensor, n: int) -> Any:
    """Returns a power of a matrix; the identity for the power 0.

    Raises:
        UnsupportedError: for negative and fractional powers, and for the power 0 of a stack.
        ExtentError: for matrices that are not square.
    """
    if not isinstance(n, int | np.integer) or n < 0:
        raise UnsupportedError(f"expected a power of 0 or more of a sparse matrix, but got {n}: inverses are dense")
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ExtentError(f"expected a square matrix for a power, but got shape {a.shape}")
    if n == 0:
        return _identity(a)
    if n == 1:
        return a
    if (wide := widened(a)) is not None:
        return narrowed(matrix_power(wide, n), a.dtype)
    half = matrix_power(a, n // 2)
    square = matrix_products.matmul(half, half)
    return matrix_products.matmul(square, a) if n % 2 else square


def _identity(a: SparseTensor) -> SparseTensor:
    if a.ndim > 2:
        raise UnsupportedError(f"expected a power of 1 or more of a stack of matrices, but got 0 of shape {a.shape}")
    places = np.arange(a.shape[0])
    return EntryList((places, places), np.ones(places.size, entries_of(a).values.dtype), a.shape).tensor(a)
