"""Assignment to parts of a tensor as a function: `assign(A, where, B)` is `A[where] = B` on a copy."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlir_sparse.arrays.entry_lists import EntryList, check_dense_fits, entries_of
from mlir_sparse.arrays.flat_places import Array, numbered
from mlir_sparse.arrays.inserted_entries import with_entries
from mlir_sparse.arrays.parsed_index import IndexedPart, indexed_part
from mlir_sparse.errors import DTypeError, ExtentError
from mlir_sparse.runtime import operand_check
from mlir_sparse.tensor import SparseTensor

__all__ = ["assign"]


def assign(A: Any, where: Any, B: Any) -> Any:
    """Returns a copy of a tensor or an array with other elements at some places, as NumPy's `A[where] = B` leaves it.

    Args:
        A: a tensor, or an array: anything that `tensor` or NumPy takes. It stays as it is.
        where: what stands in brackets: integers, slices, `...`, None, lists and arrays of integers, and masks (arrays
            or sparse tensors of bool). Of a place that is named several times the last element stays.
        B: a number, an array or a tensor, which broadcasts to the shape of `A[where]`. Of a sparse one the entries are
            stored, explicit zeros included; of others what is not zero.

    Returns:
        a tensor with the element type and the storage of A, if that can store every tensor (else CSR or CSF); an array
            where A is one.

    Raises:
        IndexRangeError, RankError, OperandError: for what is no index of A.
        ExtentError: for a B that does not broadcast to the shape of the places.
        DTypeError: for complex numbers in a tensor of real ones.
        TooLargeError: for a number, or an array, at more places than memory holds.

    >>> from mlir_sparse.tensor import tensor
    >>> A = tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]])
    >>> assign(A, (slice(None), [0, 2]), [[0.0, 5.0], [0.0, 0.0]]).to_numpy().tolist()
    [[0.0, 2.0, 5.0], [0.0, 0.0, 0.0]]
    >>> assign(A, A > 2, 1).to_numpy().tolist()
    [[0.0, 2.0, 0.0], [1.0, 0.0, 1.0]]
    """
    whole = operand_check.value_of("A", A)
    if not isinstance(whole, SparseTensor):
        return _into_array(whole, where, B)
    part = indexed_part(whole.shape, where)
    entries = entries_of(whole, narrow=True)
    new = _entries_at(part, _values(B, part, whole.dtype))
    left = ~_inside(entries, part)
    merged = with_entries(whole, entries, left, new)
    if merged is not None:
        return merged
    kept = entries.where(left)
    dims = tuple(np.concatenate(pair) for pair in zip(kept.dims, new.dims, strict=True))
    return EntryList(dims, np.concatenate([kept.values, new.values]), whole.shape).tensor(whole)


def _into_array(array: Array, where: Any, given: Any) -> Array:
    part = indexed_part(array.shape, where)
    value = operand_check.value_of("B", given)
    value = value.to_numpy() if isinstance(value, SparseTensor) else value
    _check_kind(value.dtype, array.dtype)
    new = np.array(array)
    keys = tuple(one.to_numpy() if isinstance(one, SparseTensor) else one for one in _as_tuple(where))
    new[keys] = np.broadcast_to(value, _broadcast_shape(value.shape, part.shape))
    return new


def _as_tuple(where: Any) -> tuple[Any, ...]:
    return where if isinstance(where, tuple) else (where,)


def _check_kind(given: np.dtype[Any], wanted: np.dtype[Any]) -> None:
    if given.kind == "c" and wanted.kind != "c":
        raise DTypeError(f"expected real numbers for elements of {wanted}, but got {given}: pass their .real")


def _broadcast_shape(given: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shape of the places, without axes of one that only B has.

    Raises:
        ExtentError: for a shape that does not broadcast to it.
    """
    extra = max(0, len(given) - len(shape))
    pairs = zip(reversed(given[extra:]), reversed(shape), strict=False)
    if any(size != 1 for size in given[:extra]) or any(size not in (1, wanted) for size, wanted in pairs):
        raise ExtentError(f"expected B to broadcast to the shape {shape} of the places, but got shape {given}")
    return shape


def _inside(entries: EntryList, part: IndexedPart) -> Array:
    """Returns which entries are at the places."""
    inside = np.ones(entries.values.size, bool)
    for dim, places, extent in zip(entries.dims, part.ranges, part.whole, strict=True):
        if len(places) == 0:
            inside[:] = False
        elif len(places) < extent:
            low, high = min(places[0], places[-1]), max(places[0], places[-1])
            inside &= (dim >= low) & (dim <= high)
            if abs(places.step) != 1:
                inside &= (dim - low) % abs(places.step) == 0
    if part.pick_axes:
        sizes = tuple(part.whole[axis] for axis in part.pick_axes)
        keys, wanted = numbered([[entries.dims[axis] for axis in part.pick_axes], list(part.picked)], sizes)
        inside &= np.isin(keys, wanted)
    return inside


def _values(given: Any, part: IndexedPart, dtype: np.dtype[Any]) -> EntryList:
    """Returns the entries of B, over the axes of the places."""
    value = operand_check.value_of("B", given)
    _check_kind(value.dtype, dtype)
    shape = _broadcast_shape(value.shape, part.shape)
    if isinstance(value, SparseTensor):
        return _spread(entries_of(value), value.shape, shape, dtype)
    value = value.astype(dtype)
    there = (value != 0) | np.signbit(value.real) if dtype.kind in "fc" else value != 0
    if not there.any():
        return EntryList(tuple(np.zeros(0, np.int64) for _ in shape), np.zeros(0, dtype), shape)
    check_dense_fits(shape, dtype)
    lined = value.reshape(value.shape[max(0, value.ndim - len(shape)) :])
    if not shape:
        return EntryList((), lined.reshape(1), shape)
    dims = np.nonzero(np.broadcast_to(there.reshape(lined.shape), shape))
    found = np.broadcast_to(lined, shape)[dims]
    return EntryList(tuple(dim.astype(np.int64) for dim in dims), found, shape)


def _spread(entries: EntryList, given: tuple[int, ...], shape: tuple[int, ...], dtype: np.dtype[Any]) -> EntryList:
    """Returns entries repeated along the axes that they broadcast to."""
    extra = len(given) - len(shape)
    dims: list[Array] = list(entries.dims[max(0, extra) :])
    lined = (1,) * max(0, -extra) + given[max(0, extra) :]
    zeros = np.zeros(entries.values.size, np.int64)
    dims = [zeros] * max(0, -extra) + dims
    at = np.arange(entries.values.size)
    repeated = [axis for axis, (old, new) in enumerate(zip(lined, shape, strict=True)) if old != new]
    check_dense_fits((entries.values.size, *(shape[axis] for axis in repeated)), dtype)
    for axis in repeated:
        along = np.tile(np.arange(shape[axis]), at.size)
        at = np.repeat(at, shape[axis])
        dims = [np.repeat(dim, shape[axis]) for dim in dims]
        dims[axis] = along
    return EntryList(tuple(dims), entries.values[at].astype(dtype), shape)


def _entries_at(part: IndexedPart, values: EntryList) -> EntryList:
    """Returns entries over the axes of the places as entries of the whole; where places repeat, the last ones."""
    if part.pick_axes and 0 not in part.pick_shape:
        block = values.dims[part.place : part.place + len(part.pick_shape)]
        query = np.zeros(values.values.size, np.int64)
        for dim, size in zip(block, part.pick_shape, strict=True):
            query = query * size + dim
        kept = part.last_of_repeated()[query]
        values, query = values.where(kept), query[kept]
    dims: list[Array] = []
    for axis, places in enumerate(part.ranges):
        if axis in part.pick_axes:
            picked = part.picked[part.pick_axes.index(axis)]
            dims.append(picked[query] if picked.size else np.zeros(values.values.size, np.int64))
        else:
            at = part.axis_of(axis)
            steps = np.zeros(values.values.size, np.int64) if at is None else values.dims[at]
            dims.append(places.start + places.step * steps)
    return EntryList(tuple(dims), values.values, part.whole)
