"""Entries of large results that are written past the caches.

A line of memory is read before a part of it is written, in case the rest stays. Entries of a result fill each line from
one end to the other, and where the result is larger than the caches close to the processor, nobody finds it there
later: stores that are not temporal do without the reading. Sums of matrices with such results take 0.65 to 0.75 of the
time (5-point grid, finite elements, uniform columns); where branches that nothing foresees take the time, within a few
hundredths the same (power law, circuit). What is small stays in the caches for whoever reads it next: a choice at each
store would cost as much as is won, so the nest is written twice.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.emit_copies import replace
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.loops.regions import operations_within
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.value_origins import maker, parent_of

__all__ = ["nontemporal_stores"]

# Results with room for more entries are large: some megabytes. Pieces that are copied later have no more room.
_FEW = 1 << 19
# A nest is written twice; in one of this size it is not its stores that take the time.
_MOST_OPERATIONS = 160
_MARK = "appends"


def nontemporal_stores(seen: Seen, _: Mapping[str, str]) -> bool:
    """Writes nests that merge operands of a matrix once more, for results that are large.

    Args:
        seen: a module after bufferization; rewritten in place.

    Returns:
        whether it changed anything.
    """
    changed = False
    for _function, inside in seen.functions if seen.whole.named("scf.while") else ():
        appending = {op: room for op in inside.named("memref.store") if (room := _room_of(op)) is not None}
        if not appending:
            continue
        found = _appending_nest(appending)
        nest = seen.remarks.of(next(iter(appending)) if isinstance(found, Missed) else found, found)
        if nest is not None:
            _divide(nest, next(iter(appending.values())), list(appending))
            changed = True
    return changed


def _appending_nest(appending: Mapping[ir.Operation, ir.Value]) -> ir.Operation | Missed:
    """Returns the nest that appends all entries of a result and merges operands, or why it is not written twice.

    Args:
        appending: the stores, each with how many entries there is room for.
    """
    rooms, nests = set(appending.values()), {_nest_of(op) for op in appending}
    # Results with several lists of coordinates were no faster: lines of too many arrays are written at a time.
    if len(rooms) != 1 or len(nests) != 1:
        return Missed("the result has several lists of coordinates, or several nests write it")
    (nest,) = nests
    operations = operations_within(nest)
    if not any(op.name == "scf.while" for op in operations):
        return Missed("no operands are merged: writing is not what takes the time")
    if len(operations) > _MOST_OPERATIONS:
        return Missed(f"more than {_MOST_OPERATIONS} operations: writing is not what takes the time")
    return nest


def _room_of(op: ir.Operation) -> ir.Value | None:
    """Returns how many entries there is room for, of a store in a loop that writes one behind the others; else None."""
    if op.name != "memref.store" or len(op.operands) != 3 or parent_of(op).name == "func.func":
        return None
    least = maker(op.operands[2])
    if least is None or least.name != "arith.minui":
        return None
    room = maker(least.operands[1])
    held = room is not None and room.name == "memref.load" and parent_of(room).name == "func.func"
    return least.operands[1] if held else None


def _nest_of(op: ir.Operation) -> ir.Operation:
    while parent_of(op).name != "func.func":
        op = parent_of(op)
    return op


def _divide(nest: ir.Operation, room: ir.Value, appending: list[ir.Operation]) -> None:
    """Writes a nest for large results and for others."""
    for op in appending:
        op.attributes[_MARK] = ir.UnitAttr.get()
    with ir.InsertionPoint(nest):
        large = build.compare("ugt", room, build.constant(_FEW))
        kinds = [result.type for result in nest.results]
        results = build.branch(large, lambda: _copy(nest, large=True), lambda: _copy(nest, large=False), kinds)
    replace(nest, results)


def _copy(nest: ir.Operation, *, large: bool) -> list[ir.Value]:
    """Copies a nest to the insertion point; returns its results."""
    copied = nest.clone(ir.InsertionPoint.current).operation
    for op in operations_within(copied):
        if _MARK in op.attributes:
            del op.attributes[_MARK]
            if large:
                op.attributes["nontemporal"] = ir.BoolAttr.get(True)
    return list(copied.results)
