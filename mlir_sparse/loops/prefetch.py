"""Rows asked for before they are needed: which of them comes next only the stored coordinates tell."""

from __future__ import annotations

from mlir_sparse._mlir import ir
from mlir_sparse.loops import ir_words
from mlir_sparse.loops.origins import constant_of, maker, operation_around, stored_load

__all__ = ["coordinate_load", "is_loaded", "later_coordinate", "prefetch", "prefetch_ahead"]

_LINE = 64  # bytes that caches hold together


def prefetch_ahead(buffer: ir.Value, at: list[ir.Value], size: int, distance: int) -> None:
    """Asks for the elements that a load will read some entries later, where stored coordinates tell which.

    Args:
        buffer: what is loaded from.
        at: where: a row, and the first of consecutive elements.
        size: how many elements.
        distance: how many entries later.
    """
    rows = [(place, load) for place, value in enumerate(at[:-1]) if (load := coordinate_load(value)) is not None]
    if len(rows) != 1:
        return
    place, load = rows[0]
    later = list(at)
    later[place] = later_coordinate(load, distance)
    step = _LINE * 8 // ir_words.width_of(ir_words.element_of(buffer))
    for line in range(0, size, step):
        prefetch(buffer, [*later[:-1], ir_words.add(later[-1], ir_words.constant(line)) if line else later[-1]])


def prefetch(buffer: ir.Value, at: list[ir.Value], *, written: bool = False) -> None:
    """Asks for an element to be read, or written, soon; where there is none, for nothing.

    Args:
        buffer: a memref.
        at: the subscripts.
        written: whether it will be.
    """
    ir.Operation.create(
        "memref.prefetch",
        operands=[buffer, *at],
        attributes={
            "isWrite": ir.BoolAttr.get(written),
            "localityHint": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 3),
            "isDataCache": ir.BoolAttr.get(True),
        },
    )


def is_loaded(value: ir.Value) -> bool:
    """Returns whether a number is one that a buffer holds."""
    return stored_load(value) is not None


def coordinate_load(value: ir.Value) -> ir.Operation | None:
    """Returns the load that a coordinate is read by, at the index of a loop; None for any other value."""
    op = stored_load(value)
    if op is None or len(op.operands) != 2:
        return None
    index = _index_of(op.operands[1])
    return op if index is not None and operation_around(index).name == "scf.for" else None


def _index_of(value: ir.Value) -> ir.Value | None:
    """Returns the argument of a block that a value is, or is a constant beyond; None for any other."""
    op = maker(value)
    if op is not None and op.name == "arith.addi" and constant_of(op.operands[1]) is not None:
        value, op = op.operands[0], maker(op.operands[0])
    return value if op is None else None


def later_coordinate(load: ir.Operation, distance: int) -> ir.Value:
    """Returns the coordinate some entries later, that of the last one where there are fewer."""
    buffer, at = load.operands
    last = ir_words.operation("arith.subi", at.type, ir_words.size_of(buffer), ir_words.constant(1))
    place = ir_words.minimum(ir_words.add(at, ir_words.constant(distance)), last)
    return ir_words.widened(ir_words.load(buffer, place))
