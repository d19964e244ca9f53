"""Arrays in files, of which a range can be read without the rest."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from mlir_sparse.tensor.level_storage import Array

__all__ = ["FileArray"]


class FileArray:
    """An array in a file, of which nothing is read before it is asked for.

    A slice of the first axis is a FileArray again; `numpy.asarray` reads it. A number reads one element. The levels of
    a part are found with these as with arrays (`levels_between`).

    Args:
        read: reads a range of the first axis of the array in the file; it crosses process borders.
        shape: the extents of the array.
        dtype: the type of its elements.
        start: where it begins in the array in the file.
        eager: whether slices are read at once, as positions are, which tell what to read of the rest.
        shift: a number that is subtracted from what is read.
    """

    def __init__(
        self,
        read: Callable[[int, int], Array],
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        start: int = 0,
        *,
        eager: bool = False,
        shift: Any = 0,
    ) -> None:
        self.read, self.shape, self.dtype, self.start = read, shape, dtype, start
        self.eager, self.shift = eager, shift

    @property
    def size(self) -> int:
        """Returns the number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Returns the bytes of all elements."""
        return self.size * self.dtype.itemsize

    def beside(self, nbytes: int) -> int:
        """Returns about how many bytes are held beside a range of so many while it is read."""
        held = getattr(self.read, "beside", None)
        return 0 if held is None else held(nbytes)

    def read_at_once(self) -> FileArray:
        """Returns the array with slices that are read at once."""
        return FileArray(self.read, self.shape, self.dtype, self.start, eager=True, shift=self.shift)

    def unchecked(self) -> FileArray:
        """Returns the array as the file has it, for estimates: no checksum is compared."""
        return FileArray(getattr(self.read, "unchecked", self.read), self.shape, self.dtype, self.start)

    def one_pass(self) -> FileArray:
        """Returns the array for one pass that reads all of it in order, where its reader has a way for that."""
        begun = getattr(self.read, "one_pass", None)
        read = self.read if begun is None else begun()
        return FileArray(read, self.shape, self.dtype, self.start, eager=self.eager, shift=self.shift)

    def finish(self) -> None:
        """Ends such a pass: what it read is checked, where its reader does that in the end."""
        ended = getattr(self.read, "finish", None)
        if ended is not None:
            ended()

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        if key == ():
            return np.asarray(self)[()]
        if not isinstance(key, slice):
            key = range(len(self))[key]
            return np.asarray(self._between(key, key + 1))[0]
        start, stop, _ = key.indices(len(self))
        part = self._between(start, max(start, stop))
        return np.asarray(part) if self.eager else part

    def _between(self, start: int, stop: int) -> FileArray:
        shape = (stop - start, *self.shape[1:])
        return FileArray(self.read, shape, self.dtype, self.start + start, shift=self.shift)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        count = self.shape[0] if self.shape else 1
        found = self.read(self.start, self.start + count).reshape(self.shape)
        wanted = self.dtype.newbyteorder("=") if dtype is None else dtype
        whole = found.astype(wanted, copy=False)
        return whole - whole.dtype.type(self.shift) if self.shift else whole

    def __sub__(self, number: Any) -> FileArray:
        return FileArray(self.read, self.shape, self.dtype, self.start, eager=self.eager, shift=self.shift + number)
