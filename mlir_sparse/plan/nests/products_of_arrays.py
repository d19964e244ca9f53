"""Products of two arrays that BLAS computes, in place of a loop nest: of matrices, or of a matrix and a vector."""

from __future__ import annotations

from collections.abc import Mapping

from mlir_sparse.dtypes import WIDE_TYPES
from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import Access, Binary, BinaryOp, Expr, IndexVar, Reduce, ReduceOp
from mlir_sparse.program import ArrayProduct

__all__ = ["array_product"]


def array_product(target: Access, value: Expr, types: Mapping[str, TensorType], reason: str) -> ArrayProduct | None:
    """Returns the step that computes a value by BLAS; None where the value, or a type, is none that BLAS has.

    The cost model asked for it by the types of some operands; a kernel may be called with others.

    Args:
        target: what is computed, at the index variables of its dimensions; it is declared.
        value: the expression, with explicit sums.
        types: the types of all values, by name.
        reason: why the plan has this step.
    """
    match value:
        case Reduce(ReduceOp.SUM, summed, Binary(BinaryOp.MUL, Access() as left, Access() as right)):
            pass
        case _:
            return None
    places = [_variables(access) for access in (left, right, target)]
    if any(found is None for found in places):
        return None
    rows, columns, kept = (frozenset(found or ()) for found in places)
    if (rows & columns) - kept != set(summed) or kept != (rows | columns).difference(summed):
        return None
    if not _has_matrix(rows, columns, kept):
        return None
    kinds = [types[access.tensor] for access in (left, right, target)]
    dtype = kinds[0].dtype
    if any(kind.encoding is not None or kind.dtype != dtype for kind in kinds) or dtype not in WIDE_TYPES:
        return None
    axes = tuple(variable.name for variable in left.indices), tuple(variable.name for variable in right.indices)
    variables = tuple(variable.name for variable in target.indices)
    return ArrayProduct(target.tensor, (left.tensor, right.tensor), axes, variables, dtype, reason)


def _has_matrix(one: frozenset[IndexVar], other: frozenset[IndexVar], kept: frozenset[IndexVar]) -> bool:
    """Returns whether operands are matrices, or stacks of them, or a matrix and a vector."""
    alone = one - other, other - one
    return all(alone) or (any(alone) and not one & other & kept)


def _variables(access: Access) -> tuple[IndexVar, ...] | None:
    """Returns the index variables of an access; None where subscripts are others, or one is there twice."""
    found = tuple(s for s in access.subscripts if isinstance(s, IndexVar))
    return found if len(set(found)) == len(access.subscripts) else None
