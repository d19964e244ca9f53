"""Results of statements whose targets are slices of what they assign to: `c(i + 8, 2*j) = ...`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask.array

from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import Assignment, has_affine_target, with_plain_target
from mlir_sparse.spec.statement_shapes import placed_statement
from mlir_sparse.spec.variable_ranges import terms_of

__all__ = ["in_target_slices", "refuse_other_targets"]


def refuse_other_targets(statement: Assignment, ring: str) -> None:
    """Refuses targets with sums in their subscripts that are no slices.

    Raises:
        UnsupportedError: with the statement to write instead.
    """
    if not has_affine_target(statement):
        return
    plain = with_plain_target(statement).target
    instead = f"compute `{plain}`, and put it in its place"
    if ring != "plus_times":
        raise UnsupportedError(
            f"expected plain index variables in the target for semiring={ring}, but got `{statement.target}`: {instead}"
        )
    terms = [terms_of(subscript) for subscript in statement.target.subscripts]
    is_slice = all(one is not None and len(one[0]) == 1 and one[0][0][0] > 0 for one in terms)
    if not is_slice or len(set(plain.indices)) < len(terms):
        raise UnsupportedError(
            "expected one index variable in each subscript of the target, each once, such as `c(i + 8, 2*j)`, for "
            f"dask.arrays, but got `{statement.target}`: {instead}",
            source=statement.source,
            span=statement.target.span,
        )


def in_target_slices(
    statement: Assignment, values: Any, present: Any, update: Callable[[Any], Any] | None, dtype: Any
) -> dask.array.Array:
    """Returns the result of a statement whose target is a slice of it, zero beside that, or what is present there.

    Args:
        statement: the statement.
        values: the dask.array of its value for each combination of the target's variables.
        present: the target's present value, where the statement reads it.
        update: returns the values in the slice, given what is present there; None for the values themselves.
        dtype: the element type of the result.

    Raises:
        ExtentError: for a subscript that does not stay in the target.
    """
    ranges = dict(zip(statement.target.indices, ((0, int(size)) for size in values.shape), strict=True))
    shape = None if present is None else tuple(map(int, present.shape))
    placed = placed_statement(statement, ranges, shape)
    whole = dask.array.zeros(placed.shape, values.dtype) if present is None else dask.array.asarray(present).copy()
    if not values.size:
        return whole.astype(dtype)
    places = []
    for subscript in statement.target.subscripts:
        terms, first = terms_of(subscript) or ((), 0)
        ((factor, variable),) = terms
        places.append(slice(first, first + factor * (ranges[variable][1] - 1) + 1, factor))
    found = values if update is None else update(whole[tuple(places)])
    whole = whole.astype(dtype)
    whole[tuple(places)] = found.astype(dtype)
    return whole
