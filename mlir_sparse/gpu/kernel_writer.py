"""A kernel while it is written: its parameters, what it computes once at its start, and where its threads are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlir_sparse._mlir import ir
from mlir_sparse._mlir.older_attributes import kernel_attribute
from mlir_sparse.gpu.kernels.combine_partials import identity
from mlir_sparse.gpu.kernels.coordinate_search import find, find_row
from mlir_sparse.gpu.kernels.widen_half import as_register
from mlir_sparse.gpu.sparsified_function import SparsifiedFunction
from mlir_sparse.gpu.unmapped_error import UnmappedError
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import MemoryAccess, access_of
from mlir_sparse.loops.emit_copies import copy_of
from mlir_sparse.loops.value_origins import constant_of, made_by, maker, result_maker
from mlir_sparse.program.launch_values import Array, LevelBuffer, Parameter
from mlir_sparse.program.nest_facts import CoordinateSearch, RowSearch
from mlir_sparse.program.size_values import Count

__all__ = ["WARP", "KernelText", "copied"]

WARP = 32
# What is read on the host and handed over as a number.
_SIZES = ("llvm.extractvalue", "memref.dim")


class KernelText:
    """A `gpu.func` that is being written, at the end of a `gpu.module`.

    Buffers come as memrefs of one dimension and sizes as `index`, so that a launch hands over addresses and
    numbers only; arrays of more dimensions are views of those.

    Args:
        source: the function whose loops it takes.
        name: its symbol.
        adjacent: the arguments of which a thread takes adjacent elements: a call has made sure that they begin, and
            that their rows do, at multiples of so many elements.
        number: how many.
    """

    def __init__(
        self, source: SparsifiedFunction, name: str, adjacent: frozenset[int] = frozenset(), number: int = 1
    ) -> None:
        self.source = source
        self._adjacent, self._number = adjacent, number
        self.name = name
        # What it takes, and which argument of the function that is.
        self._taken: list[tuple[Parameter, int | None]] = []
        self._values: dict[object, ir.Value] = {}
        self._copies: dict[ir.Value, ir.Value] = {}
        self.operation = ir.Operation.create(
            "gpu.func",
            regions=1,
            attributes={
                "function_type": ir.TypeAttr.get(ir.FunctionType.get([], [])),
                kernel_attribute(): ir.UnitAttr.get(),
                "sym_name": ir.StringAttr.get(name),
                "workgroup_attributions": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0),
            },
        )
        self.block = self.operation.regions[0].blocks.append()
        with ir.InsertionPoint(self.block):
            # Everything at the start is written before it.
            self._start = result_maker(build.constant(0))
            self._end = ir.Operation.create("gpu.return")

    def bound(self, threads: int, blocks: int) -> None:
        """Says how many threads a block has at most, and how many blocks a multiprocessor is to take at least."""
        self.operation.attributes["nvvm.maxntid"] = ir.DenseI32ArrayAttr.get([threads])
        self.operation.attributes["nvvm.minctasm"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), blocks)

    def bytes_of(self, number: int) -> int:
        """Returns how many bytes an element of an argument has."""
        return build.width_of(build.element_of(self.source.arguments[number])) // 8

    @property
    def body(self) -> ir.InsertionPoint:
        """Returns the insertion point of what threads do."""
        return ir.InsertionPoint(self._end)

    def finish(self) -> None:
        """Gives the function the type of its parameters."""
        kinds = [argument.type for argument in self.block.arguments]
        self.operation.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(kinds, []))
        attributes = [self._attributes(what, number) for what, number in self._taken]
        self.operation.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)

    def _attributes(self, what: Parameter, number: int | None) -> ir.Attribute:
        """Returns what LLVM may know of a parameter: buffers lie apart from that which is written."""
        if not isinstance(what, LevelBuffer | Array):
            return ir.DictAttr.get({})
        known: dict[str, ir.Attribute] = {"llvm.noalias": ir.UnitAttr.get()}
        if number not in self.source.outputs:
            known["llvm.readonly"] = ir.UnitAttr.get()
        if number is not None and number in self._adjacent:
            known["llvm.align"] = ir.IntegerAttr.get(build.word_type(), self._number * self.bytes_of(number))
        return ir.DictAttr.get(known)

    # -- parameters ----------------------------------------------------------------------------------------------

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Returns what it takes, in order."""
        return tuple(what for what, _ in self._taken)

    def parameter(self, what: Parameter, kind: ir.Type, number: int | None = None) -> ir.Value:
        """Returns a parameter, which is added where it is new.

        Args:
            what: what a launch passes.
            kind: its type.
            number: which argument of the function it is; None for one that it is not.
        """
        key = what, number, str(kind)
        if key not in self._values:
            self._taken.append((what, number))
            self._values[key] = self.block.add_argument(kind, ir.Location.unknown())
        return self._values[key]

    def passed(self, number: int, kind: ir.Type) -> ir.Value:
        """Returns a buffer of the function's arguments as a parameter, of a type that its elements can be read as."""
        buffer = self.source.known[number].buffer
        if buffer is None:
            raise UnmappedError(f"expected a buffer, but got argument {number}")
        return self.parameter(buffer, kind, number)

    def size(self, count: Count) -> ir.Value:
        """Returns a parameter that is a number."""
        return self.parameter(count, build.index_type())

    def buffer(self, number: int) -> ir.Value:
        """Returns an argument that is a memref; of one dimension as a parameter, of more as a view of one."""
        kind = ir.MemRefType(self.source.arguments[number].type)
        flat = kind if kind.rank < 2 else ir.MemRefType.get([_any()], kind.element_type)
        parameter = self.passed(number, flat)
        if kind.rank < 2:
            return parameter
        name = "view", number
        if name not in self._values:
            with ir.InsertionPoint(self._start):
                self._values[name] = self._view(parameter, number, kind)
        return self._values[name]

    def _view(self, flat: ir.Value, number: int, kind: ir.MemRefType) -> ir.Value:
        sizes = [self.extent(number, axis) for axis in range(kind.rank)]
        strides = [build.constant(1)]
        for size in reversed(sizes[1:]):
            strides.insert(0, build.multiply(strides[0], size))
        unknown = ir.ShapedType.get_dynamic_stride_or_offset()
        layout = ir.StridedLayoutAttr.get(0, [unknown] * (kind.rank - 1) + [1])
        result = ir.MemRefType.get([_any()] * kind.rank, kind.element_type, layout=layout)
        groups = ir.DenseI32ArrayAttr.get([1, 0, kind.rank, kind.rank - 1])
        return build.operation(
            "memref.reinterpret_cast",
            result,
            flat,
            *sizes,
            *strides[:-1],
            static_offsets=ir.DenseI64ArrayAttr.get([0]),
            static_sizes=ir.DenseI64ArrayAttr.get([_any()] * kind.rank),
            static_strides=ir.DenseI64ArrayAttr.get([unknown] * (kind.rank - 1) + [1]),
            operandSegmentSizes=groups,
        )

    def extent(self, number: int, axis: int) -> ir.Value:
        """Returns an extent of an array, at the insertion point."""
        kind = ir.MemRefType(self.source.arguments[number].type)
        if kind.is_dynamic_dim(axis):
            size = self.size(self.source.known[number].sizes[axis])
            # LLVM then sees that it is a multiple, and reads and writes adjacent elements by one instruction.
            aligned = number in self._adjacent and axis == kind.rank - 1
            return build.bits_of("andi", size, build.constant(-self._number)) if aligned else size
        return build.constant(kind.get_dim_size(axis))

    def outer(self, value: ir.Value) -> ir.Value:
        """Returns a value that the function computes before its loops, as it is in the kernel."""
        if value not in self._copies:
            with ir.InsertionPoint(self._start):
                self._copies[value] = self._outer(value)
        return self._copies[value]

    def _outer(self, value: ir.Value) -> ir.Value:
        alias = self.source.alias_of(value)
        if alias is not None:
            return self.buffer(alias.argument)
        op = maker(value)
        if op is None:
            raise UnmappedError(f"expected values that are known before the loops, but got {value}")
        access = access_of(op)
        if access is not None:
            return self.load(access, [self.outer(index) for index in access.at])
        if op.name == "memref.dim":
            of, along = op.operands
            axis, alias = constant_of(along), self.source.alias_of(of)
            if axis is None or alias is None:
                raise UnmappedError(f"expected an extent of an argument, but got {op}")
            return self.extent(alias.argument, axis)
        if op.name == "llvm.extractvalue":
            size = self.source.level_size(op)
            if size is None:
                raise UnmappedError(f"expected the size of a level, but got {op}")
            return self.size(size)
        if op.name == "arith.index_cast" and all(made_by(of, "llvm.extractvalue") for of in op.operands):
            return self.outer(*op.operands)
        return copied(op, self.outer)[ir.OpResult(value).result_number]

    def inside(self, number: int, indices: Sequence[ir.Value]) -> tuple[list[ir.Value], ir.Value | None]:
        """Returns indices that are in an array, and whether those asked for are; None where they always are.

        Loops over blocks and over diagonals reach beyond the edges of arrays, where there are zeros, if anything.
        """
        found, truth = list(indices), None
        for axis, start in self.source.known[number].guards:
            at = found[axis] if start is None else build.add(found[axis], self.size(start))
            there = build.compare("ult", at, self.extent(number, axis))
            found[axis] = build.select(there, at, build.constant(0))
            truth = there if truth is None else build.bits_of("andi", truth, there)
        return found, truth

    def place(self, memref: ir.Value, indices: Sequence[ir.Value]) -> tuple[ir.Value, list[ir.Value]]:
        """Returns the memref and the indices of an access in the kernel."""
        alias = self.source.alias_of(memref)
        if alias is None:
            raise UnmappedError(f"expected accesses to arguments, but got one to {memref}")
        at = list(indices)
        if (alias.offset, alias.stride) != (0, 1):
            scaled = build.multiply(at[0], build.constant(alias.stride))
            at = [build.add(scaled, build.constant(alias.offset)) if alias.offset else scaled]
        rows = self.source.known[alias.argument - 1].search if alias.argument else None
        if isinstance(rows, RowSearch) and rows.stride != (1, 0):
            stride, offset = rows.stride
            at = [build.add(build.multiply(at[0], build.constant(stride)), build.constant(offset))]
        return self.buffer(alias.argument), at

    def load(self, access: MemoryAccess, indices: Sequence[ir.Value]) -> ir.Value:
        """Returns what a load of the function reads, at other indices."""
        return self.looked_up(access, indices)[0]

    def looked_up(self, access: MemoryAccess, indices: Sequence[ir.Value]) -> tuple[ir.Value, ir.Value | None]:
        """Returns the same, and whether there is an entry; None for arrays, which have all elements."""
        alias, element = self.source.alias_of(access.buffer), build.element_of(access.buffer)
        kind = access.op.results[0].type
        indices, truth = self.inside(alias.argument, indices) if alias is not None else (list(indices), None)
        search = None if alias is None else self.source.known[alias.argument].search
        if isinstance(search, CoordinateSearch) and alias is not None:
            value, found = find(self, search, alias.argument, indices, element)
            value = as_register(value, kind)
            if truth is not None:
                value = build.select(truth, value, identity("sum", kind))
                found = build.bits_of("andi", found, truth)
            return value, None if search.whole else found
        if isinstance(search, RowSearch):
            return build.cut(find_row(self, search, indices[0]), kind), None
        memref, at = self.place(access.buffer, indices)
        loaded = as_register(build.operation("memref.load", element, memref, *at), kind)
        if truth is None:
            return loaded, None
        return build.select(truth, loaded, identity("sum", kind)), None

    def shared(self, count: int, kind: ir.Type) -> ir.Value:
        """Returns memory that the threads of a block share, of some elements."""
        place = ir.Attribute.parse("#gpu.address_space<workgroup>")
        held = ir.MemRefType.get([count], kind, memory_space=place)
        name = f"{self.name}_held"
        with ir.InsertionPoint(self.operation):
            ir.Operation.create(
                "memref.global",
                attributes={
                    "sym_name": ir.StringAttr.get(name),
                    "sym_visibility": ir.StringAttr.get("private"),
                    "type": ir.TypeAttr.get(held),
                    "initial_value": ir.UnitAttr.get(),
                },
            )
        with ir.InsertionPoint(self._start):
            named = {"name": ir.FlatSymbolRefAttr.get(name)}
            return ir.Operation.create("memref.get_global", results=[held], attributes=named).result

    # -- threads -------------------------------------------------------------------------------------------------

    def identity(self, what: str, axis: str) -> ir.Value:
        """Returns `thread_id`, `block_id`, `block_dim` or `grid_dim` along an axis, as an `index`."""
        name = what, axis
        if name not in self._values:
            attribute = ir.Attribute.parse(f"#gpu<dim {axis}>")
            with ir.InsertionPoint(self._start):
                self._values[name] = build.operation(f"gpu.{what}", build.index_type(), dimension=attribute)
        return self._values[name]

    def lane(self) -> ir.Value:
        """Returns the thread's number in its warp, of a block whose threads along x divide a warp."""
        if "lane" not in self._values:
            x, y, width = (self.identity(*of) for of in (("thread_id", "x"), ("thread_id", "y"), ("block_dim", "x")))
            with ir.InsertionPoint(self._start):
                number = build.add(build.multiply(y, width), x)
                self._values["lane"] = build.bits_of("andi", number, build.constant(WARP - 1))
        return self._values["lane"]


def copied(op: ir.Operation, value_of: Callable[[ir.Value], ir.Value]) -> list[ir.Value]:
    """Writes an operation without regions once more, on other operands; returns its results."""
    if len(op.regions):
        raise UnmappedError(f"expected no {op.name} before the loops")
    known = {operand: value_of(operand) for operand in op.operands}
    return list(copy_of(op, known).results)


def _any() -> int:
    return ir.ShapedType.get_dynamic_size()
