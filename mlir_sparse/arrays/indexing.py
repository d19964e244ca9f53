"""Selects the elements that an index names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from mlir_sparse.arrays.entries_between import entries_between
from mlir_sparse.arrays.entry_lists import EntryList, vector_of
from mlir_sparse.arrays.flat_places import Array, numbered, unlinear
from mlir_sparse.arrays.found_elements import at_arrays, element, elements
from mlir_sparse.arrays.parsed_index import ArrayIndex, layout_of, parsed, ranges_of
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.level_ranges import part_between
from mlir_sparse.tensor.matched_keys import matched_keys
from mlir_sparse.tensor.matrix_lines import line_order, lines_at, lines_between, run_of_lines

__all__ = ["item"]

_ALL = slice(None)
_NUMBERED = 1 << 20
_OF_EACH = 16  # coordinates that are numbered at most, beside _NUMBERED, for each entry


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
    found = element(tensor, key)
    if found is None:
        found = at_arrays(tensor, key)
    if found is None and isinstance(key, slice | tuple):
        found = _block(tensor, key)
        if found is None:
            found = _run_of_levels(tensor, key)
    if found is not None:
        return found
    basic, pick = parsed(key, tensor.shape)
    found = _of_matrix(tensor, basic, pick)
    if found is None:
        found = _line(tensor, basic, pick)
    if found is not None:
        return found
    entries = _selected(tensor, ranges_of(basic, tensor.shape))
    if pick is not None:
        return _picked(entries, pick, basic, tensor)
    if all(isinstance(part, int) for part in basic):
        return np.asarray(entries.values.sum(), tensor.dtype)[()]
    return _result(entries, layout_of(basic), tensor)


def _block(tensor: SparseTensor, key: slice | tuple[Any, ...]) -> SparseTensor | None:
    """Returns rows and columns by slices of a matrix that is stored by lines; None for other tensors and subscripts.

    A run of lines shares entries with the whole. What subscripts mean is not parsed: that takes as long as a small
    block.

    >>> from mlir_sparse.tensor import tensor
    >>> A = tensor([[0.0, 2.0, 5.0], [3.0, 0.0, 4.0]], "CSR")
    >>> _block(A, (slice(1, 2), slice(None, None, -2))).to_numpy().tolist()
    [[4.0, 3.0]]
    """
    order = line_order(tensor.encoding)
    keys = (key, _ALL) if type(key) is slice else key
    if order is None or len(keys) != 2 or type(keys[0]) is not slice or type(keys[1]) is not slice:
        return None
    shape = tensor.shape
    try:
        wanted = range(*keys[0].indices(shape[0])), range(*keys[1].indices(shape[1]))
    except (TypeError, ValueError):  # refused later, with the axis
        return None
    lines, places = wanted[order[0]], wanted[order[1]]
    are_all = places == range(shape[order[1]])
    if lines == range(shape[order[0]]):
        return None if are_all else lines_between(tensor, order[1], places)
    if lines.step != 1:
        return lines_between(tensor, order[0], lines) if are_all else None
    run = run_of_lines(tensor, lines.start, max(lines.start, lines.stop))
    return run if are_all else lines_between(run, order[1], places)


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


def _of_matrix(tensor: SparseTensor, basic: Sequence[Any], pick: ArrayIndex | None) -> SparseTensor | None:
    """Returns rows and columns, or elements, of a matrix that is stored by lines; None for other tensors and parts."""
    order = line_order(tensor.encoding)
    if order is None or not all(isinstance(part, slice) for part in basic):
        return None
    if pick is not None and len(pick.axes) == 2 and pick.given[0].ndim == pick.given[1].ndim == 1:
        rows, columns = pick.flat
        return elements(tensor, rows, columns, pick.shape)
    cut = {axis: r for axis, r in enumerate(ranges_of(basic, tensor.shape)) if r != range(tensor.shape[axis])}
    picked = pick.axes if pick is not None else ()
    if order[1] in picked and tensor.shape[order[1]] > _OF_EACH * tensor.nse + _NUMBERED:
        return None  # the coordinates are numbered anew, whether there are entries or not
    places: dict[int, Array] = {}
    if pick is not None:
        if not pick.is_outer or pick.place != pick.axes[0]:
            return None
        places.update(zip(pick.axes, (array.ravel() for array in pick.given), strict=True))
    if not (cut or places):
        return tensor.copy()
    sizes = {**{axis: len(one) for axis, one in cut.items()}, **{axis: one.size for axis, one in places.items()}}
    # What leaves out more is taken first, and lines before what is in them, of which they are runs.
    for axis in sorted(sizes, key=lambda axis: (sizes[axis] * tensor.shape[1 - axis], axis != order[0])):
        tensor = lines_at(tensor, axis, places[axis]) if axis in places else _between(tensor, axis, cut, len(sizes) > 1)
    return tensor


def _line(tensor: SparseTensor, basic: Sequence[Any], pick: ArrayIndex | None) -> SparseTensor | None:
    """Returns a part of one row or column of a matrix that is stored by lines; None for other tensors and parts."""
    order = line_order(tensor.encoding)
    axes = [axis for axis, part in enumerate(basic) if isinstance(part, int)]
    if order is None or pick is not None or len(basic) != 2 or len(axes) != 1 or None in basic:
        return None
    (axis,) = axes
    at = basic[axis]
    part = _of_matrix(tensor, [slice(at, at + 1) if one == axis else basic[one] for one in (0, 1)], None)
    if part is None:
        return None
    begins, coordinates, values = part.storage.buffers()
    places = coordinates if axis == order[0] else np.flatnonzero(begins[1:] != begins[:-1])
    return vector_of(places, values, part.shape[1 - axis], tensor)


def _between(tensor: SparseTensor, axis: int, cut: Mapping[int, range], is_cut_again: bool) -> SparseTensor:
    wanted = cut[axis]
    if (
        is_cut_again
        and wanted.step == 1
        and (part := part_between(tensor, axis, wanted.start, wanted.stop)) is not None
    ):
        return part  # what shares entries here is copied next
    return lines_between(tensor, axis, wanted)


def _selected(tensor: SparseTensor, ranges: Sequence[range]) -> EntryList:
    """Returns the entries at the coordinates named, renumbered; an integer leaves an axis of one element."""
    entries = entries_between(tensor, ranges)
    dims, inside = list(entries.dims), np.ones(entries.values.size, bool)
    for axis, (wanted, extent) in enumerate(zip(ranges, tensor.shape, strict=True)):
        if wanted == range(extent):
            continue
        steps = dims[axis] - wanted.start
        if wanted.step != 1:
            steps, beside = np.divmod(steps, wanted.step)
            inside &= beside == 0
        inside &= (steps >= 0) & (steps < len(wanted))
        dims[axis] = steps
    shape = tuple(map(len, ranges))
    found = EntryList(tuple(dims), entries.values, shape)
    return found if inside.all() else found.where(inside)


def _result(entries: EntryList, layout: Sequence[int], like: SparseTensor) -> SparseTensor:
    zeros = np.zeros(entries.values.size, np.int64)
    dims = tuple(zeros if axis < 0 else entries.dims[axis] for axis in layout)
    shape = tuple(1 if axis < 0 else entries.shape[axis] for axis in layout)
    return EntryList(dims, entries.values, shape).tensor(like)


def _picked(entries: EntryList, pick: ArrayIndex, basic: Sequence[Any], like: SparseTensor) -> SparseTensor:
    """Returns the entries at arrays of coordinates, found by search; repeated coordinates repeat entries."""
    found, picked = (_picked_each if pick.is_outer else _picked_together)(entries, pick)
    layout = [axis for axis in layout_of(basic) if axis not in pick.axes]
    zeros = np.zeros(found.values.size, np.int64)
    dims = [zeros if axis < 0 else found.dims[axis] for axis in layout]
    shape = [1 if axis < 0 else found.shape[axis] for axis in layout]
    place = min(pick.place, len(layout))
    dims[place:place] = picked
    shape[place:place] = pick.shape
    return EntryList(tuple(dims), found.values, tuple(shape)).tensor(like)


def _picked_each(entries: EntryList, pick: ArrayIndex) -> tuple[EntryList, list[Array]]:
    """Returns entries at the arrays' coordinates, and where these are in each of the arrays."""
    picked: list[Array] = []
    for axis, array in zip(pick.axes, pick.given, strict=True):
        stored, query = matched_keys(entries.dims[axis], array.ravel(), entries.shape[axis])
        entries, picked = entries.where(stored), [*(one[stored] for one in picked), query]
    return entries, picked


def _picked_together(entries: EntryList, pick: ArrayIndex) -> tuple[EntryList, list[Array]]:
    """As `_picked_each`, where an element is at one coordinate of each array."""
    sizes = tuple(entries.shape[axis] for axis in pick.axes)
    keys, wanted = numbered([[entries.dims[axis] for axis in pick.axes], list(pick.flat)], sizes)
    stored, query = matched_keys(keys, wanted, prod(sizes))
    none = [np.zeros(0, np.int64)] * len(pick.shape)
    return entries.where(stored), list(unlinear(query, pick.shape)) if prod(pick.shape) else none
