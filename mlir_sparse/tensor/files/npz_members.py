"""The arrays in `.npz` files."""

from __future__ import annotations

import struct
import threading
import zipfile
import zlib
from math import prod
from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.errors import FileFormatError, UnsupportedError
from mlir_sparse.tensor.files.file_array import FileArray
from mlir_sparse.tensor.level_storage import Array

__all__ = ["members_of"]

_LOCAL_HEADER = struct.Struct("<4s5H3I2H")  # of a zip file, before the name and extra field of a member


class _Checksum:
    """The checksum of an array's bytes, which is compared once they have been read in order to the end.

    Ranges may overlap, as those of positions do. Bytes read in another order are not checked.

    Args:
        expected: what it is in the file.
        begun: that of what stands before the array.
        nbytes: the bytes of the array.
    """

    def __init__(self, expected: int, begun: int, nbytes: int) -> None:
        self._given = expected, begun, nbytes
        self._found, self._reached, self._lock = begun, 0, threading.Lock()

    def __reduce__(self) -> Any:
        return _Checksum, self._given

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Checksum) and self._given == other._given

    def __hash__(self) -> int:
        return hash(self._given)

    def agrees(self, start: int, data: Array) -> bool:
        """Returns whether nothing read so far is known to differ from what was written.

        Args:
            start: the first byte of a range.
            data: what was read of it.
        """
        expected, _, nbytes = self._given
        with self._lock:
            if start <= self._reached < start + data.nbytes:
                self._found = zlib.crc32(data.reshape(-1).view(np.uint8).data[self._reached - start :], self._found)
                self._reached = start + data.nbytes
            return self._reached < nbytes or self._found == expected


@dataclass(frozen=True, slots=True)
class _Member:
    """Reads ranges of an array that lies in a file as it would in memory."""

    path: str
    name: str
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    checksum: _Checksum

    def __call__(self, start: int, stop: int) -> Array:
        row = prod(self.shape[1:])
        count = (stop - start) * row
        with open(self.path, "rb") as file:
            file.seek(self.offset + start * row * self.dtype.itemsize)
            found = np.fromfile(file, self.dtype, count)
        if found.size != count:
            raise FileFormatError(f"{self.path}: expected {count - found.size} more numbers, but the file ends")
        if not self.checksum.agrees(start * row * self.dtype.itemsize, found):
            raise FileFormatError(
                f"{self.path}: expected the bytes of {self.name} that were written, but got others by its checksum: "
                "the file is damaged"
            )
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
        begin = info.header_offset + _LOCAL_HEADER.size + local[-2] + local[-1]
        file.seek(begin)
        checksum = _Checksum(info.CRC, zlib.crc32(file.read(head)), prod(shape) * dtype.itemsize)
    return FileArray(_Member(path, info.filename, begin + head, shape, dtype, checksum), shape, dtype)
