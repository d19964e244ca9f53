"""NumPy's functions that split, repeat and rotate, by indexing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from mlir_sparse.arrays import join_axes, reshape
from mlir_sparse.arrays.axis_arguments import axes_of, axis_of, listed_axes
from mlir_sparse.arrays.elementwise import elementwise
from mlir_sparse.arrays.entry_lists import EntryList, entries_of
from mlir_sparse.arrays.indexing import item
from mlir_sparse.encoding.buffer_layout import check_extents
from mlir_sparse.errors import ExtentError, RankError
from mlir_sparse.process.available_memory import check_fits
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.text.given_arguments import shown

__all__ = [
    *("array_split", "cross", "delete", "diff", "dsplit", "repeat", "rot90", "split", "tile", "vsplit"),
    "with_ends",
]


def _along(tensor: SparseTensor, axis: int, part: Any) -> SparseTensor:
    at = axis_of(axis, tensor.ndim)
    found: SparseTensor = item(tensor, (*(slice(None),) * at, part))
    return found


def array_split(ary: SparseTensor, indices_or_sections: Any, axis: int = 0) -> list[SparseTensor]:
    """Returns the parts of a tensor along an axis: a number of nearly equal ones, or those between indices."""
    extent = ary.shape[axis_of(axis, ary.ndim)]
    if isinstance(indices_or_sections, int | np.integer):
        count = int(indices_or_sections)
        if count < 1:
            raise ExtentError(f"expected one part or more, but got {count}")
        each, more = divmod(extent, count)
        cuts = np.cumsum([0, *[each + 1] * more, *[each] * (count - more)]).tolist()
    else:
        cuts = [0, *indices_or_sections, extent]
    return [_along(ary, axis, slice(low, high)) for low, high in pairwise(cuts)]


def split(ary: SparseTensor, indices_or_sections: Any, axis: int = 0) -> list[SparseTensor]:
    """Returns the parts of a tensor along an axis; a number of parts must give equal sizes."""
    extent = ary.shape[axis_of(axis, ary.ndim)]
    if isinstance(indices_or_sections, int | np.integer) and (
        indices_or_sections < 1 or extent % int(indices_or_sections)
    ):
        raise ExtentError(f"expected a number of parts that divides {extent}, but got {indices_or_sections}")
    return array_split(ary, indices_or_sections, axis)


def vsplit(ary: SparseTensor, indices_or_sections: Any) -> list[SparseTensor]:
    """Returns parts of the rows of a tensor, which must have two dimensions or more."""
    if ary.ndim < 2:
        raise RankError(f"expected a tensor of two dimensions or more for np.vsplit, but got {ary.ndim}")
    return split(ary, indices_or_sections, 0)


def dsplit(ary: SparseTensor, indices_or_sections: Any) -> list[SparseTensor]:
    """Returns parts of the third axis of a tensor, which must have three dimensions or more."""
    if ary.ndim < 3:
        raise RankError(f"expected a tensor of three dimensions or more for np.dsplit, but got {ary.ndim}")
    return split(ary, indices_or_sections, 2)


def delete(arr: SparseTensor, obj: Any, axis: int | None = None) -> Any:
    """Returns a tensor without the elements at some positions along an axis, or of all elements as a vector."""
    if axis is None:
        return delete(reshape.reshaped(arr, -1), obj, 0)
    at = axis_of(axis, arr.ndim)
    return _along(arr, at, np.delete(np.arange(arr.shape[at]), obj))


def with_ends(a: Any, axis: int, prepend: Any, append: Any) -> Any:
    """Returns an array between others along an axis, as NumPy's `diff` takes them: numbers stand for a plane each."""
    parts = []
    for part in (prepend, a, append):
        if part is np._NoValue or part is None:
            continue
        value = part if hasattr(part, "ndim") else np.asarray(part)
        shape = tuple(1 if at == axis else extent for at, extent in enumerate(a.shape))
        parts.append(np.broadcast_to(value, shape) if value.ndim == 0 else value)
    return a if len(parts) == 1 else np.concatenate(parts, axis)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Returns the cross products of vectors of three elements along an axis.

    Raises:
        ExtentError: for vectors of another length.
    """
    left, right = (one if hasattr(one, "ndim") else np.asarray(one) for one in (x1, x2))
    at = axis_of(axis, left.ndim)
    if left.shape[at] != 3 or right.shape[axis_of(axis, right.ndim)] != 3:
        raise ExtentError(f"expected vectors of 3 elements for a cross product, but got {left.shape}, {right.shape}")
    (a, b, c), (x, y, z) = ([np.take(one, number, axis) for number in range(3)] for one in (left, right))
    return np.stack([b * z - c * y, c * x - a * z, a * y - b * x], axis)


def diff(a: SparseTensor, n: int = 1, axis: int = -1, prepend: Any = np._NoValue, append: Any = np._NoValue) -> Any:
    """Returns the n-th differences of neighbours along an axis; for truth values, whether they differ.

    Args:
        a: the tensor.
        n: how often.
        axis: the axis.
        prepend: elements that stand before it, or a number.
        append: likewise, behind it.
    """
    if n < 0:
        raise RankError(f"expected a difference of order 0 or more, but got {n}")
    found: Any = with_ends(a, axis_of(axis, a.ndim), prepend, append) if n else a
    difference = np.logical_xor if a.dtype == np.bool_ else np.subtract
    for done in range(n):
        if not isinstance(found, SparseTensor):  # for a tensor with dense levels only
            return np.diff(found, n - done, axis)
        found = elementwise(difference, [_along(found, axis, slice(1, None)), _along(found, axis, slice(None, -1))])
    return found


def tile(A: SparseTensor, reps: Any) -> SparseTensor:
    """Returns a tensor repeated along each axis."""
    counts = tuple(reps) if isinstance(reps, Sequence) else (int(reps),)
    rank = max(A.ndim, len(counts))
    found = reshape.reshaped(A, (1,) * (rank - A.ndim) + A.shape)
    for axis, count in enumerate((1,) * (rank - len(counts)) + counts):
        found = join_axes.concatenated([found] * count, axis) if count else _along(found, axis, slice(0))
    return found


def repeat(a: SparseTensor, repeats: Any, axis: int | None = None) -> SparseTensor:
    """Returns a tensor with each element along an axis repeated, by one number or a number for each."""
    if axis is None:
        return repeat(reshape.reshaped(a, -1) if a.ndim > 1 else a, repeats, 0)
    at = axis_of(axis, a.ndim)
    if isinstance(repeats, int | np.integer) and repeats >= 0:
        return _repeated(a, int(repeats), at)
    try:
        places = np.repeat(np.arange(a.shape[at]), repeats)
    except ValueError:
        raise ExtentError(f"expected repeats that are not negative, one or {a.shape[at]}, but got {repeats}") from None
    return _along(a, axis, places)


def _repeated(a: SparseTensor, times: int, at: int) -> SparseTensor:
    """Returns a tensor with each element along an axis, of any extent, repeated a number of times."""
    size = (*a.shape[:at], a.shape[at] * times, *a.shape[at + 1 :])
    check_extents(size)  # before shifted coordinates overflow
    entries = entries_of(a)
    count = entries.values.size
    check_fits(count * times * (8 * a.ndim + a.dtype.itemsize), f"entries repeated to shape {size}")
    dims = [np.repeat(dim, times) for dim in entries.dims]
    dims[at] = dims[at] * times + np.tile(np.arange(times), count)
    return EntryList(tuple(dims), np.repeat(entries.values, times), size).tensor(a)


def rot90(m: SparseTensor, k: int = 1, axes: tuple[int, int] = (0, 1)) -> SparseTensor:
    """Returns a tensor rotated by quarter turns in the plane of two axes."""
    given = listed_axes(axes)
    if len(axes_of(given, m.ndim)) != 2:
        raise RankError(f"expected two axes to rotate in, but got {shown(axes)}")
    first, second = (axis_of(axis, m.ndim) for axis in given)
    match k % 4:
        case 0:
            return m
        case 1:
            return reshape.swapped(reshape.flipped(m, second), first, second)
        case 2:
            return reshape.flipped(m, (first, second))
        case _:
            return reshape.flipped(reshape.swapped(m, first, second), second)
