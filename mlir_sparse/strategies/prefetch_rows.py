"""Loops over stored rows that ask for the rows that entries ahead will name.

In `C(i,j) = A(i,k) * B(k,j)` each entry of A names a row of B, and the rows of consecutive entries lie anywhere. A
processor waits for the positions of the row, then for its coordinates and values; asked for a few entries ahead, they
are there when their turn comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.emit_prefetch import NEXT_ROWS, coordinate_load, later_coordinate, prefetch
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.loops.regions import body_of, operations_within
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.value_origins import parent_of, stored_load

__all__ = ["is_row_of_entry", "prefetch_rows"]


@dataclass(frozen=True, slots=True)
class _Row:
    """A loop over the row that an entry names.

    Args:
        loop: the `scf.for`.
        entries: the one over entries right around it.
        positions: the load of where the row begins.
        coordinate: the load of the entry's coordinate.
    """

    loop: ir.Operation
    entries: ir.Operation
    positions: ir.Operation
    coordinate: ir.Operation


def prefetch_rows(seen: Seen, _: Mapping[str, str]) -> bool:
    """Lets loops over entries ask for the rows that later entries name.

    Args:
        seen: a module after bufferization; rewritten in place.

    Returns:
        whether it changed anything.
    """
    changed = False
    for loop in seen.whole.named("scf.for"):
        found = _row_of(loop)
        row = None if found is None else seen.remarks.of(loop, found)
        if row is None:
            continue
        streams = _streams_of(row)
        with ir.InsertionPoint(row.coordinate):
            _ask(row, streams)
        changed = True
    return changed


def is_row_of_entry(loop: ir.Operation) -> bool:
    """Returns whether an `scf.for` goes through a row that an entry of another operand names."""
    return isinstance(_row_of(loop), _Row)


def _row_of(loop: ir.Operation) -> _Row | Missed | None:
    """Returns a loop over a row that a stored coordinate names, or why rows are not asked for; None for any other."""
    positions = stored_load(loop.operands[0])
    if positions is None or len(positions.operands) != 2:
        return None
    coordinate = coordinate_load(positions.operands[1])
    if coordinate is None:
        return None
    around = parent_of(loop)
    if around.name != "scf.for" or coordinate.operands[1] != body_of(around).arguments[0]:
        return Missed("the entry that names its row is not one of the loop right around it")
    return _Row(loop, around, positions, coordinate)


def _streams_of(row: _Row) -> list[ir.Value]:
    """Returns the buffers that are read at the loop's index."""
    place = body_of(row.loop).arguments[0]
    loads = [op for op in operations_within(row.loop) if op.name == "memref.load"]
    return list(dict.fromkeys(op.operands[0] for op in loads if list(op.operands)[1:] == [place]))


def _ask(row: _Row, streams: list[ir.Value]) -> None:
    starts = row.positions.operands[0]
    prefetch(starts, [later_coordinate(row.coordinate, 2 * NEXT_ROWS)])
    # What lies beyond the last entry, or between rows that have room left, need not be coordinates.
    last = build.subtract(build.size_of(starts), build.constant(1))
    begin = build.widened(build.load(starts, build.minimum(later_coordinate(row.coordinate, NEXT_ROWS), last)))
    for buffer in streams:
        prefetch(buffer, [begin])
