"""Copies slices of sparse tensors in a user's program: MLIR's loops over them leave entries out.

The sparsifier compares coordinates of the whole tensor with the size of a slice whose stride is 1 (see
`dialect_tests/defects/slice_offset_wrong.mlir`), and has no code for slices of levels in another order than the
dimensions. So each `tensor.extract_slice` becomes a loop over the entries that inserts those of the slice into a tensor
of the same levels, and types lose their slices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from mlir_sparse._mlir import ir, pass_manager
from mlir_sparse.errors import SparseError
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.operation_index import Seen

if TYPE_CHECKING:
    from mlir_sparse.encoding import Encoding

__all__ = ["copy_slices"]

_SLICE = re.compile(r"\s*:\s*#sparse_tensor<slice\([^)]*\)>")
_EXTRACT = "tensor.extract_slice"
_OPEN = -(1 << 63)  # MLIR's mark of an extent that only the call knows
# What looks at a slice as a part of the whole tensor's storage, of which a copy has nothing.
_OF_PARTS = ("sparse_tensor.slice.offset", "sparse_tensor.slice.stride")
# What reads a tensor, and gives nothing that lives longer than it.
_READS = frozenset(
    (
        "linalg.generic",
        "sparse_tensor.convert",
        "sparse_tensor.foreach",
        "sparse_tensor.number_of_entries",
        "sparse_tensor.print",
        "tensor.dim",
        "tensor.extract",
    )
)


def copy_slices(seen: Seen, options: Mapping[str, str]) -> bool:
    """Gives each slice of a sparse tensor storage of its own.

    Args:
        seen: a module on tensors; rewritten in place.
        options: those of the pass: none.

    Returns:
        whether it changed anything.

    Raises:
        ValueError: for a program that asks where a slice lies in its tensor.
    """
    taken = [op for op in seen.whole.named(_EXTRACT) if _is_sparse(op.results[0].type)]
    changed = _retype(seen)
    for name in _OF_PARTS if changed else ():
        for op in seen.whole.named(name):
            raise ValueError(
                f"expected a program that takes slices as tensors, but got {name} at {op.location}: "
                "pass offsets and strides as numbers"
            )
    for op in taken:
        _copy(op)
    if taken:
        # The sparsifier takes no loops that carry tensors, but those of `scf`.
        pass_manager("builtin.module(func.func(lower-sparse-foreach-to-scf))").run(seen.module.operation)
    return changed or bool(taken)


def _is_sparse(kind: ir.Type) -> bool:
    return isinstance(kind, ir.RankedTensorType) and kind.encoding is not None


# -- types -----------------------------------------------------------------------------------------------------------


def _retype(seen: Seen) -> bool:
    """Takes the slices out of all types; returns whether there were any."""
    changed = False
    for ops in list(seen.whole.by_name.values()):
        for op in ops:
            for value in _values_of(op):
                whole = _whole(value.type)
                if whole is not None:
                    value.set_type(whole)
                    changed = True
            if "function_type" in op.attributes:
                changed = _retype_function(op) or changed
    return changed


def _values_of(op: ir.Operation) -> Iterator[ir.Value]:
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield from block.arguments


def _retype_function(op: ir.Operation) -> bool:
    given = ir.TypeAttr(op.attributes["function_type"]).value
    if not isinstance(given, ir.FunctionType):
        return False
    inputs, results = ([_whole(kind) or kind for kind in kinds] for kinds in (given.inputs, given.results))
    made = ir.FunctionType.get(inputs, results)
    if made == given:
        return False
    op.attributes["function_type"] = ir.TypeAttr.get(made)
    return True


def _whole(kind: ir.Type) -> ir.Type | None:
    """Returns the type of a slice as that of a whole tensor; None for any other type."""
    if not _is_sparse(kind):
        return None
    text = str(kind)
    return ir.Type.parse(_SLICE.sub("", text)) if _SLICE.search(text) else None


# -- copies ----------------------------------------------------------------------------------------------------------


def _copy(op: ir.Operation) -> None:
    """Writes a tensor with the entries of a slice in its place."""
    source, kind = op.operands[0], ir.RankedTensorType(op.results[0].type)
    rank = ir.RankedTensorType(source.type).rank
    if rank != kind.rank:
        return  # the sparsifier refuses it
    with ir.InsertionPoint(op), op.location:
        offsets, sizes, strides = _bounds(op)
        _expect_inside(source, (offsets, sizes, strides))
        open_sizes = [size for size, extent in zip(sizes, kind.shape, strict=True) if extent == _OPEN]
        empty = build.operation("tensor.empty", kind, *open_sizes)
        loop = ir.Operation.create("sparse_tensor.foreach", results=[kind], operands=[source, empty], regions=1)
        arguments = [*[build.index_type()] * rank, kind.element_type, kind]
        places = [ir.Location.unknown()] * len(arguments)
        block = loop.regions[0].blocks.append(*arguments, arg_locs=places)
        with ir.InsertionPoint(block):
            *at, value, made = block.arguments
            result = _inserted(at, (offsets, sizes, strides), value, made)
            ir.Operation.create("sparse_tensor.yield", operands=[result])
        complete = build.operation("sparse_tensor.load", kind, loop.results[0], hasInserts=ir.UnitAttr.get())
    _free_behind(op, complete)
    op.results[0].replace_all_uses_with(complete)
    op.erase()


def _expect_inside(source: ir.Value, bounds: tuple[Sequence[ir.Value], ...]) -> None:
    """Writes the assertion that a slice lies in its tensor, as there is one for each slice of a dense tensor."""
    zero, one = build.constant(0), build.constant(1)
    truths = []
    for axis, (offset, size, stride) in enumerate(zip(*bounds, strict=True)):
        extent = build.operation("tensor.dim", build.index_type(), source, build.constant(axis))
        last = build.add(offset, build.multiply(build.subtract(size, one), stride))
        held = build.conjunction([build.compare("ult", offset, extent), build.compare("ult", last, extent)])
        truths += [
            build.compare("sge", size, zero),
            build.bits_of("ori", build.compare("eq", size, zero), held),
        ]
    message = ir.StringAttr.get(f"expected a slice inside of its tensor in {_EXTRACT}")
    ir.Operation.create("cf.assert", operands=[build.conjunction(truths)], attributes={"msg": message})


def _inserted(
    at: Sequence[ir.Value], bounds: tuple[Sequence[ir.Value], ...], value: ir.Value, made: ir.Value
) -> ir.Value:
    """Writes the insertion of an entry, where the slice has it; returns the tensor behind it."""
    zero = build.constant(0)
    truths, places = [], []
    for coordinate, offset, size, stride in zip(at, *bounds, strict=True):
        distance = build.subtract(coordinate, offset)
        place = build.operation("arith.divui", distance.type, distance, stride)
        left = build.operation("arith.remui", distance.type, distance, stride)
        truths += [build.compare("sge", distance, zero), build.compare("eq", left, zero)]
        truths.append(build.compare("ult", place, size))
        places.append(place)

    def insert() -> list[ir.Value]:
        return [build.operation("tensor.insert", made.type, value, made, *places)]

    return build.branch(build.conjunction(truths), insert, lambda: [made], [made.type])[0]


def _bounds(op: ir.Operation) -> tuple[list[ir.Value], ...]:
    """Returns the offsets, sizes and strides of a slice."""
    dynamic = list(op.operands)[1:]
    found = []
    for name in ("static_offsets", "static_sizes", "static_strides"):
        values = []
        for number in ir.DenseI64ArrayAttr(op.attributes[name]):
            values.append(dynamic.pop(0) if number == _OPEN else build.constant(number))
        found.append(values)
    return tuple(found)


def _free_behind(op: ir.Operation, made: ir.Value) -> None:
    """Frees a copy at the end of its block, where nothing can have kept it."""
    uses = list(op.results[0].uses)
    if not all(use.owner.name in _READS and not _is_output(use) for use in uses):
        return
    storage = _encoding_of(made)
    if storage is None:
        return
    block = op.operation.block
    end = list(block.operations)[-1]
    with ir.InsertionPoint(end), op.location:
        for buffer in _buffers_of(made, storage):
            ir.Operation.create("memref.dealloc", operands=[buffer])


def _encoding_of(made: ir.Value) -> Encoding | None:
    from mlir_sparse.encoding import encoding  # few programs take slices: the compiler's process loads it for them

    try:
        return encoding(str(ir.RankedTensorType(made.type).encoding))
    except SparseError:
        return None


def _buffers_of(made: ir.Value, storage: Encoding) -> Iterator[ir.Value]:
    """Yields all buffers of a tensor. The sparsifier's `bufferization.dealloc_tensor` frees none of them."""
    from mlir_sparse.encoding.buffer_layout import level_buffers  # likewise

    widths = {"positions": storage.pos_width, "coordinates": storage.crd_width}
    for array in level_buffers(storage):
        width = widths[array.kind]
        kind = ir.MemRefType.get([_OPEN], ir.IntegerType.get_signless(width) if width else build.index_type())
        if len(array.levels) > 1:
            yield build.operation("sparse_tensor.coordinates_buffer", kind, made)
        else:
            level = ir.IntegerAttr.get(build.index_type(), array.level)
            yield build.operation(f"sparse_tensor.{array.kind}", kind, made, level=level)
    yield build.operation("sparse_tensor.values", ir.MemRefType.get([_OPEN], _element_of(made)), made)


def _element_of(made: ir.Value) -> ir.Type:
    return ir.RankedTensorType(made.type).element_type


def _is_output(use: ir.OpOperand) -> bool:
    owner = use.owner
    return owner.name == "linalg.generic" and owner.operands[use.operand_number].type in {
        result.type for result in owner.results
    }
