"""Complex numbers in vectors: two lanes each, the real part first, as arrays hold them.

MLIR has no vectors of complex numbers. Arrays of them are seen as arrays of their parts, which vectors are loaded from
and stored to. Sums go lane by lane; a product is that with the real part of one factor in both lanes, plus that of the
other factor's parts the other way round with the imaginary part, whose sign alternates.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import element_bits, is_complex
from mlir_sparse.loops.emit_vectors import broadcast, splat_number
from mlir_sparse.loops.regions import following

__all__ = [
    "add_product",
    "broadcast_pairs",
    "complex_operation",
    "crossed_product",
    "crossed_start",
    "elements_at",
    "joined_crossed",
    "parts_of",
    "place_of",
    "signed_parts",
    "sum_of_pairs",
    "vector_of",
]

_CAST = "builtin.unrealized_conversion_cast"
_INSERT, _EXTRACT = "llvm.insertvalue", "llvm.extractvalue"
_LANE_BY_LANE = {"complex.add": "arith.addf", "complex.sub": "arith.subf", "complex.neg": "arith.negf"}
_SIZES, _STRIDES = 3, 4  # places in the descriptor of a memref
_OFFSET = 2
_FIRST, _SECOND = 0, 1  # parts of a number
_HALF = 16  # bits of a number of half precision


def vector_of(count: int, element: ir.Type) -> ir.Type:
    """Returns the type of a vector of elements; of complex numbers it has two lanes each."""
    if is_complex(element):
        return ir.VectorType.get([2 * count], ir.ComplexType(element).element_type)
    return ir.VectorType.get([count], element)


def parts_of(buffer: ir.Value) -> ir.Value:
    """Returns an array of complex numbers as one of their parts, twice as long; any other as it is.

    The view is made where the array is, once.
    """
    if not is_complex(build.element_of(buffer)):
        return buffer
    for use in buffer.uses:
        cast = use.owner.operation
        if cast.name == _CAST and (known := _view_behind(cast.results[0])) is not None:
            return known
    with _behind(buffer.owner):
        return _view(buffer)


def _behind(owner: ir.Operation | ir.Block) -> ir.InsertionPoint:
    if isinstance(owner, ir.Block):
        return ir.InsertionPoint.at_block_begin(owner)
    return ir.InsertionPoint(following(owner.operation))


def place_of(buffer: ir.Value, at: Sequence[ir.Value]) -> list[ir.Value]:
    """Returns where the first part of a number is in what `parts_of` returns; of other elements, where they are.

    Args:
        buffer: the array of numbers.
        at: where the number is.
    """
    *row, place = at
    twice = build.multiply(place, build.constant(2)) if is_complex(build.element_of(buffer)) else place
    return [*row, twice]


def _view_behind(descriptor: ir.Value) -> ir.Value | None:
    """Returns the view that was made of a descriptor; None where none was."""
    for use in descriptor.uses:
        op = use.owner.operation
        if op.name == _CAST:
            return op.results[0]
        if op.name == _INSERT and op.operands[0] == descriptor:
            return _view_behind(op.results[0])
    return None


def _view(buffer: ir.Value) -> ir.Value:
    kind = ir.MemRefType(buffer.type)
    rank = kind.rank
    word = build.word_type()
    described = ir.Type.parse(f"!llvm.struct<(ptr, ptr, i64, array<{rank} x i64>, array<{rank} x i64>)>")
    descriptor = build.operation(_CAST, described, buffer)
    two = build.integer(2, word)
    doubled = [(_OFFSET,), (_SIZES, rank - 1), *((_STRIDES, dimension) for dimension in range(rank - 1))]
    for at in doubled:
        position = ir.DenseI64ArrayAttr.get(list(at))
        number = build.multiply(build.operation(_EXTRACT, word, descriptor, position=position), two)
        descriptor = build.operation(_INSERT, described, descriptor, number, position=position)
    return build.operation(_CAST, _type_of_view(kind), descriptor)


def _type_of_view(kind: ir.MemRefType) -> ir.Type:
    part = ir.ComplexType(kind.element_type).element_type
    *shape, last = kind.shape
    if not kind.is_dynamic_dim(kind.rank - 1):
        last *= 2
    layout = None
    if kind.layout != ir.MemRefType.get(kind.shape, kind.element_type).layout:
        strides, offset = kind.get_strides_and_offset()
        unknown = ir.ShapedType.get_dynamic_stride_or_offset()
        *outer, one = strides
        twice = [stride if stride == unknown else 2 * stride for stride in outer]
        layout = ir.StridedLayoutAttr.get(offset if offset == unknown else 2 * offset, [*twice, one])
    return ir.MemRefType.get([*shape, last], part, layout)


def elements_at(buffer: ir.Value, places: Sequence[tuple[ir.Value, ...]]) -> ir.Value:
    """Returns elements of a buffer side by side.

    They are loaded as vectors of one: of elements LLVM would make gathers, which take twice as long on some processors.
    Numbers of half precision are loaded as integers: where processors compute in f16, LLVM takes each of bf16 through a
    general register and back otherwise, and SpMV 1.9 times as long.
    """
    element = build.element_of(buffer)
    if build.is_float(element) and element_bits(element) == _HALF:
        return _halves_at(buffer, places)
    one, parts = vector_of(1, element), parts_of(buffer)
    found = [build.operation("vector.load", one, parts, *place_of(buffer, at)) for at in places]
    while len(found) > 1:
        order = list(range(2 * _lanes_of(found[0])))
        found = [_shuffled(left, right, order) for left, right in zip(found[::2], found[1::2], strict=True)]
    return found[0]


def _halves_at(buffer: ir.Value, places: Sequence[tuple[ir.Value, ...]]) -> ir.Value:
    """Returns elements of half precision side by side, put there as the integers of their bits."""
    bits, element = ir.IntegerType.get_signless(_HALF), build.element_of(buffer)
    found = [build.operation("arith.bitcast", bits, build.load(buffer, *at)) for at in places]
    whole = build.operation("vector.from_elements", vector_of(len(found), bits), *found)
    return build.operation("vector.bitcast", vector_of(len(found), element), whole)


def broadcast_pairs(value: ir.Value, count: int) -> ir.Value:
    """Returns a vector of one value; a complex number is in two lanes each time."""
    if not is_complex(value.type):
        return broadcast(value, count)
    real, imaginary = (broadcast(part, 2 * count) for part in _apart(value))
    return _alternately(real, imaginary)


def _apart(number: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Returns the parts of a complex number."""
    part = ir.ComplexType(number.type).element_type
    return build.operation("complex.re", part, number), build.operation("complex.im", part, number)


def _number_of(pair: ir.Value) -> ir.Value:
    """Returns the complex number that a vector of two parts is."""
    part = ir.VectorType(pair.type).element_type
    parts = [
        build.operation("vector.extract", part, pair, static_position=ir.DenseI64ArrayAttr.get([at])) for at in (0, 1)
    ]
    return build.operation("complex.create", ir.ComplexType.get(part), *parts)


def sum_of_pairs(vector: ir.Value) -> ir.Value:
    """Returns the sum of the complex numbers in a vector."""
    while (lanes := _lanes_of(vector)) > 2:
        low, high = ([*range(begin, begin + lanes // 2)] for begin in (0, lanes // 2))
        vector = build.add(_shuffled(vector, vector, low), _shuffled(vector, vector, high))
    return _number_of(vector)


def complex_operation(op: ir.Operation, operands: Sequence[ir.Value]) -> ir.Value:
    """Writes an operation on complex numbers for vectors of them; see `effects.computes_pairs`."""
    first, *others = operands
    if op.name in _LANE_BY_LANE:
        return build.operation(_LANE_BY_LANE[op.name], first.type, *operands)
    if op.name == "complex.conj":
        return _with_signs(first, _SECOND)
    assert op.name == "complex.mul"
    (second,) = others
    real, imaginary = _factors(first)
    return add_product(real, imaginary, second, None)


def _factors(vector: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Returns the real parts of numbers in both of their lanes, and their imaginary parts with alternating signs."""
    lanes = _lanes_of(vector)
    real, imaginary = (_shuffled(vector, vector, [lane // 2 * 2 + at for lane in range(lanes)]) for at in (0, 1))
    return real, _with_signs(imaginary, _FIRST)


def signed_parts(number: ir.Value, count: int, *, less: bool = False) -> tuple[ir.Value, ir.Value]:
    """Returns a number in all lanes as `add_product` takes it.

    Args:
        number: the number.
        count: how many numbers it is multiplied with.
        less: whether products are subtracted: both parts have the other sign then.
    """
    real, imaginary = _apart(number)
    real, imaginary = (broadcast(part, 2 * count) for part in (_negated(real) if less else real, imaginary))
    return real, _with_signs(imaginary, _SECOND if less else _FIRST)


def add_product(
    real: ir.Value, imaginary: ir.Value, other: ir.Value, added: ir.Value | None, *, fuses: bool = False
) -> ir.Value:
    """Writes a product of complex numbers, and the sum with others.

    Args:
        real: the real parts of the first factor, in both lanes.
        imaginary: its imaginary parts, in both lanes with alternating signs, the first one negative.
        other: the second factor.
        added: what is added; None for nothing.
        fuses: whether products are added without rounding in between, where something is added.
    """
    crossed = _swapped(other)
    if fuses and added is not None:
        added = build.operation("vector.fma", other.type, real, other, added)
        return build.operation("vector.fma", other.type, imaginary, crossed, added)
    products = [build.operation("arith.mulf", other.type, *pair) for pair in ((real, other), (imaginary, crossed))]
    product = build.add(*products)
    return product if added is None else build.add(added, product)


def crossed_start(row: ir.Value) -> ir.Value:
    """Returns numbers, and behind them as many of which nothing is crossed yet: see `joined_crossed`."""
    # What is added to -0.0 stays what it is, also where it is 0.0 or -0.0.
    return _shuffled(row, splat_number(row.type, -0.0), list(range(2 * _lanes_of(row))))


def crossed_product(
    number: ir.Value, many: ir.Value, row: ir.Value, *, less: bool = False, fuses: bool = False
) -> ir.Value:
    """Writes the products of a number with many, added to what `crossed_start` returned.

    Args:
        number: the number.
        many: the others.
        row: what is added to.
        less: whether they are subtracted.
        fuses: whether they are added without rounding in between.
    """
    lanes = _lanes_of(many)
    real, imaginary = _apart(number)
    straight = broadcast(_negated(real) if less else real, lanes)
    crossed = _with_signs(broadcast(imaginary, lanes), _FIRST if less else _SECOND)
    both = list(range(2 * lanes))
    factor, twice = _shuffled(straight, crossed, both), _shuffled(many, many, [lane % lanes for lane in both])
    if fuses:
        return build.operation("vector.fma", row.type, factor, twice, row)
    return build.add(row, build.operation("arith.mulf", row.type, factor, twice))


def joined_crossed(row: ir.Value) -> ir.Value:
    """Returns sums of products of a number with many: those with its real part, and behind them with its imaginary one.

    Products with the imaginary part belong to the other lane. It is enough to bring them there once, behind all.
    """
    lanes = _lanes_of(row) // 2
    straight, crossed = (_shuffled(row, row, list(range(begin, begin + lanes))) for begin in (0, lanes))
    return build.add(straight, _swapped(crossed))


def _swapped(vector: ir.Value) -> ir.Value:
    return _shuffled(vector, vector, [lane ^ 1 for lane in range(_lanes_of(vector))])


def _negated(vector: ir.Value) -> ir.Value:
    return build.operation("arith.negf", vector.type, vector)


def _with_signs(vector: ir.Value, negative: int) -> ir.Value:
    """Returns numbers whose first or second parts are negated: one operation, which rounds nothing."""
    kind = ir.VectorType(vector.type)
    word = ir.IntegerType.get_signless(build.width_of(kind.element_type))
    signs = [-(1 << (word.width - 1)) if lane % 2 == negative else 0 for lane in range(_lanes_of(vector))]
    words = ir.VectorType.get(kind.shape, word)
    flips = build.operation("arith.constant", words, value=ir.Attribute.parse(f"dense<{signs}> : {words}"))
    changed = build.bits_of("xori", build.operation("arith.bitcast", words, vector), flips)
    return build.operation("arith.bitcast", kind, changed)


def _alternately(even: ir.Value, odd: ir.Value) -> ir.Value:
    """Returns the even lanes of one vector and the odd ones of another."""
    lanes = _lanes_of(even)
    return _shuffled(even, odd, [lane if lane % 2 == 0 else lanes + lane for lane in range(lanes)])


def _shuffled(left: ir.Value, right: ir.Value, lanes: Sequence[int]) -> ir.Value:
    kind = ir.VectorType.get([len(lanes)], ir.VectorType(left.type).element_type)
    return build.operation("vector.shuffle", kind, left, right, mask=ir.DenseI64ArrayAttr.get(list(lanes)))


def _lanes_of(vector: ir.Value) -> int:
    return int(ir.VectorType(vector.type).shape[0])
