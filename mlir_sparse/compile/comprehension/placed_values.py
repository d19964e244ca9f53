"""Values of statements put where they stand in a target of which they are a part."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from mlir_sparse import _native
from mlir_sparse.dtypes import DType
from mlir_sparse.notation import Assignment, AssignOp, ReduceOp, has_affine_target
from mlir_sparse.process.available_memory import check_fits
from mlir_sparse.spec.statement_shapes import RangedStatement, placed_statement
from mlir_sparse.spec.variable_ranges import terms_of

__all__ = ["PartOfTarget", "result_in_place", "with_part"]

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
_NATIVE = (ReduceOp.SUM, ReduceOp.PRODUCT, ReduceOp.MAX, ReduceOp.MIN)
_STARTS = {ReduceOp.SUM: 0, ReduceOp.PRODUCT: 1}


class PartOfTarget:
    """A part of a target that a statement assigns, all at once or by lines of the target's first variable.

    Args:
        placed: the statement.
        present: the target's present value; None for zeros.
        dtype: the type of the statement's values.
    """

    def __init__(self, placed: RangedStatement, present: Any, dtype: np.dtype[Any]) -> None:
        target = placed.statement.target
        # The kernel of a plain target has combined its part with the present values.
        self._op = placed.statement.op if has_affine_target(placed.statement) else AssignOp.ASSIGN
        self._dtype = dtype
        narrow = bool(placed.summed) and DType.of(dtype).kind == "f" and dtype.itemsize < _WIDE.itemsize
        wide = _WIDE if narrow else dtype
        check_fits(math.prod(placed.shape) * wide.itemsize, f"{target.tensor}, which ends with the last of `{target}`")
        self._whole = np.zeros(placed.shape, wide) if present is None else np.array(present, wide, order="C")
        axes = {variable: axis for axis, variable in enumerate(target.indices)}
        first, strides = 0, [0] * len(axes)
        for subscript, stride in zip(target.subscripts, self._whole.strides, strict=True):
            terms, constant = terms_of(subscript) or ((), 0)
            first += stride * constant
            for factor, variable in terms:
                first += stride * factor * placed.ranges[variable][0]
                strides[axes[variable]] += stride * factor
        self._first, self._strides = first, strides
        self._summed = tuple(axes[variable] for variable in placed.summed)

    def put(self, values: Array) -> None:
        """Puts the statement's values, one for each combination of the target's variables, where they stand."""
        if values.size:
            _put(self._places(values, self._first), values, self._op, self._summed)

    def add(self, values: Array, line: int) -> None:
        """Adds values of a sum, whose target was zeros before, from a line of the first variable on."""
        first = self._first + line * self._strides[0]
        _combine(ReduceOp.SUM, self._places(values, first), values, self._summed)

    def finished(self) -> Array:
        """Returns the target."""
        return self._whole.astype(self._dtype, copy=False)

    def _places(self, values: Array, first: int) -> Array:
        start = self._whole.reshape(-1)[first // self._whole.itemsize :]
        return as_strided(start, values.shape, self._strides, writeable=True)


def with_part(placed: RangedStatement, present: Any, values: Array) -> Array:
    """Returns a target with the values that a statement assigns to a part of it.

    Args:
        placed: the statement.
        present: the target's present value; None for zeros.
        values: the statement's value for each combination of the target's variables.
    """
    part = PartOfTarget(placed, present, values.dtype)
    part.put(values)
    return part.finished()


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
    if not op.reads_target:  # whatever was there, elements that are reached are those of the values alone
        places[...] = _STARTS.get(reduction, values)
    _combine(reduction, places, values, summed)


def _combine(reduction: ReduceOp, places: Array, values: Array, summed: tuple[int, ...]) -> None:
    """Combines values with those at their places, several at one along the axes `summed`."""
    name = f"{reduction.value} {values.dtype.name}"
    own = places.dtype == values.dtype and values.dtype.isnative and reduction in _NATIVE
    if own and _are_apart(places) and _native.combines(name):
        _native.combine_places(name, places, values)
        return
    combined = _COMBINED[reduction]
    places, values = (np.moveaxis(one, summed, range(len(summed))) for one in (places, values))
    for at in np.ndindex(values.shape[: len(summed)]):
        places[at] = combined(places[at], values[at])


def _are_apart(places: Array) -> bool:
    """Returns whether places along the last axis are different ones."""
    return places.ndim > 0 and (places.shape[-1] < 2 or places.strides[-1] != 0)
