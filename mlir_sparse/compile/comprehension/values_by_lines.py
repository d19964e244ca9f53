"""Values of a sum over a target's variables, by lines of the first: in a cache, rather than all of them in memory.

`c(i + j) +=! a(i) * b(j)` has a value for each i and j, of which several are added up in one element of c. All of them
at once take as many bytes as a matrix of all i and j has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mlir_sparse.compile.comprehension.placed_values import PartOfTarget
from mlir_sparse.notation import Access, Assignment, AssignOp, IndexVar
from mlir_sparse.spec.statement_shapes import RangedStatement
from mlir_sparse.spec.variable_ranges import terms_of

__all__ = ["sum_by_lines"]

Array = np.ndarray[Any, Any]
_MOST = 1 << 20  # bytes of values at once, which a cache of the second level holds


def sum_by_lines(
    placed: RangedStatement,
    statement: Assignment,
    operands: Mapping[str, Any],
    present: Array | None,
    dtype: np.dtype[Any],
    compute: Callable[[dict[str, Any], dict[IndexVar, int], Array], None],
) -> Array | None:
    """Returns a target with the sums of a statement's values, computed line by line; None where that would not do.

    Args:
        placed: the statement with its ranges.
        statement: the same whose variables run from 0, as its kernel computes it.
        operands: its operands, by name.
        present: the target's present value; None for zeros.
        dtype: the type of the values.
        compute: computes the values for operands, and for the extent of the first variable, into an array.
    """
    lines, at_once = _lines(placed, present is None, dtype)
    if at_once >= lines:
        return None
    axes = _axes(statement, operands)
    if axes is None:
        return None
    first = statement.target.indices[0]
    part = PartOfTarget(placed, present, dtype)
    space = np.empty((at_once, *_extents(placed)[1:]), dtype)
    for begin in range(0, lines, at_once):
        end = min(begin + at_once, lines)
        own = {name: _between(operands[name], axis, begin, end + more) for name, (axis, more) in axes.items()}
        values = space[: end - begin]
        compute({**operands, **own}, {first: end - begin}, values)
        part.add(values, begin)
    return part.finished()


def _lines(placed: RangedStatement, is_new: bool, dtype: np.dtype[Any]) -> tuple[int, int]:
    """Returns the number of lines of the first variable, and how many to compute at once; all of few values."""
    op = placed.statement.op
    sums = op is AssignOp.ADD or (op is AssignOp.REDUCE_ADD and is_new)
    if not placed.summed or not sums:
        return 0, 0
    lines, *others = _extents(placed)
    line = math.prod(others) * dtype.itemsize
    return lines, lines if lines * line < 4 * _MOST else max(1, _MOST // line)


def _extents(placed: RangedStatement) -> list[int]:
    ranges = [placed.ranges[variable] for variable in placed.statement.target.indices]
    return [high - low for low, high in ranges]


def _axes(statement: Assignment, operands: Mapping[str, Any]) -> dict[str, tuple[int, int]] | None:
    """Returns the axis along which the target's first variable runs, by operand that it is a subscript of.

    With it comes what is added to the variable there. None where it is another part of a subscript, or where the
    operand is no array.
    """
    variable = statement.target.indices[0]
    found: dict[str, tuple[int, int] | None] = {}
    if statement.op.reads_target or statement.exists:
        return None
    for access in statement.reads:
        axis = None
        if variable in access.indices:
            axis = _axis(access, variable)
            if axis is None or not isinstance(operands.get(access.tensor), np.ndarray):
                return None
        if found.setdefault(access.tensor, axis) != axis:
            return None
    return {name: axis for name, axis in found.items() if axis is not None}


def _axis(access: Access, variable: IndexVar) -> tuple[int, int] | None:
    places: list[tuple[int, int]] = []
    for axis, one in enumerate(access.subscripts):
        shifted = terms_of(one)
        if shifted is None:
            return None  # a gather
        terms, constant = shifted
        if any(name == variable for _, name in terms):
            if tuple(terms) != ((1, variable),) or constant < 0:
                return None
            places.append((axis, constant))
    return places[0] if len(places) == 1 else None


def _between(array: Array, axis: int, begin: int, end: int) -> Array:
    return np.ascontiguousarray(array[(slice(None),) * axis + (slice(begin, end),)])
