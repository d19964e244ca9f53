"""Tensors in other shapes: permuted axes on the same buffers, or entries at other coordinates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from mlir_sparse.arrays.axis_arguments import axes_of, axis_of, listed_axes
from mlir_sparse.arrays.entry_lists import (
    WIDEST,
    EntryList,
    by_rows,
    entries_of,
    is_by_rows,
    result_encoding,
    vector_of,
)
from mlir_sparse.arrays.flat_places import Array, relocated
from mlir_sparse.encoding import Encoding
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.encoding.buffer_layout import check_extents
from mlir_sparse.errors import ExtentError, OperandError, RankError, StorageError
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.batch_and_slice_parts import is_plain
from mlir_sparse.tensor.convert.coordinates_of import expand_dims
from mlir_sparse.tensor.dense_entries import lists_entries
from mlir_sparse.tensor.kept_entries import kept_entries
from mlir_sparse.tensor.level_storage import LevelStorage
from mlir_sparse.tensor.matrix_lines import diagonal_entries, line_order
from mlir_sparse.text.given_arguments import integers_of

__all__ = [
    "copied_as_asked",
    "diagonal",
    "diagonal_matrix",
    "expanded",
    "flipped",
    "moved",
    "reshaped",
    "squeezed_out",
    "swapped",
    "trace",
    "transposed",
    "triangle",
]

_NAMED = ("CSR", "CSC", "DCSR", "DCSC")
_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)


def transposed(tensor: SparseTensor, axes: Sequence[int] | None = None) -> SparseTensor:
    """Returns a tensor with its axes permuted, or reversed, over the same buffers: the transpose of CSR is CSC.

    Raises:
        RankError: for axes that are no permutation.

    >>> from mlir_sparse.tensor import tensor
    >>> A = tensor([[0.0, 2.0], [3.0, 0.0]])
    >>> B = transposed(A)
    >>> B.encoding.preset, B.storage.values is A.storage.values
    ('CSC', True)
    """
    order = tuple(reversed(range(tensor.ndim))) if axes is None else _permutation(axes, tensor.ndim)
    if order == tuple(range(tensor.ndim)):
        return tensor
    shape = tuple(tensor.shape[axis] for axis in order)
    if not is_plain(tensor.encoding):
        entries = entries_of(tensor)
        return EntryList(tuple(entries.dims[axis] for axis in order), entries.values, shape).tensor()
    encoding = _permuted(tensor.encoding, order)
    storage = LevelStorage.from_buffers(encoding, tensor.storage.level_sizes, tensor.storage.buffers())
    return SparseTensor._trusted(encoding, shape, storage)


def _permutation(axes: Any, rank: int) -> tuple[int, ...]:
    if not isinstance(axes, Sequence | np.ndarray) or isinstance(axes, str):
        # A set has no order.
        raise RankError(f"expected a tuple or list of axes, but got {type(axes).__name__}")
    order = tuple(axes)
    if len(order) != rank or sorted(axes_of(order, rank)) != list(range(rank)):
        raise RankError(f"expected axes to be a permutation of {rank} axes, but got {order}")
    return tuple(int(axis) % rank for axis in order)


@lru_cache(maxsize=256)
def _permuted(encoding: Encoding, order: tuple[int, ...]) -> Encoding:
    """Returns the encoding of the same buffers for permuted axes: levels stay, dimensions are renamed."""
    plain = replace(encoding.with_default_names(), explicit_val=None, implicit_val=None, preset=None)
    names = [f"d{axis}" for axis in range(encoding.dim_rank)]
    header = f"({', '.join(names)}) -> "
    moved = f"({', '.join(names[axis] for axis in order)}) -> "
    found = as_encoding(plain.map_text().replace(header, moved, 1)).with_default_names()
    preset = next((name for name in _NAMED if len(order) == 2 and as_encoding(name) == found), None)
    widths = {"pos_width": encoding.pos_width, "crd_width": encoding.crd_width}
    values = {"explicit_val": encoding.explicit_val, "implicit_val": encoding.implicit_val}
    return replace(found, preset=preset, **widths, **values)  # type: ignore[arg-type]  # two dicts, two types


def moved(tensor: SparseTensor, source: Any, target: Any) -> SparseTensor:
    """Returns a tensor with some axes moved, and the others in order (`np.moveaxis`)."""
    given = [listed_axes(axis) for axis in (source, target)]
    if len(given[0]) != len(given[1]):
        raise RankError(f"expected as many places as axes to move, but got {source!r} and {target!r}")
    taken, places = ([axis_of(axis, tensor.ndim) for axis in axes] for axes in given)
    axes_of(tuple(taken), tensor.ndim), axes_of(tuple(places), tensor.ndim)  # each once
    order = [axis for axis in range(tensor.ndim) if axis not in taken]
    for place, axis in sorted(zip(places, taken, strict=True)):
        order.insert(place, axis)
    return transposed(tensor, order)


def swapped(tensor: SparseTensor, axis1: int, axis2: int) -> SparseTensor:
    """Returns a tensor with two axes exchanged."""
    one, other = axis_of(axis1, tensor.ndim), axis_of(axis2, tensor.ndim)
    order = list(range(tensor.ndim))
    order[one], order[other] = order[other], order[one]
    return transposed(tensor, order)


def reshaped(tensor: SparseTensor, shape: Any, order: str = "C") -> SparseTensor:
    """Returns the elements, in row-major order, in another shape; one extent may be -1.

    Raises:
        ExtentError: for a shape with another number of elements.
        RankError: for a shape without dimensions.

    >>> from mlir_sparse.tensor import tensor
    >>> reshaped(tensor([[0.0, 2.0], [3.0, 0.0]]), (4, -1)).shape
    (4, 1)
    """
    if order not in ("C", "F", "A", "K"):
        raise OperandError(f"expected order='C' or 'F', but got {order!r}")
    wanted = _filled(integers_of((shape,) if isinstance(shape, int | np.integer) else shape, "a shape"), tensor.shape)
    if order == "F":
        return transposed(reshaped(transposed(tensor), wanted[::-1]))
    if wanted == tensor.shape:
        return tensor
    if not wanted:
        raise RankError("expected a shape of one dimension or more, but got (): A.sum() is the number in it")
    check_extents(wanted)
    kind = result_encoding(wanted, tensor.encoding)
    entries = entries_of(by_rows(tensor) if is_by_rows(kind) else tensor, narrow=True)
    return EntryList(_at_same_places(entries, wanted), entries.values, wanted).tensor(tensor)


def _at_same_places(entries: EntryList, shape: tuple[int, ...]) -> tuple[Array, ...]:
    """Returns the coordinates of entries in another shape, computed for each run of axes that corresponds.

    Raises:
        TooLargeError: for a run of axes whose row-major indices do not fit in 64 bits.
    """
    if not entries.values.size:
        return tuple(np.zeros(0, np.int64) for _ in shape)
    dims: list[Array] = []
    for given, wanted in _runs(entries.shape, shape):
        if entries.shape[given] == shape[wanted]:
            dims += entries.dims[given]
            continue
        if wanted.stop == wanted.start:
            continue  # of axes of one element
        if given.stop == given.start:
            dims += [np.zeros(entries.values.size, np.int32)] * (wanted.stop - wanted.start)
            continue
        dims += relocated(entries.dims[given], entries.shape[given], shape[wanted])
    return tuple(dims)


def _runs(given: tuple[int, ...], wanted: tuple[int, ...]) -> Iterator[tuple[slice, slice]]:
    """Yields the shortest pairs of runs of axes with equal numbers of places, given two shapes of one size.

    >>> [(given[a], wanted[b]) for given, wanted in [((6, 7), (2, 3, 7))] for a, b in _runs(given, wanted)]
    [((6,), (2, 3)), ((7,), (7,))]
    """
    a = b = 0
    while a < len(given) and b < len(wanted):
        end_a, end_b, size_a, size_b = a + 1, b + 1, given[a], wanted[b]
        while size_a != size_b:
            if size_a < size_b:
                size_a, end_a = size_a * given[end_a], end_a + 1
            else:
                size_b, end_b = size_b * wanted[end_b], end_b + 1
        yield slice(a, end_a), slice(b, end_b)
        a, b = end_a, end_b
    if a < len(given) or b < len(wanted):  # axes of one element
        yield slice(a, len(given)), slice(b, len(wanted))


def _filled(shape: tuple[Any, ...], given: tuple[int, ...]) -> tuple[int, ...]:
    total, known = prod(given), prod(size for size in shape if size != -1)
    open_axes = [axis for axis, size in enumerate(shape) if size == -1]
    if len(open_axes) == 1 and known and total % known == 0:
        shape = tuple(total // known if size == -1 else size for size in shape)
    if any(size < 0 for size in shape) or prod(shape) != total:
        raise ExtentError(f"expected a shape of {total} elements, as {given} has, but got {shape}")
    return tuple(int(size) for size in shape)


def expanded(tensor: SparseTensor, axis: Any) -> SparseTensor:
    """Returns a tensor with new axes of one element, given their positions in the result."""
    given = listed_axes(axis)
    places = axes_of(given, tensor.ndim + len(given))
    shape = list(tensor.shape)
    for place in places:
        shape.insert(place, 1)
    return reshaped(tensor, tuple(shape))


def squeezed_out(tensor: SparseTensor, axis: Any = None) -> Any:
    """Returns a tensor without axes of one element; a number if no axis is left."""
    ones = [at for at, size in enumerate(tensor.shape) if size == 1]
    axes = ones if axis is None else axes_of(axis, tensor.ndim)
    for at in axes:
        if at not in ones:
            raise ExtentError(f"expected an axis of one element to squeeze, but got {tensor.shape[at]} (axis {at})")
    shape = tuple(size for at, size in enumerate(tensor.shape) if at not in axes)
    return reshaped(tensor, shape) if shape else np.asarray(entries_of(tensor).values.sum(), tensor.dtype)


def diagonal(tensor: SparseTensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> SparseTensor:
    """Returns the entries on a diagonal, to the right of the main one by the offset; it becomes the last axis."""
    if tensor.ndim < 2:
        raise RankError(f"expected a tensor of two dimensions or more for a diagonal, but got shape {tensor.shape}")
    shape, rows, columns = tensor.shape, axis1, axis2
    if not (len(shape) == 2 and type(axis1) is type(axis2) is int and (axis1, axis2) == (0, 1)):
        axes_of((axis1, axis2), len(shape))
        rows, columns = axis1 % len(shape), axis2 % len(shape)
    offset = max(-shape[rows], min(offset, shape[columns]))  # all diagonals beyond are empty
    low, right = max(0, -offset), max(0, offset)
    length = max(0, min(shape[rows] - low, shape[columns] - right))
    if line_order(tensor.encoding) is not None:
        firsts = (low, right) if rows == 0 else (right, low)
        width = _INT32 if length <= WIDEST else _INT64
        return vector_of(*diagonal_entries(tensor, *firsts, length, width), length, tensor)
    rest = [axis for axis in range(len(shape)) if axis not in (rows, columns)]
    entries = entries_of(tensor, narrow=True)
    on = np.flatnonzero(entries.dims[columns] - entries.dims[rows] == offset)
    if not rest and lists_entries(tensor.encoding) == 0 and tensor.encoding.is_ordered:
        places = entries.dims[rows].take(on) - low  # ascending, by rows or by columns
        return vector_of(places, entries.values.take(on), length, tensor)
    kept = entries.where(on)
    dims = (*(kept.dims[axis] for axis in rest), kept.dims[rows] - low)
    return EntryList(dims, kept.values, (*(shape[axis] for axis in rest), length)).tensor(tensor)


def copied_as_asked(source: Any, found: Any, copy: bool | None) -> Any:
    """Returns what a tensor is in a shape, after `copy=` of NumPy's function.

    Raises:
        StorageError: for copy=False and another shape, whose entries are new.
    """
    if copy is False and found.shape != source.shape:
        raise StorageError(
            f"expected copy to be allowed for shape {found.shape} of one of shape {source.shape}, but got copy=False"
        )
    return found.copy() if copy and found is source else found


def trace(tensor: SparseTensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Returns the sum of a diagonal of two axes."""
    if tensor.ndim == 2 and (axis1, axis2) == (0, 1) and _is_summed_alike(tensor.dtype):
        offset = max(-tensor.shape[0], min(offset, tensor.shape[1]))
        if line_order(tensor.encoding) is not None:
            low, right = max(0, -offset), max(0, offset)
            length = max(0, min(tensor.shape[0] - low, tensor.shape[1] - right))
            return np.add.reduce(diagonal_entries(tensor, low, right, length)[1])  # as `sum`, which calls it
        entries = entries_of(tensor, narrow=True)
        return entries.values[entries.dims[1] - entries.dims[0] == offset].sum()
    return diagonal(tensor, offset, axis1, axis2).sum(axis=-1)


def _is_summed_alike(dtype: np.dtype[Any]) -> bool:
    """Returns whether NumPy sums numbers as kernels do: those of half precision it rounds each time."""
    return dtype.kind in "iub" or (dtype.kind in "fc" and dtype.itemsize >= 4)


def triangle(tensor: SparseTensor, upper: bool, k: int = 0) -> SparseTensor:
    """Returns the entries on one side of a diagonal of the last two axes, the diagonal included."""
    if tensor.ndim < 2:
        raise RankError(f"expected a tensor of two dimensions or more for a triangle, but got shape {tensor.shape}")
    k = max(-tensor.shape[-2], min(k, tensor.shape[-1]))  # all triangles beyond are equally empty or full
    if lists_entries(tensor.encoding) is not None:
        dims, _ = expand_dims(tensor.storage, tensor.shape)
        kept = kept_entries(tensor, _in_triangle(dims[-2], dims[-1], upper, k))
        if kept is not None:
            return kept
    entries = entries_of(tensor)
    return entries.where(_in_triangle(entries.dims[-2], entries.dims[-1], upper, k)).tensor(tensor)


def _in_triangle(rows: Array, columns: Array, upper: bool, k: int) -> Array:
    distance = columns - rows  # neither is negative: it fits in as many bits
    found: Array = distance >= k if upper else distance <= k
    return found


def flipped(tensor: SparseTensor, axis: Any = None) -> SparseTensor:
    """Returns a tensor with the order of elements along axes reversed."""
    axes = axes_of(None if axis is None else listed_axes(axis), tensor.ndim)
    entries = entries_of(tensor)
    dims = tuple(tensor.shape[at] - 1 - dim if at in axes else dim for at, dim in enumerate(entries.dims))
    return EntryList(dims, entries.values, tensor.shape).tensor(tensor)


def diagonal_matrix(vector: SparseTensor, k: int = 0) -> SparseTensor:
    """Returns the square matrix with a vector on a diagonal."""
    entries = entries_of(vector)
    size = vector.shape[0] + abs(k)
    check_extents((size, size))  # before shifted coordinates overflow
    dims = (entries.dims[0] + max(0, -k), entries.dims[0] + max(0, k))
    return EntryList(dims, entries.values, (size, size)).tensor()
