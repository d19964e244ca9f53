"""Several columns a thread: the loops below are made once, with a sum for each column.

What does not depend on the column is then read once for all of them: in a product of a sparse matrix with a dense one
the entries, which are as many bytes as the columns of one thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mlir_sparse.pipeline.assembly import code
from mlir_sparse.pipeline.gpu.refusal import UnmappedError
from mlir_sparse.pipeline.gpu.steps import strided

if TYPE_CHECKING:
    from mlir_sparse.pipeline.gpu.emit import Emitter

__all__ = ["write_columns"]


def write_columns(emitter: Emitter, op: Any, depth: int, bounds: tuple[Any, Any]) -> None:
    """Writes a loop of which a thread takes several turns together, as far apart as the block is wide.

    Args:
        emitter: what writes the kernel.
        op: the loop, in the function.
        depth: how many loops it is in.
        bounds: where it begins and ends, in the kernel.

    Raises:
        UnmappedError: for loops below that make more than one sum.
    """
    kernel, count = emitter.kernel, emitter.mapping.tile
    lower, upper = bounds
    width = kernel.identity("block_dim", "x")
    block = code.multiply(width, code.constant(count))
    first = code.add(code.multiply(kernel.identity("block_id", "y"), block), kernel.identity("thread_id", "x"))
    last = code.operation("arith.subi", upper.type, upper, code.constant(1))
    (index,) = op.regions[0].blocks[0].arguments
    ops = [one.operation for one in op.regions[0].blocks[0].operations]

    def body(at: Any) -> list[Any]:
        places = [at]
        while len(places) < count:
            places.append(code.add(places[-1], width))
        # The first is there, or the turn would not be.
        guards = [None, *(code.compare("ult", place, upper) for place in places[1:])]
        _Columns(emitter, [{index: code.minimum(place, last)} for place in places], guards).write(ops, depth + 1)
        return []

    strided(code.add(lower, first), upper, code.multiply(kernel.identity("grid_dim", "y"), block), (), body)


class _Columns:
    """The columns of a thread while they are written.

    Args:
        emitter: what writes the kernel.
        own: for each column, what stands for values that depend on it.
        guards: for each column, whether it is there; None where it always is.
    """

    def __init__(self, emitter: Emitter, own: Sequence[dict[Any, Any]], guards: Sequence[Any]) -> None:
        self._emitter, self._own, self._guards = emitter, own, guards

    def write(self, ops: Sequence[Any], depth: int) -> list[Any]:
        """Writes operations once for each column, and loops once for all; returns what each column hands on."""
        yielded: list[Any] = []
        for op in ops:
            if self._emitter.kernel.source.is_spine(op):
                self._loop(op, depth + 1)
                continue
            for own, guard in zip(self._own, self._guards, strict=True):
                self._emitter.turn_to(own)
                yielded += self._one(op, depth, guard)
            self._emitter.turn_to(None)
        return yielded

    def _one(self, op: Any, depth: int, guard: Any | None) -> list[Any]:
        if op.name == "scf.yield":
            return [self._emitter.value(operand) for operand in op.operands]
        if guard is not None and op.name == "memref.store":
            self._emitter.within(guard, lambda: self._emitter.one(op, depth))
        else:
            self._emitter.one(op, depth)
        return []

    def _loop(self, op: Any, depth: int) -> None:
        """Writes a loop that sums up for all columns at once."""
        if op.name != "scf.for" or len(op.results) != 1:
            raise UnmappedError(f"expected a loop that hands on one value for each column, but got {op.name}")
        start = []
        for own in self._own:
            self._emitter.turn_to(own)
            start.append(self._emitter.value(op.operands[3]))
        self._emitter.turn_to(self._own[0])
        lower, upper, step = (self._emitter.value(operand) for operand in list(op.operands)[:3])
        self._emitter.turn_to(None)
        index, carried = op.regions[0].blocks[0].arguments
        inner = [one.operation for one in op.regions[0].blocks[0].operations]

        def body(at: Any, *held: Any) -> list[Any]:
            for own, value in zip(self._own, held, strict=True):
                own[index], own[carried] = at, value
            return self.write(inner, depth)

        for own, made in zip(self._own, strided(lower, upper, step, start, body), strict=True):
            own[op.results[0]] = made
