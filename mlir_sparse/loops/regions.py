"""What is inside operations: the bodies of loops and branches."""

from __future__ import annotations

from collections.abc import Iterator

from mlir_sparse._mlir import ir
from mlir_sparse.loops.value_origins import parent_of

__all__ = [
    "LOOPS",
    "blocks_of",
    "body_of",
    "following",
    "has_loop",
    "is_loop",
    "is_nest",
    "operations_in",
    "operations_of",
    "operations_within",
    "preceding",
    "users_in",
    "walk",
]

LOOPS = frozenset(("scf.for", "scf.while", "scf.parallel"))


def is_loop(op: ir.Operation) -> bool:
    """Returns whether an operation is a loop."""
    return op.name in LOOPS


def is_nest(op: ir.Operation) -> bool:
    """Returns whether an operation is a loop or a branch."""
    return op.name in LOOPS or op.name == "scf.if"


def has_loop(block: ir.Block) -> bool:
    """Returns whether there are loops in a block, at any depth."""
    return any(is_loop(op) or any(map(is_loop, operations_within(op))) for op in operations_of(block))


def body_of(loop: ir.Operation) -> ir.Block:
    """Returns the block of an `scf.for`, or of another operation with one."""
    return loop.regions[0].blocks[0]


def operations_of(block: ir.Block) -> list[ir.Operation]:
    """Returns the operations right inside a block, in order, its end among them."""
    return [op.operation for op in block.operations]


def operations_in(op: ir.Operation) -> list[ir.Operation]:
    """Returns the operations right inside an operation's regions, in order.

    Iterating over a block would make an object of each operation's own class, for which
    Python loads the whole dialect: 40 ms for those of loops alone.
    """
    found: list[ir.Operation] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        if inner == op:
            return ir.WalkResult.ADVANCE
        found.append(inner)
        return ir.WalkResult.SKIP

    op.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def operations_within(op: ir.Operation) -> list[ir.Operation]:
    """Returns all operations inside an operation, those inside others too, each behind what is in it."""
    found: list[ir.Operation] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        found.append(inner)
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return found[:-1]


def blocks_of(op: ir.Operation) -> list[ir.Block]:
    """Returns the blocks of an operation's regions, in order."""
    return [block for region in op.regions for block in region.blocks]


def walk(op: ir.Operation) -> Iterator[ir.Operation]:
    """Yields an operation and all operations inside it, each before what is in it."""
    yield op
    for block in blocks_of(op):
        for inner in operations_of(block):
            yield from walk(inner)


def users_in(value: ir.Value, op: ir.Operation) -> list[ir.Operation]:
    """Returns the operations inside one that take a value, each before those in it."""
    return [inner for inner in walk(op) if inner != op and value in list(inner.operands)]


def following(op: ir.Operation) -> ir.Operation:
    """Returns the operation behind one."""
    operations = operations_in(parent_of(op))
    return operations[operations.index(op) + 1]


def preceding(op: ir.Operation) -> ir.Operation | None:
    """Returns the operation before one; None for the first inside an operation."""
    operations = operations_in(parent_of(op))
    place = operations.index(op)
    return operations[place - 1] if place else None
