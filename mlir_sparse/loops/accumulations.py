"""How loops accumulate: what joins a carried value and what an iteration makes, and what stands for no iteration.

All operations here are associative and commutative, but for rounding: lanes of vectors may each have a part of what a
loop accumulates, and the parts are joined at the end. So it is for `maximumf` and `minimumf` to the bit: NaN stays,
and 0.0 is greater than -0.0, whatever comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import inf

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.complex_lanes import sum_of_pairs
from mlir_sparse.loops.effects import is_complex, is_truth
from mlir_sparse.loops.emit_vectors import splat_number
from mlir_sparse.loops.value_origins import constant_of, made_by, sum_with

__all__ = ["Accumulation", "accumulation_of"]

Number = int | float


def _always(number: Number, _: int) -> Number:
    return number


def _least(bits: int) -> int:
    return -(1 << (bits - 1))


def _greatest(bits: int) -> int:
    return (1 << (bits - 1)) - 1


@dataclass(frozen=True, slots=True)
class _Join:
    """What is known of an operation that joins two values.

    Args:
        kind: its name in `vector.reduction`.
        identity: what changes nothing, by the width of integers.
    """

    kind: str
    identity: Callable[[int], Number]


_JOINS: Mapping[str, _Join] = {
    **dict.fromkeys(("arith.addf", "arith.addi"), _Join("add", partial(_always, 0))),
    **dict.fromkeys(("arith.mulf", "arith.muli"), _Join("mul", partial(_always, 1))),
    "arith.maximumf": _Join("maximumf", partial(_always, -inf)),
    "arith.minimumf": _Join("minimumf", partial(_always, inf)),
    "arith.maxsi": _Join("maxsi", _least),
    "arith.minsi": _Join("minsi", _greatest),
    "arith.maxui": _Join("maxui", partial(_always, 0)),
    "arith.minui": _Join("minui", partial(_always, -1)),
    "arith.andi": _Join("and", partial(_always, -1)),
    "arith.ori": _Join("or", partial(_always, 0)),
    "arith.xori": _Join("xor", partial(_always, 0)),
}
# What is subtracted one by one may be added up, and subtracted once.
_DIFFERENCES = {"arith.subf": "arith.addf", "arith.subi": "arith.addi"}
# Vectors hold complex numbers in two lanes each.
_OF_PAIRS = dict.fromkeys(("complex.add", "complex.sub"), "arith.addf")
_LOGIC = ("arith.ori", "arith.andi")


@dataclass(frozen=True, slots=True)
class Accumulation:
    """What a loop accumulates.

    Args:
        operations: those that join the carried value and what is added; the last makes the value of the next iteration.
        term: what is joined with it in each iteration; of truth values a single bit, also where they are carried as
            bytes.
        join: the operation by which parts are joined with each other; of complex numbers, in the lanes of vectors.
        last: the operation by which they are joined with what there was before the loop.
    """

    operations: tuple[ir.Operation, ...]
    term: ir.Value
    join: str
    last: str

    @property
    def is_sum(self) -> bool:
        """Returns whether it adds or subtracts."""
        return _JOINS[self.join].kind == "add"

    def identity(self, kind: ir.Type) -> ir.Value:
        """Returns a vector of a type that changes nothing."""
        element = ir.VectorType(kind).element_type
        number = _JOINS[self.join].identity(build.width_of(element))
        return splat_number(kind, abs(number) if is_truth(element) else number)

    def joined(self, left: ir.Value, right: ir.Value) -> ir.Value:
        """Returns two parts, or vectors of them, as one."""
        return build.operation(self.join, left.type, left, right)

    def of_lanes(self, vector: ir.Value, *start: ir.Value) -> ir.Value:
        """Returns what the lanes of a vector are together, in the order that is fastest, and what sums start from."""
        if is_complex(self.term.type):
            return sum_of_pairs(vector)
        kind = _JOINS[self.join].kind
        attributes = {"kind": ir.Attribute.parse(f"#vector.kind<{kind}>")}
        if self.join in ("arith.addf", "arith.mulf"):
            attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<reassoc>")
        element = ir.VectorType(vector.type).element_type
        return build.operation("vector.reduction", element, vector, *start, **attributes)

    def after(self, start: ir.Value, lanes: ir.Value) -> ir.Value:
        """Returns what a loop that started from a value makes of what the lanes of a vector have."""
        if self.is_sum and self.last == self.join:
            return self.of_lanes(lanes, start)
        reduced = self.of_lanes(lanes)
        if start.type == reduced.type:
            return build.operation(self.last, start.type, start, reduced)
        truth = build.compare("ne", start, build.integer(0, start.type))
        return build.operation("arith.extui", start.type, self.joined(truth, reduced))


def accumulation_of(total: ir.Value, start: ir.Value, end: ir.Value) -> Accumulation | None:
    """Returns what a loop accumulates in a carried value that nothing else takes; None where it does otherwise.

    Args:
        total: the value at the begin of an iteration.
        start: the value before the loop.
        end: the value at the end of an iteration.
    """
    op = sum_with(total, end) or _joining(total, end)
    if op is None:
        return _truth_of(total, end) if constant_of(start) in (0, 1) else None
    left, right = op.operands
    join = _OF_PAIRS.get(op.name) or _DIFFERENCES.get(op.name, op.name)
    return Accumulation((op,), right if left == total else left, join, op.name)


def _joining(total: ir.Value, end: ir.Value) -> ir.Operation | None:
    op = made_by(end, *_JOINS)
    return op if op is not None and list(op.operands).count(total) == 1 and _is_used_once(total) else None


def _truth_of(total: ir.Value, end: ir.Value) -> Accumulation | None:
    """Returns an accumulation of truth values that bytes hold: each iteration asks whether what it has is not 0."""
    widened = made_by(end, "arith.extui")
    joined = None if widened is None else made_by(widened.operands[0], *_LOGIC)
    if widened is None or joined is None or not is_truth(joined.result.type):
        return None
    for asked, term in (list(joined.operands), list(joined.operands)[::-1]):
        compared = made_by(asked, "arith.cmpi")
        if compared is None or compared.operands[0] != total or constant_of(compared.operands[1]) != 0:
            continue
        predicate = ir.IntegerAttr(compared.attributes["predicate"]).value
        if predicate == build.PREDICATES["ne"] and all(map(_is_used_once, (total, asked, joined.result))):
            return Accumulation((compared, joined, widened), term, joined.name, joined.name)
    return None


def _is_used_once(value: ir.Value) -> bool:
    return len(list(value.uses)) == 1
