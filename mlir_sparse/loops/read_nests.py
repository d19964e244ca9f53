"""Reads which form each loop of sparsified code has, of those that the sparsifier is known to write.

Strategies recognise loops of these forms alone. A compiler that writes others would cost speed without a word: each
loop that has none of them gets a remark.
"""

from __future__ import annotations

from enum import Enum

from mlir_sparse._mlir import ir
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.loops.regions import LOOPS
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.value_origins import conjuncts, is_comparison, is_constant, made_by

__all__ = ["LoopForm", "form_of", "remark_unread_loops"]

# What remarks call this.
_READ_LOOPS = "read-loops"


class LoopForm(Enum):
    """A form of loops that strategies read."""

    DENSE = "coordinates of a dense level"
    """An `scf.for` from 0 by 1."""
    POSITIONS = "stored entries"
    """An `scf.for` by 1 between positions, which a buffer holds or another loop found."""
    MERGE = "operands that meet"
    """An `scf.while` as long as all positions lie before the ends of their lists; runs of coordinates too."""
    SEGMENT_END = "entries with one coordinate"
    """An `scf.while` that looks for the end of a run of equal coordinates."""


def form_of(loop: ir.Operation) -> LoopForm | None:
    """Returns the form of a loop; None for one that strategies do not read."""
    match loop.name:
        case "scf.for" if is_constant(loop.operands[2], 1):
            return LoopForm.DENSE if is_constant(loop.operands[0], 0) else LoopForm.POSITIONS
        case "scf.while":
            *_, end = loop.regions[0].blocks[0].operations
            holds = end.operation.operands[0]
            if made_by(holds, "scf.if") is not None:
                return LoopForm.SEGMENT_END
            terms = conjuncts(holds)
            return LoopForm.MERGE if terms and all(is_comparison(term, "ult") for term in terms) else None
        case _:
            return None


def remark_unread_loops(seen: Seen) -> None:
    """Says of each loop that has no known form that no strategy reads it, if somebody asks.

    Args:
        seen: a module as the sparsifier made it.
    """
    loops = [loop for name in sorted(LOOPS) for loop in seen.whole.named(name)] if seen.remarks.wanted else []
    for loop in loops:
        if form_of(loop) is None:
            why = f"the compiler in use writes it as an {loop.name} that no strategy reads"
            seen.remarks.of(loop, Missed(why), _READ_LOOPS)
