"""Rows asked for before they are needed: which of them comes next only the stored coordinates tell."""

from __future__ import annotations

from typing import Any

from mlir_sparse._mlir import bindings
from mlir_sparse.pipeline.assembly import code
from mlir_sparse.pipeline.tiling.lines import maker

__all__ = ["prefetch_ahead"]

_LINE = 64  # bytes that caches hold together
_WIDENINGS = frozenset(("arith.extui", "arith.index_cast", "arith.index_castui"))


def prefetch_ahead(buffer: Any, at: list[Any], size: int, distance: int) -> None:
    """Asks for the elements that a load will read some entries later, where stored coordinates tell which.

    Args:
        buffer: what is loaded from.
        at: where: a row, and the first of consecutive elements.
        size: how many elements.
        distance: how many entries later.
    """
    rows = [(place, load) for place, value in enumerate(at[:-1]) if (load := _coordinate(value)) is not None]
    if len(rows) != 1:
        return
    place, load = rows[0]
    later = list(at)
    later[place] = _later(load, distance)
    ir = bindings().ir
    element = code.element_of(buffer)
    step = _LINE * 8 // element.width
    yes, no, near = (
        ir.BoolAttr.get(True),
        ir.BoolAttr.get(False),
        ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 3),
    )
    for line in range(0, size, step):
        where = [*later[:-1], code.add(later[-1], code.constant(line)) if line else later[-1]]
        ir.Operation.create(
            "memref.prefetch",
            operands=[buffer, *where],
            attributes={"isWrite": no, "localityHint": near, "isDataCache": yes},
        )


def _coordinate(value: Any) -> Any | None:
    """Returns the load that a coordinate is read by, at the index of a loop; None for any other value."""
    op = maker(value)
    while op is not None and op.name in _WIDENINGS:
        op = maker(op.operands[0])
    if op is None or op.name != "memref.load" or len(op.operands) != 2 or maker(op.operands[1]) is not None:
        return None
    return op if op.operands[1].owner.owner.operation.name == "scf.for" else None


def _later(load: Any, distance: int) -> Any:
    """Returns the coordinate some entries later, that of the last one where there are fewer."""
    buffer, at = load.operands
    last = code.operation(
        "arith.subi", at.type, code.operation("memref.dim", at.type, buffer, code.constant(0)), code.constant(1)
    )
    place = code.minimum(code.add(at, code.constant(distance)), last)
    return code.widened(code.load(buffer, place))
