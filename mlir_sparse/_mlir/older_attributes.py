"""Attributes that releases of the bindings name differently."""

from __future__ import annotations

from functools import cache

from mlir_sparse._mlir import ir
from mlir_sparse._mlir.mlir_context import parse_module

__all__ = ["kernel_attribute"]

_KERNEL = "gpu.module @m { gpu.func @k() kernel { gpu.return } }"
_NAMES = ("gpu.kernel", "kernel")  # of LLVM 22 and before, and of what came after


@cache
def kernel_attribute() -> str:
    """Returns the attribute of a `gpu.func` that hosts launch; some Context must be entered."""
    found: list[str] = []

    def see(op: ir.Operation) -> ir.WalkResult:
        found.extend(name for name in _NAMES if name in op.attributes)
        return ir.WalkResult.ADVANCE

    parse_module(_KERNEL).operation.walk(see)
    return found[0]
