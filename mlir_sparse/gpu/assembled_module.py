"""What a driver must know of a module that was assembled: its PTX, and the launches of each function of the host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlir_sparse._mlir import ir, mlir_context, parse_module
from mlir_sparse.gpu.host_launches import LAUNCHES
from mlir_sparse.gpu.ptx.emit_ptx import kernels_ir, ptx_of

__all__ = ["HostLaunch", "llvm_ir_of", "read_launches", "read_ptx"]


@dataclass(frozen=True, slots=True)
class HostLaunch:
    """A launch by a function of the host.

    Args:
        kernel: the kernel.
        grid: for x, y and z a size of an argument, and how many of its pieces a block does at a time.
        threads: along x, y and z of a block.
        parameters: what the kernel takes: buffers and sizes of arguments.
    """

    kernel: str
    grid: tuple[tuple[str, int], tuple[str, int], tuple[str, int]]
    threads: tuple[int, int, int]
    parameters: tuple[str, ...]


def read_ptx(module: bytes) -> str:
    """Returns the PTX of a module, as bytecode, whose kernels were assembled."""
    with mlir_context():
        return ptx_of(parse_module(module))


def llvm_ir_of(module: bytes) -> str:
    """Returns the kernels of a module in the LLVM dialect as LLVM IR: what PTX is made of."""
    with mlir_context():
        return kernels_ir(parse_module(module))


def read_launches(module: bytes) -> Mapping[str, tuple[HostLaunch, ...]]:
    """Returns the launches of each function of a module, by the function's name."""
    with mlir_context():
        parsed = parse_module(module)
        found: dict[str, tuple[HostLaunch, ...]] = {}
        for op in parsed.body.operations:
            if op.operation.name == "func.func" and LAUNCHES in op.operation.attributes:
                name: str = ir.StringAttr(op.operation.attributes["sym_name"]).value
                found[name] = tuple(_launch(one) for one in ir.ArrayAttr(op.operation.attributes[LAUNCHES]))
        return found


def _launch(attribute: ir.Attribute) -> HostLaunch:
    fields = ir.DictAttr(attribute)

    def texts(name: str) -> tuple[str, ...]:
        return tuple(ir.StringAttr(text).value for text in ir.ArrayAttr(fields[name]))

    x, y, z = (_work(text) for text in texts("grid"))
    threads = tuple(ir.DenseI64ArrayAttr(fields["threads"]))
    return HostLaunch(
        ir.StringAttr(fields["kernel"]).value, (x, y, z), (threads[0], threads[1], threads[2]), texts("parameters")
    )


def _work(text: str) -> tuple[str, int]:
    size, _, block = text.partition(" / ")
    return size, int(block)
