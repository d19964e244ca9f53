"""Values that calls have found to be all equal, as those of graphs: loops read one of them, before all loops.

A call looks at the values anyway where its plan takes a matrix to be its own transpose. What it has found is used here:
loops over entries then read coordinates alone, half of the bytes or less, and the sum of a row is its length times the
value.
"""

from __future__ import annotations

from collections.abc import Iterable

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import MemoryAccess, is_cheap, loads_in, root_of
from mlir_sparse.loops.emit_copies import replace
from mlir_sparse.loops.model import ForLoop
from mlir_sparse.loops.operation_index import Nest
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.strategy import Strategy
from mlir_sparse.loops.value_origins import is_inside, made_by, outermost

__all__ = ["ONE_VALUE"]


@dataclass(frozen=True, slots=True)
class _Entries:
    """A loop over entries.

    Args:
        loop: the loop.
        loads: the loads of a value.
        is_sum: whether it adds up the values, and does nothing else.
    """

    loop: ForLoop
    loads: tuple[MemoryAccess, ...]
    is_sum: bool


def _candidates(nest: Nest) -> Iterable[ForLoop]:
    return nest.for_loops if nest.facts.alike else ()


def _applies(loop: ForLoop, nest: Nest) -> _Entries | Missed | None:
    if loop.step != 1 or not loop.is_over_entries:
        return None
    alike = [nest.arguments[number] for number in nest.facts.alike]
    own = [load for load in loads_in(loop.body) if load.at == (loop.index,)]
    loads = tuple(load for load in own if root_of(load.buffer) in alike and _is_plain(load.loaded.type))
    if not loads:
        return None
    if len(own) > len(loads):
        return _Entries(loop, loads, is_sum=False)
    if _is_sum(loop, loads):
        return _Entries(loop, loads, is_sum=True)
    # Vectors are made of what is read along entries.
    return Missed("nothing else is read for an entry, and more is done than to add values up")


def _is_plain(kind: ir.Type) -> bool:
    return isinstance(kind, ir.IntegerType | ir.FloatType)  # no complex number


def _is_sum(loop: ForLoop, loads: tuple[MemoryAccess, ...]) -> bool:
    if len(loop.body) != 2 or len(loop.results) != 1:
        return False
    (load, total), (sum_,) = loop.body, loop.ends
    kind = sum_.type
    adds = made_by(sum_, "arith.addf", "arith.addi")
    # Narrower numbers of floating point have no large counts.
    wide = isinstance(kind, ir.IntegerType) or build.width_of(kind) >= 32
    return wide and adds == total and load == loads[0].op and {*total.operands} == {loop.carried[0], loads[0].loaded}


def _rewrite(entries: _Entries, _: Nest) -> None:
    loop, buffer = entries.loop, entries.loads[0].buffer
    with ir.InsertionPoint(outermost(loop.op, buffer)):
        value = _first(buffer)
    if entries.is_sum:
        with ir.InsertionPoint(loop.op):
            total = _times(loop, value)
        replace(loop.op, [total])
        return
    for one in entries.loads:
        replace(one.op, [value])
    # What no entry changes any more is no part of vectors of entries.
    for op in loop.body:
        if is_cheap(op) and not any(is_inside(operand, loop.op) for operand in op.operands):
            op.move_before(loop.op)


def _first(buffer: ir.Value) -> ir.Value:
    """Writes the first value; 0 where there is none, which no loop reads."""
    kind = build.element_of(buffer)
    zero = ir.FloatAttr.get(kind, 0.0) if build.is_float(kind) else ir.IntegerAttr.get(kind, 0)
    return build.branch(
        build.compare("ugt", build.size_of(buffer), build.constant(0)),
        lambda: [build.load(buffer, build.constant(0))],
        lambda: [build.operation("arith.constant", kind, value=zero)],
        [kind],
    )[0]


def _times(loop: ForLoop, value: ir.Value) -> ir.Value:
    """Writes what a sum of equal values comes to; without entries it is what it starts from, whatever the value is."""
    (start,), kind = loop.starts, value.type
    count = build.subtract(loop.upper, loop.lower)
    if isinstance(kind, ir.IntegerType):
        return build.add(start, build.multiply(value, build.cut(count, kind)))
    number = build.operation("arith.uitofp", kind, build.cut(count, build.word_type()))
    total = build.add(start, build.operation("arith.mulf", kind, value, number))
    return build.select(build.compare("eq", count, build.constant(0)), start, total)


ONE_VALUE = Strategy("one-value", _candidates, _applies, _rewrite)
"""Reads one value before all loops over entries whose values are known to be equal."""
