"""Text files cut into `.npz` files of about as many entries each, in memory for one of them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.level_maps import outermost_block
from mlir_sparse.errors import OperandError, UnsupportedError
from mlir_sparse.process.available_memory import check_fits
from mlir_sparse.process.forks import importing
from mlir_sparse.tensor.create import from_entries
from mlir_sparse.tensor.files.coordinate_counts import CoordinateCounts
from mlir_sparse.tensor.files.npz import write_npz
from mlir_sparse.tensor.files.read_write import read_blocks
from mlir_sparse.tensor.files.text_rows import TextEntries
from mlir_sparse.tensor.level_storage import Array

__all__ = ["SplitFiles", "split"]

_SHUFFLED = 1 << 20  # entries that are sorted into parts at once
_PACKED = 4  # times the bytes of entries that packing them takes


@dataclass(frozen=True, slots=True)
class SplitFiles:
    """What `split` wrote.

    Args:
        shape: the extents of the whole.
        axis: the dimension that was cut.
        bounds: where parts begin, and the extent.
        entries: the entries of each part.
    """

    shape: tuple[int, ...]
    axis: int
    bounds: tuple[int, ...]
    entries: tuple[int, ...]


def split(
    path: str,
    folder: str,
    pieces: int,
    encoding: str | Encoding | None = None,
    *,
    shape: Sequence[int] | None = None,
    index_base: int | None = None,
) -> SplitFiles:
    """Cuts a Matrix Market or `.tns` file into files that `source` reads as one, in a new folder.

    The text is read once, natively. Entries go through a file of their own, so that memory is that of a part.

    Args:
        path: the text file, compressed or not.
        folder: the folder to make; it appears when it is whole.
        pieces: how many parts; there are fewer where there are fewer rows.
        encoding: the storage of the parts; CSR, or COO for tensors of other ranks, by default.
        shape: the extents, for `.tns` files that lack them.
        index_base: 0 for a `.tns` file that counts from 0.

    Raises:
        FileFormatError: for a malformed or truncated file, with the line.
        UnsupportedError: for storage whose outermost level does not number a dimension.
        TooLargeError: for a part that would not fit in memory; ask for more pieces.
        OperandError: for a folder with something in it.
    """
    if pieces < 1:
        raise OperandError(f"expected one piece or more, but got {pieces}")
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise OperandError(f"expected a new folder, but {folder} has something in it already")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as scratch:
        made = Path(scratch, "parts")
        made.mkdir()
        with open(Path(scratch, "entries"), "w+b") as file:
            spill = _Spill(file, encoding)
            read_blocks(path, shape, index_base, lambda entries, _: spill.add(entries))
            if not spill.rank:
                spill.begin(_shape_of_nothing(path, shape, index_base))
            found = _written(spill, made, pieces)
        os.replace(made, target)
    return found


class _Spill:
    """Entries in a file in the order of the text, and how many there are in ranges of the dimension that is cut."""

    def __init__(self, file: IO[bytes], encoding: str | Encoding | None) -> None:
        self.file, self._given = file, encoding
        self.rank = self.count = 0
        self.shape: tuple[int, ...] = ()
        self.counts = CoordinateCounts()

    def begin(self, shape: tuple[int, ...]) -> None:
        """Chooses the storage, given the rank."""
        self.rank, self.shape = len(shape), shape
        default = "SparseVector" if self.rank == 1 else "CSR" if self.rank == 2 else "COO"
        given = default if self._given is None else self._given
        self.encoding = as_encoding(given, rank=self.rank) if given == "COO" else as_encoding(given)
        if self.encoding.dim_rank != self.rank:
            raise UnsupportedError(f"expected storage of rank {self.rank}, but got {self.encoding.map_text()}")
        if self.rank == 2 and self.encoding.with_widths(0, 0) == as_encoding("COO", rank=2):
            raise UnsupportedError(
                "expected storage whose .npz files are read in parts, but got COO, which they have in any order: "
                "choose CSR or DCSR"
            )
        blocks = [outermost_block(self.encoding.levels, dim) for dim in range(self.rank)]
        if not any(blocks) or self.encoding.has_slices or self.encoding.batch_rank:
            raise UnsupportedError(
                f"expected storage whose outermost level numbers a dimension, but got {self.encoding.map_text()}"
            )
        self.axis = next(dim for dim, block in enumerate(blocks) if block)
        self.unit = blocks[self.axis] or 1

    def add(self, entries: TextEntries) -> None:
        """Appends the entries of a block."""
        if not self.rank:
            self.begin(entries.shape)
            values = entries.values.dtype
            self.row = np.dtype([("dims", np.int64, (self.rank,)), ("value", values)])
        self.shape = tuple(map(max, self.shape, entries.shape))
        rows = np.empty(entries.values.size, self.row)
        for dim, column in enumerate(entries.dims):
            rows["dims"][:, dim] = column
        rows["value"] = entries.values
        rows.tofile(self.file)
        self.count += rows.size
        self.counts.add(entries.dims[self.axis])

    def bounds(self, pieces: int) -> list[int]:
        """Returns where parts of about as many entries begin, and the extent."""
        extent = self.shape[self.axis]
        ends = np.cumsum(self.counts.bins)
        wanted = (ends[-1] * np.arange(1, pieces, dtype=np.float64) / pieces).astype(np.int64)
        if not self.count:
            starts = extent * np.arange(1, pieces, dtype=np.int64) // pieces
        else:
            behind = np.searchsorted(ends, wanted)
            before = np.where(behind, ends[behind - 1], 0)
            starts = (behind + (2 * wanted > before + ends[behind])) << self.counts.shift  # the nearer of two
        starts = -(-starts // self.unit) * self.unit
        return [0, *sorted({int(start) for start in starts if 0 < start < extent}), extent]


def _shape_of_nothing(path: str, shape: Sequence[int] | None, index_base: int | None) -> tuple[int, ...]:
    """Returns the extents of a file that has no entries."""
    with importing():
        from mlir_sparse.tensor.files.read_write import read

    return read(path, shape=shape, index_base=index_base).shape


def _written(spill: _Spill, folder: Path, pieces: int) -> SplitFiles:
    bounds = spill.bounds(pieces)
    parts = [folder / f"part-{number:05}.entries" for number in range(len(bounds) - 1)]
    sizes = [0] * len(parts)
    if spill.count:
        spill.file.seek(0)
        while (rows := np.fromfile(spill.file, spill.row, _SHUFFLED)).size:
            own = np.searchsorted(bounds[1:-1], rows["dims"][:, spill.axis], side="right")
            order = np.argsort(own, kind="stable")
            ends = np.searchsorted(own[order], np.arange(len(parts) + 1))
            for number, (start, stop) in enumerate(pairwise(ends)):
                if start < stop:
                    with open(parts[number], "ab") as file:
                        rows[order[start:stop]].tofile(file)
                    sizes[number] += int(stop - start)
    wide = spill.encoding
    if not wide.pos_width or not wide.crd_width:  # one for all parts
        crd = 32 if max(spill.shape) <= 1 << 31 else 64
        wide = wide.with_widths(wide.pos_width or (32 if max(sizes) < 1 << 31 else 64), wide.crd_width or crd)
    for path, low, high, count in zip(parts, bounds[:-1], bounds[1:], sizes, strict=True):
        _write_part(spill, path, wide, low, high, count)
    return SplitFiles(spill.shape, spill.axis, tuple(bounds), tuple(sizes))


def _write_part(spill: _Spill, path: Path, encoding: Encoding, low: int, high: int, count: int) -> None:
    dims: list[Array] = [np.empty(0, np.int64)] * spill.rank
    values: Array = np.empty(0, spill.row["value"] if spill.count else np.float64)
    if count:
        check_fits(_PACKED * count * spill.row.itemsize, f"a part of {count} entries (ask for more pieces)")
        rows: Any = np.fromfile(path, spill.row)
        dims = [np.ascontiguousarray(rows["dims"][:, dim]) for dim in range(spill.rank)]
        dims[spill.axis] -= low
        values = np.ascontiguousarray(rows["value"])
        del rows
        path.unlink()
    shape = (*spill.shape[: spill.axis], high - low, *spill.shape[spill.axis + 1 :])
    part = from_entries(dims, values, shape, encoding, dtype=None, parameters={})
    with open(path.with_suffix(".npz"), "wb") as file:
        write_npz(file, part, (low, high, spill.shape[spill.axis]))
