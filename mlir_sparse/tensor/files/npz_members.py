"""The arrays in `.npz` files.

Nothing that is read goes unchecked: a range by the checksums of its blocks, a whole array by the archive's, and arrays
that a pass reads in order by the archive's when the pass ends.
"""

from __future__ import annotations

import struct
import threading
import zipfile
import zlib
from math import prod
from typing import Any, NoReturn

import numpy as np

from mlir_sparse import _native
from mlir_sparse.classes import dataclass
from mlir_sparse.disk import refusing
from mlir_sparse.errors import FileFormatError, UnsupportedError
from mlir_sparse.tensor.files.block_checksums import BLOCK, block_checksums, checksums_by_pass, file_version
from mlir_sparse.tensor.files.file_array import FileArray
from mlir_sparse.tensor.level_storage import Array

__all__ = ["members_of", "write_members"]

_LOCAL_HEADER = struct.Struct("<4s5H3I2H")  # of a zip file, before the name and extra field of a member
_OF_BLOCKS = "_crc32"  # ends the name of the array of another array's checksums
_ARRAY = ".npy"


@dataclass(frozen=True, slots=True)
class _Member:
    """Reads ranges of an array that lies in a file as it would in memory.

    Args:
        path: the file.
        name: of the array.
        offset: where its bytes begin in the file.
        shape: its extents.
        dtype: its element type.
        expected: the checksum of the whole, with what stands before it.
        begun: that of what stands before it.
        sums_at: where the checksums of its blocks are in the file; None where the file has none.
        checked: whether ranges are checked where the whole has to be read for it.
    """

    path: str
    name: str
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    expected: int
    begun: int
    sums_at: int | None
    checked: bool

    @property
    def row(self) -> int:
        """Returns the bytes between two elements of the first axis."""
        return prod(self.shape[1:]) * self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Returns the bytes of all elements."""
        return prod(self.shape) * self.dtype.itemsize

    def __call__(self, start: int, stop: int) -> Array:
        low, high = start * self.row, stop * self.row
        if low >= high:
            return np.empty(0, self.dtype)
        if (low, high) == (0, self.nbytes):
            found = self.unchecked(start, stop)
            self.compare(zlib.crc32(_bytes_of(found), self.begun))
            return found
        if self.nbytes <= BLOCK:
            return self(0, self.nbytes // self.row)[low // self.dtype.itemsize : high // self.dtype.itemsize]
        if self.sums_at is None and not self.checked:
            return self.unchecked(start, stop)
        return self._by_blocks(low, high)

    def unchecked(self, start: int, stop: int) -> Array:
        """Returns a range as the file has it."""
        with open(self.path, "rb") as file:
            return self._numbers(file, start * self.row, stop * self.row)

    def _by_blocks(self, low: int, high: int) -> Array:
        begin, end = low // BLOCK * BLOCK, min(-(-high // BLOCK) * BLOCK, self.nbytes)
        blocks = slice(begin // BLOCK, -(-end // BLOCK))
        with open(self.path, "rb") as file:
            file.seek(self.offset + begin)
            before = file.read(low - begin)
            found = self._numbers(file, low, high)
            file.seek(self.offset + high)
            after = file.read(end - high)
            if self.sums_at is None:
                wanted = self._sums()[blocks]
            else:
                file.seek(self.sums_at + blocks.start * 4)
                wanted = np.fromfile(file, np.uint32, blocks.stop - blocks.start)
        if not np.array_equal(block_checksums([before, _bytes_of(found), after]), wanted):
            self._refuse()
        return found

    def _numbers(self, file: Any, low: int, high: int) -> Array:
        file.seek(self.offset + low)
        # Of memory that another part had: what the heap has free in between is too small for the next.
        found: Array = _native.dense_array(((high - low) // self.dtype.itemsize,), self.dtype)
        missing = found.nbytes - file.readinto(_bytes_of(found))
        if missing:
            raise FileFormatError(f"{self.path}: expected {missing:,} more bytes, but the file ends")
        return found

    def _sums(self) -> Array:
        """Returns the checksums of all blocks by a pass over the file, which is checked itself."""
        version = file_version(self.path)
        sums, whole = checksums_by_pass(self.path, version, self.offset, self.nbytes, self.begun)
        self.compare(whole)
        return sums

    def check(self) -> None:
        """Raises FileFormatError where any of its bytes is not what was written."""
        self._sums()

    def compare(self, found: int) -> None:
        """Raises FileFormatError for another checksum of the whole than the file's."""
        if found != self.expected:
            self._refuse()

    def _refuse(self) -> NoReturn:
        raise FileFormatError(
            f"{self.path}: expected the bytes of {self.name} that were written, but got others by its checksum: "
            "the file is damaged"
        )

    def one_pass(self) -> _Member | _OnePass:
        """Returns what reads the array in one pass: checked in the end where it would be read twice to be checked."""
        twice = self.sums_at is None and self.checked and self.nbytes > BLOCK
        return _OnePass(self) if twice else self


class _OnePass:
    """Reads ranges of an array in order, and compares the checksum once they have reached the end.

    Ranges may overlap, as those of positions do.
    """

    def __init__(self, member: _Member) -> None:
        self._member, self._found, self._reached = member, member.begun, 0
        self._lock = threading.Lock()

    def __call__(self, start: int, stop: int) -> Array:
        found, low = self._member.unchecked(start, stop), start * self._member.row
        with self._lock:
            if low <= self._reached < low + found.nbytes:
                self._found = zlib.crc32(_bytes_of(found)[self._reached - low :], self._found)
                self._reached = low + found.nbytes
                if self._reached == self._member.nbytes:
                    self._member.compare(self._found)
        return found

    def finish(self) -> None:
        """Checks what was not read in order to the end.

        Raises:
            FileFormatError: for bytes that are not those that were written.
        """
        if self._reached < self._member.nbytes:
            self._member.check()


def _bytes_of(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def members_of(path: str, *, checked: bool = True) -> dict[str, FileArray]:
    """Returns the arrays of a file by their names; none is read.

    Args:
        path: the file.
        checked: whether ranges of arrays are checked too where the file has no checksums of blocks: then all of an
            array is read before the first range.

    Raises:
        FileFormatError: for a file that is no `.npz`, or has objects in it.
        UnsupportedError: for compressed arrays, no part of which can be read alone.
    """
    with refusing(path, "arrays as NumPy saves them in .npz"), zipfile.ZipFile(path) as archive:
        infos = {one.filename.removesuffix(_ARRAY): one for one in archive.infolist()}
        sums = {name: _checksums_at(path, archive, infos, name) for name in infos}
        return {
            name: _member(path, archive, one, sums[name], checked)
            for name, one in infos.items()
            if name.removesuffix(_OF_BLOCKS) not in infos or not name.endswith(_OF_BLOCKS)
        }


def _member(
    path: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo, sums_at: int | None, checked: bool
) -> FileArray:
    if info.compress_type != zipfile.ZIP_STORED:
        raise UnsupportedError(
            f"{path}: expected arrays that are not compressed, to read parts of, but got {info.filename}: "
            "save with numpy.savez, scipy.sparse.save_npz(..., compressed=False) or mlir_sparse.write"
        )
    shape, by_columns, dtype, head = _head(archive, info)
    if by_columns and len(shape) > 1:
        raise UnsupportedError(f"{path}: expected arrays stored row by row, but got {info.filename}")
    if dtype.hasobject:
        raise FileFormatError(f"{path}: expected numbers, but got objects in {info.filename}")
    begin = _begin(path, info)
    with open(path, "rb") as file:
        file.seek(begin)
        begun = zlib.crc32(file.read(head))
    read = _Member(path, info.filename, begin + head, shape, dtype, info.CRC, begun, sums_at, checked)
    return FileArray(read, shape, dtype)


def _head(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Returns an array's extents, whether it is stored column by column, its element type, and the bytes before it."""
    with archive.open(info) as member:
        version = np.lib.format.read_magic(member)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        return *read(member), member.tell()


def _begin(path: str, info: zipfile.ZipInfo) -> int:
    """Returns where a member begins in the file."""
    with open(path, "rb") as file:
        file.seek(info.header_offset)
        local = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    return info.header_offset + _LOCAL_HEADER.size + int(local[-2]) + int(local[-1])


def _checksums_at(path: str, archive: zipfile.ZipFile, infos: dict[str, zipfile.ZipInfo], name: str) -> int | None:
    """Returns where the checksums of an array's blocks are; None without, or where they are those of another array.

    Who loads a file's arrays, changes some and saves them all leaves checksums of what was there before.
    """
    info = infos.get(name + _OF_BLOCKS)
    if info is None or info.compress_type != zipfile.ZIP_STORED:
        return None
    shape, _, dtype, head = _head(archive, info)
    nbytes = infos[name].file_size
    if dtype != np.dtype("<u4") or len(shape) != 1 or not 2 < shape[0] <= nbytes // BLOCK + 3:
        return None
    begin = _begin(path, info) + head
    with open(path, "rb") as file:
        file.seek(begin)
        block, whole = np.fromfile(file, dtype, 2).tolist()
    return begin + 8 if (block, whole) == (BLOCK, infos[name].CRC) else None


def write_members(file: Any, arrays: dict[str, Any]) -> None:
    """Writes arrays as `numpy.savez` does, and the checksums of blocks of large ones.

    `data_crc32` has the bytes of a block, the checksum that the archive has of `data`, and those of its blocks.

    Args:
        file: is written to, and can be sought in.
        arrays: the arrays by their names.
    """
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, given in arrays.items():
            array = np.asanyarray(given)
            _write(archive, name, array)
            if array.nbytes > BLOCK and array.flags.c_contiguous:
                whole = archive.getinfo(name + _ARRAY).CRC
                own = block_checksums([_bytes_of(array)])
                _write(archive, name + _OF_BLOCKS, np.concatenate([np.array([BLOCK, whole], "<u4"), own]))


def _write(archive: zipfile.ZipFile, name: str, array: Array) -> None:
    with archive.open(name + _ARRAY, "w", force_zip64=True) as member:
        np.lib.format.write_array(member, array, allow_pickle=False)
