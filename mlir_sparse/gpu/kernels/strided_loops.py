"""Loops with steps, as threads make them: each begins at its own place, and goes on by the number of threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mlir_sparse._mlir import ir
from mlir_sparse.gpu.loop_roles import LoopRole
from mlir_sparse.gpu.unmapped_error import UnmappedError
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.model import ForLoop
from mlir_sparse.loops.regions import operations_of
from mlir_sparse.loops.value_origins import result_maker

if TYPE_CHECKING:
    from mlir_sparse.gpu.write_loops import Emitter

__all__ = ["ROLES", "divided", "steps", "strided", "unrolled"]

# Along which axis of the grid blocks take turns, and along which of a block threads do.
_AXES = {"rows": ("x", "y"), "columns": ("y", "x")}


def divided(emitter: Emitter, op: ir.Operation, depth: int) -> list[ir.Value]:
    """Writes a loop each of whose iterations is one thread's, or one block's, and yields nothing."""
    role, loop = emitter.mapping.role(depth), ForLoop(op)
    if loop.results:
        raise UnmappedError(f"expected iterations that yield nothing, for {role}")
    strided(*steps(emitter, loop, role), (), lambda at: emitter.iteration(loop, at, (), depth))
    return []


def steps(emitter: Emitter, loop: ForLoop, role: str) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Returns where a thread's iterations of a loop begin, where the loop ends, and how far it is to the next."""
    kernel = emitter.kernel
    lower, upper = map(emitter.value, loop.bounds)
    match role:
        case "rows" | "columns":
            blocks, threads = _AXES[role]
            size = kernel.identity("block_dim", threads)
            begin = build.multiply(kernel.identity("block_id", blocks), size)
            first = build.add(begin, kernel.identity("thread_id", threads))
            step = build.multiply(kernel.identity("grid_dim", blocks), size)
        case "layers":
            first, step = kernel.identity("block_id", "z"), kernel.identity("grid_dim", "z")
        case "spread":
            first, step = kernel.identity("thread_id", "x"), build.constant(emitter.mapping.lanes)
        case "serial":
            return lower, upper, build.constant(1)
        case _:
            raise UnmappedError(f"expected iterations that are a thread's each, but got {role}")
    return build.add(lower, first), upper, step


# Blocks along z, lanes of a row that share nothing, and one thread for all iterations.
ROLES = {
    "layers": LoopRole(divided, grid="z"),
    "spread": LoopRole(divided),
    "serial": LoopRole(lambda emitter, op, depth: emitter.rebuilt(op, depth + 1), divides=False),
}


def strided(
    lower: ir.Value, upper: ir.Value, step: ir.Value, start: Sequence[ir.Value], body: Callable[..., Sequence[ir.Value]]
) -> list[ir.Value]:
    """Writes an `scf.for` with a step; the body takes the index and the carried values, and returns those."""
    return build.loop(upper, start, body, lower, step)


def unrolled(
    lower: ir.Value, upper: ir.Value, start: Sequence[ir.Value], body: Callable[..., Sequence[ir.Value]], together: int
) -> list[ir.Value]:
    """Writes an `scf.for` that makes some iterations at a time, and those left over, if any, at once as well.

    All of them load first, and compute then, so that what they load is on its way at the same time. Left over are
    fewer: those that are too many repeat the last one, and what they yield does not count.

    Args:
        lower: where it begins.
        upper: where it ends, not before.
        start: what the first iteration is handed.
        body: takes the index and what the iteration before yielded, and returns what this one does; it stores nothing.
        together: how many at a time, a power of two.
    """
    count = build.subtract(upper, lower)
    whole = build.add(lower, build.bits_of("andi", count, build.constant(-together)))

    def some(at: ir.Value, *before: ir.Value) -> Sequence[ir.Value]:
        carried: Sequence[ir.Value] = before
        for number in range(together):
            carried = body(build.add(at, build.constant(number)), *carried)
        _load_first()
        return carried

    made = strided(lower, whole, build.constant(together), start, some)
    build.keep_rolled(result_maker(made[0]))
    left = build.compare("ult", whole, upper)
    kinds = [value.type for value in made]
    return build.branch(left, lambda: _left_over(whole, upper, made, body, together - 1), lambda: made, kinds)


def _left_over(
    lower: ir.Value, upper: ir.Value, start: Sequence[ir.Value], body: Callable[..., Sequence[ir.Value]], most: int
) -> list[ir.Value]:
    """Writes iterations of which the first is there, and returns what the last one yields that is."""
    last = build.subtract(upper, build.constant(1))
    carried = list(body(lower, *start))
    for number in range(1, most):
        at = build.add(lower, build.constant(number))
        counts = build.compare("ult", at, upper)
        handed = body(build.minimum(at, last), *carried)
        pairs = zip(handed, carried, strict=True)
        carried = [build.select(counts, new, old) for new, old in pairs]
    _load_first()
    return carried


def _load_first() -> None:
    """Moves what is loaded to the front of the block that is written, and before it what tells from where.

    First what needs nothing that was loaded, then what needs that, and so on; the rest follows in its order. Assembly
    for a GPU is scheduled for few registers, and would otherwise wait for each load before it makes the next.
    """
    ops = operations_of(ir.InsertionPoint.current.block)
    made = {result: number for number, op in enumerate(ops) for result in op.results}
    needed = [[made[operand] for operand in op.operands if operand in made] for op in ops]
    loads = [op.name == "memref.load" for op in ops]
    rounds: list[int] = []
    for needs in needed:
        rounds.append(max((rounds[number] + loads[number] for number in needs), default=0))
    early = list(loads)
    for number in reversed(range(len(ops))):
        for need in needed[number]:
            early[need] |= early[number]
    order = sorted(range(len(ops)), key=lambda number: (not early[number], rounds[number] if early[number] else 0))
    last = ops[-1]
    for number in order:
        if ops[number] != last:
            ops[number].move_after(last)
        last = ops[number]
