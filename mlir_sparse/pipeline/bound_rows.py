"""Bounds loops over rows by the extent of the result.

Below diagonals or slots the number of rows is also the stride of these, which a chunk of a call must keep. So a chunk
is called with a part of the result, whose extent bounds the loops over rows.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import MemoryAccess, may_alias, root_of, stores_in
from mlir_sparse.loops.model import ForLoop
from mlir_sparse.loops.operation_index import Nest, Seen
from mlir_sparse.loops.value_origins import outermost
from mlir_sparse.program.loop_form import LoopForm

__all__ = ["bound_rows"]


def bound_rows(seen: Seen, options: Mapping[str, str]) -> bool:
    """Bounds the loops over rows of results that are cut.

    Args:
        seen: a module after bufferization; rewritten in place.
        options: those of the pass: none.

    Returns:
        whether it changed anything.

    Raises:
        ValueError: for a function whose result is not written by rows: its chunks would write out of bounds.
    """
    cut = [(nest, axis) for nest in seen.nests(options) if (axis := nest.facts.rows) is not None]
    for nest, axis in cut:
        _bound(nest, axis)
    return bool(cut)


def _bound(nest: Nest, axis: int) -> None:
    *_, result = nest.arguments
    # Compute bounds outside of all loops: tiling needs loop-invariant bounds.
    ends: dict[tuple[ir.Operation, ir.Value], ir.Value] = {}
    for loop in dict.fromkeys(_loop_over_rows(store, axis) for store in _stores_to(result, nest)):
        place = outermost(loop.op, loop.upper), loop.upper
        if place not in ends:
            with ir.InsertionPoint(place[0]):
                size = build.operation("memref.dim", build.index_type(), result, build.constant(axis))
                ends[place] = build.minimum(loop.upper, size)
        loop.set_limits((loop.lower, ends[place]))


def _stores_to(result: ir.Value, nest: Nest) -> list[MemoryAccess]:
    """Returns the stores to the result of a function."""
    stores = stores_in(nest.named("memref.store"))
    for store in stores:
        if root_of(store.buffer) is None:
            raise ValueError(f"expected to know where loops write, but got {store.op}")
    for op in (op for name, ops in nest.by_name.items() if name.startswith("vector.") for op in ops):
        if any(isinstance(value.type, ir.MemRefType) and may_alias(value, result) for value in op.operands):
            raise ValueError(f"expected no vectors before rows end with the result, but got {op}")
    return [store for store in stores if root_of(store.buffer) == result]


def _loop_over_rows(store: MemoryAccess, axis: int) -> ForLoop:
    """Returns the loop over all rows whose index says which row is stored to."""
    loop = ForLoop.of_index(store.at[axis])
    if loop is None or loop.form is not LoopForm.DENSE:
        raise ValueError(f"expected rows of the result along axis {axis} in a loop of their own, but got {store.op}")
    return loop
