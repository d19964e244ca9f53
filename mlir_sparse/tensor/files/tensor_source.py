"""Tensors that are read in parts along one dimension: files larger than memory, and whatever a function reads."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from math import prod
from typing import Any

import numpy as np

from mlir_sparse.encoding import TensorType
from mlir_sparse.encoding.levels.level_functions import Below
from mlir_sparse.errors import (
    DTypeError,
    ExtentError,
    FileFormatError,
    OperandError,
    StorageError,
    TooLargeError,
    UnsupportedError,
)
from mlir_sparse.tensor.create import tensor
from mlir_sparse.tensor.files.npz import StoredLevels, is_npz, levels_of
from mlir_sparse.tensor.files.npz_members import members_of
from mlir_sparse.tensor.files.read_write import read
from mlir_sparse.tensor.level_ranges import joined_along, levels_between, part_between
from mlir_sparse.tensor.sparse_tensor import SparseTensor
from mlir_sparse.text.given_arguments import path_of

__all__ = ["TensorSource", "source"]


class TensorSource(ABC):
    """A tensor that is read in parts.

    Attributes:
        shape: its extents.
        type: its type: element type and encoding.
        axis: the dimension along which parts are read.
        unit: what bounds of parts are multiples of, save the last: a block size.
    """

    shape: tuple[int, ...]
    type: TensorType
    axis: int = 0
    unit: int = 1

    @abstractmethod
    def read(self, low: int, high: int) -> SparseTensor:
        """Returns the part between two coordinates of the axis.

        Raises:
            FileFormatError: for a file that does not hold it, with its name.
        """

    @abstractmethod
    def nbytes_between(self, low: int, high: int) -> int:
        """Returns the bytes of the part between two coordinates, without reading it."""

    def bounds(self, limit: int) -> list[int]:
        """Returns where parts of at most so many bytes begin, and the extent.

        Raises:
            TooLargeError: where the part of one unit is larger.
        """
        extent = self.shape[self.axis]
        count = max(1, -(-self.nbytes_between(0, extent) // max(1, limit)))
        step = max(self.unit, -(-extent // count) // self.unit * self.unit)
        found = [0]
        for low in range(0, extent, step):
            self._split(low, min(extent, low + step), limit, found)
        return found if len(found) > 1 else [0, extent]

    def _split(self, low: int, high: int, limit: int, found: list[int]) -> None:
        """Appends the ends of parts between two bounds, halved until each is small enough."""
        nbytes = self.nbytes_between(low, high)
        if nbytes <= limit:
            found.append(high)
            return
        middle = low + (high - low) // 2 // self.unit * self.unit
        if middle == low:
            raise TooLargeError(
                f"expected parts of at most {limit:,} bytes, but got {nbytes:,} at coordinate {low} of dimension "
                f"{self.axis} alone: give more memory"
            )
        self._split(low, middle, limit, found)
        self._split(middle, high, limit, found)

    def _check_range(self, low: int, high: int) -> None:
        if not 0 <= low <= high <= self.shape[self.axis]:
            raise OperandError(f"expected a range inside 0..{self.shape[self.axis]}, but got {low}..{high}")


class _Resident(TensorSource):
    """A tensor in memory."""

    def __init__(self, whole: SparseTensor, axis: int) -> None:
        self._whole, self.axis, self.shape, self.type = whole, axis, whole.shape, whole.type
        self.unit = whole.encoding.block_of(axis)

    def read(self, low: int, high: int) -> SparseTensor:
        self._check_range(low, high)
        part: SparseTensor = self._whole[(slice(None),) * self.axis + (slice(low, high),)]
        return part

    def nbytes_between(self, low: int, high: int) -> int:
        part = part_between(self._whole, self.axis, low, high)
        whole = self._whole.nbytes * (high - low) // max(1, self.shape[self.axis])
        return whole if part is None else part.nbytes


class _Levels(TensorSource):
    """The level arrays of one `.npz` file."""

    def __init__(self, path: str, axis: int | None) -> None:
        self.path = path
        stored = levels_of(path, members_of(path))
        if stored is None or stored.encoding.batch_rank:
            raise UnsupportedError(
                f"{path}: expected levels to read parts of, but got entries in any order, or batches: "
                "write the tensor in CSR"
            )
        positions = tuple(pos if pos is None else pos.read_at_once() for pos in stored.positions)
        self._stored = StoredLevels(
            stored.encoding, stored.shape, stored.dtype, positions, stored.coordinates, stored.values, stored.any_order
        )
        self.shape = stored.shape
        outer = [dim for dim in range(len(self.shape)) if self._between(0, 0, dim) is not None]
        if not outer or axis not in (None, *outer):
            which = "a dimension" if axis is None else f"dimension {axis}"
            raise UnsupportedError(
                f"{path}: expected storage whose outermost level numbers {which}, but got {stored.encoding.map_text()}"
            )
        self.axis = outer[0]
        self.unit = stored.encoding.block_of(self.axis)
        encoding = stored.encoding
        if not encoding.pos_width:
            widths = [8 * array.dtype.itemsize for array in (*positions, *stored.coordinates) if array is not None]
            encoding = encoding.with_widths(widths[0] if widths else 32, widths[-1] if widths else 32)
        self.type = TensorType(stored.dtype, (None,) * len(self.shape), encoding)

    def _between(self, low: int, high: int, axis: int) -> list[Below] | None:
        stored = self._stored
        return levels_between(stored.encoding, self.shape, (stored.positions, stored.coordinates), axis, low, high)

    def read(self, low: int, high: int) -> SparseTensor:
        self._check_range(low, high)
        below = self._between(low, high, self.axis)
        assert below is not None  # bounds are multiples of the unit
        stored, places = self._stored, below[-1].places
        inner = prod(stored.values.shape[1:])
        values = np.asarray(stored.values[places.start // inner : places.stop // inner]).reshape(-1)
        positions = [None if one.positions is None else np.asarray(one.positions) - one.first for one in below]
        coordinates = [None if one.coordinates is None else np.asarray(one.coordinates) for one in below]
        shape = (*self.shape[: self.axis], high - low, *self.shape[self.axis + 1 :])
        try:
            return SparseTensor.from_levels(
                self.type.encoding or stored.encoding,
                shape,
                positions,
                coordinates,
                values.view(stored.dtype.numpy),
            )
        except StorageError as error:
            raise FileFormatError(f"{self.path}, rows {low} to {high}: {error.message}") from error

    def nbytes_between(self, low: int, high: int) -> int:
        below = self._between(low, high, self.axis)
        assert below is not None
        arrays = [array for one in below for array in (one.positions, one.coordinates) if array is not None]
        return sum(array.nbytes for array in arrays) + len(below[-1].places) * self._stored.dtype.numpy.itemsize


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


class _Parts(TensorSource):
    """Tensors that follow one another along a dimension."""

    def __init__(self, parts: Sequence[TensorSource]) -> None:
        first = parts[0]
        self._parts, self.axis, self.type, self.unit = list(parts), first.axis, first.type, first.unit
        for number, part in enumerate(parts):
            others = part.shape[: self.axis] + part.shape[self.axis + 1 :]
            if others != first.shape[: self.axis] + first.shape[self.axis + 1 :]:
                raise ExtentError(
                    f"expected parts of shapes like {first.shape}, but got {part.shape} for part {number}"
                )
            if part.type != first.type or part.axis != first.axis:
                raise DTypeError(f"expected parts of one type, {first.type}, but got {part.type} for part {number}")
        self._starts = [0, *accumulate(part.shape[self.axis] for part in parts)]
        self.shape = (*first.shape[: self.axis], self._starts[-1], *first.shape[self.axis + 1 :])

    def _pieces(self, low: int, high: int) -> list[tuple[TensorSource, int, int]]:
        at = max(0, bisect_right(self._starts, low) - 1)
        found: list[tuple[TensorSource, int, int]] = []
        for number in range(min(at, len(self._parts) - 1), len(self._parts)):
            start, stop = self._starts[number], self._starts[number + 1]
            if start >= high and found:
                break
            found.append((self._parts[number], max(low, start) - start, min(high, stop) - start))
        return found

    def read(self, low: int, high: int) -> SparseTensor:
        self._check_range(low, high)
        read = [part.read(begin, max(begin, end)) for part, begin, end in self._pieces(low, high)]
        joined = joined_along(read, self.axis)
        if joined is None:  # parts that begin inside of blocks
            joined = tensor(np.concatenate(read, self.axis), self.type.encoding)
        return joined

    def nbytes_between(self, low: int, high: int) -> int:
        return sum(part.nbytes_between(begin, max(begin, end)) for part, begin, end in self._pieces(low, high))

    def bounds(self, limit: int) -> list[int]:
        ends = [
            [start + end for end in part.bounds(limit)] for start, part in zip(self._starts, self._parts, strict=False)
        ]
        merged = sorted({bound for part in ends for bound in part})
        kept = [merged[0]]
        for low, high in pairwise(merged):  # small parts are read together
            if low != kept[-1] and self.nbytes_between(kept[-1], high) > limit:
                kept.append(low)
        return [*kept, merged[-1]] if len(merged) > 1 else [0, self.shape[self.axis]]


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
        part = given if isinstance(given, SparseTensor) else tensor(given, self.type.encoding, dtype=self.type.dtype)
        wanted = (*self.shape[: self.axis], high - low, *self.shape[self.axis + 1 :])
        if part.shape != wanted:
            raise ExtentError(f"expected a part of shape {wanted} from read({low}, {high}), but got {part.shape}")
        if part.type.dtype != self.type.dtype:
            raise DTypeError(f"expected elements of {self.type.dtype} from read({low}, {high}), but got {part.dtype}")
        assert self.type.encoding is not None
        return part if part.encoding == self.type.encoding else part.convert(self.type.encoding)

    def nbytes_between(self, low: int, high: int) -> int:
        return self._nbytes * (high - low) // max(1, self.shape[self.axis])


def source(
    given: TensorSource | SparseTensor | str | os.PathLike[str] | Sequence[Any] | Callable[[int, int], Any],
    /,
    *,
    along: int | None = None,
    shape: Sequence[int] | None = None,
    type: str | TensorType | None = None,
    nbytes: int | None = None,
) -> TensorSource:
    """Returns a tensor that is read in parts, for `stream`, without reading it.

    Args:
        given: an `.npz` file whose arrays are not compressed, of which ranges are read; any other file that `read`
            takes, read as a whole each time; a folder or a sequence of files (and tensors, and sources), in order the
            parts along a dimension; a tensor; or a function of two coordinates that returns the part between them.
        along: the dimension of the parts; that of the outermost level by default.
        shape: the extents; for a function only.
        type: the type of a function's parts, such as `"f64[?,?] CSR"`.
        nbytes: about how many bytes all of a function's parts have together.

    Raises:
        FileFormatError: for files that hold no tensor.
        UnsupportedError: for storage that has no parts along a dimension, and compressed `.npz` files.
        ExtentError, DTypeError: for parts that do not fit together.

    >>> from mlir_sparse.tensor import tensor
    >>> rows = source(lambda low, high: np.eye(6)[low:high], shape=(6, 6), type="f64[?,?] CSR", nbytes=400)
    >>> rows.read(2, 4).to_numpy().argmax(axis=1).tolist(), rows.bounds(200)
    ([2, 3], [0, 3, 6])
    """
    if isinstance(given, TensorSource):
        return given
    if callable(given) and not isinstance(given, SparseTensor):
        return _of_function(given, shape, type, 0 if along is None else along, nbytes)
    if shape is not None or type is not None or nbytes is not None:
        raise OperandError("expected shape=, type= and nbytes= for a function that reads parts only")
    if isinstance(given, SparseTensor):
        return _Resident(given, _outermost(given) if along is None else along)
    if isinstance(given, Sequence) and not isinstance(given, str):
        return _of_parts([source(part, along=along) for part in given])
    name = path_of(given)
    if os.path.isdir(name):
        return _of_parts([source(os.path.join(name, part), along=along) for part in sorted(os.listdir(name))])
    return _Levels(name, along) if is_npz(name) else _WholeFile(name, 0 if along is None else along)


def _of_parts(parts: Sequence[TensorSource]) -> TensorSource:
    if not parts:
        raise OperandError("expected one part or more, but got none")
    return parts[0] if len(parts) == 1 else _Parts(parts)


def _outermost(whole: SparseTensor) -> int:
    return next((dim for dim in range(whole.ndim) if part_between(whole, dim, 0, 0) is not None), 0)


def _of_function(function: Any, shape: Any, kind: Any, axis: int, nbytes: int | None) -> TensorSource:
    if shape is None or kind is None or nbytes is None:
        raise OperandError(
            'expected shape=, type= and nbytes= with a function that reads parts, such as type="f64[?,?] CSR"'
        )
    parsed = kind if isinstance(kind, TensorType) else TensorType.parse(kind)
    if parsed.encoding is None:
        raise OperandError(
            f"expected the type of a sparse tensor, but got {parsed}: slices of dense arrays need no source"
        )
    extents = tuple(map(int, shape))
    if len(extents) != len(parsed.shape) or not 0 <= axis < len(extents):
        raise ExtentError(f"expected {len(parsed.shape)} extents and a dimension of them, but got {extents} and {axis}")
    wide = parsed.encoding
    if not wide.pos_width or not wide.crd_width:  # those that any part of these extents fits in
        wide = wide.with_widths(wide.pos_width or 32, wide.crd_width or (32 if max(extents) <= 1 << 31 else 64))
    return _Function(function, extents, replace(parsed, encoding=wide), axis, nbytes)
