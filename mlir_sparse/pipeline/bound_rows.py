"""Bounds loops over rows by the extent of the result.

Below diagonals or slots the number of rows is also the stride of these, which a chunk of a call must keep. So a chunk
is called with a part of the result, whose extent bounds the loops over rows.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import may_alias, root_of
from mlir_sparse.loops.facts_in_ir import facts_of
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.loops.value_origins import is_constant, is_inside, parent_of

__all__ = ["bound_rows"]


def bound_rows(seen: Seen, _: Mapping[str, str]) -> bool:
    """Bounds the loops over rows of results that are cut.

    Args:
        seen: a module after bufferization; rewritten in place.

    Returns:
        whether it changed anything.

    Raises:
        ValueError: for a function whose result is not written by rows: its chunks would write out of bounds.
    """
    cut = [(function, axis) for function, _ in seen.functions if (axis := facts_of(function).rows) is not None]
    for function, axis in cut:
        _bound(function, axis)
    return bool(cut)


def _bound(function: ir.Operation, axis: int) -> None:
    *_, result = function.regions[0].blocks[0].arguments
    stores: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "memref.store":
            root = root_of(op.operands[1])
            if root is None:
                raise ValueError(f"expected to know where loops write, but got {op}")
            if root == result:
                stores.append(op)
        elif op.name.startswith("vector.") and any(may_alias(v, result) for v in op.operands if _is_buffer(v)):
            raise ValueError(f"expected no vectors before rows end with the result, but got {op}")
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    loops: list[ir.Operation] = []
    for store in stores:
        loop = _loop_of(list(store.operands)[2 + axis])
        if loop is None:
            raise ValueError(f"expected rows of the result along axis {axis} in a loop of their own, but got {store}")
        if loop not in loops:
            loops.append(loop)
    # Compute bounds outside of all loops: tiling needs loop-invariant bounds.
    ends: list[tuple[ir.Operation, ir.Value, ir.Value]] = []
    for loop in loops:
        upper, place = loop.operands[1], _outermost(loop)
        known = [end for there, bound, end in ends if there == place and bound == upper]
        if not known:
            with ir.InsertionPoint(place):
                size = build.operation("memref.dim", build.index_type(), result, build.constant(axis))
                known = [build.minimum(upper, size)]
            ends.append((place, upper, known[0]))
        loop.operands[1] = known[0]


def _outermost(loop: ir.Operation) -> ir.Operation:
    """Returns the outermost loop around one where that one's bound is known."""
    upper = loop.operands[1]
    place = loop
    while parent_of(place).name != "func.func" and not is_inside(upper, parent_of(place)):
        place = parent_of(place)
    return place


def _is_buffer(value: ir.Value) -> bool:
    return isinstance(value.type, ir.MemRefType)


def _loop_of(value: ir.Value) -> ir.Operation | None:
    """Returns the loop over all rows with this induction variable; None for other values."""
    if not isinstance(value.owner, ir.Block):
        return None
    loop = value.owner.owner.operation
    plain = loop.name == "scf.for" and ir.BlockArgument(value).arg_number == 0
    return loop if plain and is_constant(loop.operands[0], 0) and is_constant(loop.operands[2], 1) else None
