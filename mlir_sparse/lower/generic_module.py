"""Builds the module of a program: a function for each loop nest, with dynamic shapes."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from itertools import repeat

from mlir_sparse._mlir import bindings, diagnostics_of, ir, mlir_context, operation_classes, parse_module
from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import CompileError
from mlir_sparse.loops.facts_in_ir import write_facts
from mlir_sparse.lower import arithmetic_ops
from mlir_sparse.lower.entry_region_ops import emit_entries
from mlir_sparse.lower.mlir_types import element_type, indexing_map, iterator_types, tensor_type
from mlir_sparse.lower.notation_locations import Locations, NotationLocations, Unlocated, locations_of
from mlir_sparse.lower.scalar_region import Arguments, emit_payload
from mlir_sparse.notation import Access, Apply, Monoid, ReduceOp, Subscript, accesses_of, walk
from mlir_sparse.plan import (
    AccumulateMode,
    Generic,
    MappedNest,
    NestFunction,
    Program,
    combining_functions,
    facts_of_nest,
    functions_of,
    identity_of,
)
from mlir_sparse.process.own_stack import deep_calls
from mlir_sparse.text.line_places import LinePlace

__all__ = ["LoweredProgram", "lower"]


@dataclass(frozen=True, slots=True)
class LoweredProgram:
    """A module as bytecode for other processes.

    Args:
        bytecode: the module.
        functions: those of the loop nests: one for each Generic of the program, in order.
        variables: for each function the places of its loops' index variables, where operations have locations.
    """

    bytecode: bytes
    functions: tuple[NestFunction, ...]
    variables: Mapping[str, tuple[LinePlace | None, ...]] = field(default_factory=dict)

    @property
    @deep_calls
    def text(self) -> str:
        """Returns the module for people."""
        with mlir_context():
            return str(parse_module(self.bytecode))


@deep_calls
def lower(program: Program, mapped: Sequence[MappedNest] = (), *, located: bool = False) -> LoweredProgram:
    """Builds the module of a program with MLIR's bindings and verifies it.

    Args:
        program: the program.
        mapped: the mapping of each nest's loops to the threads of a GPU; none for the processor.
        located: whether operations have debug locations, in the statement's text. What is compiled for calls has none:
            equal functions then are equal.

    Raises:
        CompileError: when MLIR refuses the module.
    """
    functions = functions_of(program)
    with mlir_context():
        try:
            module = ir.Module.create()
            locations = locations_of(program) if located else Unlocated()
            for function, threads in zip(functions, mapped or repeat(None), strict=bool(mapped)):
                with ir.InsertionPoint(module.body):
                    _build(function, program, threads, locations)
            for function, alone in () if mapped else combining_functions(program).values():
                with ir.InsertionPoint(module.body):
                    _build(function, alone, None, Unlocated())
            module.operation.verify()
        except (ir.MLIRError, ValueError) as error:
            message = f"expected MLIR to accept the module, but got:\n{diagnostics_of(error)}"
            raise CompileError(message, kernel=str(program.spec.assignment)) from error
        buffer = io.BytesIO()
        module.operation.write_bytecode(buffer)
        variables = {}
        if isinstance(locations, NotationLocations):
            variables = {function.name: locations.variables(function.step) for function in functions}
        return LoweredProgram(buffer.getvalue(), functions, variables)


def _build(function: NestFunction, program: Program, mapped: MappedNest | None, locations: Locations) -> None:
    with locations.whole:
        _build_located(function, program, mapped, locations)


def _build_located(function: NestFunction, program: Program, mapped: MappedNest | None, locations: Locations) -> None:
    func = bindings().module("dialects.func")
    step = function.step
    output = _output(step, program)
    types = [tensor_type(program.type_of(access.tensor)) for access in function.operands]
    result = tensor_type(output)
    inputs = types if output.encoding is not None else [*types, result]
    results = [] if output.encoding is not None else [locations.of_result(step.result)]
    op = func.FuncOp(function.name, ir.FunctionType.get(inputs, [result]))
    op.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
    write_facts(op.operation, facts_of_nest(function, program, mapped))
    block = op.add_entry_block([*map(locations.of, function.operands), *results])
    with ir.InsertionPoint(block):
        arguments = list(block.arguments)
        values = dict(zip(function.operands, arguments, strict=False))
        outs = _outs(function, program, arguments, locations)
        func.ReturnOp([_generic(step, program, values, outs, locations)])


def _output(step: Generic, program: Program) -> TensorType:
    """Returns the type that loops write to; a sampled result is a tensor of the operand's type in the loops."""
    kind = program.type_of(step.result)
    return kind if step.sampled is None else replace(program.type_of(step.sampled.tensor), dtype=kind.dtype)


def _outs(function: NestFunction, program: Program, arguments: list[ir.Value], locations: Locations) -> ir.Value:
    """Returns the tensor that the generic writes to: empty, filled with start values, or the caller's."""
    step, output = function.step, _output(function.step, program)
    if output.encoding is not None:
        return _empty(function, output, arguments)
    if step.mode is not AccumulateMode.START:
        return arguments[-1]
    if step.start is not None:
        values = dict(zip(function.operands, arguments, strict=False))
        before = replace(
            step, mode=AccumulateMode.REPLACE, loops=step.target.indices, reductions=(), payload=step.start, extents=()
        )
        return _generic(before, program, values, arguments[-1], locations)
    return _filled(_identity(step, output), arguments[-1])


def _filled(value: ir.Value, tensor: ir.Value) -> ir.Value:
    """Emits a tensor that has a value everywhere, as large as another."""
    op = operation_classes("linalg").FillOp([tensor.type], [value], [tensor])
    block = op.regions[0].blocks.append(value.type, value.type)
    with ir.InsertionPoint(block):
        operation_classes("linalg").YieldOp([block.arguments[0]])
    filled: ir.Value = op.results[0]
    return filled


def _identity(step: Generic, output: TensorType) -> ir.Value:
    """Emits the value that an accumulation starts from."""
    return arithmetic_ops.constant(identity_of(step.combine, output.dtype), output.dtype)


def _empty(function: NestFunction, output: TensorType, arguments: list[ir.Value]) -> ir.Value:
    """Returns an empty sparse tensor whose sizes are those of the operands' axes."""
    tensor = bindings().module("dialects.tensor")
    arith = bindings().module("dialects.arith")
    sizes = []
    for variable, static in zip(function.step.computed.subscripts, output.shape, strict=True):
        if static is not None:
            continue
        number, axis = _axis_of(function, variable)
        position = arith.ConstantOp(ir.IndexType.get(), axis).result
        sizes.append(tensor.DimOp(arguments[number], position).result)
    return ir.Operation.create("tensor.empty", results=[tensor_type(output)], operands=sizes).result


def _axis_of(function: NestFunction, variable: Subscript) -> tuple[int, int]:
    for number, access in enumerate(function.operands):
        if variable in access.subscripts:
            return number, access.subscripts.index(variable)
    raise AssertionError("a sparse result has every variable from some operand")


def _generic(
    step: Generic, program: Program, arguments: Mapping[Access, ir.Value], outs: ir.Value, locations: Locations
) -> ir.Value:
    linalg = operation_classes("linalg")
    accesses = tuple(dict.fromkeys((*accesses_of(step.payload), *step.extents)))
    operands = [arguments[access] for access in accesses]
    about_entries = isinstance(step.combine, Monoid) or any(isinstance(node, Apply) for node in walk(step.payload))
    # A custom reduction takes its identity from outside the payload.
    identity = _identity(step, program.type_of(step.result)) if isinstance(step.combine, Monoid) else None
    maps = [indexing_map(access, step.loops) for access in (*accesses, step.computed)]
    op: ir.Operation = linalg.GenericOp(
        [outs.type], operands, [outs], ir.ArrayAttr.get(maps), iterator_types(step.loops, step.reductions)
    )
    if step.in_order:
        op.attributes["sorted"] = ir.BoolAttr.get(True)
    kinds = [program.type_of(access.tensor).dtype for access in accesses]
    output = program.type_of(step.result).dtype
    elements = [element_type(kind) for kind in (*kinds, output)]
    block = op.regions[0].blocks.append(
        *elements, arg_locs=[*map(locations.of, accesses), locations.of_result(step.result)]
    )
    with ir.InsertionPoint(block):
        *values, present = block.arguments
        sparse = {access.tensor for access in accesses if program.type_of(access.tensor).encoding is not None}
        read = Arguments(dict(zip(accesses, zip(values, kinds, strict=True), strict=True)), sparse, locations)
        kept = None if step.mode is AccumulateMode.REPLACE else present
        if about_entries:
            monoid = step.combine if isinstance(step.combine, Monoid) else None
            linalg.YieldOp([emit_entries(step.payload, read, kept, monoid, identity, output)])
        else:
            assert isinstance(step.combine, ReduceOp)
            linalg.YieldOp([emit_payload(step.payload, read, kept, step.combine, output)])
    return op.results[0]
