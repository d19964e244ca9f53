"""Gives operations the debug locations that passes do not: those of the operands that they read.

The sparsifier gives all that it writes the location of the `linalg.generic`, and passes in Python give none. Arguments
of functions keep theirs through all passes. A load is located where the buffer is that it reads, arithmetic where the
notation has it, as the generics' payloads say, and loops at their index variables. Only traces ask for this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.loops.remarks import loops_by_depth
from mlir_sparse.text.line_places import LinePlace

__all__ = ["LocationRefiner"]

_CONTAINERS = ("memref<", "tensor<", "vector<", "!llvm.ptr", "!llvm.struct", "!sparse_tensor")
_LOOPS = ("scf.for", "scf.while")
_FUNCTIONS = ("func.func", "llvm.func", "gpu.func")
_MOST = 3  # places of one operation: more say nothing

Leaves = frozenset[str]


class LocationRefiner:
    """The locations of a module, from what it was before all passes.

    Args:
        module: the module as it was built.
        variables: for each function the places of its loops' index variables, outermost first; none for modules whose
            locations are those of their own text.
    """

    def __init__(self, module: ir.Module, variables: Mapping[str, Sequence[LinePlace | None]]) -> None:
        self._variables = dict(variables)
        self._locations: dict[str, ir.Location] = {}
        self._vague = {str(ir.Location.unknown())}
        self._payload: dict[tuple[str, Leaves], str] = {}
        self._targets: set[str] = set()
        self._target_of: dict[str, ir.Location] = {}
        self._parameters: dict[str, list[ir.Location]] = {}
        if variables:
            self._vague |= {str(op.operation.location) for op in module.body.operations}
            module.operation.walk(self._note, ir.WalkOrder.PRE_ORDER)

    def _note(self, op: ir.Operation) -> ir.WalkResult:
        """Notes what the payload of a generic computes of which operands."""
        if op.name != "linalg.generic":
            return ir.WalkResult.ADVANCE
        block = op.regions[0].blocks[0]
        leaves = {str(one): frozenset([self._named(one.location)]) for one in block.arguments}
        target = list(block.arguments)[-1].location
        self._targets.add(self._named(target))
        if op.parent is not None:
            self._target_of[_symbol(op.parent)] = target
        for inner in block.operations:
            found = frozenset[str]().union(*(leaves.get(str(operand), frozenset()) for operand in inner.operands))
            for result in inner.operation.results:
                leaves[str(result)] = found
            where = self._named(inner.operation.location)
            if where not in self._vague:
                self._payload.setdefault((inner.operation.name, found - self._targets), where)
        return ir.WalkResult.SKIP

    def _named(self, location: ir.Location) -> str:
        name = str(location)
        self._locations.setdefault(name, location)
        return name

    def refine(self, module: ir.Module) -> None:
        """Gives operations of a module the locations that they lack, where the bindings can set them."""
        if getattr(ir.Operation.location, "fset", None) is None:
            return
        operations = [op.operation for op in module.body.operations]
        for function in [op for op in operations if op.name == "func.func"]:
            self._name_loops(function)
            self._name_results(function)
            self._name_copied(function)
        self._values: dict[ir.Value, Leaves] = {}
        self._launched: dict[str, Sequence[Leaves]] = {}
        kernels = [op for op in operations if op.name == "gpu.module"]
        for op in operations:
            if op not in kernels:
                op.walk(self._refine_one, ir.WalkOrder.PRE_ORDER)
        for op in kernels:
            op.walk(self._refine_kernel, ir.WalkOrder.PRE_ORDER)

    def _name_loops(self, function: ir.Operation) -> None:
        """Locates loops at their variables, once there are any: later ones may be of passes."""
        name = _symbol(function)
        if name not in self._variables:
            return
        depths = loops_by_depth(function)
        if not depths:
            return
        variables = self._variables.pop(name)
        if len(depths) != len(variables):
            return  # storage with other loops than the notation has variables
        for place, loops in zip(variables, depths, strict=True):
            if place is not None:
                where = ir.Location.file(place.text, place.line, place.start, place.line, place.end)
                for op in loops:
                    op.location = where

    def _name_results(self, function: ir.Operation) -> None:
        """Locates the buffers of a sparse result, which a pass makes parameters, at the target."""
        target = self._target_of.get(_symbol(function))
        if target is not None:
            for argument in _arguments(function):
                if self._named(argument.location) in self._vague:
                    argument.set_location(target)

    def _name_copied(self, function: ir.Operation) -> None:
        """Locates the parameters of a function that a pass made of another one, whose name its own begins with."""
        name, arguments = _symbol(function), _arguments(function)
        if name in self._variables or name in self._target_of:
            self._parameters[name] = [argument.location for argument in arguments]
            return
        for known, locations in self._parameters.items():
            if name.startswith(f"{known}_") and len(locations) == len(arguments):
                for argument, location in zip(arguments, locations, strict=True):
                    argument.set_location(location)

    def _refine_kernel(self, op: ir.Operation) -> ir.WalkResult:
        """Locates the parameters of a kernel where its launch has its operands."""
        if op.name == "gpu.func":
            given, arguments = self._launched.get(_symbol(op), ()), _arguments(op)
            for argument, leaves in zip(reversed(arguments), reversed(given), strict=False):
                if 0 < len(leaves) <= _MOST and self._named(argument.location) in self._vague:
                    argument.set_location(self._fused(leaves))
        return self._refine_one(op)

    def _fused(self, leaves: Leaves) -> ir.Location:
        return ir.Location.fused([self._locations[one] for one in sorted(leaves)])

    def _refine_one(self, op: ir.Operation) -> ir.WalkResult:
        name = self._named(op.location)
        leaves = self._leaves_of(op)
        if name in self._vague and op.name not in _FUNCTIONS and leaves is not None:
            located = self._payload.get((op.name, leaves - self._targets)) if leaves else None
            if located is not None:
                op.location = self._locations[located]
            elif 0 < len(leaves) <= _MOST:
                op.location = self._fused(leaves)
            elif (around := self._around(op)) is not None:
                op.location = around
        if op.name == "gpu.launch_func":
            kernel = str(op.attributes["kernel"]).rpartition("@")[2]
            self._launched[kernel] = [self._of_value(operand) for operand in op.operands]
        for result in op.results:
            self._values[result] = leaves or frozenset()
        return ir.WalkResult.ADVANCE

    def _leaves_of(self, op: ir.Operation) -> Leaves | None:
        """Returns the places of what an operation reads; in memory, those of the buffer; None where it says none."""
        if len(op.regions) or op.name.startswith("linalg.") or not len(op.operands):
            return None  # what computes several things: its location is handed on to all of them
        operands = list(op.operands)
        container = next((one for one in operands if str(one.type).startswith(_CONTAINERS)), None)
        if container is not None and (found := self._of_value(container)):
            return found
        return frozenset().union(*map(self._of_value, operands))

    def _of_value(self, value: ir.Value) -> Leaves:
        if isinstance(value, ir.BlockArgument):
            name = self._named(value.location)
            known = value.owner.owner.operation.name in _FUNCTIONS and name not in self._vague
            return frozenset([name]) if known else frozenset()
        return self._values.get(value, frozenset())

    def _around(self, op: ir.Operation) -> ir.Location | None:
        """Returns the location of the loop around an operation; None where it is vague too."""
        around = op.parent
        if around is None or around.name not in (*_LOOPS, "scf.if"):
            return None
        return None if self._named(around.location) in self._vague else around.location


def _arguments(function: ir.Operation) -> list[ir.BlockArgument]:
    blocks = function.regions[0].blocks
    return list(blocks[0].arguments) if len(blocks) else []


def _symbol(function: ir.Operation) -> str:
    return ir.StringAttr(function.attributes["sym_name"]).value
