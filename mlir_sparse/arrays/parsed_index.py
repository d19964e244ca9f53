"""What an index names in a tensor, with NumPy's meaning: integers, slices, new axes, integer arrays and masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlir_sparse.arrays.entry_lists import entries_of
from mlir_sparse.arrays.flat_places import Array, numbered
from mlir_sparse.classes import dataclass
from mlir_sparse.errors import ExtentError, IndexRangeError, OperandError, RankError, UnsupportedError
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.borders.dense_arrays import array_of, is_array_source

__all__ = ["ArrayIndex", "IndexedPart", "indexed_part", "layout_of", "parsed", "ranges_of"]

_NEW = None


@dataclass(frozen=True, slots=True)
class ArrayIndex:
    """Arrays of integers at some axes, which broadcast to axes of the result.

    Args:
        axes: the axes indexed.
        given: the coordinates, nonnegative, of shapes that broadcast.
        shape: the shape that these have together.
        place: the position of their axes in the result.
    """

    axes: tuple[int, ...]
    given: tuple[Array, ...]
    shape: tuple[int, ...]
    place: int

    @property
    def flat(self) -> tuple[Array, ...]:
        """Returns the coordinates of each axis, of one length."""
        return tuple(np.broadcast_to(array, self.shape).ravel() for array in self.given)

    @property
    def is_outer(self) -> bool:
        """Returns whether each array has an axis of the result of its own, as those of `np.ix_`."""
        alone = [tuple(n if axis == at else 1 for axis, n in enumerate(self.shape)) for at in range(len(self.given))]
        padded = [(1,) * (len(self.shape) - array.ndim) + array.shape for array in self.given]
        return len(self.shape) == len(self.given) and padded == alone


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
    basic, pick = parsed(key, shape)
    ranges = tuple(ranges_of(basic, shape))
    if pick is None:
        return IndexedPart(shape, ranges, tuple(layout_of(basic)))
    layout = tuple(axis for axis in layout_of(basic) if axis not in pick.axes)
    return IndexedPart(shape, ranges, layout, pick.axes, pick.flat, pick.shape, min(pick.place, len(layout)))


def parsed(key: Any, shape: tuple[int, ...]) -> tuple[list[Any], ArrayIndex | None]:
    """Returns slices, integers and None for new axes, with a full slice in place of each array, and the arrays.

    Raises:
        IndexRangeError, RankError, ExtentError, OperandError: as `indexing.item`.
    """
    return _resolved(_expanded(key if isinstance(key, tuple) else (key,), len(shape)), shape)


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


def _resolved(parts: Sequence[Any], shape: tuple[int, ...]) -> tuple[list[Any], ArrayIndex | None]:
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
        shape_of_all = np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = " and ".join(str(array.shape) for array in arrays.values())
        raise ExtentError(f"expected index arrays of shapes that broadcast, but got {shapes}") from None
    return basic, ArrayIndex(tuple(arrays), tuple(arrays.values()), shape_of_all, place)


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


def ranges_of(basic: Sequence[Any], shape: Sequence[int]) -> list[range]:
    """Returns the coordinates that slices and integers name, for each axis of a tensor."""
    used = [part for part in basic if part is not _NEW]
    pairs = zip(used, shape, strict=True)
    return [range(part, part + 1) if isinstance(part, int) else _steps(part, n) for part, n in pairs]


def _steps(part: slice, extent: int) -> range:
    """Returns the coordinates of a slice; for one coordinate the step is set to 1, as it may be huge.

    Without any, the start may be -1 or behind the last: then it is 0.
    """
    found = range(*part.indices(extent))
    return found if len(found) > 1 else range(found.start, found.start + 1) if found else range(0)


def layout_of(basic: Sequence[Any]) -> list[int]:
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
