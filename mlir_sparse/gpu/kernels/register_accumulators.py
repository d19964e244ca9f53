"""Loops of a sum with loops over its elements inside, turned inside out: a thread holds its element in a register.

Storage by blocks and by diagonals has the blocks of a row, or the diagonals, above the rows that they add to. In that
order each term is added to memory. Here loops over elements come first, and what is added up is stored once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.gpu.kernel_writer import copied
from mlir_sparse.gpu.kernels.strided_loops import steps, strided
from mlir_sparse.gpu.loop_roles import LoopRole
from mlir_sparse.gpu.sparsified_function import accesses_in
from mlir_sparse.gpu.unmapped_error import UnmappedError
from mlir_sparse.loops.model import ForLoop, Loop
from mlir_sparse.loops.regions import walk

if TYPE_CHECKING:
    from mlir_sparse.gpu.write_loops import Emitter

__all__ = ["ACCUMULATED", "ROLES", "write_accumulated"]

ACCUMULATED = "accumulated"


@dataclass(frozen=True, slots=True)
class _Level:
    loop: ForLoop
    depth: int
    role: str


def write_accumulated(emitter: Emitter, op: ir.Operation, depth: int) -> list[ir.Value]:
    """Writes a loop that adds to elements of loops inside it, those loops around it.

    Args:
        emitter: what writes the kernel.
        op: the loop, in the function.
        depth: how many loops it is in.

    Raises:
        UnmappedError: for loops that do not add to one element of those inside.
    """
    _Held(emitter, op, depth).write()
    return []


class _Held:
    def __init__(self, emitter: Emitter, op: ir.Operation, depth: int) -> None:
        self._emitter = emitter
        self._loops = self._chain(ForLoop(op), depth)
        self._made = {result: one for one in walk(op) for result in one.results}
        accesses = accesses_in([op])
        stores = [access for access in accesses if access.value is not None]
        loads = [access for access in accesses if access.value is None and emitter.is_output(access.buffer)]
        if len(stores) != 1 or len(loads) != 1:
            raise UnmappedError(f"expected loops that add to one element, but got {len(stores)} stores")
        self._store, self._load = stores[0], loads[0]

    def _chain(self, outermost: ForLoop, depth: int) -> list[_Level]:
        """Returns the loops down to those that yield a sum."""
        found: list[_Level] = []
        loop: Loop | None = outermost
        while isinstance(loop, ForLoop):
            found.append(_Level(loop, depth, self._emitter.mapping.role(depth)))
            below = self._emitter.kernel.source.spines_in(loop.body)
            loop = below[0] if len(below) == 1 and not below[0].results else None
            depth += 1
        return found

    def write(self) -> None:
        """Writes the loops, at the insertion point."""
        self._open([level for level in self._loops if level.role != ACCUMULATED])

    def _open(self, around: list[_Level]) -> None:
        """Writes the loops over elements, and in them the sum."""
        if not around:
            self._sum()
            return
        level, *rest = around
        self._emitter.check_apart(level.loop, level.role)
        first, upper, step = steps(self._emitter, level.loop, level.role)

        def body(at: ir.Value) -> list[ir.Value]:
            self._emitter.bind(level.loop.index, at)
            self._open(rest)
            return []

        strided(first, upper, step, (), body)

    def _sum(self) -> None:
        emitter = self._emitter
        indices = [self._again(index) for index in self._store.at]
        start = emitter.present(self._load, indices)
        emitter.store_at(self._store, self._loop(0, start), indices)

    def _again(self, value: ir.Value) -> ir.Value:
        """Returns a value of the loops where these have not begun: it depends on elements only."""
        if self._emitter.knows(value) or value not in self._made:
            return self._emitter.value(value)
        op = self._made[value]
        if not op.name.startswith("arith."):
            raise UnmappedError(f"expected elements that loops over elements tell, but got {op}")
        return copied(op, self._again)[ir.OpResult(value).result_number]

    def _loop(self, number: int, accumulator: ir.Value) -> ir.Value:
        """Writes the loops from one on; returns what has been added up."""
        level = self._loops[number]
        if level.role != ACCUMULATED:
            return self._body(number, accumulator)
        lower, upper, step = map(self._emitter.value, level.loop.limits)

        def body(at: ir.Value, so_far: ir.Value) -> list[ir.Value]:
            self._emitter.bind(level.loop.index, at)
            return [self._body(number, so_far)]

        (total,) = strided(lower, upper, step, [accumulator], body)
        return total

    def _body(self, number: int, accumulator: ir.Value) -> ir.Value:
        level, emitter = self._loops[number], self._emitter
        below = self._loops[number + 1].loop.op if number + 1 < len(self._loops) else None
        with emitter.iterations() as counted:
            made = self._ops(level, below, accumulator, number)
            (made,) = counted([made], [accumulator])
        return made

    def _ops(self, level: _Level, below: ir.Operation | None, accumulator: ir.Value, number: int) -> ir.Value:
        emitter = self._emitter
        for op in level.loop.body:
            if below is not None and op == below:
                accumulator = self._loop(number + 1, accumulator)
            elif op == self._load.op:
                emitter.bind(op.results[0], accumulator)
            elif op == self._store.op and self._store.value is not None:
                accumulator = emitter.value(self._store.value)
            else:
                emitter.one(op, level.depth + 1)
        return accumulator


ROLES = {ACCUMULATED: LoopRole(write_accumulated, divides=False)}
