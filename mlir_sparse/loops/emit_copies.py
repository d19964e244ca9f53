"""Operations of loops written once more, of other values."""

from __future__ import annotations

from mlir_sparse._mlir import ir

__all__ = ["copy_of"]


def copy_of(op: ir.Operation, known: dict[ir.Value, ir.Value]) -> ir.Operation:
    """Returns a copy of an operation at the insertion point, with known values in place of those they are of.

    Args:
        op: the operation.
        known: the values; the copy's results are added for the operation's.
    """

    def replace(inner: ir.Operation) -> ir.WalkResult:
        for at, value in enumerate(inner.operands):
            if value in known:
                inner.operands[at] = known[value]
        return ir.WalkResult.ADVANCE

    copied = op.clone(ir.InsertionPoint.current).operation
    copied.walk(replace)
    known.update(zip(op.results, copied.results, strict=True))
    return copied
