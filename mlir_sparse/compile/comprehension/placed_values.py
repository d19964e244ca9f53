"""Values of statements put where they stand in a target of which they are a part."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from mlir_sparse.dtypes import DType
from mlir_sparse.notation import Assignment, AssignOp, ReduceOp, has_affine_target
from mlir_sparse.process.available_memory import check_fits
from mlir_sparse.spec.statement_shapes import RangedStatement, placed_statement
from mlir_sparse.spec.variable_ranges import terms_of

__all__ = ["result_in_place", "with_part"]

Array = np.ndarray[Any, Any]
_WIDE = np.dtype(np.float32)  # what sums of narrower numbers are added up in

_COMBINED: dict[ReduceOp, Callable[[Array, Array], Array]] = {
    ReduceOp.SUM: np.add,
    ReduceOp.PRODUCT: np.multiply,
    ReduceOp.MAX: np.maximum,
    ReduceOp.MIN: np.minimum,
    ReduceOp.OR: lambda before, new: (before != 0) | (new != 0),
    ReduceOp.AND: lambda before, new: (before != 0) & (new != 0),
}
_STARTS = {ReduceOp.SUM: 0, ReduceOp.PRODUCT: 1}


def with_part(placed: RangedStatement, present: Any, values: Array) -> Array:
    """Returns a target with the values that a statement assigns to a part of it.

    Args:
        placed: the statement.
        present: the target's present value; None for zeros.
        values: the statement's value for each combination of the target's variables.
    """
    target = placed.statement.target
    # The kernel of a plain target has combined its part with the present values.
    op = placed.statement.op if has_affine_target(placed.statement) else AssignOp.ASSIGN
    narrow = bool(placed.summed) and DType.of(values.dtype).kind == "f" and values.dtype.itemsize < _WIDE.itemsize
    dtype = _WIDE if narrow else values.dtype
    check_fits(math.prod(placed.shape) * dtype.itemsize, f"{target.tensor}, which ends with the last of `{target}`")
    whole = np.zeros(placed.shape, dtype) if present is None else np.array(present, dtype, order="C")
    if not values.size:
        return whole.astype(values.dtype, copy=False)
    axes = {variable: axis for axis, variable in enumerate(target.indices)}
    first, strides = 0, [0] * len(axes)
    for subscript, stride in zip(target.subscripts, whole.strides, strict=True):
        terms, constant = terms_of(subscript) or ((), 0)
        first += stride * constant
        for factor, variable in terms:
            first += stride * factor * placed.ranges[variable][0]
            strides[axes[variable]] += stride * factor
    start = whole.reshape(-1)[first // whole.itemsize :]
    places = as_strided(start, values.shape, strides, writeable=True)
    _put(places, values, op, tuple(axes[variable] for variable in placed.summed))
    return whole.astype(values.dtype, copy=False)


def result_in_place(statement: Assignment, values: Array, present: Any, out: Array | None) -> Array:
    """Returns the result of a statement with an affine target.

    Args:
        statement: the statement.
        values: its value for each combination of the target's variables, which run from 0.
        present: the target's present value, where the statement reads it.
        out: the array for the result, if there is one.

    Raises:
        ExtentError: for a subscript that does not stay in the target.
    """
    ranges = dict(zip(statement.target.indices, ((0, size) for size in values.shape), strict=True))
    shape = next((tuple(one.shape) for one in (out, present) if one is not None), None)
    result = with_part(placed_statement(statement, ranges, shape), present, values)
    if out is None:
        return result
    np.copyto(out, result)
    return out


def _put(places: Array, values: Array, op: AssignOp, summed: tuple[int, ...]) -> None:
    """Combines values with those at their places, which are apart but along the axes `summed`."""
    reduction = ReduceOp.SUM if op is AssignOp.ADD else op.reduction
    if reduction is None or not (summed or op.reads_target):
        places[...] = values
        return
    combined = _COMBINED[reduction]
    if not op.reads_target:  # whatever was there, elements that are reached are those of the values alone
        places[...] = _STARTS.get(reduction, values)
    places, values = (np.moveaxis(one, summed, range(len(summed))) for one in (places, values))
    for at in np.ndindex(values.shape[: len(summed)]):
        places[at] = combined(places[at], values[at])
