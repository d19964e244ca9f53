"""Sums and other accumulations over arrays: loops that carry the value, where those of MLIR would store it each time.

The sparsifier leaves nests over arrays alone. What becomes of them adds up in memory, an element after the other, each
after the one before: 0.85 ns for an element that is there. With the sum as a value of the loop, other strategies add up
lanes of vectors: 0.06 ns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.accumulations import accumulation_of
from mlir_sparse.loops.effects import element_bits, is_pure
from mlir_sparse.loops.emit_copies import copy_body
from mlir_sparse.loops.operation_index import Nest
from mlir_sparse.loops.regions import body_of, operations_in
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.strategy import Strategy

__all__ = ["ARRAY_SUMS"]

_REDUCTION = "reduction"


@dataclass(frozen=True, slots=True)
class _ArraySum:
    """A nest over arrays that adds up elements along its innermost loop.

    Args:
        op: the `linalg.generic`.
        subscripts: of each operand, the number of the loop that each of its subscripts is the index of.
        merged: how many of the innermost loops go through elements that lie one after the other in all operands.
    """

    op: ir.Operation
    subscripts: tuple[tuple[int, ...], ...]
    merged: int


def _candidates(nest: Nest) -> Iterator[ir.Operation]:
    """Yields the nests of which the innermost loop adds something up."""
    for op in nest.named("linalg.generic"):
        kinds = [str(kind) for kind in ir.ArrayAttr(op.attributes["iterator_types"])]
        if not op.results and kinds and _REDUCTION in kinds[-1]:
            yield op


def _applies(op: ir.Operation, _: Nest) -> _ArraySum | Missed:
    maps = [ir.AffineMapAttr(map_).value for map_ in ir.ArrayAttr(op.attributes["indexing_maps"])]
    found = [_loops_of(map_) for map_ in maps]
    subscripts = tuple(each for each in found if each is not None)
    if len(subscripts) < len(found):
        return Missed("a subscript of an array is no index variable")
    *inputs, result = subscripts
    why = _why_not_added(op)
    last = maps[0].n_dims - 1
    if last in result or any(last in each[:-1] for each in inputs):
        why = "its innermost loop does not go along rows of what it adds up"
    read = list(body_of(op).arguments)[:-1]
    if not any(last in each and list(element.uses) for each, element in zip(inputs, read, strict=True)):
        why = "it adds up the same again and again"
    if not all(_is_plain(value) for value in op.operands):
        why = "an array is a view of another"
    return Missed(why) if why else _ArraySum(op, subscripts, _merged(inputs, result, last))


def _loops_of(map_: ir.AffineMap) -> tuple[int, ...] | None:
    """Returns the loops whose indices subscripts are; None for others."""
    loops = [ir.AffineExpr.get_dim(number) for number in range(map_.n_dims)]
    return tuple(map(loops.index, map_.results)) if all(each in loops for each in map_.results) else None


def _is_plain(value: ir.Value) -> bool:
    """Returns whether a value is a number, or an array whose elements lie one after the other."""
    if not isinstance(value.type, ir.MemRefType):
        return True
    kind = ir.MemRefType(value.type)
    return bool(kind.layout == ir.AffineMapAttr.get(ir.AffineMap.get_identity(kind.rank)))


def _why_not_added(op: ir.Operation) -> str:
    """Returns why a nest adds nothing up; "" where it does."""
    *body, last = operations_in(op)
    total = list(body_of(op).arguments)[-1]
    if not element_bits(total.type):
        return "vectors do not hold its elements"
    if accumulation_of(total, total, last.operands[0]) is None:
        return "it accumulates by no operation whose order is free"
    return "" if all(map(is_pure, body)) else "it does more than to compute"


def _merged(inputs: Sequence[tuple[int, ...]], result: tuple[int, ...], last: int) -> int:
    """Returns how many of the innermost loops may be one: those that all arrays have, or none of them."""
    merged = 1
    while merged <= last:
        group = tuple(range(last - merged, last + 1))
        if set(result) & set(group) or not all(_ends_with(each, group) for each in inputs):
            break
        merged += 1
    return merged


def _ends_with(subscripts: tuple[int, ...], group: tuple[int, ...]) -> bool:
    """Returns whether subscripts have a group of loops at their end and nowhere else, or none of it."""
    before = subscripts[: -len(group)] if subscripts[-len(group) :] == group else subscripts
    return not set(before) & set(group)


def _rewrite(found: _ArraySum, _: Nest) -> None:
    """Writes the loops, the innermost with the sum as its value."""
    with ir.InsertionPoint(found.op):
        _outer(found, [_flat(found, number) for number in range(len(found.subscripts))], [])
    found.op.erase()


def _flat(found: _ArraySum, number: int) -> ir.Value:
    """Returns an operand with one dimension in place of those that are one loop."""
    value, own = list(found.op.operands)[number], found.subscripts[number]
    first = _innermost(found)
    if found.merged == 1 or first not in own:
        return value
    kind, kept = ir.MemRefType(value.type), own.index(first)
    sizes, merged = list(kind.shape[:kept]), list(kind.shape[kept:])
    dynamic = ir.ShapedType.get_dynamic_size()
    flat = ir.MemRefType.get([*sizes, dynamic if dynamic in merged else math.prod(merged)], kind.element_type)
    groups = [*([place] for place in range(kept)), list(range(kept, len(own)))]
    grouped = ir.ArrayAttr.get([_numbers(group) for group in groups])
    return build.operation("memref.collapse_shape", flat, value, reassociation=grouped)


def _numbers(places: Sequence[int]) -> ir.ArrayAttr:
    word = build.word_type()
    return ir.ArrayAttr.get([ir.IntegerAttr.get(word, place) for place in places])


def _innermost(found: _ArraySum) -> int:
    """Returns the number of the first of the loops that are one."""
    loops = ir.AffineMapAttr(ir.ArrayAttr(found.op.attributes["indexing_maps"])[0]).value.n_dims
    return loops - found.merged


def _outer(found: _ArraySum, operands: Sequence[ir.Value], indices: list[ir.Value]) -> None:
    """Writes the loops from one on, inside of those with some indices."""
    loop = len(indices)
    upper = _extent(found, operands, loop)
    if loop < _innermost(found):
        build.loop(upper, (), lambda at: _outer(found, operands, [*indices, at]))
        return
    *_, result = operands
    at = [indices[number] for number in found.subscripts[-1]]

    def add(place: ir.Value, total: ir.Value) -> list[ir.Value]:
        read = [
            _element(value, [([*indices, place])[number] for number in own if number <= loop])
            for value, own in zip(operands[:-1], found.subscripts[:-1], strict=True)
        ]
        arguments = list(body_of(found.op).arguments)
        return copy_body(found.op, dict(zip(arguments, [*read, total], strict=True)))

    (total,) = build.loop(upper, [build.load(result, *at)], add)
    build.store(total, result, *at)


def _extent(found: _ArraySum, operands: Sequence[ir.Value], loop: int) -> ir.Value:
    for value, own in zip(operands, found.subscripts, strict=True):
        if loop in own:
            return build.operation("memref.dim", build.index_type(), value, build.constant(own.index(loop)))
    raise AssertionError("each loop has an operand that it goes through")


def _element(value: ir.Value, at: Sequence[ir.Value]) -> ir.Value:
    return build.load(value, *at) if isinstance(value.type, ir.MemRefType) else value


ARRAY_SUMS = Strategy("array-sums", _candidates, _applies, _rewrite)
"""Writes sums over arrays as loops that carry the sum."""
