"""Loops over stored rows that ask for the rows that entries ahead will name.

In `C(i,j) = A(i,k) * B(k,j)` each entry of A names a row of B, and the rows of consecutive entries lie anywhere. A
processor waits for the positions of the row, then for its coordinates and values; asked for a few entries ahead, they
are there when their iteration comes.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import loads_in
from mlir_sparse.loops.emit_prefetch import PrefetchDistances, later_coordinate, prefetch
from mlir_sparse.loops.model import ForLoop
from mlir_sparse.loops.model_accesses import NamedRow
from mlir_sparse.loops.operation_index import Nest
from mlir_sparse.loops.regions import operations_within
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.strategy import Strategy

__all__ = ["PREFETCH_ROWS"]


def _candidates(nest: Nest) -> Sequence[ForLoop]:
    return nest.for_loops


def _applies(loop: ForLoop, nest: Nest) -> NamedRow | Missed | None:
    row = NamedRow.of(loop)
    if row is not None and not row.is_of_entry:
        return Missed("the entry that names its row is not one of the loop right around it")
    if row is not None and not PrefetchDistances.of(nest.options).rows:
        return Missed("rows come no sooner where they are asked for, by the machine's profile")
    return row


def _rewrite(row: NamedRow, nest: Nest) -> None:
    distance = PrefetchDistances.of(nest.options).rows
    loads, starts = loads_in(operations_within(row.loop.op)), row.begin.buffer
    streams = dict.fromkeys(load.buffer for load in loads if load.at == (row.loop.index,))
    with ir.InsertionPoint(row.coordinate.op):
        prefetch(starts, [later_coordinate(row.coordinate, 2 * distance)])
        # What lies beyond the last entry, or between rows that have room left, need not be coordinates.
        last = build.subtract(build.size_of(starts), build.constant(1))
        begin = build.widened(build.load(starts, build.minimum(later_coordinate(row.coordinate, distance), last)))
        for buffer in streams:
            prefetch(buffer, [begin])


PREFETCH_ROWS = Strategy("prefetch-rows", _candidates, _applies, _rewrite)
"""Lets loops over entries ask for the rows that later entries name."""
