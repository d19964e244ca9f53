"""Operations and bodies of loops written once more, of other values, and put in place of others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.regions import operations_in

__all__ = ["copy_body", "copy_of", "move_here", "replace", "rewritten"]


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


def copy_body(
    op: ir.Operation, known: dict[ir.Value, ir.Value], besides: Collection[ir.Operation] = ()
) -> list[ir.Value]:
    """Copies the body of a loop to the insertion point, with known values in place of those they are of.

    Args:
        op: the loop, or another operation with one block.
        known: the values; the results of copies are added for those of what they are copies of.
        besides: operations that are not copied: their results are known, or nothing takes them.

    Returns:
        what the body yields.
    """
    *body, last = operations_in(op)
    for inner in body:
        if inner not in besides:
            copy_of(inner, known)
    return [known.get(value, value) for value in last.operands]


def rewritten(op: ir.Operation, operands: Sequence[ir.Value], lanes: int = 0) -> ir.Value:
    """Writes an operation of other operands.

    Args:
        op: the operation, which has one result.
        operands: its operands instead.
        lanes: of the vectors that the operands are; 0 for none.

    Returns:
        the result.
    """
    kind = op.results[0].type
    attributes = {name: op.attributes[name] for name in op.attributes}
    return build.operation(op.name, ir.VectorType.get([lanes], kind) if lanes else kind, *operands, **attributes)


def move_here(operations: Iterable[ir.Operation]) -> None:
    """Moves operations to the end of the block that is written."""
    for op in operations:
        ir.InsertionPoint.current.block.append(op)


def replace(op: ir.Operation, values: Iterable[ir.Value]) -> None:
    """Erases an operation, for whose results there are other values."""
    for result, value in zip(op.results, values, strict=True):
        result.replace_all_uses_with(value)
    op.erase()
