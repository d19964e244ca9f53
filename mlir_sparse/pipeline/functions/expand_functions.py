"""Writes functions of real numbers as arithmetic."""

from __future__ import annotations

from collections.abc import Mapping

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.pipeline.functions.real_functions import REAL_FUNCTIONS
from mlir_sparse.pipeline.functions.real_values import Real, real_format

__all__ = ["expand_functions"]


def expand_functions(seen: Seen, options: Mapping[str, str]) -> bool:
    """Writes functions of numbers and vectors of f32 and f64 as arithmetic.

    A number and an element of a vector give the same bits.

    Args:
        seen: a module; rewritten in place.
        options: those of the pass: `fma`, whether the machine multiplies and adds in one operation. Where it does not,
            functions stay calls of a library: what is lost in products would have to be found another way. `bits`, the
            width of its registers.

    Returns:
        whether it changed anything.
    """
    if options.get("fma") != "true":
        return False
    found = [
        (op, written)
        for name, written in REAL_FUNCTIONS.items()
        for op in seen.whole.named(name)
        if real_format(op.result.type) is not None
    ]
    around = {function for op, _ in found if (function := _function_around(op)) is not None}
    for op, written in found:
        with ir.InsertionPoint(op), op.location:
            op.result.replace_all_uses_with(written(*map(Real, op.operands)).value)
        op.erase()
    for function in around:
        build.prefer_registers(function, int(options["bits"]))
    return bool(found)


def _function_around(op: ir.Operation) -> ir.Operation | None:
    """Returns the function that an operation is in; None in a module of another dialect's."""
    while op.parent is not None:
        op = op.parent
        if op.name == "func.func":
            return op
    return None
