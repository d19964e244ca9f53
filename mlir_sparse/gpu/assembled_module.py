"""What a driver must know of a module that was assembled: its PTX, and the launches of each function of the host."""

from __future__ import annotations

from collections.abc import Mapping

from mlir_sparse._mlir import ir, mlir_context, parse_module
from mlir_sparse.gpu.host_launches import LAUNCHES
from mlir_sparse.gpu.ptx.emit_ptx import kernels_ir, ptx_of
from mlir_sparse.loops.facts_in_ir import read_value
from mlir_sparse.process.own_stack import deep_calls
from mlir_sparse.program.launch_values import Launch

__all__ = ["llvm_ir_of", "read_launches", "read_ptx"]


@deep_calls
def read_ptx(module: bytes) -> str:
    """Returns the PTX of a module, as bytecode, whose kernels were assembled."""
    with mlir_context():
        return ptx_of(parse_module(module))


@deep_calls
def llvm_ir_of(module: bytes) -> str:
    """Returns the kernels of a module in the LLVM dialect as LLVM IR: what PTX is made of."""
    with mlir_context():
        return kernels_ir(parse_module(module))


@deep_calls
def read_launches(module: bytes) -> Mapping[str, tuple[Launch, ...]]:
    """Returns the launches of each function of a module, by the function's name."""
    with mlir_context():
        found: dict[str, tuple[Launch, ...]] = {}
        for op in parse_module(module).body.operations:
            if LAUNCHES in op.operation.attributes:
                name: str = ir.StringAttr(op.operation.attributes["sym_name"]).value
                found[name] = read_value(op.operation, LAUNCHES, tuple)
        return found
