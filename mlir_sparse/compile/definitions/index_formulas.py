"""Formulas of index variables and arrays of integers, computed for all values of the variables at once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any, assert_never

import numpy as np

from mlir_sparse.errors import CoordinatesError, OperandError
from mlir_sparse.notation import (
    FUNCTIONS,
    Access,
    AffineSubscript,
    Apply,
    Binary,
    BinaryOp,
    Call,
    Expr,
    Fold,
    IndexFormula,
    IndexVar,
    Literal,
    Negate,
    Reduce,
    Subscript,
    reads,
)

__all__ = ["element_at", "integers_of", "is_static", "truth_of"]

Array = np.ndarray[Any, Any]
Grids = Mapping[str, Array]
"""By the name of a variable its values, along an axis of their own."""

_OPERATORS: dict[BinaryOp, Any] = {
    BinaryOp.ADD: np.add,
    BinaryOp.SUB: np.subtract,
    BinaryOp.MUL: np.multiply,
    BinaryOp.DIV: np.floor_divide,
    BinaryOp.LT: np.less,
    BinaryOp.LE: np.less_equal,
    BinaryOp.GT: np.greater,
    BinaryOp.GE: np.greater_equal,
    BinaryOp.EQ: np.equal,
    BinaryOp.NE: np.not_equal,
    BinaryOp.AND: np.logical_and,
    BinaryOp.OR: np.logical_or,
}


def is_static(formula: IndexFormula) -> bool:
    """Returns whether a formula reads no data."""
    return not any(access.subscripts for access in reads(formula.value))


def integers_of(
    formula: IndexFormula, extents: Mapping[IndexVar, int], arrays: Mapping[str, Array], guards: tuple[Expr, ...] = ()
) -> Array:
    """Returns the integers of a formula, 0 where a guard does not hold.

    Args:
        formula: the formula.
        extents: the extent of each variable.
        arrays: by name, the arrays of integers that it reads.
        guards: conditions that hold where the integers are read.

    Raises:
        OperandError: for a division by zero.
    """
    grids, shape = _grids(formula, extents)
    try:
        with np.errstate(divide="raise"):
            found = _value(formula.value, grids, arrays)
    except FloatingPointError:
        raise OperandError(f"expected no division by zero in a subscript, but got one in {formula.value}") from None
    if guards:
        found = np.where(reduce(np.logical_and, (_value(guard, grids, arrays) for guard in guards)), found, 0)
    return np.ascontiguousarray(np.broadcast_to(found, shape), dtype=np.int64)


def truth_of(formula: IndexFormula, extents: Mapping[IndexVar, int], arrays: Mapping[str, Array]) -> Array:
    """Returns where a condition holds."""
    grids, shape = _grids(formula, extents)
    return np.broadcast_to(np.asarray(_value(formula.value, grids, arrays), dtype=np.bool_), shape)


def element_at(
    access: Access, places: Grids, arrays: Mapping[str, Array], formulas: Mapping[str, IndexFormula]
) -> Array:
    """Returns the flat places in an array that an access reads at given values of its variables.

    Args:
        access: the access; its subscripts may be arrays of formulas.
        places: by name of variable, its values.
        arrays: by name, the array, and those of integers.
        formulas: by name, the formulas that subscripts are.

    Raises:
        CoordinatesError: for places out of range.
    """
    shape = arrays[access.tensor].shape
    subscripts = [
        _value(formulas[s.tensor].value, places, arrays)
        if isinstance(s, Access) and s.tensor in formulas
        else _subscript(s, places, arrays)
        for s in access.subscripts
    ]
    checked = [_within(access.tensor, axis, s, n) for axis, (s, n) in enumerate(zip(subscripts, shape, strict=True))]
    count = np.broadcast_shapes(*(s.shape for s in checked), *(p.shape for p in places.values()))
    if not shape:
        return np.zeros(count, dtype=np.int64)
    return np.ravel_multi_index(tuple(np.broadcast_to(s, count) for s in checked), shape)


def _within(name: str, axis: int, places: Array, size: int) -> Array:
    places = np.asarray(places)
    if places.size and (places.min() < 0 or places.max() >= size):
        outside = places[(places < 0) | (places >= size)].flat[0]
        inside = f"0 to {size - 1}" if size else "of which there are none"
        raise CoordinatesError(
            f"expected subscripts of {name} to be positions of it, {inside} (axis {axis}), but got {outside}"
        )
    return places


def _grids(formula: IndexFormula, extents: Mapping[IndexVar, int]) -> tuple[dict[str, Array], tuple[int, ...]]:
    shape = tuple(extents[variable] for variable in formula.variables)
    grids = {}
    for axis, (variable, size) in enumerate(zip(formula.variables, shape, strict=True)):
        grids[variable.name] = np.arange(size).reshape([-1 if axis == at else 1 for at in range(len(shape))])
    return grids, shape


def _value(node: Expr, grids: Grids, arrays: Mapping[str, Array]) -> Array:
    match node:
        case Literal(value):
            return np.asarray(value)
        case Access(name, ()):
            return grids[name]
        case Access(name, subscripts):
            array = arrays[name]
            found = [_subscript(subscript, grids, arrays) for subscript in subscripts]
            places = [_within(name, axis, s, n) for axis, (s, n) in enumerate(zip(found, array.shape, strict=True))]
            return np.asarray(array[tuple(places)], dtype=np.int64)
        case Negate(operand):
            return np.negative(_value(operand, grids, arrays))
        case Binary(op, left, right):
            return _OPERATORS[op](_value(left, grids, arrays), _value(right, grids, arrays))  # type: ignore[no-any-return]
        case Call(function, arguments):
            ufunc = getattr(np, FUNCTIONS[function].numpy_name)
            return np.asarray(ufunc(*(_value(argument, grids, arrays) for argument in arguments)))
        case Reduce() | Apply() | Fold():
            raise AssertionError("formulas have none")
        case _:
            assert_never(node)


def _subscript(subscript: Subscript, grids: Grids, arrays: Mapping[str, Array]) -> Array:
    match subscript:
        case IndexVar(name):
            return grids[name]
        case AffineSubscript(terms, constant):
            return np.asarray(sum((factor * grids[variable.name] for factor, variable in terms), np.asarray(constant)))
        case Access():
            return _value(subscript, grids, arrays)
