"""Products of tensors with a fill value: statements that read their definitions, as `evaluate` has them."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters
from typing import Any

import numpy as np

from mlir_sparse.arrays.axis_arguments import axis_of, listed_axes
from mlir_sparse.arrays.einsum import einsum
from mlir_sparse.arrays.matrix_products import conjugated
from mlir_sparse.errors import ExtentError, RankError
from mlir_sparse.tensor.filled_tensor import FilledTensor

__all__ = ["dot", "inner", "kron", "matmul", "tensordot", "vdot", "vecdot"]


def matmul(left: Any, right: Any) -> Any:
    """Returns `left @ right` for vectors and matrices, and stacks of matrices.

    Raises:
        ExtentError: for extents that do not match.
        RankError: for a number.
    """
    a, b = np.ndim(left), np.ndim(right)
    if not a or not b:
        raise RankError("expected vectors or matrices for @, but got a number: use *")
    rows = "" if a == 1 else "i"
    columns = "" if b == 1 else "k"
    text = f"...{rows}j,...j{columns}->...{rows}{columns}" if max(a, b) > 2 else f"{rows}j,j{columns}->{rows}{columns}"
    _check(np.shape(left)[-1], np.shape(right)[-2 if b > 1 else 0], "@")
    return _number(einsum(text, left, right))


def dot(a: Any, b: Any) -> Any:
    """Returns NumPy's `dot`: the sum over the last axis of one operand and the last but one of the other."""
    if not np.ndim(a) or not np.ndim(b):
        return np.multiply(a, b)
    return tensordot(a, b, ([-1], [-2 if np.ndim(b) > 1 else 0]))


def inner(a: Any, b: Any) -> Any:
    """Returns the sum over the last axes of both operands."""
    return np.multiply(a, b) if not np.ndim(a) or not np.ndim(b) else tensordot(a, b, ([-1], [-1]))


def vdot(a: Any, b: Any) -> Any:
    """Returns the sum of products of all elements, the first conjugated."""
    return dot(conjugated(np.ravel(a)), np.ravel(b))


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Returns the sums over an axis of products, the first conjugated; of truth values, whether any holds."""
    first, second = (one if hasattr(one, "dtype") else np.asarray(one) for one in (x1, x2))
    if axis != -1:
        first, second = np.moveaxis(first, axis, -1), np.moveaxis(second, axis, -1)
    if first.shape[-1:] != second.shape[-1:]:
        raise ExtentError(f"expected equal inner extents for np.vecdot, but got shapes {first.shape}, {second.shape}")
    return einsum("...i,...i->...", conjugated(first), second)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Returns the sum of products over axes, as NumPy takes them: a number of axes, or those of both operands.

    Raises:
        ExtentError: for extents that do not match, and for unequal numbers of axes.
    """
    ranks = np.ndim(a), np.ndim(b)
    if isinstance(axes, int | np.integer):
        taken: Sequence[Sequence[int]] = (range(ranks[0] - int(axes), ranks[0]), range(int(axes)))
    else:
        taken = [listed_axes(one) for one in axes]
    first, second = ([axis_of(axis, rank) for axis in one] for one, rank in zip(taken, ranks, strict=True))
    if len(first) != len(second):
        raise ExtentError(f"expected as many axes of both operands, but got axes={axes!r}")
    letters = ascii_letters[: sum(ranks)]
    left, right = list(letters[: ranks[0]]), list(letters[ranks[0] :])
    for one, other in zip(first, second, strict=True):
        _check(np.shape(a)[one], np.shape(b)[other], "tensordot")
        right[other] = left[one]
    kept = [name for at, name in enumerate(left) if at not in first]
    kept += [name for at, name in enumerate(right) if at not in second]
    return _number(einsum(f"{''.join(left)},{''.join(right)}->{''.join(kept)}", a, b))


def kron(a: Any, b: Any) -> Any:
    """Returns the Kronecker product: a block for each element of one, times the other."""
    rank = max(np.ndim(a), np.ndim(b))
    one, other = (np.reshape(x, (1,) * (rank - np.ndim(x)) + np.shape(x)) for x in (a, b))
    left = np.reshape(one, tuple(extent for size in np.shape(one) for extent in (size, 1)))
    right = np.reshape(other, tuple(extent for size in np.shape(other) for extent in (1, size)))
    found = np.multiply(left, right)
    return np.reshape(found, tuple(x * y for x, y in zip(np.shape(one), np.shape(other), strict=True)))


def _check(left: int, right: int, what: str) -> None:
    if left != right:
        raise ExtentError(f"expected equal extents to sum over in {what}, but got {left} and {right}")


def _number(found: Any) -> Any:
    """Returns a result in NumPy's form: a scalar without dimensions."""
    is_number = isinstance(found, np.ndarray) and found.ndim == 0
    return found[()] if is_number and not isinstance(found, FilledTensor) else found
