"""Slots that hold one coordinate or none: read as such, instead of as lists with a begin and an end each.

The sparsifier has no level of one coordinate a parent below a dense one, as ELL, hash
tables and the like store. In its stead it is given lists, whose positions are made for it:
the n-th list begins at n, and has an entry unless the coordinate there is negative. To
read these costs as much as the values. Here the coordinate says itself whether it is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import access_of, is_pure, root_of
from mlir_sparse.loops.emit_copies import copy_body, replace
from mlir_sparse.loops.facts_in_ir import facts_of
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.loops.regions import body_of, operations_in
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.value_origins import is_constant, maker, operation_around, parent_of, stored_load

__all__ = ["read_slots"]


@dataclass(frozen=True, slots=True)
class _Slot:
    """A loop over the one entry that there may be.

    Args:
        loop: the `scf.for`.
        parent: which list it is of.
        positions: the made positions.
        coordinates: the loads of the coordinate in its body.
    """

    loop: ir.Operation
    parent: ir.Value
    positions: ir.Value
    coordinates: tuple[ir.Operation, ...]


def read_slots(seen: Seen, _: Mapping[str, str]) -> bool:
    """Replaces loops over slots by branches, where no other loops are in them.

    Args:
        seen: a module after bufferization; rewritten in place.

    Returns:
        whether it changed anything.
    """
    if not any(facts_of(function).slots for function, _ in seen.functions):
        return False
    loops = [(loop, found) for loop in seen.whole.named("scf.for") if (found := _slot_of(loop)) is not None]
    slots = [slot for loop, found in loops if (slot := seen.remarks.of(loop, found)) is not None]
    for slot in slots:
        _read(slot)
    return bool(slots)


def _slot_of(loop: ir.Operation) -> _Slot | Missed | None:
    """Returns a loop over a slot as that, or why it stays one; None for any other."""
    lower, upper, step, *_ = loop.operands
    begin, end = stored_load(lower), stored_load(upper)
    if begin is None or end is None or not is_constant(step, 1):
        return None
    (positions, at), (others, after) = begin.operands, end.operands
    parent = _doubled(at)
    following = maker(after)
    if parent is None or following is None or following.name != "arith.addi" or positions != others:
        return None
    if following.operands[0] != at or not is_constant(following.operands[1], 1):
        return None
    list_ = _coordinates_of(positions)
    place, body = body_of(loop).arguments[0], operations_in(loop)
    loads = [op for op in body if op.name == "memref.load" and list(op.operands)[1:] == [place]]
    if list_ is None:
        return None
    roots = [root_of(op.operands[0]) for op in loads]
    coordinates = tuple(op for op, root in zip(loads, roots, strict=True) if root is not None and root == list_)
    if not coordinates:
        return Missed("it does not read the coordinate of its slot")
    if not all(is_pure(op) or access_of(op) is not None for op in body):
        return Missed("loops or branches are inside")
    return _Slot(loop, parent, positions, coordinates)


def _doubled(value: ir.Value) -> ir.Value | None:
    op = maker(value)
    return op.operands[0] if op is not None and op.name == "arith.muli" and is_constant(op.operands[1], 2) else None


def _coordinates_of(positions: ir.Value) -> ir.Value | None:
    """Returns the argument that follows made positions; None for a buffer that is something else."""
    root = root_of(positions)
    if root is None or maker(root) is not None:
        return None
    function = operation_around(root)
    number = ir.BlockArgument(root).arg_number
    return function.regions[0].blocks[0].arguments[number + 1] if number in facts_of(function).slots else None


def _read(slot: _Slot) -> None:
    """Puts a branch in place of a loop."""
    loop, (place, *carried) = slot.loop, list(body_of(slot.loop).arguments)
    starts, kinds = list(loop.operands)[3:], [result.type for result in loop.results]
    first = _first_position(slot)
    with ir.InsertionPoint(loop):
        at = build.add(slot.parent, first)
        coordinate = build.load(slot.coordinates[0].operands[0], at)
        is_one = build.compare("sge", coordinate, build.integer(0, coordinate.type))
        known: dict[ir.Value, ir.Value] = {place: at, **dict(zip(carried, starts, strict=True))}
        known.update((load.results[0], coordinate) for load in slot.coordinates)
        ends = build.branch(
            is_one, lambda: copy_body(loop, known, slot.coordinates), (lambda: starts) if starts else None, kinds
        )
    bounds = [maker(value) for value in list(loop.operands)[:2]]
    replace(loop, ends)
    for op in bounds:
        while op is not None and op.name != "arith.muli" and not list(op.results[0].uses):
            above = maker(op.operands[0] if op.name != "memref.load" else op.operands[1])
            op.erase()
            op = above


def _first_position(slot: _Slot) -> ir.Value:
    """Writes, before all loops, where the first list begins: a piece of a call has the lists from there on."""
    outermost = slot.loop
    while parent_of(outermost).name != "func.func":
        outermost = parent_of(outermost)
    with ir.InsertionPoint(outermost):
        zero = build.constant(0)
        length = build.operation("memref.dim", build.index_type(), slot.positions, zero)
        return build.branch(
            build.compare("ugt", length, zero),
            lambda: [build.widened(build.load(slot.positions, zero))],
            lambda: [zero],
            [build.index_type()],
        )[0]
