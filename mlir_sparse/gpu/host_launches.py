"""What stays of a function on the host: launches of kernels, on grids by the sizes of its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from mlir_sparse._mlir import bindings, ir
from mlir_sparse.gpu.sparsified_function import SparsifiedFunction
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.facts_in_ir import write_value
from mlir_sparse.program.launch_values import Array, Launch, LevelBuffer, Parameter, Work
from mlir_sparse.program.size_values import Count, Fixed, Stored

__all__ = ["KERNELS", "LAUNCHES", "write_case"]

KERNELS = "kernels"  # the gpu.module
LAUNCHES = "launches"  # the attribute that tells a driver what a function of the host does


def write_case(source: SparsifiedFunction, name: str, launches: Sequence[Launch], kernels: ir.Block) -> None:
    """Writes a function that makes some launches, at the insertion point.

    Args:
        source: the function that they do the work of.
        name: the new function's symbol.
        launches: the launches, in order.
        kernels: the block of the `gpu.module`.
    """
    func = bindings().module("dialects.func")
    written = [op.operation.attributes for op in kernels.operations if op.operation.name == "gpu.func"]
    types = {ir.StringAttr(of["sym_name"]).value: ir.TypeAttr(of["function_type"]).value for of in written}
    kinds_of = {kernel: ir.FunctionType(kind).inputs for kernel, kind in types.items()}
    taken = {what: kind for one in launches for what, kind in zip(one.parameters, kinds_of[one.kernel], strict=True)}
    # What no argument of the function tells: where dimensions start, and buffers and sizes of operands looked up.
    more = {what: kind for what, kind in taken.items() if not _is_told(source, what)}
    kinds = [*(argument.type for argument in source.arguments), *more.values()]
    op = func.FuncOp(name, ir.FunctionType.get(kinds, []))
    op.attributes["of"] = ir.FlatSymbolRefAttr.get(source.name)
    write_value(op.operation, LAUNCHES, tuple(launches))
    block = op.add_entry_block()
    with ir.InsertionPoint(block):
        arguments = tuple(block.arguments)
        first = len(source.arguments)
        host = _Host(source, arguments[:first], dict(zip(more, arguments[first:], strict=True)))
        for launch in launches:
            host.launch(launch, kinds_of[launch.kernel])
        func.ReturnOp([])


def _is_told(source: SparsifiedFunction, what: Parameter) -> bool:
    return isinstance(what, Fixed) or any(what in (one.buffer, one.stored) or what in one.sizes for one in source.known)


class _Host:
    """Reads sizes off the arguments of a function, each once."""

    def __init__(
        self, source: SparsifiedFunction, arguments: tuple[ir.Value, ...], more: dict[Parameter, ir.Value]
    ) -> None:
        self._source, self._arguments, self._made = source, arguments, more

    def launch(self, launch: Launch, kinds: Sequence[ir.Type]) -> None:
        grid = [self._blocks(work) for work in launch.grid]
        threads = [self._number(Fixed(count)) for count in launch.block]
        operands = [self._operand(what, kind) for what, kind in zip(launch.parameters, kinds, strict=True)]
        segments = ir.DenseI32ArrayAttr.get([0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, len(operands), 0])
        ir.Operation.create(
            "gpu.launch_func",
            operands=[*grid, *threads, *operands],
            attributes={
                "kernel": ir.SymbolRefAttr.get([KERNELS, launch.kernel]),
                "operandSegmentSizes": segments,
            },
        )

    def _blocks(self, work: Work) -> ir.Value:
        pieces = reduce(build.multiply, map(self._number, work.counts or (Fixed(1),)))
        if work.per_block == 1:
            return pieces
        return build.operation("arith.ceildivui", pieces.type, pieces, self._number(Fixed(work.per_block)))

    def _operand(self, what: Parameter, kind: ir.Type) -> ir.Value:
        if isinstance(what, LevelBuffer | Array):
            return self._made[what] if what in self._made else self._flat(what, kind)
        return self._number(what)

    def _number(self, count: Count) -> ir.Value:
        """Returns a size as an `index`."""
        if count not in self._made:
            self._made[count] = self._read(count)
        return self._made[count]

    def _read(self, count: Count) -> ir.Value:
        known = self._source.known
        match count:
            case Fixed(value):
                return build.constant(value)
            case Stored():
                number = next(number for number, one in enumerate(known) if one.stored == count)
                coordinates, width = self._dim(number + 1, 0), self._source.pieces_of(number)
                if width == 1:
                    return coordinates
                return build.operation("arith.divui", coordinates.type, coordinates, build.constant(width))
        number = next(number for number, one in enumerate(known) if count in one.sizes)
        axis = known[number].sizes.index(count)
        if known[number].buffer is not None:
            return self._dim(number, axis)
        place = ir.DenseI64ArrayAttr.get([0, axis])
        word = build.operation("llvm.extractvalue", build.word_type(), self._arguments[number], position=place)
        return build.operation("arith.index_cast", build.index_type(), word)

    def _dim(self, number: int, axis: int) -> ir.Value:
        of = self._number(Fixed(axis))
        return build.operation("memref.dim", build.index_type(), self._arguments[number], of)

    def _flat(self, what: LevelBuffer | Array, wanted: ir.Type) -> ir.Value:
        """Returns an array as one of one dimension, which its elements are in memory; of parts of complex numbers."""
        argument = next(
            value for value, one in zip(self._arguments, self._source.known, strict=True) if one.buffer == what
        )
        kind = ir.MemRefType(argument.type)
        flat = argument
        if kind.rank > 1:
            one_dim = ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], kind.element_type)
            index = ir.IntegerType.get_signless(64)
            axes = ir.ArrayAttr.get([ir.IntegerAttr.get(index, axis) for axis in range(kind.rank)])
            flat = build.operation("memref.collapse_shape", one_dim, argument, reassociation=ir.ArrayAttr.get([axes]))
        if flat.type == wanted:
            return flat
        return build.operation("builtin.unrealized_conversion_cast", wanted, flat)
