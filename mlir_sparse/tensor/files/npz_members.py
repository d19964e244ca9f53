"""Arrays in `.npz` files, of which a range can be read without the rest."""

from __future__ import annotations

import struct
import zipfile
from math import prod
from typing import Any

import numpy as np

from mlir_sparse.errors import FileFormatError, UnsupportedError
from mlir_sparse.tensor.level_storage import Array

__all__ = ["FileArray", "members_of"]

_LOCAL_HEADER = struct.Struct("<4s5H3I2H")  # of a zip file, before the name and extra field of a member


class FileArray:
    """An array in a file, of which nothing is read before it is asked for.

    A slice of the first axis is a FileArray again; `numpy.asarray` reads it. A number reads one element. The levels of
    a part are found with these as with arrays (`levels_between`).

    Args:
        path: the file.
        offset: the bytes before the array.
        shape: the extents of the array.
        dtype: the type of its elements.
        eager: whether slices are read at once, as positions are, which tell what to read of the rest.
    """

    def __init__(
        self, path: str, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any], *, eager: bool = False
    ) -> None:
        self.path, self.offset, self.shape, self.dtype, self.eager = path, offset, shape, dtype, eager

    @property
    def size(self) -> int:
        """Returns the number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Returns the bytes of all elements."""
        return self.size * self.dtype.itemsize

    def read_at_once(self) -> FileArray:
        """Returns the array with slices that are read at once."""
        return FileArray(self.path, self.offset, self.shape, self.dtype, eager=True)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        if key == ():
            return np.asarray(self)[()]
        if not isinstance(key, slice):
            return np.asarray(self._between(key, key + 1))[0]
        start, stop, _ = key.indices(len(self))
        part = self._between(start, max(start, stop))
        return np.asarray(part) if self.eager else part

    def _between(self, start: int, stop: int) -> FileArray:
        row = prod(self.shape[1:]) * self.dtype.itemsize
        return FileArray(self.path, self.offset + start * row, (stop - start, *self.shape[1:]), self.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        with open(self.path, "rb") as file:
            file.seek(self.offset)
            found = np.fromfile(file, self.dtype, self.size)
        if found.size != self.size:
            raise FileFormatError(f"{self.path}: expected {self.size - found.size} more numbers, but the file ends")
        whole = found.reshape(self.shape)
        return whole if dtype is None else whole.astype(dtype, copy=False)

    def __sub__(self, number: Any) -> Array:
        difference: Array = np.asarray(self) - number
        return difference


def members_of(path: str) -> dict[str, FileArray]:
    """Returns the arrays of a file by their names; none is read.

    Raises:
        FileFormatError: for a file that is no `.npz`, or has objects in it.
        UnsupportedError: for compressed arrays, no part of which can be read alone.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return {one.filename.removesuffix(".npy"): _member(path, archive, one) for one in archive.infolist()}
    except (zipfile.BadZipFile, ValueError, struct.error) as error:
        raise FileFormatError(f"{path}: expected arrays as NumPy saves them in .npz, but got {error}") from error


def _member(path: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> FileArray:
    if info.compress_type != zipfile.ZIP_STORED:
        raise UnsupportedError(
            f"{path}: expected arrays that are not compressed, to read parts of, but got {info.filename}: "
            "save with numpy.savez, scipy.sparse.save_npz(..., compressed=False) or mlir_sparse.write"
        )
    with archive.open(info) as member:
        version = np.lib.format.read_magic(member)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, by_columns, dtype = read(member)
        head = member.tell()
    if by_columns and len(shape) > 1:
        raise UnsupportedError(f"{path}: expected arrays stored row by row, but got {info.filename}")
    if dtype.hasobject:
        raise FileFormatError(f"{path}: expected numbers, but got objects in {info.filename}")
    with open(path, "rb") as file:
        file.seek(info.header_offset)
        local = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    return FileArray(path, info.header_offset + _LOCAL_HEADER.size + local[-2] + local[-1] + head, shape, dtype)
