"""The sparsified function that kernels are made of: its buffers, sizes, fill and loops."""

from __future__ import annotations

from collections.abc import Iterable

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.gpu.unmapped_error import UnmappedError
from mlir_sparse.loops.effects import MemoryAccess, access_of
from mlir_sparse.loops.model import EMITTED, Loop, loop_of
from mlir_sparse.loops.regions import blocks_of, operations_of, walk
from mlir_sparse.loops.value_origins import constant_of, made_by, maker
from mlir_sparse.program.nest_facts import BufferArgument, ThreadedNest
from mlir_sparse.program.size_values import Count, Fixed, Stored

__all__ = ["Alias", "SparsifiedFunction", "accesses_in", "depends", "read_source", "stores_in"]


@dataclass(frozen=True, slots=True)
class Alias:
    """A view of a buffer argument: every `stride`-th element from `offset` on, as interleaved coordinates have."""

    argument: int
    offset: int = 0
    stride: int = 1


@dataclass(frozen=True, slots=True)
class SparsifiedFunction:
    """A function over buffers, taken apart.

    Args:
        function: the `func.func`.
        name: its symbol.
        arguments: its arguments.
        fill: the loops that set the result to what an accumulation starts from; None where nothing does.
        main: the loops of the computation and the stores after them.
        marked: whether the sparsifier made the loops; else they are of a generic that reads dense operands only.
        outputs: the numbers of the arguments that are written.
        known: what the plan knows of each argument.
        apart: whether iterations of loops are known to store to places of their own.
    """

    function: ir.Operation
    name: str
    arguments: tuple[ir.Value, ...]
    fill: ir.Operation | None
    main: tuple[ir.Operation, ...]
    marked: bool
    outputs: tuple[int, ...]
    known: tuple[BufferArgument, ...]
    apart: bool = False

    @property
    def output(self) -> int:
        """Returns the number of the argument that values are written to."""
        return self.outputs[-1]

    @property
    def filler(self) -> ir.Value:
        """Returns what the fill stores."""
        if self.fill is None:
            raise UnmappedError(f"expected loops that fill the result of {self.name}, but got none")
        value = stores_in([self.fill])[0].value
        assert value is not None
        return value

    def spine_of(self, op: ir.Operation) -> Loop | None:
        """Returns an operation as a loop over an index variable; None for a search on the way, and any other."""
        return loop_of(op) if not self.marked or EMITTED in op.attributes else None

    def spines_in(self, operations: Iterable[ir.Operation]) -> list[Loop]:
        """Returns the loops over index variables among operations."""
        return [loop for op in operations if (loop := self.spine_of(op)) is not None]

    def alias_of(self, value: ir.Value) -> Alias | None:
        """Returns which buffer argument a memref is or views; None for no memref of an argument."""
        if value in self.arguments:
            return Alias(self.arguments.index(value))
        op = made_by(value, "memref.subview")
        if op is None:
            return None
        viewed, *_ = op.operands
        base = self.alias_of(viewed)
        if base is None:
            return None
        offset, stride = (_static(op, name) for name in ("static_offsets", "static_strides"))
        return Alias(base.argument, base.offset + base.stride * offset, base.stride * stride)

    def size_of(self, value: ir.Value) -> Count:
        """Returns what a bound of a loop is: a number, or a size of an argument.

        A bound that is the end of a level's positions is the number of its coordinates.

        Raises:
            UnmappedError: for a bound that no argument tells.
        """
        number = constant_of(value)
        if number is not None:
            return Fixed(number)
        op = maker(value)
        if op is None:
            raise UnmappedError(f"expected a bound that arguments tell, but got {value}")
        of, *at = op.operands
        read = made_by(of, "llvm.extractvalue") if op.name == "arith.index_cast" else None
        if read is None and op.name.startswith(("arith.index_cast", "arith.ext")):
            return self.size_of(of)
        size = self.level_size(op if read is None else read)
        if size is not None:
            return size
        alias = self.alias_of(of) if op.name in ("memref.dim", "memref.load") else None
        place = constant_of(at[0]) if alias is not None and len(at) == 1 else None
        if alias is not None and place is not None and op.name == "memref.dim":
            return self.known[alias.argument].sizes[place]
        if alias is not None and place == 1:
            return self.stored(alias.argument)
        raise UnmappedError(f"expected a bound that arguments tell, but got {op}")

    def level_size(self, op: ir.Operation) -> Count | None:
        """Returns the size of a level that an operation reads from what describes a tensor; None for any other."""
        if op.name != "llvm.extractvalue":
            return None
        (of,), (field, level) = op.operands, ir.DenseI64ArrayAttr(op.attributes["position"])
        return self.known[self.arguments.index(of)].sizes[level] if field == 0 else None

    def stored(self, positions: int) -> Stored:
        """Returns the number of coordinates of a level, by the argument of its positions."""
        stored = self.known[positions].stored
        if stored is None:
            raise UnmappedError(f"expected positions of a level, but got argument {positions}")
        return stored

    def pieces_of(self, positions: int) -> int:
        """Returns how many numbers of the coordinates that follow some positions are one coordinate's, interleaved."""
        uses = [use.owner.operation for use in self.arguments[positions + 1].uses]
        widths = {_static(op, "static_strides") for op in uses if op.name == "memref.subview"}
        return max(widths, default=1)


def read_source(function: ir.Operation, nest: ThreadedNest) -> SparsifiedFunction:
    """Takes a function apart, of which the plan knows more.

    Raises:
        UnmappedError: for a function that writes nothing, or to more than one buffer where it does not say how.
    """
    (block,) = blocks_of(function)
    ops = operations_of(block)
    stored = [number for number, op in enumerate(ops) if stores_in([op])]
    if not stored:
        raise UnmappedError("expected loops that store a result, but got none")
    arguments = tuple(block.arguments)
    # What one thread keeps to itself is no output.
    written = {store.buffer for store in stores_in(ops) if made_by(store.buffer, "memref.alloca") is None}
    outputs = tuple(number for number, argument in enumerate(arguments) if argument in written)
    if len(outputs) != len(written) or (len(written) != 1 and not nest.apart):
        raise UnmappedError(f"expected stores to one buffer, but got {len(written)}")
    fill = ops[stored[0]] if len(stored) > 1 and _is_fill(ops[stored[0]]) else None
    first = stored[1] if fill is not None else stored[0]
    marks = [number for number, op in enumerate(ops) if loop_of(op) is not None and EMITTED in op.attributes]
    main = tuple(ops[min([first, *marks]) : stored[-1] + 1])
    marked = bool(marks)
    name = ir.StringAttr(function.attributes["sym_name"]).value
    return SparsifiedFunction(function, name, arguments, fill, main, marked, outputs, nest.arguments, nest.apart)


def _is_fill(op: ir.Operation) -> bool:
    """Returns whether loops store one value everywhere."""
    return all(inner.name not in ("memref.load", "scf.while", "scf.if") for inner in walk(op))


def accesses_in(operations: Iterable[ir.Operation]) -> list[MemoryAccess]:
    """Returns the loads and stores among operations and inside them."""
    found = (access_of(inner) for op in operations for inner in walk(op))
    return [access for access in found if access is not None]


def stores_in(operations: Iterable[ir.Operation]) -> list[MemoryAccess]:
    """Returns the stores among operations and inside them."""
    return [access for access in accesses_in(operations) if access.value is not None]


def depends(value: ir.Value, on: ir.Value) -> bool:
    """Returns whether a value is computed from another one."""
    if value == on:
        return True
    op = maker(value)
    return op is not None and any(depends(operand, on) for operand in op.operands)


def _static(op: ir.Operation, name: str) -> int:
    (value,) = ir.DenseI64ArrayAttr(op.attributes[name])
    if value == ir.ShapedType.get_dynamic_stride_or_offset():
        raise UnmappedError(f"expected constant {name} of a view, but got {op}")
    return int(value)
