"""Slots that hold one coordinate or none: read as such, instead of as lists with a begin and an end each.

The sparsifier has no level of one coordinate a parent below a dense one, as ELL, hash
tables and the like store. In its stead it is given lists, whose positions are made for it:
the n-th list begins at n, and has an entry unless the coordinate there is negative. To
read these costs as much as the values. Here the coordinate says itself whether it is one.
"""

from __future__ import annotations

from collections.abc import Iterable

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import MemoryAccess, access_of, is_pure, root_of
from mlir_sparse.loops.emit_copies import copy_body, replace
from mlir_sparse.loops.model import ForLoop
from mlir_sparse.loops.model_accesses import Segment, StreamAccess
from mlir_sparse.loops.operation_index import Nest
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.strategy import Strategy
from mlir_sparse.loops.value_origins import is_constant, made_by, maker, outermost

__all__ = ["READ_SLOTS"]


@dataclass(frozen=True, slots=True)
class _Slot:
    """A loop over the one entry that there may be.

    Args:
        loop: the loop.
        parent: which list it is of.
        positions: the made positions.
        coordinates: the loads of the coordinate in its body.
    """

    loop: ForLoop
    parent: ir.Value
    positions: ir.Value
    coordinates: tuple[MemoryAccess, ...]


def _candidates(nest: Nest) -> Iterable[ForLoop]:
    return nest.for_loops if nest.facts.slots else ()


def _applies(loop: ForLoop, nest: Nest) -> _Slot | Missed | None:
    """Returns a loop over a slot as that, or why it stays one; None for any other."""
    segment = Segment.of(loop) if loop.step == 1 else None
    parent = None if segment is None else _doubled(segment.parent)
    list_ = None if segment is None else _coordinates_of(segment.positions, nest)
    if segment is None or parent is None or list_ is None:
        return None
    streams = [stream.access for stream in StreamAccess.all_of(loop)]
    coordinates = tuple(load for load in streams if load.value is None and root_of(load.buffer) == list_)
    if not coordinates:
        return Missed("it does not read the coordinate of its slot")
    if not all(is_pure(op) or access_of(op) is not None for op in loop.body):
        return Missed("loops or branches are inside")
    return _Slot(loop, parent, segment.positions, coordinates)


def _doubled(value: ir.Value) -> ir.Value | None:
    """Returns what a number is twice of."""
    op = made_by(value, "arith.muli")
    if op is None:
        return None
    number, factor = op.operands
    return number if is_constant(factor, 2) else None


def _coordinates_of(positions: ir.Value, nest: Nest) -> ir.Value | None:
    """Returns the argument that follows made positions; None for a buffer that is something else."""
    root = root_of(positions)
    if root is None or maker(root) is not None:
        return None
    number = ir.BlockArgument(root).arg_number
    return nest.arguments[number + 1] if number in nest.facts.slots else None


def _rewrite(slot: _Slot, _: Nest) -> None:
    """Puts a branch in place of a loop."""
    loop = slot.loop
    starts, kinds = loop.starts, [result.type for result in loop.results]
    first = _first_position(slot)
    with ir.InsertionPoint(loop.op):
        at = build.add(slot.parent, first)
        coordinate = build.load(slot.coordinates[0].buffer, at)
        is_one = build.compare("sge", coordinate, build.integer(0, coordinate.type))
        known: dict[ir.Value, ir.Value] = {loop.index: at, **dict(zip(loop.carried, starts, strict=True))}
        loads = [load.op for load in slot.coordinates]
        known.update((load.result, coordinate) for load in loads)
        ends = build.branch(
            is_one, lambda: copy_body(loop.op, known, loads), (lambda: starts) if starts else None, kinds
        )
    bounds = [maker(value) for value in loop.bounds]
    replace(loop.op, ends)
    for bound in bounds:
        _erase_unused(bound)


def _erase_unused(op: ir.Operation | None) -> None:
    """Erases what reads a position, and what made its number, where nothing else takes it."""
    if op is None or op.name == "arith.muli" or list(op.result.uses):
        return
    load = access_of(op)
    number, *_ = op.operands if load is None else load.at
    above = maker(number)
    op.erase()
    _erase_unused(above)


def _first_position(slot: _Slot) -> ir.Value:
    """Writes, before all loops, where the first list begins: a piece of a call has the lists from there on."""
    with ir.InsertionPoint(outermost(slot.loop.op)):
        zero = build.constant(0)
        length = build.operation("memref.dim", build.index_type(), slot.positions, zero)
        return build.branch(
            build.compare("ugt", length, zero),
            lambda: [build.widened(build.load(slot.positions, zero))],
            lambda: [zero],
            [build.index_type()],
        )[0]


READ_SLOTS = Strategy("read-slots", _candidates, _applies, _rewrite)
"""Replaces loops over slots by branches, where no other loops are in them."""
