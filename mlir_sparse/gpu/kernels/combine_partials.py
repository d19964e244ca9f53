"""How partial results meet: between the lanes of a warp, and in memory that several threads write."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mlir_sparse._mlir import bindings, ir
from mlir_sparse.gpu.unmapped_error import UnmappedError
from mlir_sparse.loops import build_operations as build

__all__ = ["OPERATORS", "atomically", "combined", "identity", "of_lane", "of_neighbour", "over_lanes"]

# By the operator of an accumulation: the operation on floats, integers and complex numbers, and what it starts from.
_OPERATIONS: dict[str, tuple[str, str, str, float]] = {
    "sum": ("arith.addf", "arith.addi", "complex.add", 0),
    "prod": ("arith.mulf", "arith.muli", "complex.mul", 1),
    "max": ("arith.maximumf", "arith.maxsi", "", -math.inf),
    "min": ("arith.minimumf", "arith.minsi", "", math.inf),
    "umax": ("", "arith.maxui", "", 0),
    "umin": ("", "arith.minui", "", -1),  # all bits
    "or": ("", "arith.ori", "", 0),
    "and": ("", "arith.andi", "", 1),
}
OPERATORS = tuple(_OPERATIONS)
# The bindings' names of what memory does by itself, or the compiler makes of it; products are loops written here.
_ATOMIC = {
    "arith.addf": "addf",
    "arith.addi": "addi",
    "arith.maximumf": "maximumf",
    "arith.maxsi": "maxs",
    "arith.minimumf": "minimumf",
    "arith.minsi": "mins",
    "arith.maxui": "maxu",
    "arith.minui": "minu",
    "arith.ori": "ori",
    "arith.andi": "andi",
}
_WORD = 32


def _operation(combine: str, kind: ir.Type) -> str:
    floats, integers, complexes, _ = _OPERATIONS[combine]
    name = integers if isinstance(kind, ir.IntegerType | ir.IndexType) else complexes if _is_complex(kind) else floats
    if not name:
        raise UnmappedError(f"expected an operator of {kind}, but got {combine}")
    return name


def _is_complex(kind: ir.Type) -> bool:
    return isinstance(kind, ir.ComplexType)


def combined(combine: str, left: ir.Value, right: ir.Value) -> ir.Value:
    """Returns two values combined."""
    return build.operation(_operation(combine, left.type), left.type, left, right)


def identity(combine: str, kind: ir.Type) -> ir.Value:
    """Returns the value that an operator leaves everything unchanged with."""
    start = _OPERATIONS[combine][3]
    if _is_complex(kind):
        element = ir.ComplexType(kind).element_type
        parts = [ir.FloatAttr.get(element, start), ir.FloatAttr.get(element, 0.0)]
        return build.operation("complex.constant", kind, value=ir.ArrayAttr.get(parts))
    if isinstance(kind, ir.IntegerType):
        most = (1 << (kind.width - 1)) - 1
        return build.integer(int(min(max(start, -most - 1), most)), kind)
    return build.operation("arith.constant", kind, value=ir.FloatAttr.get(kind, start))


# -- lanes ---------------------------------------------------------------------------------------------------------


def over_lanes(combine: str, value: ir.Value, offsets: Sequence[int]) -> ir.Value:
    """Returns a value combined over lanes whose numbers differ in some bits; every lane gets it.

    Args:
        combine: the operator.
        value: the value of each lane.
        offsets: the bits, as numbers.
    """
    for offset in offsets:
        value = combined(combine, value, _exchanged(value, offset))
    return value


def of_lane(value: ir.Value, lane: int) -> ir.Value:
    """Returns the value that one lane of the warp has."""
    return _exchanged(value, lane, "idx")


def of_neighbour(value: ir.Value, bit: int) -> ir.Value:
    """Returns the value that the lane has whose number differs in one bit."""
    return _exchanged(value, bit)


def _exchanged(value: ir.Value, other: int, mode: str = "xor") -> ir.Value:
    """Returns the value of another lane, piece by piece of 32 bits: of one, or of where a bit of the number differs."""
    kind = value.type
    if _is_complex(kind):
        element = ir.ComplexType(kind).element_type
        parts = [_exchanged(build.operation(f"complex.{part}", element, value), other, mode) for part in ("re", "im")]
        return build.operation("complex.create", kind, *parts)
    if isinstance(kind, ir.IndexType):
        moved = _exchanged(build.operation("arith.index_cast", build.word_type(), value), other, mode)
        return build.operation("arith.index_cast", kind, moved)
    if not isinstance(kind, ir.IntegerType):
        bits = ir.IntegerType.get_signless(_width(kind))
        moved = _exchanged(build.operation("arith.bitcast", bits, value), other, mode)
        return build.operation("arith.bitcast", kind, moved)
    word = ir.IntegerType.get_signless(_WORD)
    if kind.width < _WORD:
        moved = _exchanged(build.operation("arith.extui", word, value), other, mode)
        return build.operation("arith.trunci", kind, moved)
    if kind.width > _WORD:
        half = build.integer(_WORD, kind)
        low = _exchanged(build.operation("arith.trunci", word, value), other, mode)
        high = _exchanged(build.operation("arith.trunci", word, build.bits_of("shrui", value, half)), other, mode)
        wide = [build.operation("arith.extui", kind, part) for part in (low, high)]
        return build.bits_of("ori", wide[0], build.bits_of("shli", wide[1], half))
    how = ir.Attribute.parse(f"#gpu<shuffle_mode {mode}>")
    truth = ir.IntegerType.get_signless(1)
    operands = [value, build.integer(other, word), build.integer(_WORD, word)]
    made = ir.Operation.create("gpu.shuffle", results=[word, truth], operands=operands, attributes={"mode": how})
    return made.results[0]


def _width(kind: ir.Type) -> int:
    width: int = ir.FloatType(kind).width
    return width


# -- memory --------------------------------------------------------------------------------------------------------


def atomically(combine: str, value: ir.Value, memref: ir.Value, indices: Sequence[ir.Value]) -> None:
    """Combines a value with an element of memory that other threads combine theirs with at the same time."""
    name = _ATOMIC.get(_operation(combine, value.type))
    if name is None:
        _swapped(combine, value, memref, indices)
        return
    kind = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _kinds()[name])
    build.operation("memref.atomic_rmw", value.type, value, memref, *indices, kind=kind)


def _swapped(combine: str, value: ir.Value, memref: ir.Value, indices: Sequence[ir.Value]) -> None:
    """Combines a value with an element of memory by comparing and swapping, until no other thread came between."""
    made = ir.Operation.create(
        "memref.generic_atomic_rmw", results=[value.type], operands=[memref, *indices], regions=1
    )
    block = made.regions[0].blocks.append(value.type, arg_locs=[ir.Location.unknown()])
    with ir.InsertionPoint(block):
        ir.Operation.create("memref.atomic_yield", operands=[combined(combine, block.arguments[0], value)])


def _kinds() -> dict[str, int]:
    """Returns the numbers that this version of MLIR gives the operations on memory."""
    kinds = bindings().module("dialects.arith").AtomicRMWKind
    return {kind.name: int(kind) for kind in kinds}
