"""Several columns a thread: the loops below are made once, with a sum for each column.

What does not depend on the column is then read once for all of them: in a product of a sparse matrix with a dense one
the entries, which are as many bytes as the columns of one thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mlir_sparse._mlir import ir
from mlir_sparse.gpu.kernels.strided_loops import divided, strided, unrolled
from mlir_sparse.gpu.loop_roles import LoopRole
from mlir_sparse.gpu.unmapped_error import UnmappedError
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.model import ForLoop, Loop
from mlir_sparse.loops.regions import is_nest, operations_of, walk

if TYPE_CHECKING:
    from mlir_sparse.gpu.write_loops import Emitter

__all__ = ["ROLES", "write_columns"]

# Turns of the innermost sum that are written one after another where columns are adjacent: what they read is on its
# way at the same time.
_UNROLLED = 4


def write_columns(emitter: Emitter, op: ir.Operation, depth: int) -> list[ir.Value]:
    """Writes a loop of which a thread takes iterations, several together, as far apart as the block is wide.

    Where the mapping says so, it takes as many adjacent ones at each of these places.

    Args:
        emitter: what writes the kernel.
        op: the loop, in the function.
        depth: how many loops it is in.

    Raises:
        UnmappedError: for loops below that make more than one sum, and iterations that yield something.
    """
    loop = ForLoop(op)
    if emitter.mapping.tile == 1 or loop.results:
        return divided(emitter, op, depth)
    kernel, adjacent = emitter.kernel, emitter.mapping.adjacent
    count = emitter.mapping.tile // adjacent
    bounds = lower, upper = [emitter.value(bound) for bound in loop.bounds]
    if adjacent > 1:  # counted by as many: LLVM then sees that each begins at a multiple
        lower, upper = (build.operation("arith.divui", bound.type, bound, build.constant(adjacent)) for bound in bounds)
    width = kernel.identity("block_dim", "x")
    block = build.multiply(width, build.constant(count))
    first = build.add(build.multiply(kernel.identity("block_id", "y"), block), kernel.identity("thread_id", "x"))
    last = build.subtract(upper, build.constant(1))

    def body(at: ir.Value) -> list[ir.Value]:
        places = [at]
        while len(places) < count:
            places.append(build.add(places[-1], width))
        # The first is there, or the iteration would not be.
        guards = [None, *(build.compare("ult", place, upper) for place in places[1:])]
        begins = [build.minimum(place, last) for place in places]
        columns: list[dict[ir.Value, ir.Value]] = [
            {loop.index: place} for begin in begins for place in _beside(begin, adjacent)
        ]
        _Columns(emitter, columns, [guard for guard in guards for _ in range(adjacent)]).write(
            operations_of(loop.block), depth + 1
        )
        return []

    strided(build.add(lower, first), upper, build.multiply(kernel.identity("grid_dim", "y"), block), (), body)
    return []


def _beside(place: ir.Value, adjacent: int) -> list[ir.Value]:
    """Returns the columns of a place."""
    if adjacent == 1:
        return [place]
    begin = build.multiply(place, build.constant(adjacent))
    return [begin, *(build.add(begin, build.constant(number)) for number in range(1, adjacent))]


class _Columns:
    """The columns of a thread while they are written.

    Args:
        emitter: what writes the kernel.
        own: for each column, what stands for values that depend on it.
        guards: for each column, whether it is there; None where it always is.
    """

    def __init__(
        self, emitter: Emitter, own: Sequence[dict[ir.Value, ir.Value]], guards: Sequence[ir.Value | None]
    ) -> None:
        self._emitter, self._own, self._guards = emitter, own, guards

    def write(self, ops: Sequence[ir.Operation], depth: int) -> list[ir.Value]:
        """Writes operations once for each column, and loops once for all; returns what each column yields."""
        yielded: list[ir.Value] = []
        for op in ops:
            loop = self._emitter.kernel.source.spine_of(op)
            if loop is not None:
                self._loop(loop, depth + 1)
                continue
            for own, guard in zip(self._own, self._guards, strict=True):
                self._emitter.turn_to(own)
                yielded += self._one(op, depth, guard)
            self._emitter.turn_to(None)
        return yielded

    def _one(self, op: ir.Operation, depth: int, guard: ir.Value | None) -> list[ir.Value]:
        if op.name == "scf.yield":
            return [self._emitter.value(operand) for operand in op.operands]
        if guard is not None and op.name == "memref.store":
            self._emitter.within(guard, lambda: self._emitter.one(op, depth))
        else:
            self._emitter.one(op, depth)
        return []

    def _loop(self, loop: Loop, depth: int) -> None:
        """Writes a loop that sums up for all columns at once."""
        if not isinstance(loop, ForLoop) or len(loop.results) != 1:
            raise UnmappedError(f"expected a loop that yields one value for each column, but got {loop.op.name}")
        (first,), (carried,), (result,) = loop.starts, loop.carried, loop.results
        start = []
        for own in self._own:
            self._emitter.turn_to(own)
            start.append(self._emitter.value(first))
        self._emitter.turn_to(self._own[0])
        lower, upper, step = map(self._emitter.value, loop.limits)
        self._emitter.turn_to(None)
        index, inner = loop.index, operations_of(loop.block)

        def body(at: ir.Value, *totals: ir.Value) -> list[ir.Value]:
            for own, value in zip(self._own, totals, strict=True):
                own[index], own[carried] = at, value
            return self.write(inner, depth)

        straight = self._emitter.mapping.adjacent > 1 and self._is_innermost(inner)
        sums = unrolled(lower, upper, start, body, _UNROLLED) if straight else strided(lower, upper, step, start, body)
        for own, made in zip(self._own, sums, strict=True):
            own[result] = made

    def _is_innermost(self, ops: Sequence[ir.Operation]) -> bool:
        """Returns whether iterations hold no loop and store nothing, so that some may be written and not count."""
        return not any(is_nest(one) or one.name == "memref.store" for op in ops for one in walk(op))


ROLES = {"columns": LoopRole(write_columns, grid="y")}  # threads along x, and blocks along y
