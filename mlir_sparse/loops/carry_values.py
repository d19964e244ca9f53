"""Loops and branches that hand a value on which they did not have."""

from __future__ import annotations

from collections.abc import Callable

from mlir_sparse._mlir import ir
from mlir_sparse.loops.emit_copies import replace
from mlir_sparse.loops.regions import operations_of

__all__ = ["LINE", "PATH", "carry"]

# What marks the loops and branches that a value goes through, and the operations that change it.
PATH = "value goes through"
LINE = "value changes"

Step = Callable[["ir.Operation", "ir.Value"], "ir.Value"]


def carry(op: ir.Operation, value: ir.Value, step: Step) -> ir.Value:
    """Rebuilds an operation so that a value goes through it.

    Args:
        op: an operation marked as PATH or LINE; it is erased.
        value: the value before it.
        step: writes what stands for an operation marked as LINE before it, given the value so far; returns the value
            after it.

    Returns:
        the value after it.
    """
    if LINE in op.attributes:
        after = step(op, value)
        op.erase()
        return after
    takes = op.name != "scf.if"  # loops are given it as an argument; branches see it
    made = _rebuilt(op, value, [*op.operands, value] if takes else list(op.operands))
    for region in made.regions:
        if not list(region.blocks):
            with ir.InsertionPoint(region.blocks.append()):
                ir.Operation.create("scf.yield")
        block = region.blocks[0]
        _end(block, _through_block(block, _argument(block, value) if takes else value, step))
    *results, carried = made.results
    replace(op, results)
    return carried


def _through_block(block: ir.Block, value: ir.Value, step: Step) -> ir.Value:
    for op in operations_of(block):
        if LINE in op.attributes or PATH in op.attributes:
            value = carry(op, value, step)
    return value


def _rebuilt(op: ir.Operation, value: ir.Value, operands: list[ir.Value]) -> ir.Operation:
    """Returns an operation with the regions of another, and one more result."""
    kinds = [*(result.type for result in op.results), value.type]
    with ir.InsertionPoint(op):
        made = ir.Operation.create(op.name, results=kinds, operands=operands, regions=len(op.regions))
    for name in op.attributes:
        if name not in (LINE, PATH):
            made.attributes[name] = op.attributes[name]
    for before, after in zip(op.regions, made.regions, strict=True):
        for block in list(before.blocks):
            block.append_to(after)
    return made


def _argument(block: ir.Block, value: ir.Value) -> ir.Value:
    return block.add_argument(value.type, ir.Location.unknown())


def _end(block: ir.Block, value: ir.Value) -> None:
    """Lets the terminator of a block hand a value on as well."""
    old = operations_of(block)[-1]
    with ir.InsertionPoint(old):
        ir.Operation.create(old.name, operands=[*old.operands, value])
    old.erase()
