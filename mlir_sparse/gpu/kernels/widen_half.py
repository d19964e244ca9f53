"""Numbers of 16 bits as registers hold them: in 32 bits, rounded where they are stored and nowhere else.

A sum of 1000 products in f16 is off by hundreds of its last bits, and one in bf16 stands still at 256. What is read is
widened, all is computed in f32, and what is stored is rounded once.
"""

from __future__ import annotations

from mlir_sparse._mlir import ir
from mlir_sparse.dtypes import DTYPES
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.emit_copies import replace
from mlir_sparse.loops.regions import blocks_of, walk

__all__ = ["as_element", "as_register", "widen"]

_CASTS = ("arith.extf", "arith.truncf")
_REGISTERS = {dtype.mlir: dtype.accumulated_in.mlir for dtype in DTYPES if dtype.is_narrow}


def widen(function: ir.Operation) -> None:
    """Gives all values of 16 bits in the loops of a function the type of registers, reads and writes aside.

    Args:
        function: the `func.func`, in place. Loads and stores are of other types than the buffers then, until they are
            written into a kernel.
    """
    ops = [op for op in walk(function) if op.name != "func.func"]
    for op in ops:
        arguments = [one for block in blocks_of(op) for one in block.arguments]
        for value in (*op.results, *arguments):
            if str(value.type) in _REGISTERS:
                register = ir.Type.parse(_REGISTERS[str(value.type)])
                if op.name == "arith.constant":
                    number = ir.FloatAttr(op.attributes["value"]).value
                    op.attributes["value"] = ir.FloatAttr.get(register, number)
                value.set_type(register)
    for op in ops:
        if op.name in _CASTS and [value.type for value in op.results] == [value.type for value in op.operands]:
            replace(op, op.operands)


def as_register(value: ir.Value, kind: ir.Type) -> ir.Value:
    """Returns an element that was loaded, as loops have it."""
    return value if value.type == kind else build.operation("arith.extf", kind, value)


def as_element(value: ir.Value, kind: ir.Type) -> ir.Value:
    """Returns a value as it is stored."""
    return value if value.type == kind else build.operation("arith.truncf", kind, value)
