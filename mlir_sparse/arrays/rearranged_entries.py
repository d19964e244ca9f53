"""NumPy's functions that move entries: shapes, stacks and diagonals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlir_sparse.arrays import join_axes
from mlir_sparse.arrays import reshape as shape
from mlir_sparse.arrays.axis_arguments import axis_of, listed_axes
from mlir_sparse.arrays.broadcast import broadcast_shape, stretched
from mlir_sparse.arrays.entry_lists import EntryList, check_dense_fits, entries_of
from mlir_sparse.arrays.flat_places import Array
from mlir_sparse.arrays.indexing import item
from mlir_sparse.dtypes import numpy_dtype
from mlir_sparse.errors import ExtentError, OperandError, RankError
from mlir_sparse.runtime import operand_check
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.text.given_arguments import integers_of

__all__ = [
    "at_least",
    "broadcast_to",
    "column_stack",
    "copied",
    "diag",
    "dstack",
    "full_like",
    "hstack",
    "ones_like",
    "roll",
    "take",
    "vstack",
    "zeros_like",
]

Function = Callable[..., Any]


def copied(tensor: SparseTensor) -> SparseTensor:
    """Returns a tensor with a copy of the values; positions and coordinates are shared."""
    storage = tensor.storage.with_values(tensor.storage.values.copy())
    return SparseTensor._trusted(tensor.encoding, tensor.shape, storage)


def zeros_like(a: SparseTensor, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> Any:
    """Returns a tensor of a shape without entries."""
    wanted = a.shape if shape is None else integers_of((shape,) if isinstance(shape, int) else shape, "a shape")
    nothing = np.zeros(0, np.int64)
    entries = EntryList((nothing,) * len(wanted), np.zeros(0, a.dtype if dtype is None else numpy_dtype(dtype)), wanted)
    return entries.tensor(a) if wanted else np.zeros((), entries.values.dtype)


def full_like(
    a: SparseTensor, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None
) -> Array:
    """Returns a dense array full of one value."""
    wanted, kind = (a.shape if shape is None else shape), (a.dtype if dtype is None else numpy_dtype(dtype))
    check_dense_fits(wanted if isinstance(wanted, Sequence) else (wanted,), kind)
    return np.full(wanted, fill_value, dtype=kind)


def ones_like(a: SparseTensor, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> Array:
    """Returns a dense array of ones."""
    return full_like(a, 1, dtype, shape=shape)


def broadcast_to(array: SparseTensor, shape: Any, subok: bool = False) -> SparseTensor:
    """Returns a tensor whose axes of one element are repeated."""
    wanted = integers_of((shape,) if isinstance(shape, int) else shape, "a shape")
    if broadcast_shape([array.shape, wanted], "broadcast_to") != wanted:
        raise ExtentError(f"expected a shape that {array.shape} broadcasts to, but got {wanted}")
    return stretched(entries_of(array), wanted).tensor(array)


def diag(v: SparseTensor, k: int = 0) -> SparseTensor:
    """Returns the diagonal of a matrix, or the matrix with a vector on its diagonal."""
    return shape.diagonal_matrix(v, k) if v.ndim == 1 else shape.diagonal(v, k)


def roll(a: SparseTensor, shift: Any, axis: Any = None) -> SparseTensor:
    """Returns a tensor with elements shifted cyclically along axes."""
    if axis is None:
        return shape.reshaped(roll(shape.reshaped(a, -1) if a.ndim > 1 else a, shift, 0), a.shape)
    entries = entries_of(a)
    dims = list(entries.dims)
    axes = listed_axes(axis)
    shifts = list(shift) if isinstance(shift, Sequence | np.ndarray) and np.ndim(shift) else [shift]
    count = max(len(axes), len(shifts))
    if {len(axes), len(shifts)} - {1, count}:
        raise RankError(f"expected as many axes as shifts, or one, but got axis={axis!r} for shift={shift!r}")
    for number, by in zip(axes * (count // len(axes)), shifts * (count // len(shifts)), strict=True):
        at = axis_of(number, a.ndim)
        extent = a.shape[at]
        by = _whole(by, "shift") % extent if extent else 0
        moved = dims[at] - (extent - by)  # no sum, which could overflow
        dims[at] = moved + extent * (moved < 0)
    return EntryList(tuple(dims), entries.values, a.shape).tensor(a)


def _whole(number: Any, what: str) -> int:
    try:
        return int(number)  # rounds towards zero, like NumPy
    except (OverflowError, TypeError, ValueError):
        raise OperandError(f"expected integers for {what}, but got {type(number).__name__}") from None


def take(a: SparseTensor, indices: Any, axis: int | None = None) -> Any:
    """Returns the elements at indices along an axis; truth values are the indices 0 and 1, as in NumPy."""
    given = np.asarray(indices)
    if given.dtype == np.bool_:
        indices = given.astype(np.intp)
    if axis is None:
        return item(shape.reshaped(a, -1), indices)
    at = axis_of(axis, a.ndim)
    return item(a, (*(slice(None),) * at, indices))


def at_least(rank: int) -> Function:
    """Returns the function that pads tensors to a number of dimensions."""

    def raised(*arrays: Any) -> Any:
        found = tuple(
            value if value.ndim >= rank else value.reshape(_padded(value.shape, rank))
            for value in (operand_check.value_of("an operand", array) for array in arrays)
        )
        return found if len(found) > 1 else found[0]

    return raised


def _padded(size: tuple[int, ...], rank: int) -> tuple[int, ...]:
    if rank == 3:
        return {0: (1, 1, 1), 1: (1, *size, 1), 2: (*size, 1)}[len(size)]
    return (1,) * (rank - len(size)) + size


def vstack(tup: Sequence[Any]) -> SparseTensor:
    """Returns tensors stacked as rows."""
    return join_axes.concatenated([at_least(2)(part) for part in tup], 0)


def hstack(tup: Sequence[Any]) -> SparseTensor:
    """Returns tensors stacked as columns."""
    parts = [at_least(1)(part) for part in tup]
    return join_axes.concatenated(parts, 0 if parts[0].ndim == 1 else 1)


def dstack(tup: Sequence[Any]) -> SparseTensor:
    """Returns tensors stacked along a third axis."""
    return join_axes.concatenated([at_least(3)(part) for part in tup], 2)


def column_stack(tup: Sequence[Any]) -> SparseTensor:
    """Returns vectors and matrices side by side."""
    parts = (operand_check.value_of("an operand", part) for part in tup)
    return join_axes.concatenated([part.reshape((-1, 1)) if part.ndim == 1 else part for part in parts], 1)
