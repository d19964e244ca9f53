"""Where values come from: their makers, and the conditions and coordinates behind them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mlir_sparse._mlir import bindings
from mlir_sparse.loops import ir_words

__all__ = ["conjuncts", "is_comparison", "is_inside", "loaded_from", "maker", "merges"]


def merges(function: Any) -> list[Any]:
    """Returns the loops of a sparsified function that advance in several operands at once."""
    ir = bindings().ir
    loops: list[Any] = []

    def visit(op: Any) -> Any:
        if op.name == "scf.while" and "Emitted from" in op.attributes:
            loops.append(op)
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    return loops


def maker(value: Any) -> Any | None:
    """Returns the operation that a value is a result of; None for the argument of a block."""
    ir = bindings().ir
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def is_comparison(op: Any, predicate: str) -> bool:
    """Returns whether an operation compares two integers in the way named."""
    if op.name != "arith.cmpi":
        return False
    return bool(bindings().ir.IntegerAttr(op.attributes["predicate"]).value == ir_words.PREDICATES[predicate])


def conjuncts(value: Any) -> list[Any]:
    """Returns the operations whose truth, all together, is a condition."""
    op = maker(value)
    if op is None:
        return []
    if op.name == "arith.andi":
        return [term for operand in op.operands for term in conjuncts(operand)]
    return [op]


def loaded_from(value: Any) -> Any | None:
    """Returns the `memref.load` that a number is read by, widenings aside; None for any other value."""
    op = maker(value)
    while op is not None and op.name in ("arith.extui", "arith.index_cast", "arith.index_castui"):
        op = maker(op.operands[0])
    return op if op is not None and op.name == "memref.load" else None


def is_inside(value: Any, op: Any) -> bool:
    """Returns whether a value is made inside a region of an operation."""
    made_by = maker(value)
    parent = value.owner.owner if made_by is None else made_by.parent
    return any(around == op for around in _enclosing(parent))


def _enclosing(op: Any) -> Iterator[Any]:
    while op is not None and op.name != "builtin.module":
        yield op
        op = op.operation.parent
