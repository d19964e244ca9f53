"""Elements of arrays in regions of the dialect's operations, in the form in which the sparsifier loads them."""

from __future__ import annotations

from mlir_sparse._mlir import ir
from mlir_sparse.lower.arithmetic_ops import operation

__all__ = ["take_arrays_apart"]


def take_arrays_apart(block: ir.Block) -> None:
    """Gives elements of arrays operations of their own, where another operation would take them behind shared values.

    The sparsifier loads an element where it looked last. Behind a value that others take too, which it moved before,
    that is ahead of the coordinates that the load needs (lit/lower/array_in_region.mlir).

    Args:
        block: a region's; arguments of other blocks are elements.
    """
    for op in [one.operation for one in block.operations]:
        shared = False
        for at, value in enumerate(list(op.operands)):
            if shared and isinstance(value.owner, ir.Block) and value.owner != block:
                with ir.InsertionPoint(op):
                    op.operands[at] = _again(value)
            shared = shared or _is_shared(value)


def _is_shared(value: ir.Value) -> bool:
    """Returns whether more than one operation takes a value, or what it is computed from."""
    if not isinstance(value, ir.OpResult):
        return False
    return len(list(value.uses)) > 1 or any(map(_is_shared, value.owner.operands))


def _again(value: ir.Value) -> ir.Value:
    """Returns the same number by two operations that cancel, but not before there are loops."""
    match value.type:
        case ir.FloatType() as kind:
            bits = operation("arith.bitcast", ir.IntegerType.get_signless(kind.width), value)
            return operation("arith.bitcast", kind, bits)
        case ir.IntegerType() as kind:
            minus = operation("arith.constant", kind, value=ir.IntegerAttr.get(kind, -1))
            return operation("arith.muli", kind, operation("arith.muli", kind, value, minus), minus)
        case _:
            return value  # functions of two complex numbers are one operation
