"""Broadcasting: NumPy stretches an axis of one element; a kernel omits its subscript."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlir_sparse.arrays.entry_lists import EntryList, entries_of
from mlir_sparse.arrays.flat_places import Array
from mlir_sparse.errors import ExtentError
from mlir_sparse.process.available_memory import check_fits
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.borders.dask_arrays import is_in_chunks

__all__ = ["broadcast_shape", "diagonal_of", "squeezed", "stretched", "without_axes"]

Value = Array | SparseTensor
Labels = tuple[str, ...]


def broadcast_shape(shapes: Sequence[tuple[int, ...]], what: str) -> tuple[int, ...]:
    """Returns the broadcast shape of some shapes.

    Raises:
        ExtentError: for axes of two extents other than 1.

    >>> broadcast_shape([(3, 1), (4,)], "operands of add")
    (3, 4)
    """
    given = [shape for shape in shapes if shape]  # numbers broadcast to any
    if not given or all(shape == given[0] for shape in given):
        return given[0] if given else ()
    # Not with NumPy, which refuses shapes of more than 2^63 - 1 elements.
    found: list[int] = []
    for axis in range(-max(map(len, shapes)), 0):
        extents = {shape[axis] for shape in shapes if len(shape) >= -axis} - {1}
        if len(extents) > 1:
            shown = " and ".join(map(str, shapes))
            raise ExtentError(f"expected {what} of shapes that broadcast (equal extents, or 1), but got shapes {shown}")
        found.append(extents.pop() if extents else 1)
    return tuple(found)


def without_axes(value: Value, axes: Sequence[int]) -> Value:
    """Returns a value without some axes of one element; without any axis left, a tensor becomes a number."""
    if not axes:
        return value
    if isinstance(value, np.ndarray):
        return value.reshape([size for axis, size in enumerate(value.shape) if axis not in axes])
    if is_in_chunks(value):  # whose chunks know how to
        part: Value = value[tuple(0 if axis in axes else slice(None) for axis in range(value.ndim))]
        return part
    entries = entries_of(value)
    kept = [axis for axis in range(value.ndim) if axis not in axes]
    if not kept:
        return np.asarray(entries.values.sum(), dtype=value.dtype)
    rest = EntryList(tuple(entries.dims[a] for a in kept), entries.values, tuple(value.shape[a] for a in kept))
    return rest.tensor(value)


def squeezed(value: Value, labels: Labels, extents: dict[str, int]) -> tuple[Value, Labels]:
    """Returns a value without the axes that are stretched, and the labels of the others."""
    axes = [axis for axis, label in enumerate(labels) if value.shape[axis] != extents[label]]
    return without_axes(value, axes), tuple(label for axis, label in enumerate(labels) if axis not in axes)


def diagonal_of(value: Value, labels: Labels) -> tuple[Value, Labels]:
    """Returns the diagonal of a value over axes with the same label, and each label once."""
    once = tuple(dict.fromkeys(labels))
    if len(once) == len(labels):
        return value, labels
    if isinstance(value, np.ndarray):
        letters = {label: chr(ord("a") + number) for number, label in enumerate(once)}
        spelled = "".join(letters[label] for label in labels)
        return np.einsum(f"{spelled}->{''.join(letters[label] for label in once)}", value), once
    entries = entries_of(value)
    first = [labels.index(label) for label in once]
    met = np.ones(entries.values.size, dtype=bool)
    for axis, label in enumerate(labels):
        met &= entries.dims[axis] == entries.dims[labels.index(label)]
    kept = entries.where(met)
    diagonal = EntryList(tuple(kept.dims[a] for a in first), kept.values, tuple(value.shape[a] for a in first))
    return diagonal.tensor(value), once


def stretched(entries: EntryList, shape: tuple[int, ...]) -> EntryList:
    """Returns the entries of a tensor broadcast to a shape."""
    missing = len(shape) - len(entries.shape)
    count = entries.values.size
    dims: list[Array] = [np.zeros(count, np.int64)] * missing + list(entries.dims)
    values = entries.values
    for axis, extent in enumerate(shape):
        size = 1 if axis < missing else entries.shape[axis - missing]
        if size == extent:
            continue
        # The coordinates and the values of each entry are repeated.
        check_fits(values.size * extent * (8 * len(shape) + values.itemsize), f"entries repeated over shape {shape}")
        dims = [np.repeat(dim, extent) if at != axis else dim for at, dim in enumerate(dims)]
        dims[axis] = np.tile(np.arange(extent, dtype=np.int64), values.size)
        values = np.repeat(values, extent)
    return EntryList(tuple(dims), values, shape)
