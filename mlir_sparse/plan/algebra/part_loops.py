"""The loops of parts that are no product in one loop nest, nor one by BLAS."""

from __future__ import annotations

from mlir_sparse.classes import dataclass
from mlir_sparse.notation import IndexVar

__all__ = ["PartLoops"]


@dataclass(frozen=True, slots=True)
class PartLoops:
    """How a part is made, where that is known beforehand.

    Args:
        nanoseconds: the time.
        order: the variables of its loops, outermost first: for a product with a mask that in which its rows are looked
            up; None where the types of operands decide it.
        base: the part that it takes the place of in memory, where nothing else reads that; "" for none.
    """

    nanoseconds: float
    order: tuple[IndexVar, ...] | None = None
    base: str = ""
