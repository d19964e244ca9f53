"""Sums over the entries of rows, whose terms the threads of a block make together.

A thread that walks its own row reads what lies a row apart from what its neighbours read. Here the threads of a block
take the entries of all their rows in the order of memory, side by side and several at a time, and leave the terms in
memory that the block shares; each then sums up those of its own row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mlir_sparse._mlir import ir
from mlir_sparse.gpu.kernel_writer import copied
from mlir_sparse.gpu.kernels import combine_partials
from mlir_sparse.gpu.kernels.strided_loops import strided
from mlir_sparse.gpu.loop_roles import LoopRole
from mlir_sparse.gpu.sparsified_function import depends
from mlir_sparse.gpu.unmapped_error import UnmappedError
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import access_of
from mlir_sparse.loops.model import ForLoop, Loop
from mlir_sparse.loops.regions import operations_of
from mlir_sparse.loops.value_origins import result_maker

if TYPE_CHECKING:
    from mlir_sparse.gpu.write_loops import Emitter

__all__ = ["ROLES", "STAGED", "wait", "write_staged", "write_terms"]

STAGED = "staged"
_THREADS = 256  # of a block, exactly
_MOST = (1 << 31) - 1


def write_staged(emitter: Emitter, op: ir.Operation, depth: int) -> list[ir.Value]:
    """Writes a loop over the entries of a row; returns the sum, on top of what it starts from.

    Args:
        emitter: what writes the kernel.
        op: the loop, in the function.
        depth: how many loops it is in.

    Raises:
        UnmappedError: for terms that depend on the row by more than where they are.
    """
    if emitter.rows_of_block is None:
        raise UnmappedError(f"expected a loop over rows around one that is {STAGED}")
    row, base = emitter.rows_of_block
    loop = ForLoop(op)
    terms = _Terms(emitter, loop, [row])
    lower, upper, start = map(emitter.value, (*loop.bounds, *loop.starts))
    begin, end = _of_block(emitter, loop, row, base)
    whole = _over_block(emitter, terms, (lower, upper), (begin, end))
    return [combine_partials.combined(emitter.combine, start, whole)]


def write_terms(
    emitter: Emitter, loop: ForLoop, above: Sequence[Loop], first: ir.Value, count: ir.Value
) -> Callable[[ir.Value], ir.Value]:
    """Writes the terms of a block's entries, which it waits for; returns what writes the term of one of them.

    Args:
        emitter: what writes the kernel.
        loop: the loop over entries, in the function.
        above: the loops around it.
        first: the first entry of the block, in the kernel.
        count: how many entries there are in all.

    Raises:
        UnmappedError: for terms that depend on the loops above by more than where they are.
    """
    # A thread reads as many as it takes one after another: one more place keeps threads out of each other's banks.
    terms = _Terms(emitter, loop, above, apart=emitter.mapping.chunk)
    terms.fill(first, build.subtract(count, build.constant(1)))
    wait()
    return lambda at: terms.of(build.subtract(at, first))


def _of_block(emitter: Emitter, loop: ForLoop, row: ForLoop, base: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Returns where the entries of all rows of a block begin and end."""
    rows = emitter.value(row.upper)
    one, height = build.constant(1), emitter.kernel.identity("block_dim", "y")
    after = build.minimum(build.add(base, height), rows)
    last = build.subtract(after, one)
    return _at(emitter, loop.lower, row.index, base), _at(emitter, loop.upper, row.index, last)


def _at(emitter: Emitter, value: ir.Value, index: ir.Value, place: ir.Value) -> ir.Value:
    """Returns a value of the function as it is for another iteration of the loop over rows."""
    if value == index:
        return place
    if not depends(value, index):
        return emitter.value(value)
    op = result_maker(value)
    access = access_of(op)
    if access is not None:
        return emitter.kernel.load(access, [_at(emitter, one, index, place) for one in access.at])
    return copied(op, lambda operand: _at(emitter, operand, index, place))[ir.OpResult(value).result_number]


def _over_block(
    emitter: Emitter, terms: _Terms, own: tuple[ir.Value, ir.Value], block: tuple[ir.Value, ir.Value]
) -> ir.Value:
    """Writes the sum of a row of each thread over the entries of the block, so many at a time as there is room for."""
    (lower, upper), (begin, end) = own, block
    count, operator = _THREADS * emitter.mapping.chunk, emitter.combine
    last = build.subtract(end, build.constant(1))

    def some(first: ir.Value, so_far: ir.Value) -> list[ir.Value]:
        terms.fill(first, last)
        wait()
        low = build.operation("arith.maxui", lower.type, lower, first)
        high = build.minimum(upper, build.add(first, build.constant(count)))

        def add(at: ir.Value, sum_: ir.Value) -> list[ir.Value]:
            return [combine_partials.combined(operator, sum_, terms.of(build.subtract(at, first)))]

        whole = strided(low, high, build.constant(1), [so_far], add)
        wait()  # before others write to it again
        return whole

    (whole,) = strided(begin, end, build.constant(count), [combine_partials.identity(operator, terms.kind)], some)
    return whole


class _Terms:
    """The terms of a block's entries, in memory that its threads share.

    Args:
        emitter: what writes the kernel.
        loop: the loop over entries, in the function.
        above: the loops around it.
        apart: after how many terms a place is left free; 0 for none.
    """

    def __init__(self, emitter: Emitter, loop: ForLoop, above: Sequence[Loop], apart: int = 0) -> None:
        self._emitter, self._loop, self._apart = emitter, loop, apart
        self._inner = operations_of(loop.block)
        indices = [outer.index for outer in above if isinstance(outer, ForLoop)]
        used = [operand for one in self._inner for operand in one.operands]
        if len(loop.results) != 1 or any(depends(operand, index) for operand in used for index in indices):
            raise UnmappedError(f"expected one sum, whose terms do not depend on the row, for {STAGED}")
        self.kind = loop.results[0].type
        count = _THREADS * emitter.mapping.chunk
        self._terms = emitter.kernel.shared(count + (count // apart if apart else 0), self.kind)

    def fill(self, first: ir.Value, last: ir.Value) -> None:
        """Writes the terms of some entries: all are read before any is stored; beyond the last it is read again."""
        # How far an entry is from the first fits in 32 bits, which are half the instructions of 64.
        most, narrow = build.subtract(last, first), _narrow()
        most = build.operation("arith.index_cast", narrow, build.minimum(most, build.constant(_MOST)))
        thread = self._emitter.kernel.identity("thread_id", "y")
        place, terms = build.operation("arith.index_cast", narrow, thread), []
        step = build.integer(_THREADS, narrow)
        for _ in range(self._emitter.mapping.chunk):
            near = build.minimum(place, most)
            terms.append((self._term(build.add(first, build.widened(near))), build.widened(place)))
            place = build.add(place, step)
        for term, at in terms:
            build.store(term, self._terms, self._place(at))

    def of(self, number: ir.Value) -> ir.Value:
        """Returns the term of an entry, by its number in the block."""
        return build.load(self._terms, self._place(number))

    def _place(self, number: ir.Value) -> ir.Value:
        if not self._apart:
            return number
        free = build.operation("arith.divui", number.type, number, build.constant(self._apart))
        return build.add(number, free)

    def _term(self, at: ir.Value) -> ir.Value:
        (carried,), operator = self._loop.carried, self._emitter.combine
        with self._emitter.iterations() as counted:
            self._emitter.bind(self._loop.index, at)
            none = combine_partials.identity(operator, carried.type)
            self._emitter.bind(carried, none)
            (term,) = counted(self._emitter.block(self._inner, len(self._emitter.mapping.roles)), [none])
        return term


def _narrow() -> ir.Type:
    return ir.IntegerType.get_signless(32)


def wait() -> None:
    """Lets the threads of a block wait for each other."""
    ir.Operation.create("gpu.barrier")


ROLES = {STAGED: LoopRole(write_staged, shares=True)}
