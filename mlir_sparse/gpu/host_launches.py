"""What stays of a function on the host: launches of kernels, on grids by the sizes of its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlir_sparse._mlir import bindings, ir
from mlir_sparse.gpu.sparsified_function import SparsifiedFunction
from mlir_sparse.gpu.unmapped import UnmappedError
from mlir_sparse.loops import ir_words

__all__ = ["KERNELS", "LAUNCHES", "KernelLaunch", "write_case"]

KERNELS = "kernels"  # the gpu.module
LAUNCHES = "launches"  # the attribute that tells a driver what a function of the host does


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """A launch, by what the host reads off the function's arguments.

    Args:
        kernel: the kernel.
        grid: for x, y and z how many pieces of work there are (a size of an argument, or a number) and how many of
            them a block takes.
        threads: along x, y and z.
        parameters: what the kernel takes.
    """

    kernel: str
    grid: tuple[tuple[str, int], tuple[str, int], tuple[str, int]]
    threads: tuple[int, int, int]
    parameters: tuple[str, ...]


def write_case(source: SparsifiedFunction, name: str, launches: Sequence[KernelLaunch]) -> None:
    """Writes a function that makes some launches, at the insertion point.

    Args:
        source: the function that they do the work of.
        name: the new function's symbol.
        launches: the launches, in order.
    """
    func = bindings().module("dialects.func")
    given = ("start", "level")
    starts = sorted({spec for launch in launches for spec in launch.parameters if spec.startswith(given)})
    kinds = [argument.type for argument in source.arguments] + [_kind(spec) for spec in starts]
    op = func.FuncOp(name, ir.FunctionType.get(kinds, []))
    op.attributes["of"] = ir.FlatSymbolRefAttr.get(source.name)
    op.attributes[LAUNCHES] = ir.ArrayAttr.get([_attribute(launch) for launch in launches])
    block = op.add_entry_block()
    with ir.InsertionPoint(block):
        arguments = tuple(block.arguments)
        first = len(source.arguments)
        host = _Host(source, arguments[:first], dict(zip(starts, arguments[first:], strict=True)))
        for launch in launches:
            host.launch(launch)
        func.ReturnOp([])


def _attribute(launch: KernelLaunch) -> ir.Attribute:

    def texts(values: Sequence[object]) -> ir.Attribute:
        return ir.ArrayAttr.get([ir.StringAttr.get(str(value)) for value in values])

    return ir.DictAttr.get(
        {
            "kernel": ir.StringAttr.get(launch.kernel),
            "grid": texts([f"{size} / {block}" for size, block in launch.grid]),
            "threads": ir.DenseI64ArrayAttr.get(list(launch.threads)),
            "parameters": texts(launch.parameters),
        }
    )


def _kind(spec: str) -> ir.Type:
    """Returns the type of what no argument of the function tells: a number, or a buffer of an operand looked up."""
    what, *_, last = spec.split()
    return (
        ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], ir.Type.parse(last))
        if what == "level"
        else ir_words.index_type()
    )


class _Host:
    """Reads sizes off the arguments of a function, each once."""

    def __init__(
        self, source: SparsifiedFunction, arguments: tuple[ir.Value, ...], starts: dict[str, ir.Value]
    ) -> None:
        self._source = source
        self._arguments = arguments
        self._made = starts

    def launch(self, launch: KernelLaunch) -> None:
        grid = [self._blocks(size, block) for size, block in launch.grid]
        threads = [self.number(f"fixed {count}") for count in launch.threads]
        operands = [self._parameter(spec) for spec in launch.parameters]
        segments = ir.DenseI32ArrayAttr.get([0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, len(operands), 0])
        ir.Operation.create(
            "gpu.launch_func",
            operands=[*grid, *threads, *operands],
            attributes={
                "kernel": ir.SymbolRefAttr.get([KERNELS, launch.kernel]),
                "operandSegmentSizes": segments,
            },
        )

    def _blocks(self, size: str, block: int) -> ir.Value:
        pieces = self.number(size)
        if block == 1:
            return pieces
        return ir_words.operation("arith.ceildivui", pieces.type, pieces, self.number(f"fixed {block}"))

    def _parameter(self, spec: str) -> ir.Value:
        kind, *numbers = spec.split()
        if kind == "buffer":
            return self._flat(int(numbers[0]))
        if kind == "parts":
            return self._parts(int(numbers[0]))
        return self.number(spec)

    def number(self, spec: str) -> ir.Value:
        """Returns a size as an `index`."""
        if spec not in self._made:
            kind, *numbers = spec.split()
            self._made[spec] = self._number(kind, [int(number) for number in numbers])
        return self._made[spec]

    def _number(self, kind: str, numbers: Sequence[int]) -> ir.Value:
        if kind == "fixed":
            return ir_words.constant(numbers[0])
        if kind == "size":
            return self._level_size(*numbers)
        if kind == "dim":
            return self._dim(*numbers)
        if kind == "positions":
            return self._dim(numbers[0], 0)
        if kind == "stored":  # the coordinates follow the positions; several a piece where they are interleaved
            number, width = numbers
            coordinates = self._dim(number + 1, 0)
            return (
                coordinates
                if width == 1
                else ir_words.operation("arith.divui", coordinates.type, coordinates, ir_words.constant(width))
            )
        if kind == "chunks":  # so many pieces of `numbers[2]` entries
            stored, chunk = self.number(f"stored {numbers[0]} {numbers[1]}"), ir_words.constant(numbers[2])
            return ir_words.operation("arith.ceildivui", stored.type, stored, chunk)
        raise UnmappedError(f"expected a size of an argument, but got {kind}")

    def _level_size(self, number: int, level: int) -> ir.Value:
        place = ir.DenseI64ArrayAttr.get([0, level])
        word = ir_words.operation("llvm.extractvalue", ir_words.word_type(), self._arguments[number], position=place)
        return ir_words.operation("arith.index_cast", ir_words.index_type(), word)

    def _dim(self, number: int, axis: int) -> ir.Value:
        return ir_words.operation(
            "memref.dim", ir_words.index_type(), self._arguments[number], self.number(f"fixed {axis}")
        )

    def _flat(self, number: int) -> ir.Value:
        """Returns an array of more dimensions as one of one, which its elements are in memory."""
        argument = self._arguments[number]
        kind = ir.MemRefType(argument.type)
        if kind.rank < 2:
            return argument
        flat = ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], kind.element_type)
        index = ir.IntegerType.get_signless(64)
        groups = ir.ArrayAttr.get([ir.ArrayAttr.get([ir.IntegerAttr.get(index, axis) for axis in range(kind.rank)])])
        return ir_words.operation("memref.collapse_shape", flat, argument, reassociation=groups)

    def _parts(self, number: int) -> ir.Value:
        """Returns an array of complex numbers as one of their parts."""
        flat = self._flat(number)
        element = ir.ComplexType(ir.MemRefType(flat.type).element_type).element_type
        parts = ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], element)
        return ir_words.operation("builtin.unrealized_conversion_cast", parts, flat)
