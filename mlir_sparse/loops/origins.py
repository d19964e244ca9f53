"""Where values come from: their makers, and the conditions and coordinates behind them."""

from __future__ import annotations

from collections.abc import Iterator

from mlir_sparse._mlir import ir
from mlir_sparse.loops import ir_words
from mlir_sparse.loops.inner_loops import maker, operation_around

__all__ = ["conjuncts", "is_comparison", "is_inside", "loaded_from", "merges"]


def merges(function: ir.Operation) -> list[ir.Operation]:
    """Returns the loops of a sparsified function that advance in several operands at once."""
    loops: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "scf.while" and "Emitted from" in op.attributes:
            loops.append(op)
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    return loops


def is_comparison(op: ir.Operation, predicate: str) -> bool:
    """Returns whether an operation compares two integers in the way named."""
    if op.name != "arith.cmpi":
        return False
    return bool(ir.IntegerAttr(op.attributes["predicate"]).value == ir_words.PREDICATES[predicate])


def conjuncts(value: ir.Value) -> list[ir.Operation]:
    """Returns the operations whose truth, all together, is a condition."""
    op = maker(value)
    if op is None:
        return []
    if op.name == "arith.andi":
        return [term for operand in op.operands for term in conjuncts(operand)]
    return [op]


def loaded_from(value: ir.Value) -> ir.Operation | None:
    """Returns the `memref.load` that a number is read by, widenings aside; None for any other value."""
    op = maker(value)
    while op is not None and op.name in ("arith.extui", "arith.index_cast", "arith.index_castui"):
        op = maker(op.operands[0])
    return op if op is not None and op.name == "memref.load" else None


def is_inside(value: ir.Value, op: ir.Operation) -> bool:
    """Returns whether a value is made inside a region of an operation."""
    return any(around == op for around in _enclosing(operation_around(value)))


def _enclosing(op: ir.Operation | None) -> Iterator[ir.Operation]:
    while op is not None and op.name != "builtin.module":
        yield op
        op = op.parent
