"""Finds arithmetic that cancels sparse operands before the sparsifier does.

MLIR folds `A(i,j) * 0` on integers to a constant; the accumulation then lacks its operand, and the sparsifier crashes.
MLIR's own folder finds these cases, as it knows all of its rules.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse._mlir import bindings, ir, mlir_context, parse_module
from mlir_sparse.process.own_stack import deep_calls

__all__ = ["cancels_operands"]

_FOLD = "builtin.module(func.func(canonicalize,cse))"


@deep_calls
def cancels_operands(bytecode: bytes) -> bool:
    """Returns whether folding leaves some sparse operand of a `linalg.generic` without a use."""
    with mlir_context():
        module = parse_module(bytecode)
        _keep_generics(module)
        before = _sparse_uses(module)
        bindings().module("passmanager").PassManager.parse(_FOLD).run(module.operation)
        return _sparse_uses(module) < before


def _keep_generics(module: ir.Module) -> None:
    """Has each payload call a function with what it yields.

    MLIR erases a `linalg.generic` that only copies: its operands would have no use, yet nothing cancelled them.
    """
    with ir.Location.unknown():
        for number, op in enumerate(_generics(module)):
            last = list(op.regions[0].blocks[0].operations)[-1]
            name = f"keep_{number}"
            _declare(module, name, [value.type for value in last.operands])
            with ir.InsertionPoint(last):
                callee = ir.FlatSymbolRefAttr.get(name)
                ir.Operation.create("func.call", operands=list(last.operands), attributes={"callee": callee})


def _declare(module: ir.Module, name: str, types: Sequence[ir.Type]) -> None:
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
        "sym_visibility": ir.StringAttr.get("private"),
    }
    with ir.InsertionPoint.at_block_begin(module.body):
        ir.Operation.create("func.func", attributes=attributes, regions=1)


def _generics(module: ir.Module) -> list[ir.Operation]:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "linalg.generic":
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def _sparse_uses(module: ir.Module) -> int:
    """Returns the number of encoded operands that the payloads of generics read."""
    count = 0
    for op in _generics(module):
        arguments = list(op.regions[0].blocks[0].arguments)
        encoded = [ir.RankedTensorType(value.type).encoding is not None for value in op.operands][:-1]
        count += sum(bool(list(a.uses)) for a, sparse in zip(arguments, encoded, strict=False) if sparse)
    return count
