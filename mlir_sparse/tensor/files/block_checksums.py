"""Checksums of blocks of an array's bytes in a file, by which a range is checked without the rest.

An archive has one checksum of each array. `write_npz` adds those of blocks, beside that of the whole they belong to; of
files that others wrote they are found in one pass over the array, once in a process.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from mlir_sparse.errors import FileFormatError
from mlir_sparse.tensor.level_storage import Array

__all__ = ["BLOCK", "block_checksums", "checksums_by_pass", "file_version"]

BLOCK = 1 << 16
"""Bytes of a block. What is read beside a range is less than two; checksums are 1/16,384 of the array."""

_BLOCKS_READ = 16
_PASSES_KEPT = 256  # of arrays; 64 KiB each for an array of 1 GiB


def block_checksums(pieces: Iterable[Any]) -> Array:
    """Returns the CRC-32 of each block of some bytes.

    Args:
        pieces: the bytes, in buffers that follow one another; the first begins a block.

    >>> block_checksums([b"ab", b"", b"c"]) == zlib.crc32(b"abc")
    array([ True])
    """
    found, own, left = list[int](), 0, BLOCK
    for piece in pieces:
        view, at = memoryview(piece), 0
        while at < len(view):
            taken = view[at : at + left]
            own, at, left = zlib.crc32(taken, own), at + len(taken), left - len(taken)
            if not left:
                found.append(own)
                own, left = 0, BLOCK
    return np.array([*found, own] if left < BLOCK else found, np.uint32)


def file_version(path: str) -> tuple[int, ...]:
    """Returns numbers that differ where a file was written anew."""
    told = os.stat(path)
    return told.st_dev, told.st_ino, told.st_size, told.st_mtime_ns


@lru_cache(_PASSES_KEPT)
def checksums_by_pass(path: str, version: tuple[int, ...], offset: int, nbytes: int, begun: int) -> tuple[Array, int]:
    """Returns the checksums of an array's blocks and that of all of it, from its bytes; once for a version of a file.

    Args:
        path: the file.
        version: by `file_version`.
        offset: where the array begins in the file.
        nbytes: its bytes.
        begun: the checksum of what stands before the array.

    Raises:
        FileFormatError: for a file that ends too early.
    """
    found = []
    with open(path, "rb", buffering=0) as file:
        file.seek(offset)
        data, left = memoryview(bytearray(min(nbytes, BLOCK * _BLOCKS_READ))), nbytes
        while left:
            count = _read_into(file, data[:left])
            if count < min(left, len(data)):
                raise FileFormatError(f"{path}: expected {left - count} more bytes, but the file ends")
            own = data[:count]
            found.append(block_checksums([own]))
            begun, left = zlib.crc32(own, begun), left - count
    return np.concatenate([*found, np.empty(0, np.uint32)]), begun


def _read_into(file: Any, data: memoryview) -> int:
    """Reads until some bytes are there, or the file ends; returns their number."""
    done = 0
    while done < len(data) and (count := file.readinto(data[done:])):
        done += count
    return done
