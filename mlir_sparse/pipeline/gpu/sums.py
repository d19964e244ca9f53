"""Sums that threads share: lanes of a group exchange what they hold, and rows what a warp does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mlir_sparse.pipeline.assembly import code
from mlir_sparse.pipeline.gpu import combine
from mlir_sparse.pipeline.gpu.kernel import WARP
from mlir_sparse.pipeline.gpu.refusal import UnmappedError
from mlir_sparse.pipeline.gpu.steps import strided

if TYPE_CHECKING:
    from mlir_sparse.pipeline.gpu.emit import Emitter

__all__ = ["write_lanes", "write_rows"]


def write_lanes(emitter: Emitter, op: Any, depth: int) -> list[Any]:
    """Writes a sum whose terms the lanes of a group share; each of them has the whole sum then."""
    lanes, lane = emitter.mapping.lanes, emitter.kernel.identity("thread_id", "x")
    lower, upper, start = _bounds(emitter, op)
    own = [combine.identity(emitter.mapping.combine, start.type)]
    (part,) = strided(
        code.add(lower, lane), upper, code.constant(lanes), own, lambda at, one: emitter.turn(op, at, [one], depth)
    )
    whole = combine.over_lanes(emitter.mapping.combine, part, _halves(lanes // 2, 1))
    emitter.guard(code.compare("eq", lane, code.constant(0)))
    return [combine.combined(emitter.mapping.combine, start, whole)]


def _bounds(emitter: Emitter, op: Any) -> tuple[Any, Any, Any]:
    """Returns the bounds of a loop that sums up, and what it starts from."""
    if len(op.results) != 1:
        raise UnmappedError(f"expected a loop that hands on one value, but got {len(op.results)}")
    lower, upper, _, start = op.operands
    return emitter.value(lower), emitter.value(upper), emitter.value(start)


def write_rows(emitter: Emitter, op: Any, depth: int) -> list[Any]:
    """Writes a loop whose turns go to rows of threads, in steps of the whole grid."""
    kernel = emitter.kernel
    carried = [combine.identity(emitter.mapping.combine, result.type) for result in op.results]

    def apart(at: Any, *held: Any) -> list[Any]:
        return emitter.turn(op, at, held, depth)

    def together(base: Any, *held: Any) -> list[Any]:
        emitter.rows_of_block = op, base
        at = code.add(base, kernel.identity("thread_id", "y"))
        inside_ = code.compare("ult", at, upper)
        last = code.operation("arith.subi", upper.type, upper, code.constant(1))
        made: list[Any] = []
        emitter.within(inside_, lambda: made.extend(emitter.turn(op, code.minimum(at, last), held, depth)))
        return [code.operation("arith.select", m.type, inside_, m, h) for m, h in zip(made, held, strict=True)]

    first, upper, step = emitter.steps(op, "rows")
    if emitter.mapping.shares:
        first = code.operation("arith.subi", first.type, first, kernel.identity("thread_id", "y"))
    sums = strided(first, upper, step, carried, together if emitter.mapping.shares else apart)
    return _summed(emitter, op, sums)


def _summed(emitter: Emitter, op: Any, sums: Sequence[Any]) -> list[Any]:
    """Combines what the threads of a warp hold, each of its own rows; one of them stores."""
    if not sums:
        return []
    (_, _, start), (part,) = _bounds(emitter, op), sums
    lowest = emitter.mapping.lanes if emitter.mapping.shares else 1
    whole = combine.over_lanes(emitter.mapping.combine, part, _halves(WARP // 2, lowest))
    emitter.guard(code.compare("eq", emitter.kernel.lane(), code.constant(0)))
    return [combine.combined(emitter.mapping.combine, start, whole)]


def _halves(first: int, last: int) -> tuple[int, ...]:
    """Returns powers of two from the first down to the last."""
    found: list[int] = []
    while first >= last:
        found.append(first)
        first //= 2
    return tuple(found)
