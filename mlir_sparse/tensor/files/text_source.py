"""Text files of entries that are read in parts: Matrix Market and `.tns`.

One pass makes an index: where blocks of lines begin, and which coordinates they have. A part is read from the blocks
that have some of it. Of files in another order, and of compressed ones, which are read from their beginning alone, the
pass makes parts in files of their own instead, in the folder for temporary files.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from threading import Lock
from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import TensorType
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.errors import FileFormatError, OperandError
from mlir_sparse.tensor.create import from_entries
from mlir_sparse.tensor.files.coordinate_counts import CoordinateCounts
from mlir_sparse.tensor.files.read_write import read_blocks
from mlir_sparse.tensor.files.tensor_source import TensorSource
from mlir_sparse.tensor.files.text_rows import TextEntries
from mlir_sparse.tensor.files.text_stream import TextPlace
from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["TextSource", "is_in_order", "storage_of"]

_KEPT = 4  # blocks: neighbouring parts share one, and small files have no more
_MOST_READ = 2  # times that a file may be read for all its parts


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines that follow one another.

    Args:
        place: where they begin.
        end: the byte behind them.
        low: the least coordinate along the axis.
        high: the greatest.
    """

    place: TextPlace
    end: int
    low: int
    high: int


class TextSource(TensorSource):
    """A text file whose entries are read in parts.

    Args:
        path: the file, not compressed.
        axis: the dimension of the parts.

    Raises:
        FileFormatError: for a malformed or truncated file, with the line.
        UnsupportedError: for an array.
    """

    def __init__(self, path: str, axis: int) -> None:
        self.path, self.axis = path, axis
        self._state = _state_of(path)
        self.blocks, self._counts = list[_Block](), CoordinateCounts()
        self.shape: tuple[int, ...] = ()
        kinds: set[np.dtype[Any]] = set()

        def add(entries: TextEntries, place: TextPlace) -> None:
            _check_axis(path, axis, len(entries.shape))
            self.shape = tuple(map(max, self.shape, entries.shape)) if self.shape else entries.shape
            along = entries.dims[axis]
            self.blocks.append(_Block(place, self._state[0], int(along.min()), int(along.max())))
            self._counts.add(along)
            kinds.add(entries.values.dtype)

        head = read_blocks(path, None, None, add)
        self.shape = head or self.shape
        _check_axis(path, axis, len(self.shape))
        ends = [block.place.offset for block in self.blocks[1:]]
        self.blocks[:-1] = [
            _Block(block.place, end, block.low, block.high) for block, end in zip(self.blocks, ends, strict=False)
        ]
        self.type = _type_of(self.shape, axis, self._counts.total, kinds)
        self._kept, self._lock = OrderedDict[int, TextEntries](), Lock()

    def read(self, low: int, high: int) -> SparseTensor:
        """Returns the part between two coordinates; a file that has changed is a FileFormatError."""
        self._check_range(low, high)
        if _state_of(self.path) != self._state:
            raise FileFormatError(
                f"{self.path}: expected the file as it was when it was opened as a source, but it has changed: open it "
                "again"
            )
        dims, values = list[Any](), list[Any]()
        for number, block in enumerate(self.blocks):
            if block.low >= high or block.high < low:
                continue
            entries = self._entries(number)
            along = entries.dims[self.axis]
            inside = np.flatnonzero((along >= low) & (along < high))
            dims.append([dim[inside] for dim in entries.dims])
            values.append(entries.values[inside])
        kept = [np.concatenate([own[axis] for own in dims]) if dims else _NOTHING for axis in range(len(self.shape))]
        kept[self.axis] = kept[self.axis] - low
        shape = (*self.shape[: self.axis], high - low, *self.shape[self.axis + 1 :])
        found = np.concatenate(values) if values else np.empty(0, self.type.dtype.numpy)
        return from_entries(tuple(kept), found, shape, self.type.encoding, dtype=self.type.dtype, parameters={})

    def _entries(self, number: int) -> TextEntries:
        """Returns the entries of a block; those of the last blocks are kept."""
        with self._lock:
            if number in self._kept:
                self._kept.move_to_end(number)
                return self._kept[number]
        block, found = self.blocks[number], list[TextEntries]()
        read_blocks(self.path, None, None, lambda entries, _: found.append(entries), within=(block.place, block.end))
        (entries,) = found if len(found) == 1 else (_together(found),)
        with self._lock:
            self._kept[number] = entries
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return entries

    def nbytes_between(self, low: int, high: int) -> int:
        """Returns the bytes of the part between two coordinates, by counts of entries."""
        item = 4 * (len(self.shape) - 1 if len(self.shape) == 2 else len(self.shape)) + self.type.dtype.itemsize
        rows = 4 * (high - low + 1) if len(self.shape) == 2 else 0
        return item * (self._counts.before(high) - self._counts.before(low)) + rows

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_kept", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self._kept, self._lock = OrderedDict(), Lock()

    def __repr__(self) -> str:
        return self.path


_NOTHING = np.empty(0, np.int64)


def _together(blocks: list[TextEntries]) -> TextEntries:
    """Returns the entries of a block that was read in several goes."""
    dims = tuple(np.concatenate([one.dims[axis] for one in blocks]) for axis in range(len(blocks[0].dims)))
    return TextEntries(blocks[0].shape, dims, np.concatenate([one.values for one in blocks]))


def is_in_order(source: TextSource) -> bool:
    """Returns whether parts are read from few blocks: all of them take no more than some passes over the file."""
    if len(source.blocks) <= _KEPT:
        return True
    read = sum(block.high - block.low + 1 for block in source.blocks)
    return read <= _MOST_READ * source.shape[source.axis]


def _state_of(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns


def _check_axis(path: str, axis: int, rank: int) -> None:
    """Raises OperandError for a dimension that a file lacks."""
    if not 0 <= axis < rank:
        raise OperandError(f"expected a dimension of {path}, from 0 to {rank - 1}, but got along={axis}")


def storage_of(rank: int, axis: int) -> str:
    """Returns the storage of parts along a dimension: what `read` chooses, with columns as rows where these are cut."""
    return "SparseVector" if rank == 1 else "COO" if rank > 2 else "CSC" if axis else "CSR"


def _type_of(shape: tuple[int, ...], axis: int, entries: int, kinds: set[np.dtype[Any]]) -> TensorType:
    name = storage_of(len(shape), axis)
    given = as_encoding(name, rank=len(shape)) if name == "COO" else as_encoding(name)
    widths = 32 if entries < 1 << 31 else 64, 32 if max(shape) <= 1 << 31 else 64
    (kind,) = kinds or {np.dtype(np.float64)}
    return TensorType(DType.of(kind), (None,) * len(shape), given.with_widths(*widths))
