"""The arrays in `.npz` files."""

from __future__ import annotations

import struct
import zipfile
from math import prod
from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.errors import FileFormatError, UnsupportedError
from mlir_sparse.tensor.files.file_array import FileArray
from mlir_sparse.tensor.level_storage import Array

__all__ = ["members_of"]

_LOCAL_HEADER = struct.Struct("<4s5H3I2H")  # of a zip file, before the name and extra field of a member


@dataclass(frozen=True, slots=True)
class _Member:
    """Reads ranges of an array that lies in a file as it would in memory."""

    path: str
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __call__(self, start: int, stop: int) -> Array:
        row = prod(self.shape[1:])
        count = (stop - start) * row
        with open(self.path, "rb") as file:
            file.seek(self.offset + start * row * self.dtype.itemsize)
            found = np.fromfile(file, self.dtype, count)
        if found.size != count:
            raise FileFormatError(f"{self.path}: expected {count - found.size} more numbers, but the file ends")
        return found


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
    offset = info.header_offset + _LOCAL_HEADER.size + local[-2] + local[-1] + head
    return FileArray(_Member(path, offset, shape, dtype), shape, dtype)
