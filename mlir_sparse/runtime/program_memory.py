"""The memory of one call of a user's program: words for its arguments, and who owns what it returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.errors import ProgramError

__all__ = ["CallFrame", "ResultBytes"]

Array = np.ndarray[Any, Any]

_WORD = 8
_CONSTANT = 0xDEADBEEF  # what MLIR gives as the allocation of a constant of the program


class CallFrame:
    """The arguments of a call in MLIR's packed convention, built before the call and read after it."""

    def __init__(self) -> None:
        self._words: list[int] = []
        self._addresses: list[int] = []  # words that are offsets so far
        self._arguments: list[int] = []  # the offset of each argument
        self._result: tuple[int, int] = (0, 0)  # offset and bytes
        # By the address of what the program was given: the array, and whether it is this call's own.
        self._given: dict[int, tuple[Array, bool]] = {}
        self._owners: dict[int, object] = {}
        self._memory: Array = np.empty(0, np.int64)

    def expect(self, nbytes: int, *, by_pointer: bool) -> None:
        """Reserves space for the result: behind a pointer that comes first, or in the last argument.

        Args:
            nbytes: the bytes of the result.
            by_pointer: whether the function takes the pointer; call this before all arguments then, else after them.
        """
        self._result = (self._append([0] * -(-nbytes // _WORD)), nbytes)
        if by_pointer:
            self._arguments.append(self._address_of(self._result[0]))
        else:
            self._arguments.append(self._result[0])

    def memref(self, array: Array, *, own: bool, freed: bool = False, offset: int = 0) -> None:
        """Passes an array.

        Args:
            array: its elements and strides are passed as they are.
            own: whether it was made for this call: it may then be the result.
            freed: whether the program may free it: it gets a copy that is its own.
            offset: elements that its type says lie before the first.
        """
        address = array.__array_interface__["data"][0]
        if freed:
            address = _native.malloc_copy(array)  # the result's, if it comes back
        else:
            self._given[address] = (array, own)
        strides = [stride // array.itemsize for stride in array.strides]
        aligned = address - offset * array.itemsize
        start = self._append([address, aligned, offset, *array.shape, *strides])
        self._arguments.append(self._address_of(start))

    def words(self, values: Sequence[int]) -> None:
        """Passes a struct of words."""
        self._arguments.append(self._append(values))

    def scalar(self, value: Array) -> None:
        """Passes an array of no axes as a number."""
        raw = value.tobytes().ljust(2 * _WORD, b"\0")
        self._arguments.append(self._append(np.frombuffer(raw, np.int64).tolist()))

    def run(self, function: int) -> ResultBytes:
        """Calls a function at an address.

        Raises:
            ProgramError: if the program ends before it returns.
        """
        table = self._append(self._arguments)
        self._memory = memory = np.array(self._words, np.int64)
        base = memory.__array_interface__["data"][0]
        memory[self._addresses] += base
        memory[table // _WORD :] += base
        failure = _native.call_program(function, base + table)
        if failure:
            raise ProgramError(failure)
        start, nbytes = self._result
        return ResultBytes(memory.view(np.uint8)[start : start + nbytes].tobytes(), self)

    def array(self, allocated: int, address: int, shape: tuple[int, ...], strides: tuple[int, ...], kind: Any) -> Array:
        """Returns memory of the result as an array, which owns it, or shares the owner with others.

        Args:
            allocated: what malloc returned, or the address of an argument.
            address: of the first element.
            shape: the extents.
            strides: in bytes.
            kind: the dtype.
        """
        given, own = self._given.get(allocated, (None, False))
        if given is not None:
            found = _native.array_at(given, address, shape, strides, kind)
            return found if own else found.copy()
        if allocated in (_CONSTANT, 0):
            if 0 in shape:
                return np.empty(shape, kind)
            return _native.array_at(self, address, shape, strides, kind).copy()
        if allocated not in self._owners:
            self._owners[allocated] = _native.owner_of(allocated)
        return _native.array_at(self._owners[allocated], address, shape, strides, kind)

    def _append(self, words: Sequence[int]) -> int:
        """Returns the offset in bytes of new words."""
        start = len(self._words) * _WORD
        self._words += words
        return start

    def _address_of(self, offset: int) -> int:
        """Returns the offset of a new word with the address of another."""
        place = self._append([offset])
        self._addresses.append(place // _WORD)
        return place


class ResultBytes:
    """What a function returned, read field by field as C lays them out.

    Args:
        content: the bytes.
        frame: the call.
    """

    def __init__(self, content: bytes, frame: CallFrame) -> None:
        self._content = content
        self._at = 0
        self.frame = frame

    def take(self, kind: np.dtype[Any], count: int = 1, alignment: int | None = None) -> Array:
        """Returns the next numbers."""
        step = alignment or kind.alignment
        start = -(-self._at // step) * step
        self._at = start + kind.itemsize * count
        return np.frombuffer(self._content, kind, count, start)

    def words(self, count: int) -> list[int]:
        """Returns the next words as integers."""
        found: list[int] = self.take(np.dtype(np.int64), count).tolist()
        return found

    def memref(self, rank: int, kind: np.dtype[Any]) -> Array:
        """Returns the memref that comes next as an array."""
        allocated, aligned, offset, *rest = self.words(3 + 2 * rank)
        strides = tuple(stride * kind.itemsize for stride in rest[rank:])
        address = aligned + offset * kind.itemsize
        return self.frame.array(allocated & (1 << 64) - 1, address, tuple(rest[:rank]), strides, kind)
