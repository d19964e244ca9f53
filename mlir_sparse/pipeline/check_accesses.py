"""Checks what a user's operations read and write, where MLIR's own `generate-runtime-verification` does not look.

MLIR's pass asserts indices of loads, stores, views and casts. It knows no vectors, no slices that are inserted, and no
memory that is seen as another shape; it also leaves negative sizes to the allocator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.loops.value_origins import constant_of

__all__ = ["check_accesses"]

_OPEN = -(1 << 63)  # MLIR's mark of an extent that only the call knows
_Rules = Iterator[tuple[ir.Value, str]]  # what has to hold, and what is then so


def check_accesses(seen: Seen, options: Mapping[str, str]) -> bool:
    """Puts assertions before accesses of vectors, slices that are inserted, and memory that gets another shape.

    Vectors whose length only the machine knows stay as they are.

    Args:
        seen: a module on tensors and memory; rewritten in place.
        options: those of the pass: none.

    Returns:
        whether it changed anything.
    """
    changed = False
    for name, rules in _RULES.items():
        for op in list(seen.whole.named(name)):
            # Where threads meet nothing but insertions may stand.
            around = op.parent if name == "tensor.parallel_insert_slice" else None
            with ir.InsertionPoint(around or op), op.location:
                for truth, rule in rules(op):
                    message = ir.StringAttr.get(f"expected {rule} in {name}")
                    ir.Operation.create("cf.assert", operands=[truth], attributes={"msg": message})
                    changed = True
    return changed


# -- vectors in memory -----------------------------------------------------------------------------------------------


def _rectangle(op: ir.Operation) -> _Rules:
    """Yields the rules of `vector.load` and `vector.store`."""
    operands = list(op.operands)
    vector, (buffer, *at) = (operands[0], operands[1:]) if op.name == "vector.store" else (op.results[0], operands)
    kind, element = ir.VectorType(vector.type), build.element_of(buffer)
    shape = [] if element == vector.type else list(kind.shape)
    if not kind.scalable:
        yield _inside(buffer, at, [1] * (len(at) - len(shape)) + shape), _INDICES


def _masked(op: ir.Operation) -> _Rules:
    """Yields the rules of loads and stores whose mask says which lanes of a vector of rank 1 take part."""
    buffer, *at, mask, _ = op.operands
    lanes = _lanes_of(mask)
    if lanes is None:
        return
    yield from _leading(buffer, at)
    last, extent = at[-1], _extent(buffer, len(at) - 1)
    if op.name in ("vector.compressstore", "vector.expandload"):
        words = ir.VectorType.get([lanes], build.word_type())
        counted = _reduced("add", build.operation("arith.extui", words, mask))
        ends = build.add(last, build.widened(counted))
        yield build.conjunction([build.compare("ule", last, extent), build.compare("ule", ends, extent)]), _INDICES
    else:
        yield _active_inside(mask, build.add(_splat(last, lanes), _positions(lanes)), extent), _INDICES


def _indexed(op: ir.Operation) -> _Rules:
    """Yields the rules of `vector.gather` and `vector.scatter` on memory of rank 1."""
    buffer, *at, indices, mask, _ = op.operands
    lanes = _lanes_of(mask)
    if lanes is None or len(at) != 1:  # of higher ranks a lane may go from one row to the next
        return
    kind = ir.VectorType.get([lanes], build.index_type())
    wide = indices if indices.type == kind else build.operation("arith.index_cast", kind, indices)
    yield _active_inside(mask, build.add(_splat(at[0], lanes), wide), _extent(buffer, 0)), _INDICES


def _transferred(op: ir.Operation) -> _Rules:
    """Yields the rules of `vector.transfer_read` and `vector.transfer_write`.

    Only what is said to be in bounds is looked at; all begins at 0 or behind.
    """
    reads = op.name == "vector.transfer_read"
    operands = list(op.operands)
    vector, buffer = (op.results[0], operands[0]) if reads else (operands[0], operands[1])
    counts = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    start = 1 if reads else 2
    at, masked = operands[start : start + counts[1 if reads else 2]], counts[-1] > 0
    kind = ir.VectorType(vector.type)
    if kind.scalable or not at:
        return
    inside = [ir.BoolAttr(one).value for one in ir.ArrayAttr(op.attributes["in_bounds"])]
    axes = [_axis_of(one, len(at)) for one in ir.AffineMapAttr(op.attributes["permutation_map"]).value.results]
    sizes = [1] * len(at)
    open_ends = set()
    for axis, size, whole in zip(axes, kind.shape, inside, strict=True):
        if axis is not None:
            sizes[axis] = size if whole and not masked else 1
            if masked or not whole:
                open_ends.add(axis)
    truths = [
        build.compare("sge", one, build.constant(0)) if axis in open_ends else _range(buffer, axis, one, sizes[axis])
        for axis, one in enumerate(at)
    ]
    yield build.conjunction(truths), _INDICES


def _axis_of(expression: ir.AffineExpr, rank: int) -> int | None:
    """Returns the axis that a result of a permutation is; None for one that is broadcast."""
    return next((axis for axis in range(rank) if expression == ir.AffineExpr.get_dim(axis)), None)


# -- shapes ----------------------------------------------------------------------------------------------------------


def _inserted(op: ir.Operation) -> _Rules:
    """Yields the rules of a slice that is inserted: inside of the destination, and of the source's size."""
    source, into = op.operands[0], op.operands[1]
    offsets, sizes, strides = _mixed(op, ("static_offsets", "static_sizes", "static_strides"), list(op.operands)[2:])
    zero, one = build.constant(0), build.constant(1)
    truths = []
    for axis, (offset, size, stride) in enumerate(zip(offsets, sizes, strides, strict=True)):
        extent = _extent(into, axis)
        last = build.add(offset, build.multiply(build.subtract(size, one), stride))
        held = build.conjunction([build.compare("ult", offset, extent), build.compare("ult", last, extent)])
        truths += [build.compare("sge", size, zero), _either(build.compare("eq", size, zero), held)]
    yield build.conjunction(truths), "a slice inside of its destination"
    kept = _kept(ir.DenseI64ArrayAttr(op.attributes["static_sizes"]), ir.RankedTensorType(source.type).shape)
    same = [build.compare("eq", _extent(source, at), sizes[axis]) for at, axis in enumerate(kept)]
    if same:
        yield build.conjunction(same), "a source of the size of its slice"


def _kept(sizes: Iterable[int], shape: Sequence[int]) -> list[int]:
    """Returns the axes of a slice that its source has: the others are of the size 1."""
    numbers = list(sizes)
    left, kept = len(numbers) - len(shape), list[int]()
    for axis, size in enumerate(numbers):
        if left and size == 1 and (len(kept) == len(shape) or shape[len(kept)] != 1):
            left -= 1
        else:
            kept.append(axis)
    return kept[: len(shape)]


def _expanded(op: ir.Operation) -> _Rules:
    """Yields the rules of `tensor.expand_shape`; MLIR knows those of memory."""
    source = op.operands[0]
    (sizes,) = _mixed(op, ("static_output_shape",), list(op.operands)[1:])
    groups = [[int(ir.IntegerAttr(axis).value) for axis in ir.ArrayAttr(one)] for one in _groups(op)]
    same = [
        build.compare("eq", _product(sizes[axis] for axis in group), _extent(source, at))
        for at, group in enumerate(groups)
    ]
    if same:
        yield build.conjunction(same), "as many elements as before"


def _groups(op: ir.Operation) -> ir.ArrayAttr:
    return ir.ArrayAttr(op.attributes["reassociation"])


def _seen_as(op: ir.Operation) -> _Rules:
    """Yields the rules of `memref.view`, whose source are bytes."""
    source, shift, *dynamic = op.operands
    kind = ir.MemRefType(op.results[0].type)
    if not isinstance(kind.element_type, ir.IntegerType | ir.FloatType | ir.ComplexType | ir.IndexType):
        return
    width = 8 if isinstance(kind.element_type, ir.IndexType) else max(1, build.bytes_of(kind.element_type))
    sizes = _filled(kind.shape, dynamic)
    zero, extent = build.constant(0), _extent(source, 0)
    ends = build.add(shift, build.multiply(_product(sizes), build.constant(width)))
    truths = [build.compare("sge", one, zero) for one in (shift, *sizes)]
    yield build.conjunction([*truths, build.compare("sge", extent, ends)]), "as many bytes as it looks at"


def _reinterpreted(op: ir.Operation) -> _Rules:
    """Yields the rules of `memref.reinterpret_cast`, where the source says how many elements there are."""
    source = op.operands[0]
    if not isinstance(source.type, ir.MemRefType):
        return
    kind = ir.MemRefType(source.type)
    plain = ir.AffineMapAttr.get(ir.AffineMap.get_identity(kind.rank))
    if not kind.rank or kind.layout != plain:  # a base buffer has rank 0, and any length
        return
    (offset,), sizes, strides = _mixed(op, ("static_offsets", "static_sizes", "static_strides"), list(op.operands)[1:])
    zero, one = build.constant(0), build.constant(1)
    low = high = offset
    for size, stride in zip(sizes, strides, strict=True):
        reach = build.multiply(build.subtract(size, one), stride)
        low = build.add(low, build.operation("arith.minsi", reach.type, reach, zero))
        high = build.add(high, build.operation("arith.maxsi", reach.type, reach, zero))
    total = _product(_extent(source, axis) for axis in range(kind.rank))
    truth = build.conjunction([build.compare("sge", low, zero), build.compare("ult", high, total)])
    for size in sizes:
        truth = _either(truth, build.compare("eq", size, zero))
    yield truth, "elements of its source"


def _stepped(op: ir.Operation) -> _Rules:
    """Yields the rule of `scf.for` and `scf.parallel`: loops that do not move on never end."""
    operands = list(op.operands)
    steps = operands[2:3]
    if op.name == "scf.parallel":
        lower, upper, count, _ = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])
        steps = operands[lower + upper : lower + upper + count]
    unknown = [one for one in steps if (constant_of(one) or 0) <= 0]
    if unknown:
        yield (
            build.conjunction([build.compare("sgt", one, build.integer(0, one.type)) for one in unknown]),
            "steps above 0",
        )


def _allocated(op: ir.Operation) -> _Rules:
    """Yields the rules of allocations: no size is negative."""
    sizes = list(op.operands)
    if "operandSegmentSizes" in op.attributes:
        dynamic, *_ = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])
        sizes = sizes[:dynamic]
    if sizes:
        zero = build.constant(0)
        yield build.conjunction([build.compare("sge", one, zero) for one in sizes]), "sizes of 0 or more"


# -- words -----------------------------------------------------------------------------------------------------------


def _extent(buffer: ir.Value, axis: int) -> ir.Value:
    """Returns the extent of a memref or a tensor along an axis."""
    in_memory = isinstance(buffer.type, ir.MemRefType)
    kind: ir.ShapedType = (ir.MemRefType if in_memory else ir.RankedTensorType)(buffer.type)
    if kind.shape[axis] != _OPEN:
        return build.constant(kind.shape[axis])
    name = "memref.dim" if in_memory else "tensor.dim"
    return build.operation(name, build.index_type(), buffer, build.constant(axis))


def _inside(buffer: ir.Value, at: Sequence[ir.Value], sizes: Sequence[int]) -> ir.Value:
    """Returns whether a box of elements lies inside of a buffer."""
    return build.conjunction([_range(buffer, axis, *one) for axis, one in enumerate(zip(at, sizes, strict=True))])


def _range(buffer: ir.Value, axis: int, begin: ir.Value, size: int) -> ir.Value:
    """Returns whether elements from one on lie inside of a buffer, along an axis."""
    extent = _extent(buffer, axis)
    if size == 1:
        return build.compare("ult", begin, extent)
    space = build.subtract(extent, build.constant(size))
    fits = [build.compare("sge", space, build.constant(0)), build.compare("ule", begin, space)]
    return build.conjunction(fits)


def _leading(buffer: ir.Value, at: Sequence[ir.Value]) -> _Rules:
    """Yields the rule of all indices but the last."""
    if len(at) > 1:
        yield build.conjunction([_range(buffer, axis, one, 1) for axis, one in enumerate(at[:-1])]), _INDICES


def _active_inside(mask: ir.Value, places: ir.Value, extent: ir.Value) -> ir.Value:
    """Returns whether all lanes that take part are at places below an extent."""
    kind = ir.VectorType(mask.type)
    every = ir.DenseElementsAttr.get_splat(kind, ir.IntegerAttr.get(kind.element_type, 1))
    idle = build.operation("arith.xori", mask.type, mask, build.operation("arith.constant", kind, value=every))
    below = build.compare("ult", places, _splat(extent, kind.shape[0]))
    return _reduced("and", _either(idle, below))


def _lanes_of(mask: ir.Value) -> int | None:
    """Returns the lanes of a mask of rank 1 and known length."""
    kind = ir.VectorType(mask.type)
    return None if kind.scalable or kind.rank != 1 else kind.shape[0]


def _reduced(kind: str, vector: ir.Value) -> ir.Value:
    element = ir.VectorType(vector.type).element_type
    return build.operation("vector.reduction", element, vector, kind=ir.Attribute.parse(f"#vector.kind<{kind}>"))


def _splat(value: ir.Value, lanes: int) -> ir.Value:
    return build.operation("vector.broadcast", ir.VectorType.get([lanes], value.type), value)


def _positions(lanes: int) -> ir.Value:
    return build.operation("vector.step", ir.VectorType.get([lanes], build.index_type()))


def _either(one: ir.Value, other: ir.Value) -> ir.Value:
    return build.bits_of("ori", one, other)


def _product(values: Iterable[ir.Value]) -> ir.Value:
    first, *others = values
    for other in others:
        first = build.multiply(first, other)
    return first


def _mixed(op: ir.Operation, names: Sequence[str], dynamic: list[ir.Value]) -> list[list[ir.Value]]:
    """Returns lists of numbers that attributes say, and operands where they do not, as values."""
    found = []
    for name in names:
        numbers = list(ir.DenseI64ArrayAttr(op.attributes[name]))
        count = numbers.count(_OPEN)
        found.append(_filled(numbers, dynamic[:count]))
        dynamic = dynamic[count:]
    return found


def _filled(numbers: Sequence[int], dynamic: Sequence[ir.Value]) -> list[ir.Value]:
    left = iter(dynamic)
    return [next(left) if number == _OPEN else build.constant(number) for number in numbers]


_INDICES = "indices inside of its operand"
_RULES: Mapping[str, Callable[[ir.Operation], _Rules]] = {
    "vector.load": _rectangle,
    "vector.store": _rectangle,
    "vector.maskedload": _masked,
    "vector.maskedstore": _masked,
    "vector.expandload": _masked,
    "vector.compressstore": _masked,
    "vector.gather": _indexed,
    "vector.scatter": _indexed,
    "vector.transfer_read": _transferred,
    "vector.transfer_write": _transferred,
    "tensor.insert_slice": _inserted,
    "tensor.parallel_insert_slice": _inserted,
    "tensor.expand_shape": _expanded,
    "memref.view": _seen_as,
    "memref.reinterpret_cast": _reinterpreted,
    "scf.for": _stepped,
    "scf.parallel": _stepped,
    "memref.alloc": _allocated,
    "memref.alloca": _allocated,
    "tensor.empty": _allocated,
    "bufferization.alloc_tensor": _allocated,
}
