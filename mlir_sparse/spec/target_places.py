"""Where values of a statement stand in a target with sums in its subscripts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mlir_sparse.notation import Access, IndexVar
from mlir_sparse.spec.variable_ranges import terms_of

__all__ = ["summed_variables"]


def summed_variables(target: Access, extents: Mapping[IndexVar, int]) -> tuple[IndexVar, ...]:
    """Returns variables without which the others reach each element of a target at most once.

    Args:
        target: the access that is assigned to.
        extents: the extent of each of its variables.

    Returns:
        the variables; none where all of them together reach each element at most once.

    >>> from mlir_sparse.notation import parse
    >>> target = parse("c(i + j) +=! a(i) * b(j)").target
    >>> i, j = target.indices
    >>> print(*summed_variables(target, {i: 5, j: 3}))
    j
    >>> summed_variables(parse("c(3*i + j) = A(i,j)").target, {i: 5, j: 3})
    ()
    """
    sums = [{v: factor for factor, v in (terms_of(one) or ((), 0))[0]} for one in target.subscripts]
    left = [variable for variable in target.indices if extents[variable] > 1]
    if any(extents[variable] == 0 for variable in target.indices):
        return ()
    found: list[IndexVar] = []
    while left := _undetermined(sums, left, extents):
        least = min(left, key=lambda variable: extents[variable])
        found.append(least)
        left.remove(least)
    return tuple(variable for variable in target.indices if variable in found)


def _undetermined(
    sums: list[dict[IndexVar, int]], left: list[IndexVar], extents: Mapping[IndexVar, int]
) -> list[IndexVar]:
    """Returns the variables whose values do not follow from those of sums."""
    while True:
        known = [variable for one in sums if _has_digits(one, left, extents) for variable in one if variable in left]
        if not known:
            break
        left = [variable for variable in left if variable not in known]
    if not left:
        return left
    factors = np.array([[one.get(variable, 0) for variable in left] for one in sums], np.float64)
    return [] if np.linalg.matrix_rank(factors) == len(left) else left


def _has_digits(one: Mapping[IndexVar, int], left: list[IndexVar], extents: Mapping[IndexVar, int]) -> bool:
    """Returns whether a sum has another value for each combination of its variables, as a number has of its digits."""
    reach = 0
    for factor, extent in sorted((abs(one[variable]), extents[variable]) for variable in left if variable in one):
        if factor <= reach:
            return False
        reach += factor * (extent - 1)
    return True
