"""Loops of a sum with loops over its elements inside, turned inside out: a thread holds its element in a register.

Storage by blocks and by diagonals has the blocks of a row, or the diagonals, above the rows that they add to. In that
order each term is added to memory. Here loops over elements come first, and what is added up is stored once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlir_sparse._mlir import ir
from mlir_sparse.gpu.kernel_writer import copied
from mlir_sparse.gpu.kernels.strided_loops import steps, strided
from mlir_sparse.gpu.loop_roles import LoopRole
from mlir_sparse.gpu.sparsified_function import inside
from mlir_sparse.gpu.unmapped_error import UnmappedError

if TYPE_CHECKING:
    from mlir_sparse.gpu.write_loops import Emitter

__all__ = ["HELD", "ROLES", "write_held"]

HELD = "held"


@dataclass(frozen=True, slots=True)
class _Loop:
    op: ir.Operation
    depth: int
    role: str

    @property
    def index(self) -> ir.Value:
        return self.op.regions[0].blocks[0].arguments[0]

    @property
    def body(self) -> list[ir.Operation]:
        return [op.operation for op in self.op.regions[0].blocks[0].operations]


def write_held(emitter: Emitter, op: ir.Operation, depth: int) -> list[ir.Value]:
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
        self._loops = self._chain(op, depth)
        self._made = {result: one for one in inside(op) for result in one.results}
        stores = [one for one in inside(op) if one.name == "memref.store"]
        loads = [one for one in inside(op) if one.name == "memref.load" and emitter.is_output(one.operands[0])]
        if len(stores) != 1 or len(loads) != 1:
            raise UnmappedError(f"expected loops that add to one element, but got {len(stores)} stores")
        self._store, self._load = stores[0], loads[0]

    def _chain(self, outermost: ir.Operation, depth: int) -> list[_Loop]:
        """Returns the loops down to those that hand on a sum."""
        found: list[_Loop] = []
        op: ir.Operation | None = outermost
        while op is not None:
            loop = _Loop(op, depth, self._emitter.mapping.role(depth))
            found.append(loop)
            below = [one for one in loop.body if self._emitter.kernel.source.is_spine(one)]
            op = below[0] if len(below) == 1 and below[0].name == "scf.for" and not len(below[0].results) else None
            depth += 1
        return found

    def write(self) -> None:
        """Writes the loops, at the insertion point."""
        self._open([loop for loop in self._loops if loop.role != HELD])

    def _open(self, around: list[_Loop]) -> None:
        """Writes the loops over elements, and in them the sum."""
        if not around:
            self._sum()
            return
        loop, *rest = around
        self._emitter.check_apart(loop.op, loop.role)
        first, upper, step = steps(self._emitter, loop.op, loop.role)

        def body(at: ir.Value) -> list[ir.Value]:
            self._emitter.bind(loop.index, at)
            self._open(rest)
            return []

        strided(first, upper, step, (), body)

    def _sum(self) -> None:
        emitter = self._emitter
        indices = [self._again(index) for index in list(self._store.operands)[2:]]
        start = emitter.present(self._load, indices)
        emitter.store(self._store, self._loop(0, start), indices)

    def _again(self, value: ir.Value) -> ir.Value:
        """Returns a value of the loops where these have not begun: it depends on elements only."""
        if self._emitter.knows(value) or value not in self._made:
            return self._emitter.value(value)
        op = self._made[value]
        if not op.name.startswith("arith."):
            raise UnmappedError(f"expected elements that loops over elements tell, but got {op}")
        return copied(op, self._again)[ir.OpResult(value).result_number]

    def _loop(self, number: int, held: ir.Value) -> ir.Value:
        """Writes the loops from one on; returns what has been added up."""
        loop = self._loops[number]
        if loop.role != HELD:
            return self._body(number, held)
        lower, upper, step = (self._emitter.value(operand) for operand in list(loop.op.operands)[:3])

        def body(at: ir.Value, so_far: ir.Value) -> list[ir.Value]:
            self._emitter.bind(loop.index, at)
            return [self._body(number, so_far)]

        (total,) = strided(lower, upper, step, [held], body)
        return total

    def _body(self, number: int, held: ir.Value) -> ir.Value:
        loop, emitter = self._loops[number], self._emitter
        below = self._loops[number + 1].op if number + 1 < len(self._loops) else None
        with emitter.turns() as counted:
            made = self._ops(loop, below, held, number)
            (made,) = counted([made], [held])
        return made

    def _ops(self, loop: _Loop, below: ir.Operation | None, held: ir.Value, number: int) -> ir.Value:
        emitter = self._emitter
        for op in loop.body:
            if below is not None and op == below:
                held = self._loop(number + 1, held)
            elif op == self._load:
                emitter.bind(op.results[0], held)
            elif op == self._store:
                held = emitter.value(op.operands[0])
            elif op.name != "scf.yield":
                emitter.one(op, loop.depth + 1)
        return held


ROLES = {HELD: LoopRole(write_held, divides=False)}
