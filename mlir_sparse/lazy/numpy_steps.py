"""NumPy's protocols on lazy expressions: which ufuncs and functions are recorded, and by which step."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from mlir_sparse.arrays.axis_arguments import axis_of, listed_axes
from mlir_sparse.dtypes import numpy_dtype
from mlir_sparse.errors import RankError, UnsupportedError
from mlir_sparse.lazy.elementwise_steps import as_view, cast_view, choose, elementwise_step, function_of, is_number
from mlir_sparse.lazy.recorded_values import ArrayView
from mlir_sparse.lazy.sum_steps import einsum_step, matmul_step, mean_step, norm_step, sum_step
from mlir_sparse.text.given_arguments import shown

__all__ = ["called_step", "dot_step", "function_step", "indexed", "part_step", "swapped", "transposed", "ufunc_step"]

# Options of a call that do not change the result.
_DEFAULTS = {"casting": "same_kind", "order": "K", "subok": True, "where": True, "initial": np._NoValue, "out": None}


def ufunc_step(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> ArrayView:
    """Returns what a ufunc's call, or the sum of `np.add.reduce`, records.

    Raises:
        UnsupportedError: for other methods and options.
    """
    what = f"np.{ufunc.__name__}{'' if method == '__call__' else f'.{method}'}"
    if method == "reduce" and ufunc is np.add:
        axis, dtype = options.pop("axis", 0), options.pop("dtype", None)
        keepdims = options.pop("keepdims", False)
        _check_options(what, options)
        return sum_step(inputs[0], axis, dtype, keepdims=keepdims)
    dtype = options.pop("dtype", None)
    _check_options(what, options)
    if method != "__call__":
        raise UnsupportedError(f"expected a ufunc's call of lazy expressions, but got {what}: call .compute() first")
    if dtype is not None:
        inputs = tuple(cast_view(as_view(one), numpy_dtype(dtype)) for one in inputs)
    return called_step(ufunc, inputs)


def called_step(ufunc: np.ufunc, inputs: tuple[Any, ...]) -> ArrayView:
    """Returns what the call of a ufunc without options records.

    Raises:
        UnsupportedError: for a ufunc that is not recorded.
    """
    return matmul_step(*inputs) if ufunc is np.matmul else elementwise_step(ufunc, inputs)


def _check_options(what: str, options: dict[str, Any]) -> None:
    for name, value in options.items():
        if value is np._NoValue:
            continue
        default = _DEFAULTS.get(name, options)
        if not (value is default or (isinstance(value, str) and value == default)):
            raise UnsupportedError(
                f"expected no {name}= for {what} of lazy expressions, but got {shown(value)}: call .compute() first"
            )


def function_step(function: Callable[..., Any], given: tuple[Any, ...], options: dict[str, Any]) -> ArrayView:
    """Returns what a function of NumPy's records.

    Raises:
        UnsupportedError: for functions that are not recorded, and for their arguments that are not.
    """
    name = _name(function)
    step = _FUNCTIONS.get(name)
    if step is None:
        raise UnsupportedError(
            f"expected a function that lazy expressions record ({', '.join(sorted(_FUNCTIONS))}), but got {name}: "
            "call .compute() first"
        )
    rest = {key: value for key, value in options.items() if value is not np._NoValue}
    _check_options(name, {key: rest.pop(key) for key in _DEFAULTS if key in rest})
    try:
        inspect.signature(step).bind(*given, **rest)
    except TypeError as error:
        raise UnsupportedError(
            f"expected arguments of {name} that lazy expressions record, but got others ({error}): "
            "call .compute() first"
        ) from None
    return step(*given, **rest)


def _name(function: Callable[..., Any]) -> str:
    module = getattr(function, "__module__", None) or "numpy"
    return f"{'np' + module.removeprefix('numpy')}.{getattr(function, '__name__', function)}"


def transposed(source: Any, axes: Any = None) -> ArrayView:
    """Returns an array with its axes permuted; reversed without `axes`."""
    view = as_view(source)
    order = list(range(view.ndim))[::-1] if axes is None else [axis_of(axis, view.ndim) for axis in listed_axes(axes)]
    if sorted(order) != list(range(view.ndim)):
        raise RankError(f"expected each of {view.ndim} axes once, but got {shown(axes)}")
    return view.permuted(order)


def swapped(source: Any, axis1: int, axis2: int) -> ArrayView:
    """Returns an array with two axes exchanged."""
    view = as_view(source)
    order = list(range(view.ndim))
    first, second = axis_of(axis1, view.ndim), axis_of(axis2, view.ndim)
    order[first], order[second] = order[second], order[first]
    return view.permuted(order)


def indexed(view: ArrayView, key: Any) -> ArrayView:
    """Returns an array with new axes where an index has `None`; its other items are whole slices and `...`.

    Raises:
        UnsupportedError: for indices of elements and parts.
        RankError: for more slices than axes.
    """
    items = key if isinstance(key, tuple) else (key,)
    if any(not (one is None or one is Ellipsis or (isinstance(one, slice) and one == slice(None))) for one in items):
        raise UnsupportedError(
            f"expected None, ... and whole slices as an index of a lazy expression, but got {shown(key)}: "
            "call .compute() first"
        )
    whole = sum(isinstance(one, slice) for one in items)
    if whole > view.ndim or sum(one is Ellipsis for one in items) > 1:
        raise RankError(f"expected an index of {view.ndim} axes and one `...` at most, but got {shown(key)}")
    spread: list[Any] = [slice(None)] * (view.ndim - whole)
    if not any(one is Ellipsis for one in items):
        items = (*items, Ellipsis)
    place = next(number for number, one in enumerate(items) if one is Ellipsis)
    left = iter(range(view.ndim))
    return view.permuted(
        [None if one is None else next(left) for one in (*items[:place], *spread, *items[place + 1 :])]
    )


def part_step(name: str, source: Any) -> ArrayView:
    """Returns the real or imaginary parts."""
    view = as_view(source)
    if view.dtype.kind != "c" and name == "real":
        return view
    return function_of(name, view, np.zeros(1, view.dtype).real.dtype)


def dot_step(left: Any, right: Any) -> ArrayView:
    """Returns `np.dot` of vectors, matrices and numbers."""
    if is_number(left) or is_number(right) or 0 in (as_view(left).ndim, as_view(right).ndim):
        return elementwise_step(np.multiply, [left, right])
    return matmul_step(left, right)


def _expanded(a: Any, axis: Any) -> ArrayView:
    view = as_view(a)
    given = listed_axes(axis)
    rank = view.ndim + len(given)
    new = {axis_of(one, rank) for one in given}
    if len(new) < len(given):
        raise RankError(f"expected each new axis once, but got axis={shown(axis)}")
    left = iter(range(view.ndim))
    return view.permuted([None if number in new else next(left) for number in range(rank)])


def _sum(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> ArrayView:
    return sum_step(a, axis, dtype, keepdims=keepdims)


def _mean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> ArrayView:
    return mean_step(a if dtype is None else cast_view(as_view(a), numpy_dtype(dtype)), axis, keepdims=keepdims)


def _einsum(subscripts: Any, *operands: Any, optimize: Any = True) -> ArrayView:
    if not isinstance(optimize, bool | str):
        raise UnsupportedError("expected optimize= of einsum to be True, but got a path: all is planned together")
    return einsum_step(subscripts, *operands)


def _where(condition: Any, /, *choices: Any) -> ArrayView:
    if len(choices) != 2:
        raise UnsupportedError("expected both values of np.where, but got the condition alone: call .compute() first")
    return choose(condition, *choices)


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> ArrayView:
    if axis is not None or keepdims:
        raise UnsupportedError("expected the norm over all axes, but got axis= or keepdims=: call .compute() first")
    return norm_step(x, ord)


_FUNCTIONS: dict[str, Callable[..., ArrayView]] = {
    "np.dot": dot_step,
    "np.einsum": _einsum,
    "np.expand_dims": _expanded,
    "np.imag": lambda val: part_step("imag", val),
    "np.linalg.norm": _norm,
    "np.mean": _mean,
    "np.real": lambda val: part_step("real", val),
    "np.sum": _sum,
    "np.swapaxes": swapped,
    "np.transpose": transposed,
    "np.where": _where,
}
