"""Rows of Parquet files in batches, and the part of a tensor that they become as they come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import FileFormatError
from mlir_sparse.tensor.create import from_entries
from mlir_sparse.tensor.level_storage import Array
from mlir_sparse.tensor.sparse_tensor import SparseTensor
from mlir_sparse.tensor.widths import width_dtype

__all__ = ["HELD", "PartOfRows", "RowGroup", "batches_of", "opened_parquet"]

_BATCH = 1 << 14
"""Rows that are decoded at a time."""

_BUFFER = 1 << 18
"""Bytes of a column that are read of the file at a time."""

HELD = 10 << 20
"""Bytes that Arrow holds while rows are read: a page of each column, as stored and decoded, and a batch of rows."""


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A group of rows of a file: which, how many, and the least and greatest coordinate of the axis there."""

    path: str
    number: int
    rows: int
    low: int
    high: int


def opened_parquet(parquet: Any, path: str) -> Any:
    """Returns a Parquet file, of which no more is read ahead than is asked for; checksums of pages are compared."""
    return parquet.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False, page_checksum_verification=True)


def batches_of(
    file: Any, group: RowGroup, columns: Sequence[str], shape: Sequence[int], axis: int
) -> Iterator[list[Array]]:
    """Yields the columns of a group, some rows at a time.

    Args:
        file: the group's file.
        group: the group.
        columns: the columns of coordinates, and that of values.
        shape: the extents.
        axis: the dimension whose least and greatest coordinate the group has.

    Raises:
        FileFormatError: for rows that are not as the file's head says, and coordinates outside of the shape.
    """
    rows, where = 0, f"row group {group.number} of {group.path}"
    for batch in file.iter_batches(_BATCH, row_groups=[group.number], columns=list(columns), use_threads=False):
        found = []
        for number, name in enumerate(columns):
            own = batch.column(batch.schema.get_field_index(name))
            if own.null_count:
                raise FileFormatError(f"expected numbers in {where}, but got nulls")
            array: Array = own.to_numpy(zero_copy_only=False)
            if number < len(shape) and array.size:
                low, high = array.min(), array.max()
                if not 0 <= low <= high < shape[number]:
                    raise FileFormatError(
                        f"expected coordinates below {shape[number]} in {name} of {where}, but got {low} to {high}"
                    )
                if number == axis and not group.low <= low <= high <= group.high:
                    raise FileFormatError(
                        f"expected {name} from {group.low} to {group.high} in {where}, by its head, but got {low} to "
                        f"{high}: the file is damaged"
                    )
            found.append(array)
        rows += batch.num_rows
        yield found
    if rows != group.rows:
        raise FileFormatError(
            f"expected {group.rows} rows in {where}, by its head, but got {rows}: the file is damaged"
        )


class _Column:
    """A column that comes a batch at a time, in memory that is taken as it fills.

    Args:
        kind: its type.
        expected: about how many rows there will be.
    """

    def __init__(self, kind: np.dtype[Any], expected: int) -> None:
        self._found: Array = _native.reserve(expected + expected // 8, kind)
        self._count = 0

    def append(self, rows: Array) -> None:
        """Adds rows."""
        end = self._count + rows.size
        if end > self._found.size:
            before = self._found
            self._found = _native.reserve(max(end, 2 * before.size), before.dtype)
            self._found[: self._count] = before[: self._count]
        self._found[self._count : end] = rows
        self._count = end

    def array(self) -> Array:
        """Returns the rows."""
        return _native.trim(self._found, self._count, 0)


class PartOfRows:
    """The part of a tensor that rows are, of which no more is kept than it has if they come in its order.

    Args:
        kind: the type of the part.
        shape: the extents of the part.
        axis: the dimension that it is a part along.
        expected: about how many rows there will be.

    >>> from mlir_sparse.encoding import encoding
    >>> kind = TensorType("f64", (None, None), encoding("CSR").with_widths(32, 32))
    >>> part = PartOfRows(kind, (3, 4), 0, 2)
    >>> part.append([np.array([0, 2]), np.array([3, 1]), np.array([5.0, 6.0])])
    >>> part.tensor().to_numpy().tolist()
    [[0.0, 0.0, 0.0, 5.0], [0.0, 0.0, 0.0, 0.0], [0.0, 6.0, 0.0, 0.0]]
    """

    def __init__(self, kind: TensorType, shape: Sequence[int], axis: int, expected: int) -> None:
        assert kind.encoding is not None
        self._kind, self._encoding, self._shape, self._expected = kind, kind.encoding, tuple(shape), expected
        self._coordinate = width_dtype(kind.encoding.crd_width)
        rank = len(shape)
        # Levels are made at once of vectors, and of rows of matrices.
        self._in_order = rank <= 2 and axis == 0
        self._positions: Array = np.zeros(shape[0] + 1, width_dtype(kind.encoding.pos_width))
        if not (self._in_order and rank == 2):
            self._positions = self._positions[:0]
        self._last: tuple[int, ...] | None = None
        self._dims = [_Column(self._coordinate, expected) for _ in range(1 if self._in_order else rank)]
        self._values = _Column(kind.dtype.numpy, expected)

    @property
    def is_in_order(self) -> bool:
        """Returns whether levels are made at once of the rows so far."""
        return self._in_order

    def append(self, columns: Sequence[Array]) -> None:
        """Adds rows, whose coordinates count from the part's begin."""
        *dims, values = columns
        if not values.size:
            return
        if self._in_order and not self._follow(dims):
            self._keep_all()
        if self._in_order and len(dims) == 2:
            rows = dims[0]
            begins = np.flatnonzero(rows[1:] != rows[:-1]) + 1
            begins = np.concatenate([[0], begins])
            self._positions[rows[begins].astype(np.int64) + 1] += np.diff(begins, append=rows.size).astype(
                self._positions.dtype
            )
            dims = dims[1:]
        for column, own in zip(self._dims, dims, strict=True):
            column.append(own)
        self._values.append(values)

    def tensor(self) -> SparseTensor:
        """Returns the part; entries that are there twice are added up."""
        dims, values = [column.array() for column in self._dims], self._values.array()
        if not self._in_order:
            return from_entries(dims, values, self._shape, self._encoding, dtype=self._kind.dtype, parameters={})
        if len(self._shape) == 1:
            positions: list[Any] = [np.array([0, values.size], width_dtype(self._encoding.pos_width))]
            return SparseTensor.from_levels(
                self._encoding, self._shape, positions, dims, values, dtype=self._kind.dtype
            )
        positions = [None, np.cumsum(self._positions, out=self._positions)]
        return SparseTensor.from_levels(
            self._encoding, self._shape, positions, [None, dims[0]], values, dtype=self._kind.dtype
        )

    def _follow(self, dims: Sequence[Array]) -> bool:
        """Returns whether each row is behind the one before it."""
        first, before = tuple(int(own[0]) for own in dims), self._last
        self._last = tuple(int(own[-1]) for own in dims)
        if before is not None and first <= before:
            return False
        outer, inner = dims[0], dims[-1]
        behind = outer[1:] > outer[:-1]
        if len(dims) == 2:
            behind |= (outer[1:] == outer[:-1]) & (inner[1:] > inner[:-1])
        return bool(behind.all())

    def _keep_all(self) -> None:
        """Keeps the coordinates of all dimensions from here on, and makes the part of them in the end."""
        self._in_order = False
        if len(self._shape) == 2:
            rows = _Column(self._coordinate, self._expected)
            rows.append(np.repeat(np.arange(self._shape[0], dtype=self._coordinate), self._positions[1:]))
            self._dims.insert(0, rows)
            self._positions = self._positions[:0]
