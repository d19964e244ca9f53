"""Loops over stored entries as rows of lanes: which of their values vectors hold, and which are numbers."""

from __future__ import annotations

from collections.abc import Collection

from mlir_sparse._mlir import ir
from mlir_sparse.loops.accumulations import Accumulation
from mlir_sparse.loops.effects import (
    MemoryAccess,
    computes_lanes,
    computes_pairs,
    counts,
    fits_lanes,
    is_complex,
    is_contiguous,
    is_truth,
    lane_bits,
    loads_in,
)
from mlir_sparse.loops.model import ForLoop
from mlir_sparse.loops.model_accesses import StreamAccess
from mlir_sparse.loops.remarks import Missed, type_name
from mlir_sparse.strategies.row_lanes import LaneRow

__all__ = ["lane_row"]


def lane_row(
    loop: ForLoop, accumulated: Accumulation, kind: ir.Type, besides: Collection[ir.Operation] = ()
) -> LaneRow | Missed:
    """Returns a loop over stored entries as a row, or why it is none.

    Args:
        loop: the loop, whose step is 1.
        accumulated: what it accumulates, and how.
        kind: the type of that.
        besides: operations that are written otherwise, as where it is loaded and stored.
    """
    return _Reader(loop, (*accumulated.operations, *besides)).row(accumulated, kind)


class _Reader:
    """Sorts the values of a loop by how they differ from entry to entry."""

    def __init__(self, loop: ForLoop, besides: Collection[ir.Operation]) -> None:
        self.loop = loop
        self.body = [op for op in loop.body if op not in besides]
        self.loads = {load.op: load for load in loads_in(self.body)}
        self.streams: dict[ir.Value, None] = {}
        self.values: set[ir.Value] = set()
        self.numbers: set[ir.Value] = {loop.index}
        self.addresses = self._addresses()

    def row(self, accumulated: Accumulation, kind: ir.Type) -> LaneRow | Missed:
        """Returns the loop as a row, or why it is none."""
        for op in self.body:
            if not self._takes(op):
                return Missed(self._reason(op))
        row, term = LaneRow(self.loop, tuple(self.streams), frozenset(self.values), accumulated), accumulated.term
        if term in self.values and (term.type == kind or is_truth(term.type)) and self.streams:
            return row
        return Missed("what it adds up is the same for all entries, or of another type")

    def _reason(self, op: ir.Operation) -> str:
        """Returns why vectors of entries do not do what an operation does."""
        if op in self.loads:
            return "it looks up elements by what was computed, or reads entries that do not lie side by side"
        first, *_ = op.operands
        return f"vectors of entries have no {op.name} of {type_name(first.type)}"

    def _takes(self, op: ir.Operation) -> bool:
        varies = [operand in self.values or operand in self.numbers for operand in op.operands]
        if not any(varies) or len(op.results) != 1:
            return False  # what is the same for all entries was moved out of the loop
        result = op.results[0]
        if op in self.loads:
            return self._takes_load(self.loads[op])
        if result in self.addresses:
            self.numbers.add(result)
            return counts(op)
        self.values.add(result)
        if any(operand in self.numbers for operand in op.operands):
            return False
        return computes_pairs(op) if is_complex(result.type) else computes_lanes(op) and fits_lanes(result.type)

    def _takes_load(self, load: MemoryAccess) -> bool:
        result = load.op.result
        if self.loop.index in load.at:
            side_by_side = result in self.addresses or is_contiguous(load.buffer)
            if StreamAccess.of(load.op, self.loop) is None or not side_by_side:
                return False
            self.streams[load.buffer] = None
        (self.numbers if result in self.addresses else self.values).add(result)
        return result in self.addresses or lane_bits(result.type) > 0

    def _addresses(self) -> set[ir.Value]:
        """Returns what the body computes and reads its elements by: a number for each entry, and no vector."""
        found = {at for load in self.loads.values() for at in load.at}
        for op in reversed(self.body):
            if any(result in found for result in op.results):
                found.update(op.operands)
        return found
