"""Rows of masks that are looked up in a workspace, and not merged again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import Access, Expr, IndexVar
from mlir_sparse.plan.order.co_iteration import products, walks
from mlir_sparse.plan.plan_steps import Generic

__all__ = ["scattered", "scattered_in"]

Types = Mapping[str, TensorType]


def scattered(step: Generic, types: Types) -> Access | None:
    """Returns the operand of a loop nest whose rows are scattered before the reductions, or None."""
    if types[step.result].encoding is None or not step.gathers:
        return None
    return scattered_in(step.loops, step.reductions, step.payload, types)


def scattered_in(
    order: Sequence[IndexVar], reductions: Sequence[IndexVar], payload: Expr, types: Types
) -> Access | None:
    """Returns the operand whose row is invariant in a reduction around the innermost loop, and intersected inside it.

    Args:
        order: the loops, outermost first; the innermost is of the result.
        reductions: the loops that the result lacks.
        payload: the computation.
        types: the types of the operands.
    """
    if len(order) < 2 or order[-2] not in reductions or order[-1] in reductions:
        return None
    met = products(payload, types)
    if len(met) != 1:
        return None
    lists = walks(met[0], order[-1], tuple(order), types)
    fixed = [walk for walk in lists if order[-2] not in walk.above]
    if len(lists) != 2 or len(fixed) != 1 or not fixed[0].above:
        return None
    return fixed[0].access
