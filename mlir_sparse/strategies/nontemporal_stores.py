"""Entries of large results that are written past the caches.

A line of memory is read before a part of it is written, in case the rest stays. Entries of a result fill each line from
one end to the other, and where the result is larger than the caches close to the processor, nobody finds it there
later: stores that are not temporal do without the reading. Sums of matrices with such results take 0.65 to 0.75 of the
time (5-point grid, finite elements, uniform columns); where branches that nothing foresees take the time, within a few
hundredths the same (power law, circuit). What is small stays in the caches for whoever reads it next: a choice at each
store would cost as much as is won, so the nest is written twice.

x86 stores integers past the caches one by one, floats only with SSE4A, AMD's. What LLVM holds as an integer, as a sign
that is flipped, would be stored so without it, and its neighbours in a line not: each such store throws the line out of
the caches that the next one needs. Differences of matrices took 12 times as long as sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import MemoryAccess, stores_in
from mlir_sparse.loops.emit_copies import replace
from mlir_sparse.loops.model_branches import Lesser
from mlir_sparse.loops.operation_index import Nest
from mlir_sparse.loops.regions import operations_within
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.strategy import Strategy
from mlir_sparse.loops.value_origins import made_by, outermost, parent_of

__all__ = ["NONTEMPORAL_STORES"]

# Results with capacity for more entries are large, where no option says another number. Chunks that are copied later
# have no more.
_FEW = 1 << 19
# A nest is written twice; in one of this size it is not its stores that take the time.
_MOST_OPERATIONS = 160
_MARK = "appends"


@dataclass(frozen=True, slots=True)
class _Appending:
    """A loop nest that appends all entries of a result and merges operands.

    Args:
        op: the outermost loop.
        stores: where it appends.
        capacity: how many entries the result takes.
    """

    op: ir.Operation
    stores: Sequence[ir.Operation]
    capacity: ir.Value


def _candidates(nest: Nest) -> Sequence[ir.Operation]:
    """Returns the first of the stores that append entries, in a function that merges operands."""
    return list(_appending_stores(nest))[:1] if nest.while_loops else ()


def _appending_stores(nest: Nest) -> Mapping[ir.Operation, ir.Value]:
    """Returns the stores in loops that write one entry behind the others, each with the capacity."""
    stores = stores_in(nest.named("memref.store"))
    return {store.op: found for store in stores if (found := _capacity_of(store)) is not None}


def _capacity_of(store: MemoryAccess) -> ir.Value | None:
    if len(store.at) != 1 or parent_of(store.op).name == "func.func":
        return None
    least = Lesser.of(store.at[0])
    capacity = None if least is None else made_by(least.right, "memref.load")
    return capacity.result if capacity is not None and parent_of(capacity).name == "func.func" else None


def _applies(_: ir.Operation, nest: Nest) -> _Appending | Missed:
    appending = _appending_stores(nest)
    capacities, nests = set(appending.values()), {outermost(op) for op in appending}
    # Results with several lists of coordinates were no faster: lines of too many arrays are written at a time.
    if len(capacities) != 1 or len(nests) != 1:
        return Missed("the result has several lists of coordinates, or several nests write it")
    (op,), (capacity,) = nests, capacities
    operations = operations_within(op)
    if not any(inner.name == "scf.while" for inner in operations):
        return Missed("no operands are merged: writing is not what takes the time")
    if len(operations) > _MOST_OPERATIONS:
        return Missed(f"more than {_MOST_OPERATIONS} operations: writing is not what takes the time")
    return _Appending(op, list(appending), capacity)


def _rewrite(appending: _Appending, nest: Nest) -> None:
    """Writes a nest for large results and for others."""
    few, floats = int(nest.options.get("few", _FEW)), nest.options.get("floats") == "true"
    whole = appending.op
    for op in (
        op for op in appending.stores if floats or isinstance(op.operands[0].type, ir.IntegerType | ir.IndexType)
    ):
        op.attributes[_MARK] = ir.UnitAttr.get()
    with ir.InsertionPoint(whole):
        large = build.compare("ugt", appending.capacity, build.constant(few))
        kinds = [result.type for result in whole.results]
        results = build.branch(large, lambda: _copy(whole, large=True), lambda: _copy(whole, large=False), kinds)
    replace(whole, results)


def _copy(nest: ir.Operation, *, large: bool) -> list[ir.Value]:
    """Copies a nest to the insertion point; returns its results."""
    copied = nest.clone(ir.InsertionPoint.current).operation
    for op in operations_within(copied):
        if _MARK in op.attributes:
            del op.attributes[_MARK]
            if large:
                op.attributes["nontemporal"] = ir.BoolAttr.get(True)
    return list(copied.results)


NONTEMPORAL_STORES = Strategy("nontemporal-stores", _candidates, _applies, _rewrite, lambda appending: appending.op)
"""Writes nests that merge operands of a matrix once more, for results that are large."""
