"""Where values come from: their makers, and the conditions and coordinates behind them."""

from __future__ import annotations

from mlir_sparse._mlir import ir

__all__ = [
    "base_and_offset",
    "conjuncts",
    "constant_of",
    "is_around",
    "is_constant",
    "is_inside",
    "is_shifted",
    "is_widening",
    "made_by",
    "maker",
    "operation_around",
    "outermost",
    "parent_of",
    "result_maker",
    "stored_load",
    "sum_with",
]

# Sums and differences, and among how many of its operands that which is added to may be.
_SUMS = {"arith.addf": 2, "arith.addi": 2, "arith.subf": 1, "arith.subi": 1, "complex.add": 2, "complex.sub": 1}
_WIDENINGS = frozenset(("arith.extui", "arith.index_cast", "arith.index_castui"))


def maker(value: ir.Value) -> ir.Operation | None:
    """Returns the operation that a value is a result of; None for the argument of a block."""
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def made_by(value: ir.Value, *names: str) -> ir.Operation | None:
    """Returns the operation that a value is a result of, if it has one of these names; None for any other value."""
    op = maker(value)
    return op if op is not None and op.name in names else None


def sum_with(total: ir.Value, value: ir.Value) -> ir.Operation | None:
    """Returns the operation that makes a value, if it only adds to a total that nothing else takes, or subtracts."""
    op = made_by(value, *_SUMS)
    adds = op is not None and total in list(op.operands)[: _SUMS[op.name]] and len(list(total.uses)) == 1
    return op if adds else None


def result_maker(value: ir.Value) -> ir.Operation:
    """Returns the operation that a value, known to be a result, is one of."""
    made = maker(value)
    if made is None:
        raise TypeError(f"expected the result of an operation, but got the argument of a block: {value}")
    return made


def constant_of(value: ir.Value) -> int | None:
    """Returns the number that a value of an integer type always is; None where that is not known."""
    op = made_by(value, "arith.constant")
    attribute = None if op is None else op.attributes["value"]
    return int(ir.IntegerAttr(attribute).value) if isinstance(attribute, ir.IntegerAttr) else None


def is_constant(value: ir.Value, number: int) -> bool:
    """Returns whether a value is a constant of type `index`."""
    return constant_of(value) == number


def base_and_offset(value: ir.Value) -> tuple[ir.Value, int]:
    """Returns what a number is a constant beyond, and the constant; itself and 0 for a number made otherwise."""
    op = made_by(value, "arith.addi")
    if op is not None:
        base, offset = op.operands
        if (number := constant_of(offset)) is not None:
            return base, number
    return value, 0


def parent_of(op: ir.Operation) -> ir.Operation:
    """Returns the operation that one inside a module is right inside."""
    parent = op.parent
    if parent is None:
        raise TypeError(f"expected an operation inside another, but got {op.name} by itself")
    return parent


def operation_around(value: ir.Value) -> ir.Operation:
    """Returns the operation that has the block in which a value is made, or whose argument it is."""
    owner = value.owner
    return owner.owner.operation if isinstance(owner, ir.Block) else parent_of(owner)


def is_around(op: ir.Operation, inner: ir.Operation) -> bool:
    """Returns whether an operation has another one somewhere inside."""
    around = inner.parent
    while around is not None and around != op:
        around = around.parent
    return around is not None


def outermost(op: ir.Operation, *known: ir.Value) -> ir.Operation:
    """Returns the outermost operation around one in a function, or itself, before which values are known."""
    around = parent_of(op)
    while around.name != "func.func" and not any(is_inside(value, around) for value in known):
        op, around = around, parent_of(around)
    return op


def is_inside(value: ir.Value, op: ir.Operation) -> bool:
    """Returns whether a value is made inside an operation."""
    around = operation_around(value)
    return around == op or is_around(op, around)


def is_shifted(value: ir.Value, index: ir.Value) -> bool:
    """Returns whether a number is the index of a loop plus what does not change in the loop, if anything."""
    if value == index:
        return True
    op, loop = made_by(value, "arith.addi"), operation_around(index)
    if op is None or op.parent != loop:
        return False
    moving = [operand for operand in op.operands if is_inside(operand, loop)]
    return len(moving) == 1 and is_shifted(moving[0], index)


def is_widening(op: ir.Operation) -> bool:
    """Returns whether an operation makes an `index` of a number that a buffer holds."""
    return op.name in _WIDENINGS


def stored_load(value: ir.Value) -> ir.Operation | None:
    """Returns the load that a number is read by, widened or not; None for any other value."""
    op = maker(value)
    while op is not None and is_widening(op):
        op = maker(op.operands[0])
    return op if op is not None and op.name == "memref.load" else None


def conjuncts(value: ir.Value) -> list[ir.Operation]:
    """Returns the operations whose truth, all together, is a condition."""
    op = maker(value)
    if op is None:
        return []
    if op.name == "arith.andi":
        return [term for operand in op.operands for term in conjuncts(operand)]
    return [op]
