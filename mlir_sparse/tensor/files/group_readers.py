"""Readers of ranges of arrays in HDF5 files and Zarr stores: into the part's own memory, with little beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.classes import dataclass
from mlir_sparse.disk import refusing
from mlir_sparse.errors import FileFormatError, MissingPackageError
from mlir_sparse.tensor.files.file_array import FileArray
from mlir_sparse.tensor.level_storage import Array

__all__ = ["array_of_hdf5", "array_of_zarr", "opened_hdf5", "opened_zarr"]

_SHARE = 16
"""So much of a range is read from a Zarr store at a time: its chunks are there as stored, decoded, and as one array."""

_TRIMMED = 1 << 19
"""Bytes decoded after which malloc gives back what decoders of a Zarr store had."""


_DECODERS = 1 << 22
"""Bytes that Zarr's threads and their decoders hold beside."""


@dataclass(frozen=True, slots=True)
class _Dataset:
    """Reads ranges of an array of an HDF5 file.

    Args:
        path: the file.
        name: the array.
        chunk: the bytes of a chunk that is decoded: of an array that is compressed, or has checksums.
    """

    path: str
    name: str
    chunk: int

    def __call__(self, start: int, stop: int) -> Array:
        with opened_hdf5(self.path) as file:
            dataset = file[self.name]
            if dataset.ndim != 1 or dataset.dtype.kind not in "iuf" or start >= stop:
                return np.asarray(dataset[start:stop] if dataset.shape else dataset[()])
            # As of `.npz`; in the machine's byte order, as another array would be needed for that.
            found: Array = _native.dense_array((stop - start,), dataset.dtype.newbyteorder("="))
            dataset.read_direct(found, np.s_[start:stop])
            return found

    def beside(self, nbytes: int) -> int:
        """Returns the bytes that are held beside a range: a chunk, and what it was decoded of."""
        return 2 * self.chunk


@dataclass(frozen=True, slots=True)
class _ZarrArray:
    """Reads ranges of an array of a Zarr store.

    Args:
        path: the store.
        name: the array.
        chunk: the bytes of a chunk.
    """

    path: str
    name: str
    chunk: int

    def __call__(self, start: int, stop: int) -> Array:
        with refusing(self.path, f"a whole array {self.name}"):  # decoders raise anything for damaged chunks
            array = opened_zarr(self.path)[self.name]
            if array.ndim != 1 or start >= stop:
                return np.asarray(array[start:stop] if array.shape else array[()])
            kind = np.dtype(array.dtype).newbyteorder("=")
            found: Array = _native.dense_array((stop - start,), kind)
            # Some chunks at a time: they come at once, which matters where each is far away.
            step = array.chunks[0] * max(1, (stop - start) // _SHARE // array.chunks[0])
            low, held = start, 0
            while low < stop:
                high = min(stop, low // step * step + step)
                found[low - start : high - start] = array[low:high]
                held += max(self.chunk, (high - low) * kind.itemsize)
                if held >= _TRIMMED:
                    _native.trim_heaps()
                    held = 0
                low = high
            return found

    def beside(self, nbytes: int) -> int:
        """Returns the bytes that are held beside a range: some chunks, what they were decoded of, and one array."""
        return _DECODERS + 3 * max(self.chunk, nbytes // _SHARE)


def array_of_hdf5(path: str, dataset: Any) -> FileArray:
    """Returns an array of an HDF5 file, of which nothing is read."""
    decoded = dataset.chunks is not None and dataset.id.get_create_plist().get_nfilters() > 0
    chunk = int(np.prod(dataset.chunks)) * dataset.dtype.itemsize if decoded else 0
    return FileArray(_Dataset(path, dataset.name, chunk), dataset.shape, dataset.dtype)


def array_of_zarr(path: str, name: str, array: Any) -> FileArray:
    """Returns an array of a Zarr store, of which nothing is read."""
    kind = np.dtype(array.dtype)
    chunk = int(np.prod(array.chunks)) * kind.itemsize
    return FileArray(_ZarrArray(path, name, chunk), array.shape, kind)


@contextmanager
def opened_hdf5(path: str) -> Iterator[Any]:
    """Yields an HDF5 file.

    Raises:
        FileFormatError: for a file that was cut short, and chunks that do not unpack.
        MissingPackageError: without the package h5py.
    """
    try:
        import h5py
    except ImportError as error:
        raise MissingPackageError(
            f"{path}: expected the package h5py for this file, but got {error}: pip install 'mlir-sparse[files]'"
        ) from None
    # A file that was cut short, and chunks that do not unpack, are OSErrors of h5py without a number.
    try:
        # Each range is read once: HDF5 would keep the last 8 MiB of chunks of each array for nothing.
        with h5py.File(path, "r", rdcc_nbytes=0) as file:
            yield file
    except OSError as error:
        if error.errno is not None:
            raise
        raise FileFormatError(f"{path}: expected a whole HDF5 file, but got {error}") from error


def opened_zarr(path: str) -> Any:
    """Returns the outermost group of a Zarr store.

    Raises:
        MissingPackageError: without the package zarr.
    """
    try:
        import zarr
    except ImportError as error:
        raise MissingPackageError(
            f"{path}: expected the package zarr for this folder, but got {error}: pip install 'mlir-sparse[files]'"
        ) from None
    return zarr.open_group(path, mode="r")
