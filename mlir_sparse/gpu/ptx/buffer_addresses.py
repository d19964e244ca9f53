"""The pass that makes addresses of a kernel's buffers; a memref would be passed as two of them and three numbers."""

from __future__ import annotations

from collections.abc import Mapping

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.regions import blocks_of, walk

__all__ = ["pass_addresses"]


def pass_addresses(module: ir.Module, options: Mapping[str, str]) -> None:
    """Rewrites the kernels of a module to take a pointer for each memref.

    Args:
        module: the module, in place.
        options: none.
    """
    for holder in module.body.operations:
        for op in list(walk(holder.operation)):
            if op.name == "gpu.func":
                _rewrite(op)
            elif op.name == "gpu.launch_func":
                _hand_over(op)


def _hand_over(launch: ir.Operation) -> None:
    """Launches with addresses instead of memrefs."""
    pointer = ir.Type.parse("!llvm.ptr")
    for at, operand in enumerate(launch.operands):
        if isinstance(operand.type, ir.MemRefType):
            with ir.InsertionPoint(launch):
                launch.operands[at] = build.operation("builtin.unrealized_conversion_cast", pointer, operand)


def _rewrite(kernel: ir.Operation) -> None:
    (block,) = blocks_of(kernel)
    pointer = ir.Type.parse("!llvm.ptr")
    before = list(block.arguments)
    for argument in before:
        if not isinstance(argument.type, ir.MemRefType):
            argument.replace_all_uses_with(block.add_argument(argument.type, ir.Location.unknown()))
            continue
        address = block.add_argument(pointer, ir.Location.unknown())
        with ir.InsertionPoint.at_block_begin(block):
            argument.replace_all_uses_with(_memref(address, ir.MemRefType(argument.type)))
    for _ in before:
        block.erase_argument(0)
    kinds = [argument.type for argument in block.arguments]
    kernel.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(kinds, []))


def _memref(address: ir.Value, kind: ir.MemRefType) -> ir.Value:
    """Returns a memref over all that begins at an address; nobody asks for its extent."""
    dims = ", array<1 x i64>, array<1 x i64>" if kind.rank else ""
    struct = ir.Type.parse(f"!llvm.struct<(ptr, ptr, i64{dims})>")
    made = build.operation("llvm.mlir.poison", struct)
    zero, one = (_word(value) for value in (0, 1))
    fields: list[tuple[tuple[int, ...], ir.Value]] = [((0,), address), ((1,), address), ((2,), zero)]
    fields += [((3, 0), one), ((4, 0), one)] if kind.rank else []
    for place, value in fields:
        position = ir.DenseI64ArrayAttr.get(list(place))
        made = build.operation("llvm.insertvalue", struct, made, value, position=position)
    return build.operation("builtin.unrealized_conversion_cast", kind, made)


def _word(value: int) -> ir.Value:
    return build.operation("llvm.mlir.constant", build.word_type(), value=ir.IntegerAttr.get(build.word_type(), value))
