"""Rows and columns of matrices in CSR and CSC, taken at places in any order, and single entries found."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.encoding import Encoding, LevelFormat
from mlir_sparse.encoding.buffer_layout import check_extents
from mlir_sparse.encoding.derived_fact import fact_of
from mlir_sparse.process.available_memory import check_fits
from mlir_sparse.tensor.batch_and_slice_parts import is_plain
from mlir_sparse.tensor.convert.row_passes import is_list_by_rows, listed_rows
from mlir_sparse.tensor.level_storage import Array, LevelStorage
from mlir_sparse.tensor.sparse_tensor import SparseTensor
from mlir_sparse.tensor.widths import width_limit

__all__ = [
    "beside",
    "diagonal_entries",
    "entries_at",
    "line_order",
    "lines_at",
    "lines_between",
    "lists_beside",
    "run_of_lines",
]

_WIDE: np.dtype[Any] = np.dtype(np.int64)


@fact_of
def line_order(encoding: Encoding) -> tuple[int, int] | None:
    """Returns the dimension that lines are along, and that of the coordinates in them; None for other storage.

    Lines are dense, and their entries are listed once and in order: CSR and CSC, with any widths.

    >>> from mlir_sparse.encoding import encoding
    >>> [line_order(encoding(name)) for name in ("CSR", "CSC", "DCSR")]
    [(0, 1), (1, 0), None]
    """
    formats = tuple(kind.format for kind in encoding.level_types)
    if formats != (LevelFormat.DENSE, LevelFormat.COMPRESSED) or not encoding.is_permutation:
        return None
    if not (is_plain(encoding) and encoding.is_unique and encoding.is_native and encoding.is_ordered):
        return None
    if encoding.explicit_val is not None:
        return None
    outer, inner = encoding.level_order
    return outer, inner


def lines_at(matrix: SparseTensor, axis: int, places: Array) -> SparseTensor:
    """Returns the rows or columns of a matrix at some places, in their order, in the same storage.

    Widths of 64 bits replace those of the matrix where the result has more than these can count.

    Args:
        matrix: in storage that has a `line_order`.
        axis: 0 for rows, 1 for columns.
        places: integers of 64 bits in range; a place may stand there several times.

    Raises:
        TooLargeError: for a result that would not fit in memory.

    >>> from mlir_sparse.tensor.create import tensor
    >>> A = tensor([[0.0, 2.0, 3.0], [4.0, 0.0, 0.0]], "CSR")
    >>> lines_at(A, 0, np.array([1, 0, 1])).to_numpy().tolist()
    [[4.0, 0.0, 0.0], [0.0, 2.0, 3.0], [4.0, 0.0, 0.0]]
    >>> lines_at(A, 1, np.array([2, 1, 2])).to_numpy().tolist()
    [[3.0, 2.0, 3.0], [0.0, 0.0, 0.0]]
    """
    order = line_order(matrix.encoding)
    assert order is not None  # as the caller has seen
    begins, coordinates, values = matrix.storage.buffers()
    lines, length = matrix.storage.level_sizes
    if axis == order[0]:
        lines = places.size
        starts, named, kept = _segments(begins, coordinates, values, places)
    else:
        if places.size - 1 > np.iinfo(coordinates.dtype).max:
            coordinates = coordinates.astype(np.int64)
        firsts, numbers = _renumbering(places, length)
        length = places.size
        lined = begins.astype(np.int64, copy=False)
        starts = _native.chosen_starts(lined, coordinates, firsts)
        named, kept = _room(starts, coordinates, values)
        _native.chosen_entries(lined, coordinates, values, firsts, numbers, starts, named, kept)
    return _of_lines(matrix, (lines, length), starts, named, kept)


def lines_between(matrix: SparseTensor, axis: int, wanted: range) -> SparseTensor:
    """Returns the rows or columns of a matrix at equally distant places, as `lines_at`.

    Args:
        matrix: in storage that has a `line_order`.
        axis: 0 for rows, 1 for columns.
        wanted: places in range.

    >>> from mlir_sparse.tensor.create import tensor
    >>> A = tensor([[0.0, 2.0, 3.0], [4.0, 0.0, 0.0]], "CSR")
    >>> lines_between(A, 1, range(2, -1, -2)).to_numpy().tolist()
    [[3.0, 0.0], [0.0, 4.0]]
    """
    order = line_order(matrix.encoding)
    assert order is not None  # as the caller has seen
    if axis == order[0]:
        return lines_at(matrix, axis, np.arange(wanted.start, wanted.stop, wanted.step))
    begins, coordinates, values = matrix.storage.buffers()
    ascending = wanted if wanted.step > 0 else wanted[::-1]
    if max(wanted.start, len(wanted) - 1, abs(wanted.step)) > np.iinfo(coordinates.dtype).max:
        coordinates = coordinates.astype(np.int64)
    check_fits(values.size * (coordinates.itemsize + values.itemsize), f"{values.size} entries of rows and columns")
    starts, named, kept = _native.entries_between(
        begins.astype(np.int64, copy=False), coordinates, values,
        ascending.start if wanted else 0, ascending.step, len(wanted), wanted.step < 0,
    )  # fmt: skip
    return _of_lines(matrix, (matrix.storage.level_sizes[0], len(wanted)), starts, named, kept)


def run_of_lines(matrix: SparseTensor, low: int, high: int) -> SparseTensor:
    """Returns lines of a matrix that follow one another, in the same storage, which shares entries with the whole.

    Args:
        matrix: in storage that has a `line_order`.
        low: the first line.
        high: the line behind the last, at least `low`.

    >>> from mlir_sparse.tensor.create import tensor
    >>> run_of_lines(tensor([[0.0, 2.0], [4.0, 0.0], [0.0, 5.0]], "CSR"), 1, 3).to_numpy().tolist()
    [[4.0, 0.0], [0.0, 5.0]]
    """
    kind, (begins, coordinates, values) = matrix.encoding, matrix.storage.buffers()
    first, last = int(begins[low]), int(begins[high])
    starts = begins[low : high + 1] if first == 0 else begins[low : high + 1] - begins[low]
    sizes = high - low, matrix.storage.level_sizes[1]
    shape = sizes if kind.level_order == (0, 1) else (sizes[1], sizes[0])
    buffers = starts, coordinates[first:last], values[first:last]
    return SparseTensor._trusted(kind, shape, LevelStorage.from_buffers(kind, sizes, buffers))


def _of_lines(matrix: SparseTensor, sizes: tuple[int, int], starts: Array, named: Array, kept: Array) -> SparseTensor:
    """Returns a matrix of other lines, in the storage of one, with wider numbers where it needs them."""
    kind, (begins, coordinates, _) = matrix.encoding, matrix.storage.buffers()
    if named.dtype != coordinates.dtype or starts[-1] > np.iinfo(begins.dtype).max:
        kind, starts, named = kind.with_widths(64, 64), starts, named.astype(np.int64, copy=False)
    else:
        starts = starts.astype(begins.dtype, copy=False)
    shape = sizes if kind.level_order == (0, 1) else (sizes[1], sizes[0])
    return SparseTensor._trusted(kind, shape, LevelStorage.from_buffers(kind, sizes, [starts, named, kept]))


def entries_at(matrix: SparseTensor, rows: Array, columns: Array) -> Array:
    """Returns where the values of elements of a matrix are in its storage; -1 for those without an entry.

    Args:
        matrix: in storage that has a `line_order`.
        rows: integers of 64 bits in range.
        columns: likewise, as many.

    >>> from mlir_sparse.tensor.create import tensor
    >>> entries_at(tensor([[0.0, 2.0], [3.0, 0.0]], "CSR"), np.array([1, 0, 0]), np.array([0, 0, 1])).tolist()
    [1, -1, 0]
    """
    order = line_order(matrix.encoding)
    assert order is not None  # as the caller has seen
    begins, coordinates, _ = matrix.storage.buffers()
    places = (rows, columns)
    lined = begins.astype(np.int64, copy=False)
    found: Array = _native.find_entries(lined, coordinates, places[order[0]], places[order[1]])
    return found


def diagonal_entries(
    matrix: SparseTensor, low: int, right: int, count: int, width: np.dtype[Any] = _WIDE
) -> tuple[Array, Array]:
    """Returns the entries of a matrix on a part of a diagonal: how far along each is, ascending, and their values.

    Args:
        matrix: in storage that has a `line_order`.
        low: the row where the part begins, not negative.
        right: the column where it begins, likewise.
        count: the number of elements, all of them in the matrix.
        width: of how far along they are, int32 or int64: not less than the number needs.

    >>> from mlir_sparse.tensor.create import tensor
    >>> A = tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]], "CSR")
    >>> [found.tolist() for found in diagonal_entries(A, 0, 1, 2)]
    [[0, 1], [2.0, 4.0]]
    """
    order = line_order(matrix.encoding)
    assert order is not None  # as the caller has seen
    begins, coordinates, values = matrix.storage.buffers()
    first, beside = (low, right) if order == (0, 1) else (right, low)
    return _native.diagonal_entries(begins, coordinates, values, first, beside, count, width)


def beside(parts: Sequence[SparseTensor]) -> SparseTensor | None:
    """Returns matrices joined along the coordinates of their lines, in the same storage: rows of CSR next to rows.

    Widths of coordinates and positions grow to 64 bits where the result needs it.

    Returns:
        the whole; None for other storage than one that has a `line_order`, and for unlike storage or element types.

    Raises:
        TooLargeError: for a result that would not fit in memory, or an extent that does not fit in 64 bits.

    >>> from mlir_sparse.tensor.create import tensor
    >>> A, B = tensor([[0.0, 2.0], [3.0, 0.0]], "CSR"), tensor([[4.0], [0.0]], "CSR")
    >>> beside([A, B]).to_numpy().tolist()
    [[0.0, 2.0, 4.0], [3.0, 0.0, 0.0]]
    """
    kind, dtype = parts[0].encoding, parts[0].dtype
    order = line_order(kind)
    if order is None or any(part.encoding != kind or part.dtype != dtype for part in parts):
        return None
    lines, lengths = parts[0].storage.level_sizes[0], [part.storage.level_sizes[1] for part in parts]
    begins, coordinates, values = zip(*(part.storage.buffers() for part in parts), strict=True)
    narrow, firsts, found = _joined_lines(kind, lengths, begins, coordinates, values)
    kind = kind.with_widths(64, 64) if narrow else kind
    shape = (lines, firsts[-1]) if order == (0, 1) else (firsts[-1], lines)
    buffers = found[0].astype(np.int64 if narrow else begins[0].dtype, copy=False), *found[1:]
    return SparseTensor._trusted(kind, shape, LevelStorage.from_buffers(kind, (lines, firsts[-1]), buffers))


def lists_beside(parts: Sequence[SparseTensor]) -> SparseTensor | None:
    """Returns matrices in coordinates by rows joined along their columns: the entries of rows are merged, not sorted.

    Widths of coordinates and positions grow to 64 bits where the result needs it.

    Returns:
        the whole; None for other storage, unlike storage or element types, and where rows are mostly empty.

    Raises:
        TooLargeError: as `beside`.

    >>> from mlir_sparse.tensor.create import tensor
    >>> A, B = tensor([[0.0, 2.0], [3.0, 0.0]], "COO"), tensor([[4.0], [0.0]], "COO")
    >>> lists_beside([A, B]).to_numpy().tolist()
    [[0.0, 2.0, 4.0], [3.0, 0.0, 0.0]]
    """
    kind, dtype, rows = parts[0].encoding, parts[0].dtype, parts[0].shape[0]
    if any(part.encoding != kind or part.dtype != dtype for part in parts):
        return None
    if not is_list_by_rows(kind) or kind.crd_width < 32 or rows > 4 * sum(part.storage.values.size for part in parts):
        return None
    listed, coordinates = zip(*(part.storage.coordinates for part in parts), strict=True)
    values = [part.storage.values for part in parts]
    if max(one.size for one in values) > width_limit(kind.crd_width):
        return None  # which number its positions
    begins = [_native.rows_of_list(rows, *one, False)[0] for one in zip(listed, coordinates, values, strict=True)]
    narrow, firsts, found = _joined_lines(kind, [part.shape[1] for part in parts], begins, coordinates, values)
    kind = kind.with_widths(64, 64) if narrow else kind
    return SparseTensor._trusted(kind, (rows, firsts[-1]), listed_rows(kind, (rows, firsts[-1]), *found))


def _joined_lines(
    kind: Encoding,
    lengths: Sequence[int],
    begins: Sequence[Array],
    coordinates: Sequence[Array],
    values: Sequence[Array],
) -> tuple[bool, list[int], tuple[Array, Array, Array]]:
    """Returns whether widths were too narrow, where the coordinates of each part begin, and the lines of all parts."""
    firsts = [0, *accumulate(lengths)]
    check_extents((firsts[-1],))
    entries = sum(one.size for one in values)
    narrow = firsts[-1] - 1 > width_limit(kind.crd_width) or entries > width_limit(kind.pos_width)
    width = np.dtype(np.int64) if narrow else coordinates[0].dtype
    check_fits(entries * (width.itemsize + values[0].itemsize), f"{entries} entries of matrices")
    return narrow, firsts, _native.rows_beside(begins, coordinates, firsts[:-1], values, width)


def _segments(begins: Array, coordinates: Array, values: Array, places: Array) -> tuple[Array, Array, Array]:
    starts = np.zeros(places.size + 1, np.int64)
    np.cumsum(begins[places + 1].astype(np.int64) - begins[places], out=starts[1:])
    named, kept = _room(starts, coordinates, values)
    for source, out in ((coordinates, named), (values, kept)):
        _native.take_segments(source, begins, places, starts, out)
    return starts, named, kept


def _room(starts: Array, coordinates: Array, values: Array) -> tuple[Array, Array]:
    count = int(starts[-1])
    check_fits(count * (coordinates.itemsize + values.itemsize), f"{count} entries of rows and columns")
    return np.empty(count, coordinates.dtype), np.empty(count, values.dtype)


def _renumbering(places: Array, length: int) -> tuple[Array, Array]:
    """Returns for each coordinate where its numbers begin, the places that it is at, and these numbers, ascending."""
    firsts = np.zeros(length + 1, np.int64)
    np.cumsum(np.bincount(places, minlength=length), out=firsts[1:])
    ascends = bool(np.all(places[1:] >= places[:-1]))
    return firsts, np.arange(places.size) if ascends else np.argsort(places, kind="stable")
