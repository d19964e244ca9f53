"""Where the entries of rows begin, and how many there are of all rows, written at the insertion point."""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.model import ForLoop, loop_of
from mlir_sparse.loops.model_accesses import begins_by

__all__ = ["beginning", "has_few_entries"]

# Rows of one entry as a rule: an eighth as many again, and which rows have more is not foreseen any more.
_MORE = 8


def beginning(row: ir.Value, positions: Sequence[ir.Value]) -> ir.Value:
    """Writes where a row begins.

    Args:
        row: its number.
        positions: buffers of positions, each of which holds a subscript of the next one.
    """
    for buffer in positions:
        row = build.widened(build.load(buffer, row))
    return row


def has_few_entries(loop: ForLoop) -> ir.Value | None:
    """Writes before all loops whether rows have one entry on average, or fewer.

    Args:
        loop: the loop over the entries of a row, for each row of a loop around it.

    Returns:
        the truth; None where rows do not lie one behind the other.
    """
    around = loop_of(loop.around)
    inner = begins_by(loop, around.index) if isinstance(around, ForLoop) else None
    if inner is None or not isinstance(around, ForLoop) or around.step != 1:
        return None
    outermost = around
    outer: tuple[ir.Value, ...] = ()
    while outermost.around.name != "func.func":
        parent = loop_of(outermost.around)
        found = begins_by(outermost, parent.index) if isinstance(parent, ForLoop) and parent.step == 1 else None
        if found is None or not isinstance(parent, ForLoop):
            return None
        outermost, outer = parent, (*found, *outer)
    with ir.InsertionPoint(outermost.op):
        first, last = (beginning(bound, outer) for bound in outermost.bounds)
        rows = build.subtract(last, first)
        entries = build.subtract(beginning(last, inner), beginning(first, inner))
        more = build.operation("arith.divui", rows.type, rows, build.constant(_MORE))
        return build.compare("ule", entries, build.add(rows, more))
