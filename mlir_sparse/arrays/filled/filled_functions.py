"""The table of NumPy's functions on tensors with a fill value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlir_sparse.arrays import (
    averages,
    choice_functions,
    dense_sequences,
    differences,
    distributions,
    numpy_functions,
    ordered_entries,
    rearranged_entries,
    split_and_repeat,
)
from mlir_sparse.arrays.axis_arguments import axes_of, axis_of
from mlir_sparse.arrays.entry_lists import EntryList
from mlir_sparse.arrays.filled import filled_order, filled_products, filled_reductions
from mlir_sparse.arrays.filled.filled_elements import filled_entries, is_sparse, map_elements
from mlir_sparse.arrays.filled.moved_entries import joined, moved
from mlir_sparse.arrays.norms import norm_of_nothing
from mlir_sparse.arrays.reduction_table import reduction_functions, root
from mlir_sparse.arrays.wide_values import narrowed, widened
from mlir_sparse.errors import OperandError, RankError, UnsupportedError
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.fill_values import WAY_OUT, is_filling, no_fill
from mlir_sparse.tensor.filled_tensor import FilledTensor

__all__ = ["FILLED_FUNCTIONS"]

Function = Callable[..., Any]


def _ours(name: str) -> Function:
    return numpy_functions.FUNCTIONS[name]


def _moving(name: str) -> Function:
    """Returns NumPy's function of a name that moves the elements of its first argument."""

    def apply(a: Any, *arguments: Any, **options: Any) -> Any:
        return moved(_ours(name), a, *arguments, **options)

    return apply


def _joining(name: str) -> Function:
    def apply(arrays: Sequence[Any], *arguments: Any, **options: Any) -> Any:
        return joined(_ours(name), arrays, *arguments, **options)

    return apply


def _mapping(function: Function, count: int = 1) -> Function:
    """Returns a function of elements; arguments after the first ones are options."""

    def apply(*given: Any, **options: Any) -> Any:
        if len(given) <= count:
            return map_elements(function, given, function.__name__, **options)
        rest = given[count:]
        return map_elements(
            lambda *values, **o: function(*values, *rest, **o), given[:count], function.__name__, **options
        )

    return apply


def _nan_variance(a: Any, axis: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Any:
    return filled_reductions.nan_variance(a, axis, ddof=ddof, keepdims=keepdims)


def _without_nan(value: Any) -> Function:
    """Returns the function that puts a value in place of NaN."""

    def put(x: Any) -> Any:
        return np.where(np.isnan(x), np.asarray(value, x.dtype), x)

    return put


def _nan_reduction(ufunc: np.ufunc, value: Any) -> Function:
    def apply(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
        rest = map_elements(_without_nan(value), [a], ufunc.__name__) if a.dtype.kind in "fcV" else a
        return ufunc.reduce(rest, axis=axis, dtype=dtype, keepdims=keepdims)

    return apply


def _nan_mean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    if dtype is None and (wide := widened(a)) is not None:
        return narrowed(_nan_mean(wide, axis, keepdims=keepdims), a.dtype)
    total = _nan_reduction(np.add, 0)(a, axis, dtype, keepdims=keepdims)
    if a.dtype.kind not in "fcV":
        return filled_reductions.mean(a, axis, dtype=dtype, keepdims=keepdims)
    counts = np.sum(map_elements(_is_number, [a], "nanmean"), axis=axis, dtype=np.int64, keepdims=keepdims)
    if np.any(counts == 0):
        filled_reductions.warn_of_none("Mean of empty slice")
    with np.errstate(invalid="ignore", divide="ignore"):
        return (total / counts).astype(total.dtype)


def _is_number(x: Any) -> Any:
    return ~np.isnan(x)


def _nan_extreme(ufunc: np.ufunc) -> Function:
    def apply(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        return filled_reductions.nan_extreme(ufunc, a, axis, keepdims=keepdims)

    return apply


def _count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return filled_reductions.count_nonzero(a, axis, keepdims=keepdims)


def _where(condition: Any, *choices: Any) -> Any:
    if not choices:
        return filled_order.nonzero(condition)
    if len(choices) != 2:
        raise OperandError(f"expected both or neither of the values of np.where, but got {len(choices)}")
    return map_elements(np.where, (condition, *choices), "where")


def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    found = a if low is None else map_elements(np.maximum, (a, low), "clip")
    if low is not None and high is not None:
        return map_elements(np.clip, (a, low, high), "clip")
    return found if high is None else map_elements(np.minimum, (found, high), "clip")


def _all_hold(function: Function, a: Any, b: Any, **options: Any) -> bool:
    return bool(np.all(map_elements(function, (a, b), function.__name__, **options)))


def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    if np.shape(a1) != np.shape(a2):
        return False

    def same(a: Any, b: Any) -> Any:
        return (a == b) | (np.isnan(a) & np.isnan(b)) if equal_nan else a == b

    return _all_hold(same, a1, a2)


def _isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    function, tolerances = choice_functions.closeness(rtol, atol, equal_nan)
    return map_elements(function, (a, b, *tolerances), "isclose")


def _allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> bool:
    return bool(np.all(_isclose(a, b, rtol, atol, equal_nan)))


def _pad(array: FilledTensor, pad_width: Any, mode: str = "constant", **options: Any) -> Any:
    given = np.asarray(options.get("constant_values", 0))
    same = given.ndim == 0 and is_filling(given.astype(array.dtype).reshape(1), array.fill_value)[0]
    if mode != "constant" or set(options) - {"constant_values"} or not same:
        raise UnsupportedError(
            f"expected constant_values={array.fill_value} to pad a tensor of this fill value, but got others: "
            "use A.to_numpy()"
        )
    return moved(dense_sequences.pad, array, pad_width)


def _outer(a: Any, b: Any) -> Any:
    return map_elements(np.multiply, (np.reshape(a, (-1, 1)), np.reshape(b, (1, -1))), "outer")


def _diag(v: FilledTensor, k: int = 0) -> Any:
    if v.ndim == 1:
        raise no_fill(v.fill_value, "np.diag of a vector, which has zeros beside it", WAY_OUT)
    return moved(_ours("np.diag"), v, k)


def _full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None
) -> Any:
    nothing = np.zeros_like(a.stored, dtype=dtype, shape=shape)
    if not isinstance(nothing, SparseTensor):  # of no dimension
        return np.full_like(nothing, fill_value)
    found = np.asarray(fill_value).astype(nothing.dtype)[()]
    return filled_entries(
        EntryList(tuple(nothing.to_coo()[0].astype(np.int64)), nothing.storage.values, nothing.shape), found, nothing
    )


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if x.dtype.kind == "f" and (wide := widened(x)) is not None:
        return narrowed(_norm(wide, ord, axis, keepdims), x.dtype)
    sizes = abs(x if x.dtype.kind in "fc" else x.astype(np.float64))
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if ord is None or (ord == "fro" and len(axes) == 2) or (ord == 2 and len(axes) == 1):
        return np.sqrt(np.sum(np.square(sizes), axis=axes, keepdims=keepdims))
    if ord in (1, np.inf, -1, -np.inf) and 0 in [x.shape[at] for at in axes]:
        return norm_of_nothing(x.shape, tuple(at % x.ndim for at in axes), ord, keepdims, sizes.dtype)
    if len(axes) == 1 and ord in (np.inf, -np.inf):
        return (np.max if ord > 0 else np.min)(sizes, axis=axes, keepdims=keepdims)
    if len(axes) == 1 and ord == 0:
        return np.count_nonzero(sizes, axis=axes[0], keepdims=keepdims).astype(sizes.dtype)
    if len(axes) == 1 and isinstance(ord, int | float) and ord > 0:
        return np.power(np.sum(np.power(sizes, ord), axis=axes, keepdims=keepdims), 1 / ord)
    if len(axes) == 2 and ord in (1, -1, np.inf, -np.inf):
        sums = np.sum(sizes, axis=axes[0 if abs(ord) == 1 else 1], keepdims=True)
        return (np.max if ord > 0 else np.min)(sums, axis=axes, keepdims=keepdims)
    raise UnsupportedError(f"expected a norm without singular values, but got ord={ord!r}: use A.to_numpy()")


def _vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    axes = axes_of(axis, x.ndim)
    rest = [at for at in range(x.ndim) if at not in axes]
    found = _norm(np.transpose(x, (*rest, *axes)).reshape((*(x.shape[at] for at in rest), -1)), ord, (len(rest),))
    return found if not keepdims else np.reshape(found, [1 if at in axes else n for at, n in enumerate(x.shape)])


def _cumulative(ufunc: np.ufunc) -> Function:
    """Returns the array API's function: an axis where there are several, and the identity before all if asked for."""

    def apply(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
        if axis is None and x.ndim > 1:
            raise RankError(f"expected axis= for running sums of {x.ndim} dimensions, but got none")
        along = axis_of(0 if axis is None else axis, x.ndim)
        found = filled_order.running(ufunc, x, along, dtype)
        if not include_initial:
            return found
        shape = tuple(1 if at == along else extent for at, extent in enumerate(x.shape))
        return np.concatenate([np.full(shape, ufunc.identity, found.dtype), found], along)

    return apply


def _shares(function: Function, a: Any, b: Any) -> bool:
    left, right = (one.stored if isinstance(one, FilledTensor) else one for one in (a, b))
    return bool(function(left, right))


def _result_type(*given: Any) -> np.dtype[Any]:
    return np.result_type(*(value.dtype if is_sparse(value) else value for value in given))


def _broadcast_arrays(*arrays: Any, subok: bool = False) -> tuple[Any, ...]:
    shape = np.broadcast_shapes(*(np.shape(one) for one in arrays))
    return tuple(np.broadcast_to(one, shape) for one in arrays)


_MOVING = (
    "transpose permute_dims matrix_transpose swapaxes moveaxis reshape ravel squeeze expand_dims broadcast_to flip "
    "fliplr flipud roll take diagonal take_along_axis unstack array_split split vsplit hsplit dsplit rollaxis delete "
    "tile repeat rot90 linalg.diagonal linalg.matrix_transpose"
)
_JOINING = "concatenate stack vstack hstack dstack column_stack"
_MAPPING: dict[str, Function] = {
    **{name: _mapping(getattr(np, name)) for name in ("real", "imag", "angle", "nan_to_num", "sinc", "fix")},
    **{name: _mapping(getattr(np, name)) for name in ("round", "around", "isposinf", "isneginf", "isreal")},
    "iscomplex": _mapping(np.iscomplex),
}

FILLED_FUNCTIONS: dict[str, Function] = {
    **{f"np.{name}": _moving(f"np.{name}") for name in _MOVING.split()},
    **{f"np.{name}": _joining(f"np.{name}") for name in _JOINING.split()},
    **{f"np.{name}": function for name, function in _MAPPING.items()},
    # reductions
    **reduction_functions(filled_reductions),
    "np.count_nonzero": _count_nonzero,
    "np.trace": lambda a, offset=0, axis1=0, axis2=1, dtype=None: a.diagonal(offset, axis1, axis2).sum(
        axis=-1, dtype=dtype
    ),
    "np.linalg.trace": lambda x, /, *, offset=0, dtype=None: x.diagonal(offset, -2, -1).sum(axis=-1, dtype=dtype),
    "np.cross": split_and_repeat.cross_along,
    "np.trim_zeros": split_and_repeat.trim_zeros,
    "np.linalg.cross": split_and_repeat.cross,
    "np.amax": reduction_functions(filled_reductions)["np.max"],
    "np.amin": reduction_functions(filled_reductions)["np.min"],
    "np.ptp": averages.spread,
    "np.average": averages.average,
    "np.interp": lambda x, xp, fp, left=None, right=None, period=None: map_elements(
        np.interp, [x], "interp", xp=xp, fp=fp, left=left, right=right, period=period
    ),
    "np.linalg.norm": _norm,
    "np.nansum": _nan_reduction(np.add, 0),
    "np.nanprod": _nan_reduction(np.multiply, 1),
    "np.nanmean": _nan_mean,
    "np.nanmax": _nan_extreme(np.fmax),
    "np.nanmin": _nan_extreme(np.fmin),
    "np.nanvar": _nan_variance,
    "np.nanstd": root(_nan_variance),
    "np.cumsum": lambda a, axis=None, dtype=None: filled_order.running(np.add, a, axis, dtype),
    "np.cumprod": lambda a, axis=None, dtype=None: filled_order.running(np.multiply, a, axis, dtype),
    "np.outer": _outer,
    "np.cumulative_sum": _cumulative(np.add),
    "np.cumulative_prod": _cumulative(np.multiply),
    "np.linalg.vector_norm": _vector_norm,
    "np.linalg.matrix_norm": lambda x, /, *, keepdims=False, ord="fro": _norm(
        x, ord, (x.ndim - 2, x.ndim - 1), keepdims
    ),
    "np.linalg.vecdot": filled_products.vecdot,
    # products
    "np.matmul": filled_products.matmul,
    "np.linalg.matmul": filled_products.matmul,
    "np.dot": filled_products.dot,
    "np.inner": filled_products.inner,
    "np.vdot": filled_products.vdot,
    "np.tensordot": filled_products.tensordot,
    "np.kron": filled_products.kron,
    "np.einsum": numpy_functions.FUNCTIONS["np.einsum"],
    # elements
    "np.where": _where,
    "np.select": choice_functions.select,
    "np.clip": _clip,
    "np.isclose": _isclose,
    "np.allclose": _allclose,
    "np.array_equal": _array_equal,
    "np.array_equiv": choice_functions.array_equiv,
    "np.nonzero": filled_order.nonzero,
    "np.isin": filled_order.isin,
    "np.searchsorted": filled_order.searchsorted,
    "np.argwhere": lambda a: np.transpose(filled_order.nonzero(a)),
    "np.flatnonzero": lambda a: filled_order.nonzero(a.reshape(-1))[0],
    # order
    "np.sort": filled_order.sort,
    "np.argsort": lambda a, axis=-1, kind=None, order=None, *, stable=None: filled_order.argsort(a, axis),
    "np.partition": ordered_entries.partition,
    "np.argpartition": ordered_entries.argpartition,
    "np.median": filled_order.median,
    "np.quantile": distributions.quantile,
    "np.percentile": distributions.percentile,
    "np.nanquantile": distributions.nanquantile,
    "np.nanpercentile": distributions.nanpercentile,
    "np.histogram": distributions.histogram,
    "np.bincount": distributions.bincount,
    "np.unique": filled_order.unique,
    # shapes
    "np.diag": _diag,
    "np.pad": _pad,
    "np.diff": differences.diff,
    "np.gradient": differences.gradient,
    "np.trapezoid": differences.trapezoid,
    "np.append": lambda arr, values, axis=None: joined(
        lambda parts: _ours("np.concatenate")(parts, axis), [arr, values]
    ),
    "np.atleast_1d": lambda *arrays: _at_least(1, arrays),
    "np.atleast_2d": lambda *arrays: _at_least(2, arrays),
    "np.atleast_3d": lambda *arrays: _at_least(3, arrays),
    "np.broadcast_arrays": _broadcast_arrays,
    # new tensors, and properties
    "np.zeros_like": lambda a, dtype=None, order="K", subok=True, shape=None: np.zeros_like(
        a.stored, dtype=dtype, shape=shape
    ),
    "np.empty_like": lambda a, dtype=None, order="K", subok=True, shape=None: np.zeros_like(
        a.stored, dtype=dtype, shape=shape
    ),
    "np.full_like": _full_like,
    "np.ones_like": lambda a, dtype=None, order="K", subok=True, shape=None: _full_like(a, 1, dtype, shape=shape),
    "np.copy": lambda a, order="K", subok=False: a.__copy__(),
    "np.astype": numpy_functions.astype,
    "np.shape": lambda a: a.shape,
    "np.ndim": lambda a: a.ndim,
    "np.size": lambda a, axis=None: a.size if axis is None else a.shape[axis],
    "np.result_type": _result_type,
    "np.may_share_memory": lambda a, b, max_work=None: _shares(np.may_share_memory, a, b),
    "np.shares_memory": lambda a, b, max_work=None: _shares(np.shares_memory, a, b),
    "np.iscomplexobj": lambda x: x.dtype.kind == "c",
    "np.isrealobj": lambda x: x.dtype.kind != "c",
}


def _at_least(rank: int, arrays: tuple[Any, ...]) -> Any:
    raise_one = rearranged_entries.at_least(rank)
    found = tuple(moved(raise_one, one) if isinstance(one, FilledTensor) else raise_one(one) for one in arrays)
    return found if len(found) > 1 else found[0]
