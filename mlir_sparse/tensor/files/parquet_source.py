"""Parquet files of entries, a row for each: coordinates and a value in columns."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any

import numpy as np

from mlir_sparse.disk import refusing
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import TensorType
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.errors import ExtentError, FileFormatError, MissingPackageError, SparseError
from mlir_sparse.tensor.files.parquet_rows import HELD, PartOfRows, RowGroup, batches_of, opened_parquet
from mlir_sparse.tensor.files.tensor_source import TensorSource
from mlir_sparse.tensor.level_storage import Array
from mlir_sparse.tensor.sparse_tensor import SparseTensor
from mlir_sparse.text.listed_words import listed

__all__ = ["ParquetSource", "is_parquet"]

_RELEASED = 8
"""Batches after which Arrow gives back what it keeps: more than it uses, while pages of some size follow others."""


def is_parquet(name: str) -> bool:
    """Returns whether a name is that of a Parquet file, or a folder has nothing else."""
    if os.path.isdir(name):
        return bool(_files(name)) and all(is_parquet(one) for one in _files(name))
    return name.lower().endswith((".parquet", ".pq"))


def _files(name: str) -> list[str]:
    """Returns the files of a data set; names that begin with a dot or an underscore are notes of those who write it."""
    if not os.path.isdir(name):
        return [name]
    return [os.path.join(name, one) for one in sorted(os.listdir(name)) if not one.startswith((".", "_"))]


class ParquetSource(TensorSource):
    """Entries in the row groups of one or more Parquet files.

    A part is read from the groups whose coordinates meet it, by the statistics that the file has of them: files sorted
    along the axis are read once.

    Args:
        name: a file, or a folder of files that have the entries together.
        axis: the dimension of the parts.
        shape: the extents. By default those in the file's metadata under `shape`, a list in JSON, or else the greatest
            coordinates.
        columns: the names of the columns of coordinates, and of values; by default all columns in order.

    Raises:
        FileFormatError: for other columns.
        ExtentError: for extents that a file does not tell.
        MissingPackageError: without the package pyarrow.
    """

    def __init__(self, name: str, axis: int, shape: Sequence[int] | None, columns: Sequence[str] | None) -> None:
        self.name, self.axis = name, axis
        parquet = _package(name)
        files = _files(name)
        if not files:
            raise FileFormatError(f"{name}: expected Parquet files in the folder, but got none")
        with _named(name):
            opened = [(path, opened_parquet(parquet, path)) for path in files]
            self._columns, value = _columns(opened[0][1].schema_arrow, columns)
            rank = len(self._columns) - 1
            if not 0 <= axis < rank:
                raise ExtentError(f"expected a dimension from 0 to {rank - 1}, but got {axis}")
            bounds = [_bounds(path, file, self._columns[:-1]) for path, file in opened]
            greatest = [max((one[dim][1] for file in bounds for one in file), default=-1) for dim in range(rank)]
            self.shape = _shape(opened[0][1], shape, greatest)
            self._groups = [
                RowGroup(path, number, file.metadata.row_group(number).num_rows, *found[axis])
                for (path, file), ends in zip(opened, bounds, strict=True)
                for number, found in enumerate(ends)
            ]
            dtype = DType.of(value)
        entries = sum(group.rows for group in self._groups)
        preset = "SparseVector" if rank == 1 else "CSR" if rank == 2 else "COO"
        encoding = as_encoding(preset, rank=rank) if preset == "COO" else as_encoding(preset)
        crd = 32 if max(self.shape, default=0) <= 1 << 31 else 64
        self.type = TensorType(dtype, (None,) * rank, encoding.with_widths(32 if entries < 1 << 31 else 64, crd))
        self._in_order: bool | None = None

    def read(self, low: int, high: int) -> SparseTensor:
        """Returns the part between two coordinates of the axis."""
        self._check_range(low, high)
        with _named(f"{self.name}, {self._range(low, high)}"):
            shape = (*self.shape[: self.axis], high - low, *self.shape[self.axis + 1 :])
            part = PartOfRows(self.type, shape, self.axis, self._rows_between(low, high))
            for number, (group, columns) in enumerate(self._batches(self._meeting(low, high))):
                part.append(self._inside(group, columns, low, high))
                if number % _RELEASED == 0:
                    _release_unused()
            _release_unused()
            return part.tensor()

    def nbytes_between(self, low: int, high: int) -> int:
        """Returns the bytes of the part between two coordinates, without reading its entries."""
        encoding = self.type.encoding
        assert encoding is not None
        rows = self._rows_between(low, high)
        return rows * self._bytes_an_entry() + (high - low) * encoding.pos_width // 8 * (len(self.shape) == 2)

    @property
    def _coordinate_bytes(self) -> int:
        return 0 if self.type.encoding is None else self.type.encoding.crd_width // 8

    def _bytes_an_entry(self) -> int:
        return self.type.dtype.itemsize + self._coordinate_bytes * (len(self.shape) - (len(self.shape) == 2))

    def _rows_between(self, low: int, high: int) -> int:
        """Returns about how many entries lie between two coordinates."""
        rows = 0.0
        for group in self._meeting(low, high):
            inside = min(high, group.high + 1) - max(low, group.low)
            rows += group.rows * inside / (group.high + 1 - group.low)
        return int(rows)

    def _meeting(self, low: int, high: int) -> Iterator[RowGroup]:
        return (group for group in self._groups if group.rows and group.low < high and group.high >= low)

    def beside(self, nbytes: int) -> int:
        """Returns about how many bytes are held beside a part while it is read: all columns of rows in no order."""
        columns = self.type.dtype.itemsize + self._coordinate_bytes * len(self.shape)
        return HELD + (0 if self._is_in_order() else nbytes * columns // self._bytes_an_entry())

    def _is_in_order(self) -> bool:
        """Returns whether parts are made of rows as they come, by the first of them."""
        if self._in_order is None:
            part = PartOfRows(self.type, self.shape, self.axis, 0)
            with _named(self.name):
                for _, columns in self._batches(self._meeting(0, self.shape[self.axis])):
                    part.append(columns)
                    break
            self._in_order = part.is_in_order
        return self._in_order

    def _batches(self, groups: Iterable[RowGroup]) -> Iterator[tuple[RowGroup, list[Array]]]:
        for path, own in groupby(groups, key=lambda group: group.path):
            file = opened_parquet(_package(self.name), path)
            for group in own:
                for columns in batches_of(file, group, self._columns, self.shape, self.axis):
                    yield group, columns

    def _inside(self, group: RowGroup, columns: Sequence[Array], low: int, high: int) -> list[Array]:
        """Returns those rows of a group that are in a range; their coordinates count from its begin."""
        along = columns[self.axis]
        if group.low < low or group.high >= high:
            kept = (along >= low) & (along < high)
            columns = [own[kept] for own in columns]
            along = columns[self.axis]
        return [*columns[: self.axis], along - along.dtype.type(low) if low else along, *columns[self.axis + 1 :]]

    def __repr__(self) -> str:
        return self.name


def _release_unused() -> None:
    """Gives memory back that Arrow keeps of what it read: columns are in memory of their own."""
    import pyarrow

    pyarrow.default_memory_pool().release_unused()


def _package(name: str) -> Any:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise MissingPackageError(
            f"{name}: expected the package pyarrow for this file, but got {error}: pip install 'mlir-sparse[files]'"
        ) from None
    return parquet


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Names the file in errors about what it holds; Arrow's own are OSErrors without a number."""
    try:
        with refusing(name, "columns of coordinates and one of values"):
            yield
    except OSError as error:
        if error.errno is not None or isinstance(error, SparseError):
            raise
        raise FileFormatError(f"{name}: expected a whole Parquet file, but got {error}") from error
    except SparseError as error:
        if name in error.message:
            raise
        raise type(error)(f"{name}: {error.message}") from error


def _columns(schema: Any, given: Sequence[str] | None) -> tuple[list[str], np.dtype[Any]]:
    """Returns the columns' names, and NumPy's type of the values."""
    names = list(schema.names) if given is None else list(given)
    missing = [name for name in names if name not in schema.names]
    kinds = {field.name: _numpy_type(field.type) for field in schema if field.name in names}
    rule = "one or more columns of integers, then one of numbers"
    if missing or len(names) < 2 or any(kinds[name].kind not in "iu" for name in names[:-1]):
        got = listed([f"{field.name} of {field.type}" for field in schema])
        raise FileFormatError(f"expected {rule}, but got {got}: name them by columns=")
    value = kinds[names[-1]]
    if value.kind not in "biuf":
        raise FileFormatError(f"expected {rule}, but got {names[-1]} of {schema.field(names[-1]).type}")
    return names, value


def _numpy_type(kind: Any) -> np.dtype[Any]:
    """Returns NumPy's type of a column of numbers, without pandas; that of objects for any other column."""
    import pyarrow

    if not pyarrow.types.is_primitive(kind):
        return np.dtype(object)
    found: np.dtype[Any] = pyarrow.array([], kind).to_numpy(zero_copy_only=False).dtype
    return found


def _bounds(path: str, file: Any, columns: Sequence[str]) -> list[list[tuple[int, int]]]:
    """Returns the least and greatest of each column of coordinates in each row group."""
    places = {name: at for at, name in enumerate(file.schema.names)}
    found = []
    for number in range(file.metadata.num_row_groups):
        group, ends = file.metadata.row_group(number), []
        for column in columns:
            if column not in places:
                raise FileFormatError(f"{path}: expected the column {column}, but got {listed(list(places))}")
            told = _statistics(path, file, group.column(places[column]), places[column])
            if told is None or not told.has_min_max:
                if group.num_rows == 0:
                    ends.append((0, -1))
                    continue
                values = file.read_row_group(number, columns=[column])[column].to_numpy()
                ends.append((int(values.min()), int(values.max())))
            else:
                ends.append((int(told.min), int(told.max)))
            if ends[-1][0] < 0:
                raise FileFormatError(f"{path}: expected coordinates from 0 in {column}, but got {ends[-1][0]}")
        found.append(ends)
    return found


def _statistics(path: str, file: Any, chunk: Any, place: int) -> Any:
    wanted = file.schema.column(place).physical_type
    if chunk.physical_type != wanted:  # Arrow ends the process at statistics of another type
        raise FileFormatError(f"{path}: expected a column of {wanted}, but got one of {chunk.physical_type}")
    return chunk.statistics


def _shape(file: Any, given: Sequence[int] | None, greatest: Sequence[int]) -> tuple[int, ...]:
    told = (file.schema_arrow.metadata or {}).get(b"shape")
    extents = given if given is not None else json.loads(told) if told is not None else [at + 1 for at in greatest]
    shape = tuple(int(extent) for extent in extents)
    if len(shape) != len(greatest):
        raise ExtentError(f"expected {len(greatest)} extents, one a column of coordinates, but got {shape}")
    for dim, (extent, most) in enumerate(zip(shape, greatest, strict=True)):
        if most >= extent:
            raise FileFormatError(f"expected coordinates below {extent} in dimension {dim}, but got {most}")
    return shape
