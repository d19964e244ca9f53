"""Rows of a sparse result whose coordinates may be in any order: each stands where it was met first.

Values are summed in the workspace, where a bit says that a coordinate has an entry; the coordinate itself goes to its
place in the result at once. After the row its values follow, and the workspace is empty again: nothing is sorted, and
no level of bits above the first is kept.
"""

from __future__ import annotations

from mlir_sparse._mlir import ir
from mlir_sparse.assembly.insert_short_rows import GatheredRow
from mlir_sparse.assembly.result_arguments import Result
from mlir_sparse.assembly.row_workspace import Workspace
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import access_of
from mlir_sparse.loops.emit_copies import replace
from mlir_sparse.loops.regions import operations_within

__all__ = ["append_row"]


def append_row(row: GatheredRow, begin: ir.Value, result: Result) -> ir.Value:
    """Writes the loops so that the row comes about behind others; returns the number of entries after it.

    Args:
        row: the loops, which stay as they are.
        begin: the number of entries in the result before the row.
        result: the result, which has capacity for all entries that the row may have.
    """
    here, workspace = row.copied(begin), Workspace(result.workspace)
    coordinates, values = result.coordinates[result.rank - 1], result.values
    for flag in here.flags:
        with ir.InsertionPoint(flag.op):
            replace(flag.op, [workspace.has(here.coordinate)])
    first, *others = [op for op in operations_within(here.counts.op) if op.name == "memref.store"]
    with ir.InsertionPoint(first):
        workspace.mark(here.coordinate, ordered=False)
        build.store(build.cut(here.coordinate, build.element_of(coordinates)), coordinates, here.count)
    for store in (first, *others):
        assert access_of(store) is not None
        store.erase()
    end = here.outer.op.results[0]

    def finish(place: ir.Value) -> None:
        at = build.widened(build.load(coordinates, place))
        build.store(workspace.taken_with_word(at), values, place)

    build.loop(end, [], finish, begin)
    return end
