"""Writes elements of arrays in regions so that the sparsifier loads them where their coordinates are known."""

from __future__ import annotations

from mlir_sparse._mlir import ir
from mlir_sparse.lower.arithmetic_ops import operation

__all__ = ["take_arrays_apart"]


def take_arrays_apart(block: ir.Block, *, computed: bool = False) -> None:
    """Gives an array's element an operation of its own if an operation takes it after a shared value.

    The sparsifier moves a shared value ahead of the coordinates, and then puts the load of the element behind it, where
    the coordinates that the load needs are missing (lit/lower/array_in_region.mlir). In the block of a region, elements
    are the arguments of other blocks. The block's own arguments may be shared too where operations compute them, of
    which one may take a value of an outer loop.

    Args:
        block: the block of a region.
        computed: whether an operation computes what the region is applied to.
    """

    def is_shared(value: ir.Value) -> bool:
        """Returns whether several operations take a value, or one of the values that it is computed from."""
        if not isinstance(value, ir.OpResult):
            return computed and value.owner == block
        return len(list(value.uses)) > 1 or any(map(is_shared, value.owner.operands))

    for op in [one.operation for one in block.operations]:
        shared = False
        for at, value in enumerate(list(op.operands)):
            if shared and isinstance(value.owner, ir.Block) and value.owner != block:
                with ir.InsertionPoint(op):
                    op.operands[at] = _again(value)
            shared = shared or is_shared(value)


def _again(value: ir.Value) -> ir.Value:
    """Returns the same number by operations that cancel only once there are loops."""
    match value.type:
        case ir.FloatType() as kind:
            bits = operation("arith.bitcast", ir.IntegerType.get_signless(kind.width), value)
            return operation("arith.bitcast", kind, bits)
        case ir.IntegerType() as kind:
            minus = operation("arith.constant", kind, value=ir.IntegerAttr.get(kind, -1))
            return operation("arith.muli", kind, operation("arith.muli", kind, value, minus), minus)
        case kind:
            part = ir.ComplexType(kind).element_type
            parts = (_again(operation(name, part, value)) for name in ("complex.re", "complex.im"))
            return operation("complex.create", kind, *parts)
