"""Rows that start from what the result would be filled with, in the loop that adds to them.

An accumulation finds its result filled: by the identity, or by addends that are dense. Where
one loop goes through the elements in order, reads each once, before what adds to it, and
stores it once, the element's first value can be made there: the result is written once and
never read. Where loops come to some elements alone, each once at most, it is filled and never
read: one miss of the cache an element less (fibres of one entry, in a result that caches do not
hold: half of the time).
"""

from __future__ import annotations

from collections.abc import Iterator

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops.array_fills import ArrayFill
from mlir_sparse.loops.effects import MemoryAccess, loads_in, stores_in, writes_nothing
from mlir_sparse.loops.emit_copies import replace
from mlir_sparse.loops.model import ForLoop, WhileLoop, loop_of
from mlir_sparse.loops.operation_index import Nest
from mlir_sparse.loops.regions import following, operations_in, users_in
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.strategy import Strategy
from mlir_sparse.loops.value_origins import parent_of
from mlir_sparse.program.loop_form import LoopForm

__all__ = ["FUSE_FILL"]


@dataclass(frozen=True, slots=True)
class _FilledRow:
    """A loop that reads and writes elements of a filled array, each once.

    Args:
        fill: what fills the array.
        loop: the loop.
        load: the only load of the array in it; None where there is none.
        whole: whether the array is a vector, and the loop goes through all of its elements, at its index.
    """

    fill: ArrayFill
    loop: ForLoop
    load: MemoryAccess | None
    whole: bool = True


def _candidates(nest: Nest) -> Iterator[ArrayFill]:
    for op in nest.named("linalg.generic"):
        fill = ArrayFill.of(op) if parent_of(op).name == "func.func" else None
        if fill is not None:
            yield fill


def _applies(fill: ArrayFill, nest: Nest) -> _FilledRow | Missed | None:
    """Returns the loop after a fill that stores each element once, read before if at all, or why there is none.

    Returns None where nothing adds to what is filled.
    """
    later = operations_in(parent_of(fill.op))
    for op in later[later.index(fill.op) + 1 :]:
        loop = loop_of(op)
        if isinstance(loop, ForLoop) and users_in(fill.result, op):
            return (_element_of(fill, loop) if nest.facts.once else None) or _row_of(fill, loop)
        if isinstance(loop, WhileLoop):
            return Missed("its elements are added to in the order of stored entries, not row by row")
        if op.name != "func.return" and (fill.result in list(op.operands) or not writes_nothing(op)):
            return Missed("the result is used, or other memory written, before the loops that add to it")
    return None


def _element_of(fill: ArrayFill, loop: ForLoop) -> _FilledRow | None:
    """Returns a loop in which elements that it comes to once are read; None where they are not, or all are come to."""
    uses = users_in(fill.result, loop.op)
    if [op.name for op in uses] != ["memref.load", "memref.store"] or not fill.is_constant:
        return None
    (load,), (store,) = loads_in(uses), stores_in(uses)
    apart = load.address == store.address and load.op.parent == store.op.parent
    is_vector = len(store.at) == 1 and loop.form is LoopForm.DENSE
    return _FilledRow(fill, loop, load, whole=False) if apart and not is_vector else None


def _row_of(fill: ArrayFill, loop: ForLoop) -> _FilledRow | Missed:
    if loop.results or loop.form is not LoopForm.DENSE:
        return Missed("the loop that adds to the result does not go through all of its rows")
    uses = users_in(fill.result, loop.op)
    # Where the sparsifier knows what a reduction starts from, it reads nothing.
    if [op.name for op in uses] not in (["memref.load", "memref.store"], ["memref.store"]):
        return Missed("an element of the result is read or written at several places in the loops")
    loads, (store,) = loads_in(uses), stores_in(uses)
    if len(store.at) > 1:
        return Missed("its result is no vector: register-tile sees to what rows of a matrix start from")
    if any(one.op.parent != loop.op or one.address != (fill.result, loop.index) for one in (*loads, store)):
        return Missed("its loop adds to an element in several iterations, or to none in some")
    if not all(op == store.op or writes_nothing(op) for op in loop.body):
        return Missed("the loop writes other memory besides the result")
    return _FilledRow(fill, loop, loads[0] if loads else None)


def _rewrite(row: _FilledRow, _: Nest) -> None:
    """Makes the first value of an element where it was loaded, and of those behind the loop after it."""
    fill, loop = row.fill, row.loop
    if row.load is not None:
        with ir.InsertionPoint(row.load.op):
            first = fill.value([loop.index])
        replace(row.load.op, [first])
    if not row.whole:
        return
    with ir.InsertionPoint(following(loop.op)):
        # The loop is as long as a level of an operand. The runtime sees to it that the result is so too; here it shows.
        fill.store(loop.upper)
    fill.erase()


FUSE_FILL = Strategy("fuse-fill", _candidates, _applies, _rewrite, lambda row: row.loop.op)
"""Moves what fills a vector into the loop that goes through it."""
