"""Sums over the entries of rows, whose terms the threads of a block make together.

A thread that walks its own row reads what lies a row apart from what its neighbours read. Here the threads of a block
take the entries of all their rows in the order of memory, side by side and several at a time, and leave the terms in
memory that the block shares; each then sums up those of its own row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlir_sparse._mlir import bindings
from mlir_sparse.pipeline.assembly import code
from mlir_sparse.pipeline.gpu import combine
from mlir_sparse.pipeline.gpu.kernel import copied
from mlir_sparse.pipeline.gpu.source import depends
from mlir_sparse.pipeline.gpu.steps import strided

if TYPE_CHECKING:
    from mlir_sparse.pipeline.gpu.emit import Emitter

__all__ = ["STAGED", "STAGED_THREADS", "write_staged"]

STAGED = "staged"
STAGED_THREADS = 256  # of a block: there is room for as many terms of each


def write_staged(emitter: Emitter, op: Any, row: Any, base: Any) -> Any:
    """Writes a loop over the entries of a row; returns the sum, on top of what it starts from.

    Args:
        emitter: what writes the kernel.
        op: the loop, in the function.
        row: the loop over rows around it, in the function.
        base: the first row of the block, in the kernel.

    Raises:
        ValueError: for terms that depend on the row by more than where they are.
    """
    block = op.regions[0].blocks[0]
    index = row.regions[0].blocks[0].arguments[0]
    inner = [one.operation for one in block.operations]
    if len(op.results) != 1 or any(depends(operand, index) for one in inner for operand in one.operands):
        raise ValueError(f"expected one sum, whose terms do not depend on the row, for {STAGED}")
    own = emitter.value(op.operands[0]), emitter.value(op.operands[1])
    begin, end = _of_block(emitter, op, row, base)
    return _Staged(emitter, op, inner, own).write(begin, end)


def _of_block(emitter: Emitter, op: Any, row: Any, base: Any) -> tuple[Any, Any]:
    """Returns where the entries of all rows of a block begin and end."""
    index = row.regions[0].blocks[0].arguments[0]
    rows = emitter.value(row.operands[1])
    one, height = code.constant(1), emitter.kernel.identity("block_dim", "y")
    after = code.minimum(code.add(base, height), rows)
    last = code.operation("arith.subi", after.type, after, one)
    return _at(emitter, op.operands[0], index, base), _at(emitter, op.operands[1], index, last)


def _at(emitter: Emitter, value: Any, index: Any, place: Any) -> Any:
    """Returns a value of the function as it is for another turn of the loop over rows."""
    if value == index:
        return place
    if not depends(value, index):
        return emitter.value(value)
    op = value.owner
    if op.name == "memref.load":
        return emitter.kernel.load(op, [_at(emitter, one, index, place) for one in list(op.operands)[1:]])
    return copied(op, lambda operand: _at(emitter, operand, index, place))[list(op.results).index(value)]


class _Staged:
    """The sums of a block's rows while they are written.

    Args:
        emitter: what writes the kernel.
        op: the loop over entries, in the function.
        inner: what is in it.
        own: where the thread's own row begins and ends.
    """

    def __init__(self, emitter: Emitter, op: Any, inner: list[Any], own: tuple[Any, Any]) -> None:
        self._emitter, self._op, self._inner = emitter, op, inner
        self._lower, self._upper = own
        self._combine = emitter.mapping.combine
        self._thread = emitter.kernel.identity("thread_id", "y")
        self._height = emitter.kernel.identity("block_dim", "y")

    def write(self, begin: Any, end: Any) -> Any:
        """Writes the sums over the entries of the block, so many at a time as there is room for."""
        count = STAGED_THREADS * self._emitter.mapping.chunk
        kind = self._op.results[0].type
        held = self._emitter.kernel.shared(count, kind)
        last = code.operation("arith.subi", end.type, end, code.constant(1))

        def some(first: Any, so_far: Any) -> list[Any]:
            self._fill(held, first, last)
            _wait()
            room = code.add(first, code.constant(count))
            low, high = _greater(self._lower, first), code.minimum(self._upper, room)

            def add(at: Any, sum_: Any) -> list[Any]:
                term = code.load(held, code.operation("arith.subi", at.type, at, first))
                return [combine.combined(self._combine, sum_, term)]

            whole = strided(low, high, code.constant(1), [so_far], add)
            _wait()  # before others write to it again
            return whole

        start = combine.identity(self._combine, kind)
        (whole,) = strided(begin, end, code.constant(count), [start], some)
        return combine.combined(self._combine, self._emitter.value(self._op.operands[3]), whole)

    def _fill(self, held: Any, first: Any, last: Any) -> None:
        """Writes the terms of some entries: all are read before any is stored; beyond the last it is read again."""
        place, terms = self._thread, []
        for _ in range(self._emitter.mapping.chunk):
            terms.append((self._term(code.minimum(code.add(first, place), last)), place))
            place = code.add(place, self._height)
        for term, at in terms:
            code.store(term, held, at)

    def _term(self, at: Any) -> Any:
        index, carried = self._op.regions[0].blocks[0].arguments
        self._emitter.bind(index, at)
        self._emitter.bind(carried, combine.identity(self._combine, carried.type))
        (term,) = self._emitter.block(self._inner, len(self._emitter.mapping.roles))
        return term


def _wait() -> None:
    bindings().ir.Operation.create("gpu.barrier")


def _greater(left: Any, right: Any) -> Any:
    return code.operation("arith.maxui", left.type, left, right)
