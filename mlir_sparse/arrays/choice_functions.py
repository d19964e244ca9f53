"""Elementwise functions that are no ufuncs: choices, bounds, comparisons within a tolerance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mlir_sparse.arrays.broadcast import broadcast_shape
from mlir_sparse.arrays.co_iterated_functions import shape_of
from mlir_sparse.arrays.elementwise import as_operand, elementwise, map_entries
from mlir_sparse.arrays.entry_lists import entries_of, is_in_order
from mlir_sparse.arrays.extremes_of_entries import nonzero_in_lines
from mlir_sparse.arrays.flat_places import Array
from mlir_sparse.arrays.merged_entries import Operand
from mlir_sparse.errors import OperandError
from mlir_sparse.tensor import SparseTensor

__all__ = [
    *("allclose", "array_equal", "choose", "clip", "imag", "interpolated", "isclose", "mapped", "nonzero", "real"),
    "rounded",
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


def nonzero(tensor: SparseTensor) -> tuple[Array, ...]:
    """Returns the coordinates of all nonzero elements, in row-major order."""
    listed = nonzero_in_lines(tensor)
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
    """Returns a function of one operand that is evaluated at entries, and once for all missing ones."""

    def apply(x: Any, **options: Any) -> Any:
        return map_entries(function, [x], x.shape, **options)

    return apply


def interpolated(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Returns `np.interp` of the elements: of points `xp` and values `fp`."""

    def interp(values: Any) -> Any:
        return np.interp(values, xp, fp, left, right, period)

    return map_entries(interp, [x], x.shape)


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Returns where elements agree within a tolerance, as a dense array: missing entries agree."""
    operands, size = _spread("isclose", a, b)
    return map_entries(np.isclose, operands, size, rtol=rtol, atol=atol, equal_nan=equal_nan)


def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Returns whether all elements agree within a tolerance."""
    # Compute where elements disagree, which is mostly nowhere, and so sparse for two sparse operands.
    operands, size = _spread("allclose", a, b)

    def apart(*values: Any) -> Any:
        left, right = values
        return ~np.isclose(left, right, rtol=rtol, atol=atol, equal_nan=equal_nan)

    return not np.any(map_entries(apart, operands, size))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Returns whether two tensors have the same shape and elements."""
    left, right = as_operand("array_equal", a1), as_operand("array_equal", a2)
    if shape_of(left) != shape_of(right):
        return False

    def unequal(a: Any, b: Any) -> Any:
        return (a != b) & ~(np.isnan(a) & np.isnan(b)) if equal_nan else a != b

    return not np.any(map_entries(unequal, [left, right], shape_of(left)))
