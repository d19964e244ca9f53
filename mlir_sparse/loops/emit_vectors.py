"""Words for vectors, written at the insertion point: constants, masks, slices, sums."""

from __future__ import annotations

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build

__all__ = [
    "broadcast",
    "lane_numbers",
    "mask_of",
    "slice_of",
    "splat_number",
    "sum_of_lanes",
    "wide_mask_of",
]


def broadcast(value: ir.Value, lanes: int) -> ir.Value:
    """Returns a vector whose elements are one value."""
    return build.operation("vector.broadcast", ir.VectorType.get([lanes], value.type), value)


def lane_numbers(count: int, each: int = 1, element: ir.Type | None = None) -> ir.Value:
    """Returns a vector of words, or other integers, that count up from 0, each of them as often as is said."""
    lanes = count * each
    kind = ir.VectorType.get([lanes], element or build.word_type())
    text = f"dense<{[lane // each for lane in range(lanes)]}> : {kind}"
    return build.operation("arith.constant", kind, value=ir.Attribute.parse(text))


def slice_of(vector: ir.Value, offset: int, size: int) -> ir.Value:
    """Returns consecutive elements of a vector."""
    word, kind = build.word_type(), ir.VectorType.get([size], ir.VectorType(vector.type).element_type)
    offsets, sizes, strides = (ir.ArrayAttr.get([ir.IntegerAttr.get(word, n)]) for n in (offset, size, 1))
    return build.operation("vector.extract_strided_slice", kind, vector, offsets=offsets, sizes=sizes, strides=strides)


def splat_number(kind: ir.Type, number: int | float) -> ir.Value:
    """Returns a constant vector whose elements are one number."""
    element = ir.VectorType(kind).element_type
    value = ir.FloatAttr.get(element, number) if build.is_float(element) else ir.IntegerAttr.get(element, int(number))
    return build.operation("arith.constant", kind, value=ir.DenseElementsAttr.get_splat(kind, value))


def sum_of_lanes(vector: ir.Value, *start: ir.Value) -> ir.Value:
    """Returns the sum of the elements of a vector, in the order that is fastest, and of what it starts from."""
    attributes = {"kind": ir.Attribute.parse("#vector.kind<add>")}
    if build.is_float(vector.type):
        attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<reassoc>")
    return build.operation("vector.reduction", ir.VectorType(vector.type).element_type, vector, *start, **attributes)


def mask_of(count: ir.Value, lanes: int) -> ir.Value:
    """Returns the mask of the first lanes of a vector, as many as there are places."""
    kind = ir.VectorType.get([lanes], ir.IntegerType.get_signless(1))
    return build.operation("vector.create_mask", kind, count)


def wide_mask_of(count: ir.Value, lanes: int, bits: int) -> ir.Value:
    """Returns the same mask, compared as integers as wide as elements.

    LLVM compares again at each use, and AVX2's masks are as wide as what they are for: so it takes one instruction.
    """
    number = ir.IntegerType.get_signless(bits)
    kind = ir.VectorType.get([lanes], number)
    places = ir.Attribute.parse(f"dense<{list(range(lanes))}> : vector<{lanes}xi{bits}>")
    last = broadcast(build.cut(count, number), lanes)
    return build.compare("sgt", last, build.operation("arith.constant", kind, value=places))
