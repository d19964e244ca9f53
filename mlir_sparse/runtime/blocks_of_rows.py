"""Runs the last steps of a program for some rows at a time."""

from __future__ import annotations

import math
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.dtypes import DType
from mlir_sparse.machine import machine_profile
from mlir_sparse.process.first_use import import_at_first_call
from mlir_sparse.program import BlockArray, Blocks
from mlir_sparse.runtime.call_arguments import operand_of
from mlir_sparse.runtime.function_call import Value, empty, reserved
from mlir_sparse.tensor import SparseTensor

if TYPE_CHECKING:
    from mlir_sparse.runtime.blas_threads import on_one_thread
    from mlir_sparse.runtime.together import run_together
    from mlir_sparse.tensor.level_ranges import part_between
else:
    import_at_first_call(
        __name__,
        {
            "runtime.blas_threads": ("on_one_thread",),
            "runtime.together": ("run_together",),
            "tensor.level_ranges": ("part_between",),
        },
    )

__all__ = ["BlocksOfRows", "rows_of_block"]

Array = np.ndarray[Any, Any]
# What runs a step on the values so far.
Run = Callable[[Mapping[str, Value]], Value]

# Arrays of no more blocks than these are made whole: they are in the caches.
_WHOLE = 2


def rows_of_block(blocks: Blocks, extents: Mapping[str, int]) -> int:
    """Returns how many rows steps run for at a time; 0 for all rows at once, where the caches hold the arrays.

    Args:
        blocks: the steps.
        extents: the extent of each index variable.
    """
    rows = extents[blocks.rows[0]]
    row = sum(_row_bytes(array, extents) for array in blocks.arrays)
    block = _block_bytes()
    return 0 if rows * row <= _WHOLE * block else max(1, block // row)


def _block_bytes() -> int:
    """Returns the bytes of the arrays of a block."""
    return machine_profile().number("block")


def _row_bytes(array: BlockArray, extents: Mapping[str, int]) -> int:
    return math.prod(extents[name] for name in array.variables[1:]) * array.dtype.itemsize


class BlocksOfRows:
    """Runs steps for some rows at a time, for fixed extents.

    Args:
        blocks: the steps as data.
        names: the name of the value that each makes.
        prepare: returns what runs a step, by its place among these, for extents.
        result: the shape and the element type of the result.
        extents: the extent of each index variable.
        rows: how many rows a block has.
    """

    def __init__(
        self,
        blocks: Blocks,
        names: Sequence[str],
        prepare: Callable[[int, Mapping[str, int]], Run],
        result: tuple[tuple[int, ...], DType],
        extents: Mapping[str, int],
        rows: int,
    ) -> None:
        self._blocks = blocks
        self._names = names
        self._prepare = prepare
        self._result = result
        self._extents = extents
        self._rows = rows
        self._runs: dict[int, list[Run]] = {}
        self._cuts: dict[str, _Cuts] = {}

    def __call__(self, values: Mapping[str, Value]) -> Value:
        """Returns the result, in the array that its name has among the values if there is one."""
        given = values.get(self._names[-1])
        assert not isinstance(given, SparseTensor)
        result = empty(*self._result) if given is None else given
        count = self._extents[self._blocks.rows[0]]
        most = -(-count // self._rows)
        threads = 1 if _native.is_deterministic() else min(_native.thread_limit(), most)
        rows = -(-count // (-(-most // threads) * threads))  # as many blocks for each thread
        begins = deque(range(0, count, rows))
        if threads == 1:
            self._run(values, begins, rows, result)
            return result
        # BLAS and loops work on blocks apart: their threads need not wait for one another at each step.
        own = [np.empty_like(result) if self._blocks.adds else result for _ in range(threads - 1)]
        with on_one_thread():
            run_together([partial(self._alone, values, begins, rows, into) for into in (result, *own)])
        for other in own if self._blocks.adds else ():
            np.add(result, other, out=result)
        return result

    def _alone(self, values: Mapping[str, Value], begins: deque[int], rows: int, result: Array) -> None:
        try:
            with _native.Limits(threads=1):
                self._run(values, begins, rows, result)
        except BaseException:
            begins.clear()  # other threads stop too
            raise

    def _run(self, values: Mapping[str, Value], begins: deque[int], most: int, result: Array) -> None:
        """Runs blocks as long as some are left; adds up their results, or writes the rows of each."""
        blocks, name = self._blocks, self._names[-1]
        arrays = {array.name: self._array(array, most) for array in blocks.arrays}
        if blocks.adds:
            result[...] = 0
        part = np.empty_like(result) if blocks.adds else None
        while (begin := _taken(begins)) is not None:
            end = min(begin + most, self._extents[blocks.rows[0]])
            some = {**values, **{cut: self._cut(cut, values[cut], begin, end) for cut in blocks.cut}}
            some |= {array: rows[: end - begin] for array, rows in arrays.items()}
            some[name] = result[begin:end] if part is None else part
            for made, run in zip(self._names, self._steps(end - begin), strict=True):
                some[made] = run(some)
            if part is not None:
                np.add(result, part, out=result)

    def _cut(self, name: str, value: Value, begin: int, end: int) -> Value:
        """Returns some rows of an operand; those of a tensor, whose structure never changes, are kept as long as it."""
        if not isinstance(value, SparseTensor):
            return value[begin:end]
        cuts = self._cuts.get(name)
        if cuts is None or cuts.tensor() is not value:
            cuts = self._cuts[name] = _Cuts(value)
        found = cuts.rows.get((begin, end))
        if found is None:
            found = cuts.rows[begin, end] = _rows_of(value, begin, end)
        return found

    def _array(self, array: BlockArray, rows: int) -> Array:
        return reserved((rows, *(self._extents[name] for name in array.variables[1:])), array.dtype)

    def _steps(self, rows: int) -> list[Run]:
        """Returns what runs the steps for so many rows."""
        found = self._runs.get(rows)
        if found is None:
            variables = enumerate(self._blocks.rows)
            found = [self._prepare(place, {**self._extents, variable: rows}) for place, variable in variables]
            self._runs[rows] = found
        return found


def _taken(begins: deque[int]) -> int | None:
    """Returns the next of what several threads take; None if nothing is left."""
    try:
        return begins.popleft()
    except IndexError:
        return None


class _Cuts:
    """The rows of a tensor that calls have read, until nobody else has the tensor: they share its memory."""

    def __init__(self, tensor: SparseTensor) -> None:
        rows = self.rows = dict[tuple[int, int], SparseTensor]()
        self.tensor = weakref.ref(tensor, lambda _: rows.clear())


def _rows_of(matrix: SparseTensor, begin: int, end: int) -> SparseTensor:
    rows = part_between(matrix, 0, begin, end)
    assert rows is not None  # of matrices by rows
    # As `operand_of` would find out anew.
    storage, identity = rows.storage, operand_of(matrix).type_id
    rows._operand = _native.Operand(identity, rows.shape, storage.level_sizes, list(storage.buffers()), False)
    return rows
