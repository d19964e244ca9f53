"""Indexing with NumPy's meaning: integers, slices, new axes, integer arrays and masks."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from mlir_sparse.arrays.entry_lists import EntryList, entries_of
from mlir_sparse.arrays.flat_places import Array, numbered, unlinear
from mlir_sparse.arrays.one_element import element
from mlir_sparse.arrays.row_ranges import entries_between
from mlir_sparse.classes import dataclass
from mlir_sparse.errors import ExtentError, IndexRangeError, OperandError, RankError, UnsupportedError
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.borders.dense_arrays import array_of, is_array_source
from mlir_sparse.tensor.level_ranges import part_between

__all__ = ["IndexedPart", "indexed_part", "item"]

_NEW = None


@dataclass(frozen=True, slots=True)
class _Pick:
    """Arrays of integers at some axes, which broadcast to axes of the result.

    Args:
        axes: the axes indexed.
        arrays: the coordinates, nonnegative, of one shape.
        place: the position of their axes in the result.
    """

    axes: tuple[int, ...]
    arrays: tuple[Array, ...]
    place: int

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.arrays[0].shape
        return shape


def item(tensor: SparseTensor, key: Any) -> Any:
    """Returns the selected elements: a scalar if every axis has an integer, else a sparse tensor.

    A slice of step 1 along the dimension of the outermost level, such as rows of CSR and columns of CSC, keeps the
    storage and shares entries with the whole, as a slice of an array does; every other result is new.

    Raises:
        IndexRangeError: for integers out of range.
        RankError: for more subscripts than dimensions.
        ExtentError: for a mask of another shape, and arrays that do not broadcast.
        OperandError: for objects that are no index.

    >>> from mlir_sparse.tensor import tensor
    >>> A = tensor([[0.0, 2.0], [3.0, 0.0]])
    >>> item(A, (0, 1)), item(A, 1).to_numpy().tolist()
    (np.float64(2.0), [3.0, 0.0])
    """
    found = _run_of_levels(tensor, key) if isinstance(key, slice | tuple) else None
    if found is None:
        found = element(tensor, key)
    if found is not None:
        return found
    parts = _expanded(key if isinstance(key, tuple) else (key,), tensor.ndim)
    basic, pick = _resolved(parts, tensor.shape)
    used = [part for part in basic if part is not _NEW]
    entries = _selected(tensor, used)
    kept = [axis for axis, part in enumerate(used) if isinstance(part, slice)]
    if pick is not None:
        return _picked(entries, pick, basic, tensor)
    if not kept and _NEW not in basic:
        return np.asarray(entries.values.sum(), tensor.dtype)[()]
    return _result(entries, _layout(basic), tensor)


@dataclass(frozen=True, slots=True)
class IndexedPart:
    """The places that an index names in a tensor, as plain values.

    Args:
        whole: the shape of the tensor.
        ranges: the coordinates along each axis; all of them along axes with arrays.
        layout: for each axis of the part, beside those of the arrays, the tensor's axis, or -1 for a new one.
        pick_axes: the axes with arrays of coordinates.
        picked: these, flat, of one length.
        pick_shape: their shape, which stands in that of the part.
        place: where.
    """

    whole: tuple[int, ...]
    ranges: tuple[range, ...]
    layout: tuple[int, ...]
    pick_axes: tuple[int, ...] = ()
    picked: tuple[Array, ...] = ()
    pick_shape: tuple[int, ...] = ()
    place: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """Returns the shape of the part."""
        sizes = [1 if axis < 0 else len(self.ranges[axis]) for axis in self.layout]
        sizes[self.place : self.place] = self.pick_shape
        return tuple(sizes)

    def axis_of(self, axis: int) -> int | None:
        """Returns the axis of the part that runs along an axis of the tensor; None where an integer stands."""
        if axis not in self.layout:
            return None
        at = self.layout.index(axis)
        return at if at < self.place else at + len(self.pick_shape)

    def last_of_repeated(self) -> Array:
        """Returns which picked places are not named again after them."""
        sizes = tuple(self.whole[axis] for axis in self.pick_axes)
        (keys,) = numbered([list(self.picked)], sizes)
        _, last = np.unique(keys[::-1], return_index=True)
        found = np.zeros(keys.size, bool)
        found[keys.size - 1 - last] = True
        return found


def indexed_part(shape: tuple[int, ...], key: Any) -> IndexedPart:
    """Returns the places that an index names in a tensor of a shape.

    Raises:
        IndexRangeError, RankError, ExtentError, OperandError: as `item`.

    >>> part = indexed_part((4, 5), (slice(1, 3), [0, 2]))
    >>> part.shape, part.ranges[0], part.pick_axes
    ((2, 2), range(1, 3), (1,))
    """
    basic, pick = _resolved(_expanded(key if isinstance(key, tuple) else (key,), len(shape)), shape)
    used = [part for part in basic if part is not _NEW]
    pairs = zip(used, shape, strict=True)
    ranges = tuple(range(part, part + 1) if isinstance(part, int) else _steps(part, n) for part, n in pairs)
    if pick is None:
        return IndexedPart(shape, ranges, tuple(_layout(basic)))
    layout = tuple(axis for axis in _layout(basic) if axis not in pick.axes)
    picked = tuple(array.ravel() for array in pick.arrays)
    return IndexedPart(shape, ranges, layout, pick.axes, picked, pick.shape, min(pick.place, len(layout)))


def _run_of_levels(tensor: SparseTensor, key: slice | tuple[Any, ...]) -> SparseTensor | None:
    """Returns a part along one axis, if that is one run of what is stored; see `part_between`."""
    slices = key if isinstance(key, tuple) else (key,)
    if len(slices) > tensor.ndim or not all(isinstance(part, slice) for part in slices):
        return None
    cut: tuple[int, int, int] | None = None
    for axis, part in enumerate(slices):
        try:
            low, high, step = part.indices(tensor.shape[axis])
        except (TypeError, ValueError):  # refused below, with the axis
            return None
        if (low, high, step) == (0, tensor.shape[axis], 1):
            continue
        if cut is not None or step != 1:
            return None
        cut = axis, low, max(low, high)
    return None if cut is None else part_between(tensor, *cut)


def _expanded(key: tuple[Any, ...], rank: int) -> list[Any]:
    """Returns a subscript for each axis, and None for new axes; masks become arrays of integers.

    An ellipsis for no axis is kept, as it separates the arrays beside it.
    """
    parts: list[Any] = []
    for part in key:
        parts += _without_mask(part)
    dots = [at for at, part in enumerate(parts) if part is Ellipsis]
    if len(dots) > 1:
        raise RankError("expected one ellipsis in an index, but got several")
    used = sum(part is not _NEW and part is not Ellipsis for part in parts)
    if used > rank:
        raise RankError(f"expected at most {rank} subscripts, but got {used}")
    at = dots[0] if dots else len(parts)
    whole: list[Any] = [slice(None)] * (rank - used)
    return [*parts[:at], *(whole or [Ellipsis] * len(dots)), *parts[at + len(dots) :]]


@dataclass(frozen=True, slots=True)
class _Masked:
    """One axis of a mask: the coordinates where it is true, and the required extent."""

    places: Array
    extent: int


def _without_mask(part: Any) -> list[Any]:
    if isinstance(part, SparseTensor):
        if part.dtype != np.bool_:
            raise OperandError(
                f"expected a mask (bool, as comparisons give) as index, but got a tensor of {part.dtype}: "
                "pass its .astype(bool) for where it is not zero, or its .to_numpy() for places"
            )
        entries = entries_of(part)
        order = np.argsort(entries.keys)
        kept = entries.where(order[entries.values[order] != 0])
        return [_Masked(dim, extent) for dim, extent in zip(kept.dims, part.shape, strict=True)]
    if isinstance(part, bool | np.bool_):
        raise UnsupportedError(f"expected integers, slices or arrays as index, but got {part}: use np.where")
    if isinstance(part, list | tuple | np.ndarray) or _is_array_beside_numbers(part):
        array = array_of(part, "integers, truth values or slices as index")
        if array.dtype == np.bool_ and array.ndim:
            return [_Masked(dim, extent) for dim, extent in zip(np.nonzero(array), array.shape, strict=True)]
        return [array.astype(np.int64) if array.size == 0 and isinstance(part, list | tuple) else array]
    return [part]


def _is_array_beside_numbers(part: Any) -> bool:
    known = part is _NEW or part is Ellipsis or isinstance(part, slice | int | float | complex | np.generic)
    return not known and is_array_source(part)


def _resolved(parts: Sequence[Any], shape: tuple[int, ...]) -> tuple[list[Any], _Pick | None]:
    """Returns slices, integers and None, with a full slice in place of each array, and the arrays."""
    basic: list[Any] = []
    arrays: dict[int, Array] = {}
    stands: list[int] = []
    gap = 0
    for part in parts:
        if part is Ellipsis:
            gap = len(basic)
            continue
        axis = sum(p is not _NEW for p in basic)
        if part is _NEW or isinstance(part, slice):
            basic.append(_checked_slice(part, axis))
        elif isinstance(part, np.ndarray | _Masked) and not (isinstance(part, np.ndarray) and part.ndim == 0):
            stands.append(len(basic))
            arrays[axis] = _coordinates(part, axis, shape[axis])
            basic.append(slice(None))
        else:
            basic.append(_integer(part, axis, shape[axis]))
    if not arrays:
        return basic, None
    # An integer beside arrays counts as an array of one element, also for the position of their axes.
    stands = sorted([*stands, *(at for at, part in enumerate(basic) if isinstance(part, int))])
    together = stands == list(range(stands[0], stands[0] + len(stands))) and not stands[0] < gap <= stands[-1]
    place = sum(not isinstance(part, int) for part in basic[: stands[0]]) if together else 0
    try:
        spread = np.broadcast_arrays(*arrays.values())
    except ValueError:
        shapes = " and ".join(str(array.shape) for array in arrays.values())
        raise ExtentError(f"expected index arrays of shapes that broadcast, but got {shapes}") from None
    return basic, _Pick(tuple(arrays), tuple(spread), place)


def _checked_slice(part: Any, axis: int) -> Any:
    if part is not _NEW:
        try:
            part.indices(1)
        except (TypeError, ValueError) as error:
            raise OperandError(f"expected a slice of integers for axis {axis}, but got {part}: {error}") from None
    return part


def _integer(part: Any, axis: int, extent: int) -> int:
    try:
        number = int(part.__index__())
    except Exception:  # an object's method may raise anything
        kinds = "integers, slices, None, Ellipsis, arrays of integers or masks"
        shown = repr(part)[:200] if type(part).__module__ in ("builtins", "numpy") else type(part).__name__
        raise OperandError(f"expected {kinds} as index, but got {shown} (axis {axis})") from None
    if not -extent <= number < extent:
        raise IndexRangeError(f"expected an index from {-extent} to {extent - 1} for axis {axis}, but got {number}")
    return number % extent


def _coordinates(part: Array | _Masked, axis: int, extent: int) -> Array:
    if isinstance(part, _Masked):
        if part.extent != extent:
            raise ExtentError(f"expected a mask of extent {extent} for axis {axis}, but got {part.extent}")
        return part.places
    if part.dtype.kind not in "iu":
        raise OperandError(f"expected integers or truth values as index of axis {axis}, but got {part.dtype}")
    outside = (part < -extent) | (part >= extent)
    if outside.any():
        wrong = part[outside][0]
        raise IndexRangeError(f"expected indices from {-extent} to {extent - 1} for axis {axis}, but got {wrong}")
    found = part.astype(np.int64)
    return np.where(found < 0, found + extent, found)


def _selected(tensor: SparseTensor, used: Sequence[Any]) -> EntryList:
    """Returns the entries inside slices and at integers, renumbered; an integer leaves an axis of one element."""
    pairs = zip(used, tensor.shape, strict=True)
    ranges = [range(part, part + 1) if isinstance(part, int) else _steps(part, n) for part, n in pairs]
    entries = entries_between(tensor, ranges)
    dims, inside = list(entries.dims), np.ones(entries.values.size, bool)
    for axis, (wanted, extent) in enumerate(zip(ranges, tensor.shape, strict=True)):
        if wanted == range(extent):
            continue
        steps, beside = np.divmod(dims[axis] - wanted.start, wanted.step)
        inside &= (beside == 0) & (steps >= 0) & (steps < len(wanted))
        dims[axis] = steps
    shape = tuple(map(len, ranges))
    found = EntryList(tuple(dims), entries.values, shape)
    return found if inside.all() else found.where(inside)


def _steps(part: slice, extent: int) -> range:
    """Returns the coordinates of a slice; for one coordinate the step is set to 1, as it may be huge."""
    found = range(*part.indices(extent))
    return found if len(found) > 1 else range(found.start, found.start + len(found))


def _layout(basic: Sequence[Any]) -> list[int]:
    """Returns for each axis of the result the axis of the entries, or -1 for a new one."""
    layout: list[int] = []
    axis = 0
    for part in basic:
        if part is _NEW:
            layout.append(-1)
            continue
        if isinstance(part, slice):
            layout.append(axis)
        axis += 1
    return layout


def _result(entries: EntryList, layout: Sequence[int], like: SparseTensor) -> SparseTensor:
    zeros = np.zeros(entries.values.size, np.int64)
    dims = tuple(zeros if axis < 0 else entries.dims[axis] for axis in layout)
    shape = tuple(1 if axis < 0 else entries.shape[axis] for axis in layout)
    return EntryList(dims, entries.values, shape).tensor(like)


def _picked(entries: EntryList, pick: _Pick, basic: Sequence[Any], like: SparseTensor) -> SparseTensor:
    """Returns the entries at arrays of coordinates, found by search; repeated coordinates repeat entries."""
    sizes = tuple(entries.shape[axis] for axis in pick.axes)
    stored = [entries.dims[axis] for axis in pick.axes]
    keys, wanted = numbered([stored, [array.ravel() for array in pick.arrays]], sizes)
    order = np.argsort(keys, kind="stable")
    starts = np.searchsorted(keys[order], wanted, "left")
    counts = np.searchsorted(keys[order], wanted, "right") - starts
    query = np.repeat(np.arange(wanted.size), counts)
    within = np.arange(query.size) - np.repeat(np.cumsum(counts) - counts, counts)
    found = entries.where(order[np.repeat(starts, counts) + within])
    layout = [axis for axis in _layout(basic) if axis not in pick.axes]
    zeros = np.zeros(query.size, np.int64)
    dims = [zeros if axis < 0 else found.dims[axis] for axis in layout]
    shape = [1 if axis < 0 else found.shape[axis] for axis in layout]
    place = min(pick.place, len(layout))
    dims[place:place] = unlinear(query, pick.shape) if prod(pick.shape) else [zeros] * len(pick.shape)
    shape[place:place] = pick.shape
    return EntryList(tuple(dims), found.values, tuple(shape)).tensor(like)
