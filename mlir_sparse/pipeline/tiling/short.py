"""Sums over short rows of stored entries: a vector of them at once, without a branch that depends on their number.

Rows of a few entries each, such as the fibres of a tensor, end where no processor foresees it: each wrong guess costs
as much as a dozen entries. Here as many entries as a vector has lanes are read from where a row begins, the next rows'
among them, and those that are not the row's count as zeros. What is longer goes on in the loop as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mlir_sparse._mlir import bindings
from mlir_sparse.pipeline.assembly import code
from mlir_sparse.pipeline.tiling.ahead import is_loaded, prefetch
from mlir_sparse.pipeline.tiling.lines import body_of, is_constant, maker, operations_in
from mlir_sparse.pipeline.tiling.nests import innermost
from mlir_sparse.pipeline.tiling.vectors import mask_of, splat_number

__all__ = ["sum_short_rows"]

# Says of a function that rows of its sparse operand are short as a rule.
SHORT = "short_rows"
# Eight entries at once took 7.5 ms for 1.9 M rows of 4.2 entries on average, four 12, the loop alone 16; for 0.36 M
# rows of 2 entries 1.2, 1.0 and 2.3.
_LANES = 8
_AHEAD = 256  # entries
_ARITHMETIC = frozenset(f"arith.{name}" for name in ("addf", "subf", "mulf", "divf", "negf", "extf", "truncf"))
_WHOLE = frozenset(f"arith.{name}" for name in ("extui", "extsi", "index_cast", "index_castui", "addi", "subi", "muli"))


def sum_short_rows(module: Any, options: Mapping[str, str]) -> None:
    """Writes a vector of entries before each loop that adds up a row, in functions whose rows are short.

    Args:
        module: after bufferization; rewritten in place.
        options: none.
    """
    for function in [op for op in operations_in(module.operation) if op.name == "func.func"]:
        if SHORT not in function.attributes:
            continue
        del function.attributes[SHORT]
        for loop in innermost(function):
            row = _Reader(loop).row()
            if row is not None:
                _write(row)


@dataclass(frozen=True, slots=True)
class _Row:
    """A loop that adds up what it makes of the entries of a row.

    Args:
        loop: the `scf.for` over positions.
        streams: the buffers that it reads at its index.
        values: the values that differ from entry to entry and are vectors of elements; other such are integers.
        summand: what is added for each entry.
    """

    loop: Any
    streams: tuple[Any, ...]
    values: frozenset[Any]
    summand: Any


class _Reader:
    """Sorts the values of a loop by how they differ from entry to entry."""

    def __init__(self, loop: Any) -> None:
        self.loop = loop
        self.streams: dict[Any, None] = {}
        self.values: set[Any] = set()
        self.numbers: set[Any] = {body_of(loop).arguments[0]}

    def row(self) -> _Row | None:
        """Returns the loop as a row; None where it is none."""
        lower, _, step, *start = self.loop.operands
        if len(start) != 1 or not is_constant(step, 1) or not is_loaded(lower) or not _is_element(start[0].type):
            return None
        total = body_of(self.loop).arguments[1]
        *body, end = operations_in(self.loop)
        add = maker(end.operands[0])
        if add is None or add != body[-1] or add.name != "arith.addf" or len(list(total.uses)) != 1:
            return None
        left, right = add.operands
        if total not in (left, right) or not all(self._takes(op) for op in body[:-1]):
            return None
        summand = right if left == total else left
        if summand not in self.values or summand.type != total.type:
            return None
        return _Row(self.loop, tuple(self.streams), frozenset(self.values), summand)

    def _takes(self, op: Any) -> bool:
        varies = [operand in self.values or operand in self.numbers for operand in op.operands]
        if not any(varies) or len(op.results) != 1:
            return False  # what is the same for all entries was moved out of the loop
        result = op.results[0]
        if op.name == "memref.load":
            return self._takes_load(op)
        if op.name in _WHOLE:
            self.numbers.add(result)
            return not any(operand in self.values for operand in op.operands)
        self.values.add(result)
        taken = op.name in _ARITHMETIC and not any(operand in self.numbers for operand in op.operands)
        return taken and _is_element(result.type)

    def _takes_load(self, op: Any) -> bool:
        buffer, *at = op.operands
        result, place = op.results[0], body_of(self.loop).arguments[0]
        if place in at:
            if at != [place] or not _is_dense(buffer, result.type):
                return False
            self.streams[buffer] = None
        if any(operand in self.values for operand in at):
            return False
        (self.values if _is_element(result.type) else self.numbers).add(result)
        return True


def _is_element(kind: Any) -> bool:
    ir = bindings().ir
    return isinstance(kind, (ir.F64Type, ir.F32Type))


def _is_dense(buffer: Any, kind: Any) -> bool:
    """Returns whether elements follow each other; coordinates, which are read one by one, need not."""
    ir = bindings().ir
    offset_and_strides = ir.MemRefType(buffer.type).get_strides_and_offset()[0]
    return not _is_element(kind) or list(offset_and_strides) == [1]


def _write(row: _Row) -> None:
    """Writes the vector before the loop, which begins behind it."""
    ir = bindings().ir
    lower, upper, _, start = row.loop.operands
    with ir.InsertionPoint(row.loop):
        for stream in row.streams:
            prefetch(stream, [code.add(lower, code.constant(_AHEAD))])
        behind = code.add(lower, code.constant(_LANES))
        sizes = [code.operation("memref.dim", code.index_type(), s, code.constant(0)) for s in row.streams]
        inside = code.conjunction([code.compare("ule", behind, size) for size in sizes])

        def vector() -> list[Any]:
            made = _Lanes(row, lower).of(row.summand)
            mask = mask_of(code.operation("arith.subi", upper.type, upper, lower), _LANES)
            own = code.operation("arith.select", made.type, mask, made, splat_number(made.type, 0))
            return [code.operation("arith.addf", start.type, start, _added(own)), code.minimum(behind, upper)]

        first, place = code.branch(inside, vector, lambda: [start, lower], [start.type, lower.type])
    row.loop.operands[0] = place
    row.loop.operands[3] = first


class _Lanes:
    """The values of a loop's body for the first entries of a row, written at the insertion point when asked for."""

    def __init__(self, row: _Row, lower: Any) -> None:
        self.row = row
        self.vectors: dict[Any, Any] = {}
        self.lanes: dict[Any, list[Any]] = {}
        place = body_of(row.loop).arguments[0]
        self.lower = lower
        self.lanes[place] = [code.add(lower, code.constant(lane)) if lane else lower for lane in range(_LANES)]

    def of(self, value: Any) -> Any:
        """Returns the vector that a value is."""
        if value not in self.vectors:
            self.vectors[value] = self._vector(value)
        return self.vectors[value]

    def _vector(self, value: Any) -> Any:
        kind, op = bindings().ir.VectorType.get([_LANES], value.type), maker(value)
        if op is None or value not in self.row.values:
            return code.operation("vector.broadcast", kind, value)
        if op.name != "memref.load":
            attributes = {name: op.attributes[name] for name in op.attributes}
            return code.operation(op.name, kind, *map(self.of, op.operands), **attributes)
        buffer = op.operands[0]
        if buffer in self.row.streams:
            return code.operation("vector.load", kind, buffer, self.lower)
        return code.operation("vector.from_elements", kind, *self._each(value))

    def _each(self, value: Any) -> list[Any]:
        """Returns a value for each entry; one that is the same for all as often."""
        if value in self.lanes:
            return self.lanes[value]
        op = maker(value)
        if op is None or op.parent != self.row.loop:
            return [value] * _LANES
        given = [self._each(operand) for operand in op.operands]
        attributes = {name: op.attributes[name] for name in op.attributes}
        made = [code.operation(op.name, value.type, *operands, **attributes) for operands in zip(*given, strict=True)]
        self.lanes[value] = made
        return made


def _added(vector: Any) -> Any:
    """Returns the sum of the elements of a vector, in the order that is fastest."""
    ir = bindings().ir
    attributes = {
        "kind": ir.Attribute.parse("#vector.kind<add>"),
        "fastmath": ir.Attribute.parse("#arith.fastmath<reassoc>"),
    }
    return code.operation("vector.reduction", ir.VectorType(vector.type).element_type, vector, **attributes)
