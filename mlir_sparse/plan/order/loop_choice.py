"""A loop nest whose loops have no order yet, and a choice of their order."""

from __future__ import annotations

from itertools import takewhile

from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.notation import Access, Expr, IndexVar

__all__ = ["LoopChoice", "NestToOrder"]


@dataclass(frozen=True, slots=True)
class NestToOrder:
    """A loop nest to be ordered.

    Args:
        variables: the index variables of the result, a dimension each.
        reductions: the other loops.
        payload: the computation, free of reductions.
        output: the wanted storage; None for a dense result.
        sparse: whether the result is sparse; with `output` None it gets the natural storage.
        overwrites: whether innermost reductions overwrite the result's present value, as `sparse_tensor.reduce` does.
        preferred: the order to take if it is one of these loops, as estimates on data say more than types do.
    """

    variables: tuple[IndexVar, ...]
    reductions: tuple[IndexVar, ...]
    payload: Expr
    output: Encoding | None
    sparse: bool
    overwrites: bool = False
    preferred: tuple[IndexVar, ...] | None = None

    def accumulates(self, order: tuple[IndexVar, ...]) -> bool:
        """Returns whether reductions in an order accumulate into the values of earlier ones."""
        below = list(takewhile(self.reductions.__contains__, reversed(order)))
        return not (self.overwrites and below) or len(below) == len(self.reductions)


@dataclass(frozen=True, slots=True)
class LoopChoice:
    """A loop order with its conversions and cost.

    Args:
        order: the loops, outermost first.
        conversions: (access, type) of each operand to convert first.
        storage: the encoding that the loops insert into; None for a dense result.
        in_order: whether the sparsifier must keep this order.
        cost: estimated loop steps, conversions included.
        meetings: how many coordinates of lists loops meet, by estimate.
        reasons: the reason for each conversion.
        otherwise: for each conversion, the cost without it.
        order_reason: the reason for this order; empty if there is no other.
    """

    order: tuple[IndexVar, ...]
    conversions: tuple[tuple[Access, TensorType], ...]
    storage: Encoding | None
    in_order: bool
    cost: float
    meetings: float = 0.0
    reasons: tuple[str, ...] = ()
    otherwise: tuple[str, ...] = ()
    order_reason: str = ""
