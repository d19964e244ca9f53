"""Elementwise functions that are no ufuncs: choices, bounds, comparisons within a tolerance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np

from mlir_sparse.arrays.broadcast import broadcast_shape
from mlir_sparse.arrays.co_iterated_functions import shape_of
from mlir_sparse.arrays.elementwise import as_operand, elementwise, map_entries
from mlir_sparse.arrays.entry_lists import entries_of, is_in_order
from mlir_sparse.arrays.extremes_of_entries import nonzero_in_lines, nonzero_in_list
from mlir_sparse.arrays.flat_places import Array
from mlir_sparse.arrays.merged_entries import Operand
from mlir_sparse.errors import OperandError
from mlir_sparse.tensor import SparseTensor

__all__ = [
    *(
        "allclose",
        "array_equal",
        "array_equiv",
        "binned",
        "choose",
        "choose_by_number",
        "clip",
        "closeness",
        "imag",
        "interpolated",
        "isclose",
        "mapped",
        "nonzero",
    ),
    *("real", "rounded", "select"),
]

Function = Callable[..., Any]


def _spread(name: str, *sources: Any) -> tuple[list[Operand], tuple[int, ...]]:
    operands = [as_operand(name, source) for source in sources]
    return operands, broadcast_shape([shape_of(operand) for operand in operands], name)


def choose(condition: Any, *choices: Any) -> Any:
    """Returns `np.where`: elements of one or the other operand; without operands, where the condition holds."""
    if not choices:
        return nonzero(condition)
    operands, size = _spread("where", condition, *choices)
    if len(choices) != 2:
        raise OperandError(f"expected both or neither of the values of np.where, but got {len(choices)}")
    return map_entries(np.where, operands, size)


def choose_by_number(a: Any, choices: Any, *, mode: str = "raise") -> Any:
    """Returns `np.choose`: elements of the choice that each element of the first operand is the number of.

    Raises:
        OperandError: for numbers that no choice has, unless `mode` is "wrap" or "clip".
    """
    operands, size = _spread("choose", a, *choices)

    def picked(number: Any, *values: Any) -> Any:
        return np.choose(number, values, mode=mode)  # type: ignore[call-overload]

    picked.__name__ = "choose"
    return map_entries(picked, operands, size)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """Returns `np.select`: elements of the choice whose condition is the first that holds, else the default.

    Raises:
        OperandError: for no condition, another number of choices, or conditions that are no truth values.

    >>> from mlir_sparse.tensor import tensor
    >>> A = tensor([0.0, 2.0, -3.0])
    >>> select([A > 0, A < 0], [10 * A, -A]).to_numpy().tolist()
    [0.0, 20.0, 3.0]
    """
    condlist, choicelist = list(condlist), list(choicelist)  # of rows, for a tensor
    if not condlist or len(condlist) != len(choicelist):
        raise OperandError(f"expected a choice for each condition, but got {len(choicelist)} for {len(condlist)}")
    numbers = (int, float, complex)
    kind = np.result_type(*(one if type(one) in numbers else one.dtype for one in map(_typed, (*choicelist, default))))
    shape = np.broadcast_shapes(*(np.shape(one) for one in (*condlist, *choicelist)))
    found: Any = default
    for at in reversed(range(len(condlist))):
        if (given := _typed(condlist[at])).dtype != np.bool_:
            raise OperandError(f"expected truth values for condition {at} of np.select, but got {given.dtype}")
        found = np.where(condlist[at], choicelist[at], found)
    found = found.astype(kind)
    return found if found.shape == shape else np.broadcast_to(found, shape)


def _typed(value: Any) -> Any:
    return value if hasattr(value, "dtype") or type(value) in (int, float, complex) else np.asarray(value)


def binned(x: Any, bins: Any, right: bool = False) -> Any:
    """Returns `np.digitize`: in which interval of edges in order each element is.

    Raises:
        OperandError: for edges that are no vector in order.
    """
    edges = np.asarray(bins)
    steps = np.diff(edges)
    if edges.ndim != 1 or not ((steps >= 0).all() or (steps <= 0).all()):
        raise OperandError("expected edges in ascending or descending order for np.digitize, in one vector")

    def digitize(values: Any) -> Any:
        return np.digitize(values, edges, right)

    return map_entries(digitize, [x], x.shape)


def array_equiv(a1: Any, a2: Any) -> bool:
    """Returns whether all elements agree where two operands are broadcast; that they are not where they cannot be."""
    try:
        np.broadcast_shapes(np.shape(a1), np.shape(a2))
    except ValueError:
        return False
    return not np.any(np.not_equal(a1, a2))


def nonzero(tensor: SparseTensor) -> tuple[Array, ...]:
    """Returns the coordinates of all nonzero elements, in row-major order."""
    listed = nonzero_in_lines(tensor) or nonzero_in_list(tensor)
    if listed is not None:
        return listed
    entries = entries_of(tensor, narrow=True)
    given = entries.values != 0
    kept = entries if given.all() else entries.where(given)
    if is_in_order(tensor.encoding):
        return tuple(dim.astype(np.intp) for dim in kept.dims)
    kept = replace(kept, dims=tuple(dim.astype(np.int64, copy=False) for dim in kept.dims))
    keys = kept.keys
    if np.all(keys[1:] > keys[:-1]):
        return tuple(dim.astype(np.intp) for dim in kept.dims)
    order = np.argsort(keys, kind="stable")
    return tuple(dim[order].astype(np.intp) for dim in kept.dims)


def clip(tensor: Any, low: Any = None, high: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """Returns the elements; those outside two bounds become the nearer bound. None is no bound."""
    lower, upper = (min if low is None else low), (max if high is None else high)
    if lower is None and upper is None:
        return tensor
    if upper is None:
        return elementwise(np.maximum, [tensor, lower])
    if lower is None:
        return elementwise(np.minimum, [tensor, upper])
    operands, size = _spread("clip", tensor, lower, upper)
    return map_entries(np.clip, operands, size)


def rounded(tensor: SparseTensor, decimals: int = 0) -> Any:
    """Returns the elements rounded to a number of decimals."""
    return map_entries(np.round, [tensor], tensor.shape, decimals=decimals)


def real(tensor: SparseTensor) -> SparseTensor:
    """Returns the real parts; the tensor itself where it is real."""
    return map_entries(np.real, [tensor], tensor.shape) if tensor.dtype.kind == "c" else tensor


def imag(tensor: SparseTensor) -> SparseTensor:
    """Returns the imaginary parts."""
    return map_entries(np.imag, [tensor], tensor.shape)  # type: ignore[no-any-return]


def mapped(function: Function) -> Function:
    """Returns a function of one operand that is evaluated at entries, and once for all missing ones.

    Arguments after the operand are the function's own.
    """

    def apply(x: Any, *rest: Any, **options: Any) -> Any:
        @wraps(function)
        def of_values(values: Any, **more: Any) -> Any:
            return function(values, *rest, **more)

        return map_entries(of_values, [x], x.shape, **options)

    return apply


def interpolated(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Returns `np.interp` of the elements: of points `xp` and values `fp`."""

    def interp(values: Any) -> Any:
        return np.interp(values, xp, fp, left, right, period)

    return map_entries(interp, [x], x.shape)


def closeness(rtol: Any, atol: Any, equal_nan: bool) -> tuple[Function, tuple[Any, ...]]:
    """Returns what says whether elements agree, and its further operands: tolerances, where these are no numbers."""

    def isclose(left: Any, right: Any, relative: Any = rtol, absolute: Any = atol) -> Any:
        return np.isclose(left, right, relative, absolute, equal_nan)

    return isclose, (rtol, atol) if np.ndim(rtol) or np.ndim(atol) else ()


def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    """Returns where elements agree within a tolerance, as a dense array: missing entries agree."""
    function, tolerances = closeness(rtol, atol, equal_nan)
    return map_entries(function, *_spread("isclose", a, b, *tolerances))


def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> bool:
    """Returns whether all elements agree within a tolerance."""
    # Compute where elements disagree, which is mostly nowhere, and so sparse for two sparse operands.
    function, tolerances = closeness(rtol, atol, equal_nan)

    def apart(*values: Any) -> Any:
        return ~function(*values)

    return not np.any(map_entries(apart, *_spread("allclose", a, b, *tolerances)))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Returns whether two tensors have the same shape and elements."""
    left, right = as_operand("array_equal", a1), as_operand("array_equal", a2)
    if shape_of(left) != shape_of(right):
        return False

    def unequal(a: Any, b: Any) -> Any:
        return (a != b) & ~(np.isnan(a) & np.isnan(b)) if equal_nan else a != b

    return not np.any(map_entries(unequal, [left, right], shape_of(left)))
