"""Writes functions of real numbers as arithmetic."""

from __future__ import annotations

from collections.abc import Mapping

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.loops.regions import is_nest, operations_in
from mlir_sparse.pipeline.functions.real_functions import REAL_FUNCTIONS
from mlir_sparse.pipeline.functions.real_values import Real, real_format

__all__ = ["expand_functions"]

# One number takes twice the time of a call, a vector of eight a third of that of eight calls.
_SLOW = "math.powf"


def expand_functions(seen: Seen, options: Mapping[str, str]) -> bool:
    """Writes functions of numbers and vectors of f32 and f64 as arithmetic.

    A number and an element of a vector give the same bits; powers of numbers that no vector holds stay calls.

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
        if real_format(op.result.type) is not None and (name != _SLOW or _is_in_lanes(op))
    ]
    around = {function for op, _ in found if (function := _function_around(op)) is not None}
    for op, written in found:
        with ir.InsertionPoint(op), op.location:
            op.result.replace_all_uses_with(written(*map(Real, op.operands)).value)
        op.erase()
    for function in around:
        build.prefer_registers(function, int(options["bits"]))
    return bool(found)


def _is_in_lanes(op: ir.Operation) -> bool:
    """Returns whether an operation is one of vectors, or of a loop that LLVM makes vectors of."""
    if isinstance(op.result.type, ir.VectorType):
        return True
    around = op.parent
    if around is None:
        return False
    if around.name == "linalg.generic":
        return not any("reduction" in str(kind) for kind in ir.ArrayAttr(around.attributes["iterator_types"]))
    # What an iteration hands to the next one is computed in their order.
    return around.name == "scf.for" and not around.results and not any(map(is_nest, operations_in(around)))


def _function_around(op: ir.Operation) -> ir.Operation | None:
    """Returns the function that an operation is in; None in a module of another dialect's."""
    while op.parent is not None:
        op = op.parent
        if op.name == "func.func":
            return op
    return None
