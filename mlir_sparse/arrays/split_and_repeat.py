"""NumPy's functions that split, repeat and rotate, by indexing."""

from __future__ import annotations

import operator
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from mlir_sparse.arrays import join_axes, reshape
from mlir_sparse.arrays.axis_arguments import axes_of, axis_of, listed_axes
from mlir_sparse.arrays.entry_lists import EntryList, entries_of
from mlir_sparse.arrays.indexing import item
from mlir_sparse.encoding.buffer_layout import check_extents
from mlir_sparse.errors import ExtentError, OperandError, RankError
from mlir_sparse.process.available_memory import check_fits
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.text.given_arguments import shown

__all__ = [
    *(
        "array_split",
        "cross",
        "cross_along",
        "delete",
        "dsplit",
        "repeat",
        "rot90",
        "split",
        "tile",
        "trim_zeros",
        "vsplit",
    ),
]

# About what a tensor without elements takes, with its buffers.
_PART_BYTES = 512


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
        check_fits(count * _PART_BYTES, f"a list of {count} tensors")
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


def cross_along(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """Returns `np.cross`: the cross products of vectors of three elements, that lie along an axis of each operand.

    Raises:
        ExtentError: for vectors of another length.
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    left, right = (np.moveaxis(one, at, -1) for one, at in ((a, axisa), (b, axisb)))
    return np.moveaxis(cross(left, right), -1, axisc)


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """Returns a tensor without the planes of zeros that stand before ("f") or behind ("b") all others along axes.

    Raises:
        OperandError: for another `trim`.

    >>> from mlir_sparse.tensor import tensor
    >>> trim_zeros(tensor([0.0, 0.0, 5.0, 0.0, 6.0, 0.0])).to_numpy().tolist()
    [5.0, 0.0, 6.0]
    """
    wanted = trim.lower() if isinstance(trim, str) else trim
    if wanted not in ("fb", "bf", "f", "b"):
        raise OperandError(f"expected trim='f', 'b' or 'fb', but got {shown(trim)}")
    axes = axes_of(axis if axis is None else listed_axes(axis), filt.ndim)
    places = np.nonzero(filt)
    parts = [slice(None)] * filt.ndim
    for at in axes:
        if places[at].size == 0:
            parts[at] = slice(0)
        else:
            low = int(places[at].min()) if "f" in wanted else None
            parts[at] = slice(low, int(places[at].max()) + 1 if "b" in wanted else None)
    return filt[tuple(parts)]


def tile(A: SparseTensor, reps: Any) -> SparseTensor:
    """Returns a tensor repeated along each axis.

    Raises:
        TypeError: for repeats that are no integers.
        ExtentError: for negative ones.
        TooLargeError: for a result that would not fit in memory.
    """
    counts = tuple(map(operator.index, reps if np.ndim(reps) else (reps,)))
    if any(count < 0 for count in counts):
        raise ExtentError(f"expected repeats that are not negative, but got {shown(reps)}")
    check_fits(A.nbytes * prod(counts), f"a tensor repeated {shown(reps)} times")
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
