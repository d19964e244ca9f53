"""Sums that threads share: lanes of a group exchange what they hold, and rows what a warp does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mlir_sparse._mlir import ir
from mlir_sparse.gpu.kernel_writer import WARP
from mlir_sparse.gpu.kernels import combine_partials
from mlir_sparse.gpu.kernels.strided_loops import steps, strided
from mlir_sparse.gpu.loop_roles import LoopRole
from mlir_sparse.gpu.unmapped_error import UnmappedError
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.model import ForLoop

if TYPE_CHECKING:
    from mlir_sparse.gpu.write_loops import Emitter

__all__ = ["ROLES", "write_lanes", "write_rows"]


def write_lanes(emitter: Emitter, op: ir.Operation, depth: int) -> list[ir.Value]:
    """Writes a sum whose terms the lanes of a group share; each of them has the whole sum then."""
    lanes, lane = emitter.mapping.lanes, emitter.kernel.identity("thread_id", "x")
    loop = ForLoop(op)
    lower, upper, start = _bounds(emitter, loop)
    own = [combine_partials.identity(emitter.combine, start.type)]
    (part,) = strided(
        build.add(lower, lane),
        upper,
        build.constant(lanes),
        own,
        lambda at, one: emitter.iteration(loop, at, [one], depth),
    )
    whole = combine_partials.over_lanes(emitter.combine, part, _halves(lanes // 2, 1))
    emitter.guard(build.compare("eq", lane, build.constant(0)))
    return [combine_partials.combined(emitter.combine, start, whole)]


def _bounds(emitter: Emitter, loop: ForLoop) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Returns the bounds of a loop that sums up, and what it starts from."""
    if len(loop.results) != 1:
        raise UnmappedError(f"expected a loop that yields one value, but got {len(loop.results)}")
    lower, upper, start = map(emitter.value, (*loop.bounds, *loop.starts))
    return lower, upper, start


def write_rows(emitter: Emitter, op: ir.Operation, depth: int) -> list[ir.Value]:
    """Writes a loop whose iterations go to rows of threads, in steps of the whole grid."""
    kernel, loop = emitter.kernel, ForLoop(op)
    carried = [combine_partials.identity(emitter.combine, result.type) for result in loop.results]

    def apart(at: ir.Value, *carried: ir.Value) -> list[ir.Value]:
        return emitter.iteration(loop, at, carried, depth)

    def together(base: ir.Value, *carried: ir.Value) -> list[ir.Value]:
        emitter.rows_of_block = loop, base
        at = build.add(base, kernel.identity("thread_id", "y"))
        inside_ = build.compare("ult", at, upper)
        last = build.subtract(upper, build.constant(1))
        made: list[ir.Value] = []
        emitter.within(inside_, lambda: made.extend(emitter.iteration(loop, build.minimum(at, last), carried, depth)))
        return [build.select(inside_, m, h) for m, h in zip(made, carried, strict=True)]

    first, upper, step = steps(emitter, loop, "rows")
    if emitter.shares:
        first = build.subtract(first, kernel.identity("thread_id", "y"))
    sums = strided(first, upper, step, carried, together if emitter.shares else apart)
    return _summed(emitter, loop, sums)


def _summed(emitter: Emitter, loop: ForLoop, sums: Sequence[ir.Value]) -> list[ir.Value]:
    """Combines what the threads of a warp hold, each of its own rows; one of them stores."""
    if not sums:
        return []
    (_, _, start), (part,) = _bounds(emitter, loop), sums
    lowest = emitter.mapping.lanes if emitter.shares else 1
    whole = combine_partials.over_lanes(emitter.combine, part, _halves(WARP // 2, lowest))
    emitter.guard(build.compare("eq", emitter.kernel.lane(), build.constant(0)))
    return [combine_partials.combined(emitter.combine, start, whole)]


def _halves(first: int, last: int) -> tuple[int, ...]:
    """Returns powers of two from the first down to the last."""
    found: list[int] = []
    while first >= last:
        found.append(first)
        first //= 2
    return tuple(found)


ROLES = {"lanes": LoopRole(write_lanes, shares=True), "rows": LoopRole(write_rows, grid="x")}
