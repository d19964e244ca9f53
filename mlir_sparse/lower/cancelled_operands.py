"""Finds arithmetic that cancels sparse operands before the sparsifier does.

MLIR folds `A(i,j) * 0` on integers to a constant; the accumulation then lacks its operand, and the sparsifier crashes.
MLIR's own folder finds these cases, as it knows all of its rules.
"""

from __future__ import annotations

from mlir_sparse._mlir import bindings, ir, mlir_context, parse_module

__all__ = ["cancels_operands"]

_FOLD = "builtin.module(func.func(canonicalize,cse))"


def cancels_operands(bytecode: bytes) -> bool:
    """Returns whether folding leaves some sparse operand of a `linalg.generic` without a use."""
    with mlir_context():
        module = parse_module(bytecode)
        before = _sparse_uses(module)
        bindings().module("passmanager").PassManager.parse(_FOLD).run(module.operation)
        return _sparse_uses(module) < before


def _sparse_uses(module: ir.Module) -> int:
    """Returns the number of encoded operands that the payloads of generics read."""
    count = 0

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal count
        if op.name == "linalg.generic":
            arguments = list(op.regions[0].blocks[0].arguments)
            encoded = [ir.RankedTensorType(value.type).encoding is not None for value in op.operands][:-1]
            count += sum(bool(list(a.uses)) for a, sparse in zip(arguments, encoded, strict=False) if sparse)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return count
