"""Matrix products with NumPy's meaning, as contractions."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from mlir_sparse.arrays.broadcast import Labels, Value
from mlir_sparse.arrays.contraction import cast, contracted, prepared
from mlir_sparse.arrays.elementwise import elementwise
from mlir_sparse.arrays.recent_kernels import RecentKernels
from mlir_sparse.dtypes import numpy_dtype
from mlir_sparse.errors import ExtentError, RankError
from mlir_sparse.runtime import operand_check
from mlir_sparse.tensor import SparseTensor, tensor

__all__ = ["conjugated", "dot", "inner", "kron", "matmul", "outer", "tensordot", "vdot"]

_recent_products = RecentKernels()


def _values(*sources: Any) -> list[Value]:
    return [operand_check.value_of(f"operand {number}", source) for number, source in enumerate(sources)]


def _product(
    values: list[Value], labels: Sequence[Labels], output: Labels, what: str, recent: RecentKernels | None = None
) -> Any:
    """Returns a contraction; a scalar for a result without dimensions, as in NumPy."""
    ready, names = prepared(values, labels, what)
    kept = recent if all(map(operator.is_, ready, values)) else None
    return _in_numpys_form(contracted(ready, names, output, recent=kept))


def _in_numpys_form(found: Any) -> Any:
    """Returns a scalar for an array without dimensions."""
    return found[()] if isinstance(found, np.ndarray) and found.ndim == 0 else found


def _names(prefix: str, count: int) -> Labels:
    return tuple(f"{prefix}{number}" for number in reversed(range(count)))


def matmul(left: Any, right: Any, dtype: Any = None) -> Any:
    """Returns the product of `@`: over the last axis of one and the last but one of the other; stacks broadcast.

    Args:
        left: an operand of one dimension or more.
        right: likewise.
        dtype: the element type to compute in; the common one when None.

    Raises:
        RankError: for numbers.
        ExtentError: for inner extents that differ.

    >>> matmul(np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])
    """
    if dtype is None and (found := _recent_products.run((left, right))) is not None:
        return _in_numpys_form(found)
    values = _values(left, right)
    kept = _recent_products if values[0] is left and values[1] is right else None
    if dtype is not None:
        values = [cast(value, numpy_dtype(dtype)) for value in values]
    ranks = [value.ndim for value in values]
    if 0 in ranks:
        raise RankError("expected operands of one dimension or more for @, but got a number: use * for that")
    inner = values[0].shape[-1], values[1].shape[-2 if ranks[1] > 1 else -1]
    if inner[0] != inner[1]:
        raise ExtentError(f"expected equal inner extents for @, but got {inner[0]} and {inner[1]}: {_shapes(values)}")
    stacks = [_names("b", max(0, rank - 2)) for rank in ranks]
    rows: Labels = ("m",) if ranks[0] > 1 else ()
    columns: Labels = ("n",) if ranks[1] > 1 else ()
    labels = (*stacks[0], *rows, "k"), (*stacks[1], "k", *columns)
    return _product(values, labels, (*max(stacks, key=len), *rows, *columns), f"@ of {_shapes(values)}", kept)


def _shapes(values: Sequence[Value]) -> str:
    return " and ".join(f"shape {value.shape}" for value in values)


def dot(left: Any, right: Any) -> Any:
    """Returns NumPy's dot: over the last axis of one and the last but one of the other; numbers scale."""
    values = _values(left, right)
    if any(value.ndim == 0 for value in values):
        return elementwise(np.multiply, [left, right])
    return tensordot(values[0], values[1], ([-1], [-2 if values[1].ndim > 1 else -1]))


def inner(left: Any, right: Any) -> Any:
    """Returns NumPy's inner product, over the last axis of each."""
    values = _values(left, right)
    if any(value.ndim == 0 for value in values):
        return elementwise(np.multiply, [left, right])
    return tensordot(values[0], values[1], ([-1], [-1]))


def tensordot(left: Any, right: Any, axes: Any = 2) -> Any:
    """Returns the product summed over pairs of axes.

    Args:
        left: a tensor or array.
        right: likewise.
        axes: the number of last axes of one and first axes of the other, or the axes of each.

    Raises:
        RankError: for axes out of range.
        ExtentError: for pairs of different extents.
    """
    values = _values(left, right)
    pairs = _axis_pairs(axes, values)
    labels = [[f"l{axis}" for axis in range(values[0].ndim)], [f"r{axis}" for axis in range(values[1].ndim)]]
    for number, (a, b) in enumerate(pairs):
        if values[0].shape[a] != values[1].shape[b]:
            raise ExtentError(
                f"expected equal extents to sum over, but got {values[0].shape[a]} (axis {a}) "
                f"and {values[1].shape[b]} (axis {b}): {_shapes(values)}"
            )
        labels[0][a] = labels[1][b] = f"k{number}"
    output = tuple(name for name in (*labels[0], *labels[1]) if not name.startswith("k"))
    return _product(values, [tuple(names) for names in labels], output, "tensordot")


def _axis_pairs(axes: Any, values: Sequence[Value]) -> list[tuple[int, int]]:
    ranks = [value.ndim for value in values]
    if isinstance(axes, int | np.integer):
        if not 0 <= axes <= min(ranks):
            raise RankError(f"expected from 0 to {min(ranks)} axes to sum over, but got {axes}")
        given = list(range(ranks[0] - int(axes), ranks[0])), list(range(int(axes)))
    else:
        given = tuple([side] if isinstance(side, int | np.integer) else list(side) for side in axes)  # type: ignore[assignment]
    if len(given) != 2 or len(given[0]) != len(given[1]):
        raise RankError(f"expected as many axes of one operand as of the other, but got {axes!r}")
    for side, rank in zip(given, ranks, strict=True):
        if any(not -rank <= axis < rank for axis in side) or len({axis % rank for axis in side}) < len(side):
            raise RankError(f"expected distinct axes from {-rank} to {rank - 1}, but got {side}")
    return [(a % ranks[0], b % ranks[1]) for a, b in zip(*given, strict=True)]


def outer(left: Any, right: Any) -> Any:
    """Returns the products of all elements of one with all of the other, both flattened."""
    a, b = (value if value.ndim == 1 else value.reshape(-1) for value in _values(left, right))
    return tensordot(a, b, 0)


def vdot(left: Any, right: Any) -> Any:
    """Returns the sum of products of all elements, the first conjugated."""
    a, b = (value if value.ndim == 1 else value.reshape(-1) for value in _values(left, right))
    return tensordot(conjugated(a), b, axes=1)


def conjugated(value: Any) -> Any:
    """Returns complex conjugates; what is not complex as it is: NumPy's function makes i8 of truth values."""
    if value.dtype.kind != "c":
        return value
    return elementwise(np.conjugate, [value]) if isinstance(value, SparseTensor) else np.conjugate(value)


def kron(left: Any, right: Any) -> Any:
    """Returns the Kronecker product: a block for each element of one, times the other.

    It is sparse, as SciPy's is: beside a tensor, the nonzero elements of an array count, and blocks of missing elements
    are missing.
    """
    values = _values(left, right)
    rank = max(value.ndim for value in values)
    values = [value.reshape((1,) * (rank - value.ndim) + value.shape) for value in values]
    if rank and any(isinstance(value, SparseTensor) for value in values):
        values = [value if isinstance(value, SparseTensor) else tensor(value) for value in values]
    a, b = ([f"{side}{axis}" for axis in range(rank)] for side in "ab")
    output = tuple(name for pair in zip(a, b, strict=True) for name in pair)
    shape = tuple(m * n for m, n in zip(*(value.shape for value in values), strict=True))
    if not shape:
        return values[0] * values[1]
    return contracted(values, [tuple(a), tuple(b)], output).reshape(shape)
