"""`source`: what tensors are read from in parts, by what is given."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import DTypeError, ExtentError, FileFormatError, OperandError, UnsupportedError
from mlir_sparse.tensor.borders.foreign_arrays import is_sparse_source
from mlir_sparse.tensor.create import tensor_with_zeros
from mlir_sparse.tensor.files.array_groups import is_hdf5, is_zarr, levels_in_groups
from mlir_sparse.tensor.files.level_source import LevelSource
from mlir_sparse.tensor.files.npz import check_zero_fill, is_npz, levels_of
from mlir_sparse.tensor.files.npz_members import members_of
from mlir_sparse.tensor.files.parquet_source import ParquetSource, is_parquet
from mlir_sparse.tensor.files.read_write import is_read_in_blocks, read
from mlir_sparse.tensor.files.source_parts import parts_of
from mlir_sparse.tensor.files.split_text import split
from mlir_sparse.tensor.files.tensor_source import TensorSource
from mlir_sparse.tensor.files.text_source import TextSource, is_in_order, storage_of
from mlir_sparse.tensor.files.text_stream import is_compressed
from mlir_sparse.tensor.filled_tensor import FilledTensor
from mlir_sparse.tensor.level_ranges import part_between
from mlir_sparse.tensor.sparse_tensor import SparseTensor
from mlir_sparse.text.given_arguments import path_of

__all__ = ["source"]

_OF_SPLIT = re.compile(r"part-\d{5}\.npz")
_LEAST_PIECES = 8
_TEXT_OF_PIECE = 1 << 25
"""Bytes of a text file, or of a compressed one, for each file that it is cut into."""


class _Resident(TensorSource):
    """A tensor in memory."""

    reads_ranges = True

    def __init__(self, whole: SparseTensor, axis: int) -> None:
        self._whole, self.axis, self.shape, self.type = whole, axis, whole.shape, whole.type
        self.unit, self.resident = whole.encoding.block_of(axis), whole

    def read(self, low: int, high: int) -> SparseTensor:
        self._check_range(low, high)
        part: SparseTensor = self._whole[(slice(None),) * self.axis + (slice(low, high),)]
        own = self._whole.encoding
        return part if part.encoding == own else part.convert(own)  # as of batches

    def nbytes_between(self, low: int, high: int) -> int:
        part = part_between(self._whole, self.axis, low, high)
        whole = self._whole.nbytes * (high - low) // max(1, self.shape[self.axis])
        return whole if part is None else part.nbytes

    def __repr__(self) -> str:
        return f"a tensor of {self.type} in memory"


class _WholeFile(TensorSource):
    """A file that can only be read as a whole, as text."""

    def __init__(self, path: str, axis: int) -> None:
        self.path, self.axis = path, axis
        whole = self._whole()  # the head of a file does not always say its extents
        self.shape, self.type, self._nbytes = whole.shape, whole.type, whole.nbytes

    def _whole(self) -> SparseTensor:
        found = read(self.path)
        if not isinstance(found, SparseTensor):
            raise UnsupportedError(f"{self.path}: expected a sparse tensor, but got a dense array: read it as a whole")
        return found

    def read(self, low: int, high: int) -> SparseTensor:
        self._check_range(low, high)
        return _Resident(self._whole(), self.axis).read(low, high)

    def nbytes_between(self, low: int, high: int) -> int:
        return self._nbytes * (high - low) // max(1, self.shape[self.axis])

    def beside(self, nbytes: int) -> int:
        return self._nbytes

    def __repr__(self) -> str:
        return self.path


class _CutText(TensorSource):
    """A text file that was cut into files of their own, which are there as long as this object."""

    def __init__(self, path: str, axis: int) -> None:
        self.path, self.axis = path, axis
        self._folder = TemporaryDirectory(prefix="mlir-sparse-")
        pieces = max(_LEAST_PIECES, os.path.getsize(path) // _TEXT_OF_PIECE)
        folder = os.path.join(self._folder.name, "parts")
        split(path, folder, pieces, storage_of(2, axis) if axis else None)
        self._parts = source(folder)
        self.shape, self.type, self.unit = self._parts.shape, self._parts.type, self._parts.unit

    def read(self, low: int, high: int) -> SparseTensor:
        return self._parts.read(low, high)

    def nbytes_between(self, low: int, high: int) -> int:
        return self._parts.nbytes_between(low, high)

    def beside(self, nbytes: int) -> int:
        return self._parts.beside(nbytes)

    def bounds(self, limit: int) -> list[int]:
        return self._parts.bounds(limit)

    def __reduce__(self) -> tuple[Any, ...]:
        return _CutText, (self.path, self.axis)  # another process has no share in the folder

    def __repr__(self) -> str:
        return self.path


class _Function(TensorSource):
    """What a user's function reads."""

    def __init__(
        self, function: Callable[[int, int], Any], shape: tuple[int, ...], kind: TensorType, axis: int, nbytes: int
    ) -> None:
        self._function, self.shape, self.type, self.axis, self._nbytes = function, shape, kind, axis, nbytes
        if kind.encoding is not None:
            self.unit = kind.encoding.block_of(axis)

    def read(self, low: int, high: int) -> SparseTensor:
        self._check_range(low, high)
        given = self._function(low, high)
        kind = getattr(given, "dtype", None)  # of an array, or another library's
        if isinstance(kind, np.dtype) and not np.can_cast(kind, self.type.dtype.numpy):
            raise DTypeError(f"expected elements of {self.type.dtype} from read({low}, {high}), but got {kind}")
        kept = isinstance(given, SparseTensor)
        part = given if kept else tensor_with_zeros(given, "a part of a source", self.type.encoding, self.type.dtype)
        wanted = (*self.shape[: self.axis], high - low, *self.shape[self.axis + 1 :])
        if part.shape != wanted:
            raise ExtentError(f"expected a part of shape {wanted} from read({low}, {high}), but got {part.shape}")
        if part.type.dtype != self.type.dtype:
            raise DTypeError(f"expected elements of {self.type.dtype} from read({low}, {high}), but got {part.dtype}")
        assert self.type.encoding is not None
        return part if part.encoding == self.type.encoding else part.convert(self.type.encoding)

    def nbytes_between(self, low: int, high: int) -> int:
        return self._nbytes * (high - low) // max(1, self.shape[self.axis])

    def __repr__(self) -> str:
        return f"{getattr(self._function, '__name__', 'a function')}()"


def source(
    given: TensorSource | SparseTensor | str | os.PathLike[str] | Sequence[Any] | Callable[[int, int], Any],
    /,
    *,
    along: int | None = None,
    shape: Sequence[int] | None = None,
    type: str | TensorType | None = None,
    nbytes: int | None = None,
    group: str | None = None,
    columns: Sequence[str] | None = None,
    checksums: bool = True,
) -> TensorSource:
    """Returns a tensor that is read in parts, for `stream`, without reading it.

    | given | of which is read |
    |---|---|
    | an `.npz` file whose arrays are not compressed | a range of each level |
    | an HDF5 file, a Zarr store, or a group of one (h5py, zarr) | a range of each level, as Binsparse, AnnData, \
10x Genomics or MATLAB store it |
    | a Parquet file, or a folder of them | the row groups with coordinates of the range |
    | Matrix Market or `.tns` text | the lines with entries of the range; text in another order, or compressed, is \
cut into files in the folder for temporary files first |
    | another file that `read` takes | all of it each time |
    | a folder (part10 is behind part9), or a sequence of files, tensors and sources | the parts along a dimension |
    | a tensor, a sparse array of another library, or a function of two coordinates | the part between them |

    Args:
        given: what is read.
        along: the dimension of the parts; that of the outermost level by default.
        shape: the extents; for a function, and for Parquet files whose metadata has none (`shape`, a list in JSON).
        type: the type of a function's parts, such as `"f64[?,?] CSR"`.
        nbytes: about how many bytes all of a function's parts have together.
        group: the group in an HDF5 file or a Zarr store, where several are tensors.
        columns: the columns of a Parquet file with coordinates and, last, the values; all in order by default.
        checksums: False to read ranges of an `.npz` file unchecked where it has no checksums of blocks, as `write` adds
            them. By default each process reads an array of it once in full before its first range, unless all of it is
            read anyway, as by `stream`.

    Raises:
        FileFormatError: for files that hold no tensor.
        UnsupportedError: for storage that has no parts along a dimension, compressed `.npz` files, and a fill value
            other than zero.
        ExtentError, DTypeError: for parts that do not fit together.
        MissingPackageError: for files whose package (h5py, zarr, pyarrow) is not installed.

    >>> from mlir_sparse.tensor import tensor
    >>> rows = source(lambda low, high: np.eye(6)[low:high], shape=(6, 6), type="f64[?,?] CSR", nbytes=400)
    >>> rows.read(2, 4).to_numpy().argmax(axis=1).tolist(), rows.bounds(200)
    ([2, 3], [0, 3, 6])
    """
    told = _Told(along, shape, group, columns, None if checksums else False)
    library = _library(given)
    if callable(given) and not isinstance(given, SparseTensor) and not library:
        told.refuse("group", "columns", "checksums", to="files")
        return _of_function(given, shape, type, 0 if along is None else along, nbytes)
    _refuse(("type", type), ("nbytes", nbytes), to="a function that reads parts")
    return _of_parts_or_whole(given, told, library)


@dataclass(frozen=True, slots=True)
class _Told:
    """What the caller said of a source, as `source` has it; None for what was not said."""

    along: int | None
    shape: Sequence[int] | None
    group: str | None
    columns: Sequence[str] | None
    checksums: bool | None

    def refuse(self, *names: str, to: str) -> None:
        """Raises OperandError for those of some arguments that were given."""
        _refuse(*((name, getattr(self, name)) for name in names), to=to)


def _of_parts_or_whole(given: Any, told: _Told, library: str) -> TensorSource:
    if isinstance(given, TensorSource):
        told.refuse("shape", "group", "columns", "checksums", to="what is no source yet")
        if told.along not in (None, given.axis):
            raise OperandError(f"expected parts along {given.axis}, as {given!r} has them, but got along={told.along}")
        return given
    if isinstance(given, SparseTensor):
        told.refuse("shape", "group", "columns", "checksums", to="files")
        return _Resident(given, _outermost(given) if told.along is None else told.along)
    if is_sparse_source(given) or isinstance(given, FilledTensor):
        return _of_parts_or_whole(tensor_with_zeros(given, "a source"), told, "")
    if isinstance(given, Sequence) and not isinstance(given, str):
        return parts_of([_of_parts_or_whole(part, told, _library(part)) for part in given])
    if library:
        name, group = _place_in(given, library)
        return _of_file(_lasting(name), replace(told, group=group))
    return _of_file(_lasting(path_of(given)), told)


def _refuse(*arguments: tuple[str, object], to: str) -> None:
    for name, value in arguments:
        if value is not None:
            raise OperandError(f"expected {name}= for {to} only, but got {name}={value!r}")


def _library(given: object) -> str:
    """Returns the library of a group that is open already."""
    name = given.__class__.__module__.partition(".")[0]
    return name if name in ("h5py", "zarr") and hasattr(given, "attrs") else ""


def _place_in(given: Any, library: str) -> tuple[str, str]:
    """Returns the file or store of a group, and the group's name there."""
    if library == "h5py":
        return path_of(given.file.filename), given.name
    return str(given.store), given.path


def _lasting(name: str) -> str:
    """Returns a file's name as it is from any folder: parts are read later, and elsewhere."""
    return name if "://" in name else os.path.abspath(name)


def _of_file(name: str, told: _Told) -> TensorSource:
    along = told.along
    if is_parquet(name):
        told.refuse("group", to="HDF5 files and Zarr stores")
        told.refuse("checksums", to=".npz files")
        return ParquetSource(name, 0 if along is None else along, told.shape, told.columns)
    told.refuse("shape", "columns", to="functions and Parquet files")
    if is_zarr(name) or (not os.path.isdir(name) and is_hdf5(name)):
        told.refuse("checksums", to=".npz files")
        label, stored = levels_in_groups(name, told.group)
        return LevelSource(label, stored, along)
    told.refuse("group", to="HDF5 files and Zarr stores")
    if os.path.isdir(name):
        names = _in_order(os.listdir(name))
        parts = [_of_file(os.path.join(name, part), told) for part in names]
        of_split = all(map(_OF_SPLIT.fullmatch, names))
        if parts and of_split and all(part.place is None for part in parts):
            raise FileFormatError(
                f"{name}: expected files that say where they stand in the tensor, as `mlir-sparse split` writes them, "
                "but got those of an older version, of which one may be missing without a trace: cut the text anew, or "
                "give the files as a list, in order"
            )
        return parts_of(parts, whole=True, of=f"{name}: ")
    if is_npz(name):
        members = members_of(name, checked=told.checksums is None)
        check_zero_fill(name, members)
        found = levels_of(name, members)
        if found is None or found.encoding.batch_rank:
            raise UnsupportedError(
                f"{name}: expected levels to read parts of, but got entries in any order, or batches: "
                "write the tensor in CSR"
            )
        return LevelSource(name, found, along)
    told.refuse("checksums", to=".npz files")
    axis = 0 if along is None else along
    return _of_text(name, axis) if is_read_in_blocks(name) else _WholeFile(name, axis)


def _of_text(name: str, axis: int) -> TensorSource:
    if not is_compressed(name):
        found = TextSource(name, axis)
        if is_in_order(found) or axis > 1:
            return found
    return _CutText(name, axis)


def _in_order(names: Sequence[str]) -> list[str]:
    """Returns names as people count them, so that part10 stands behind part9; those that begin with a dot are no parts.

    >>> _in_order(["part10.npz", "part9.npz", ".DS_Store", "part001.npz"])
    ['part001.npz', 'part9.npz', 'part10.npz']
    """
    return sorted((name for name in names if not name.startswith(".")), key=_numbered)


def _numbered(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name) if part]


def _outermost(whole: SparseTensor) -> int:
    return next((dim for dim in range(whole.ndim) if part_between(whole, dim, 0, 0) is not None), 0)


def _of_function(function: Any, shape: Any, kind: Any, axis: int, nbytes: Any) -> TensorSource:
    if shape is None or kind is None or nbytes is None:
        raise OperandError(
            'expected shape=, type= and nbytes= with a function that reads parts, such as type="f64[?,?] CSR"'
        )
    parsed = kind if isinstance(kind, TensorType) else TensorType.parse(kind)
    if parsed.encoding is None:
        raise OperandError(
            f"expected the type of a sparse tensor, but got {parsed}: slices of dense arrays need no source"
        )
    if isinstance(nbytes, bool) or not isinstance(nbytes, Integral) or nbytes < 0:
        raise OperandError(f"expected about how many bytes all parts have as nbytes=, 0 or more, but got {nbytes!r}")
    extents = tuple(map(int, shape))
    if len(extents) != len(parsed.shape) or not 0 <= axis < len(extents):
        raise ExtentError(f"expected {len(parsed.shape)} extents and a dimension of them, but got {extents} and {axis}")
    wide = parsed.encoding
    if not wide.pos_width or not wide.crd_width:  # those that any part of these extents fits in
        wide = wide.with_widths(wide.pos_width or 32, wide.crd_width or (32 if max(extents) <= 1 << 31 else 64))
    return _Function(function, extents, replace(parsed, encoding=wide), axis, int(nbytes))
