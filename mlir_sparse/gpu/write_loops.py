"""Loops of the function written into a kernel, each by its part in the mapping."""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.gpu.kernel_writer import KernelText, copied
from mlir_sparse.gpu.kernels import combine_partials
from mlir_sparse.gpu.kernels.store_guards import Guards
from mlir_sparse.gpu.kernels.widen_half import as_element
from mlir_sparse.gpu.loop_roles import nest_writer, role_of
from mlir_sparse.gpu.sparsified_function import depends, stores_in
from mlir_sparse.gpu.unmapped_error import UnmappedError
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import MemoryAccess, access_of
from mlir_sparse.loops.model import ForLoop, Loop
from mlir_sparse.loops.regions import operations_of
from mlir_sparse.loops.value_origins import made_by, maker, parent_of, result_maker
from mlir_sparse.program.thread_mapping import ThreadMapping

__all__ = ["Emitter"]

_CONTRACTED = ("arith.addf", "arith.mulf", "arith.subf")


class Emitter(Guards):
    """Writes the loops of a function into a kernel.

    Args:
        kernel: the kernel.
        mapping: what becomes of each loop.
        combine: the operator of the accumulation.
        fresh: whether each element of the result is computed once, from what an accumulation starts from.
    """

    def __init__(self, kernel: KernelText, mapping: ThreadMapping, combine: str, *, fresh: bool) -> None:
        super().__init__()
        self.kernel, self.mapping, self.combine = kernel, mapping, combine
        # Whether threads exchange values, so that those of a warp, or a block, must stay together.
        self.shares = any(role_of(name).shares for name in mapping.roles if nest_writer(name) is None)
        self._fresh = fresh
        self._values: dict[ir.Value, ir.Value] = {}
        # Of the column that is written, where a thread takes several together.
        self._own = self._values
        # The loop over rows of the function, and the first of those that the block takes in an iteration.
        self.rows_of_block: tuple[ForLoop, ir.Value] | None = None

    # -- values --------------------------------------------------------------------------------------------------

    def value(self, old: ir.Value) -> ir.Value:
        """Returns a value of the function as it is in the kernel."""
        for known in (self._own, self._values):
            if old in known:
                return known[old]
        op = maker(old)
        access = None if op is None else access_of(op)
        if access is not None and self.is_output(access.buffer):
            return self.present(access)
        return self.kernel.outer(old)

    def turn_to(self, own: dict[ir.Value, ir.Value] | None) -> None:
        """Says which column is written from now on, by what stands for values in it; None where there is but one."""
        self._own = self._values if own is None else own

    def bind(self, old: ir.Value, new: ir.Value) -> None:
        """Says what stands for a value of the function; while several columns are written, for one of them."""
        self._own[old] = new

    def is_output(self, memref: ir.Value) -> bool:
        """Returns whether a memref of the function is the result."""
        alias = self.kernel.source.alias_of(memref)
        return alias is not None and alias.argument in self.kernel.source.outputs

    def knows(self, old: ir.Value) -> bool:
        """Returns whether something stands for a value of the function already."""
        return old in self._own or old in self._values

    def present(self, access: MemoryAccess, indices: Sequence[ir.Value] | None = None) -> ir.Value:
        """Returns what the result holds before: the identity where other threads add to it, or nothing did."""
        if self.mapping.atomic:
            return combine_partials.identity(self.combine, access.op.results[0].type)
        if self._fresh:
            return self.kernel.outer(self.kernel.source.filler)
        return self.kernel.load(access, [self.value(index) for index in access.at] if indices is None else indices)

    # -- operations ----------------------------------------------------------------------------------------------

    def block(self, ops: Sequence[ir.Operation], depth: int) -> list[ir.Value]:
        """Writes operations; returns the operands of the terminator."""
        yielded: list[ir.Value] = []
        with self.iterations() as counted:
            for op in ops:
                if op.name in ("scf.yield", "scf.condition"):
                    yielded = counted([self.value(operand) for operand in op.operands], self._before(op))
                else:
                    self.one(op, depth)
        return yielded

    def _before(self, op: ir.Operation) -> list[ir.Value]:
        """Returns what a loop carries into the iteration that a terminator ends."""
        loop = parent_of(op)
        if loop.name != "scf.for" or not self.searches:
            return []
        return [self.value(carried) for carried in ForLoop(loop).carried]

    def one(self, op: ir.Operation, depth: int) -> None:
        """Writes an operation."""
        loop, access = self.kernel.source.spine_of(op), access_of(op)
        if loop is not None:
            self._loop(loop, depth)
        elif access is not None and made_by(access.buffer, "memref.alloca") is None:
            self._access(access)
        elif len(op.regions):
            for old, new in zip(op.results, self.rebuilt(op, depth), strict=True):
                self.bind(old, new)
        else:
            self._copied(op)  # a load or a store of a thread's own memory too, which LLVM makes registers of

    def _access(self, access: MemoryAccess) -> None:
        if access.value is not None:
            self.store(access)
        else:
            loaded = self.present(access) if self.is_output(access.buffer) else self._load(access)
            self.bind(access.op.results[0], loaded)

    def _load(self, access: MemoryAccess) -> ir.Value:
        loaded, found = self.kernel.looked_up(access, [self.value(index) for index in access.at])
        if found is not None:
            self.found(found)
        return loaded

    def _copied(self, op: ir.Operation) -> None:
        for old, new in zip(op.results, copied(op, self.value), strict=True):
            self.bind(old, new)
            if op.name in _CONTRACTED:
                # A product and a sum are one instruction, which rounds once.
                result_maker(new).attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<contract>")

    def rebuilt(self, op: ir.Operation, depth: int) -> list[ir.Value]:
        """Writes an operation with regions again; returns its results."""
        kinds = [result.type for result in op.results]
        operands = [self.value(operand) for operand in op.operands]
        copy = ir.Operation.create(op.name, results=kinds, operands=operands, regions=len(op.regions))
        for before, after in zip(op.regions, copy.regions, strict=True):
            for block in before.blocks:
                kinds = [argument.type for argument in block.arguments]
                made = after.blocks.append(*kinds, arg_locs=[ir.Location.unknown()] * len(kinds))
                for old, new in zip(block.arguments, made.arguments, strict=True):
                    self.bind(old, new)
                inner = operations_of(block)
                with ir.InsertionPoint(made):
                    ir.Operation.create(inner[-1].name, operands=self.block(inner, depth))
        return list(copy.results)

    # -- stores --------------------------------------------------------------------------------------------------

    def store(self, access: MemoryAccess) -> None:
        """Writes a store."""
        assert access.value is not None
        self.store_at(access, self.value(access.value), [self.value(index) for index in access.at])

    def store_at(self, access: MemoryAccess, value: ir.Value, indices: Sequence[ir.Value]) -> None:
        """Writes a store of another value at other indices."""
        at, truth = self.kernel.inside(self.kernel.source.output, indices)
        if truth is None:
            self.guarded(lambda: self._stored(value, access.buffer, at))
        else:
            self.within(truth, lambda: self.guarded(lambda: self._stored(value, access.buffer, at)))

    def _stored(self, value: ir.Value, memref: ir.Value, indices: Sequence[ir.Value]) -> None:
        value = as_element(value, ir.MemRefType(memref.type).element_type)
        if not self.mapping.atomic:
            place, at = self.kernel.place(memref, indices)
            ir.Operation.create("memref.store", operands=[value, place, *at])
        elif isinstance(value.type, ir.ComplexType):
            self._add_parts(value, indices)
        else:
            place, at = self.kernel.place(memref, indices)
            combine_partials.atomically(self.combine, value, place, at)

    def _add_parts(self, value: ir.Value, indices: Sequence[ir.Value]) -> None:
        """Adds a complex number by its parts: no memory takes it whole."""
        if self.combine != "sum":
            raise UnmappedError(f"expected a sum of complex numbers, but got {self.combine}")
        number = self.kernel.source.output
        element = ir.ComplexType(value.type).element_type
        parts = self.kernel.passed(number, ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], element))
        at = build.constant(0)
        for axis, index in enumerate(indices):
            at = build.add(build.multiply(at, self.kernel.extent(number, axis)), index) if axis else index
        at = build.multiply(at, build.constant(2))
        for shift, part in enumerate(("re", "im")):
            place = build.add(at, build.constant(shift))
            combine_partials.atomically("sum", build.operation(f"complex.{part}", element, value), parts, [place])

    # -- loops ---------------------------------------------------------------------------------------------------

    def _loop(self, loop: Loop, depth: int) -> None:
        name = self.mapping.role(depth)
        role = role_of(name)
        if role.divides and not (isinstance(loop, ForLoop) and loop.step == 1):
            raise UnmappedError(f"expected a loop that counts, to be mapped to {name}, but got {loop.op.name}")
        if isinstance(loop, ForLoop) and role.divides and not role.shares:
            self.check_apart(loop, name)
        for old, new in zip(loop.results, role.write(self, loop.op, depth), strict=True):
            self.bind(old, new)

    def iteration(self, loop: ForLoop, index: ir.Value, carried: Sequence[ir.Value], depth: int) -> list[ir.Value]:
        """Writes an iteration of a loop; returns what it yields."""
        self.bind(loop.index, index)
        for old, new in zip(loop.carried, carried, strict=True):
            self.bind(old, new)
        return self.block(operations_of(loop.block), depth + 1)

    def check_apart(self, loop: ForLoop, role: str) -> None:
        """Refuses to divide iterations that store to one element, where nothing makes that safe."""
        if self.mapping.atomic or self.kernel.source.apart:
            return
        if not all(any(depends(index, loop.index) for index in store.at) for store in stores_in([loop.op])):
            raise UnmappedError(f"expected iterations that store to elements of their own, for {role}")
