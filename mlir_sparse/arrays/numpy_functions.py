"""The table of NumPy's functions on sparse tensors."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from mlir_sparse.arrays import (
    averages,
    choice_functions,
    covariances,
    dense_sequences,
    differences,
    distributions,
    join_axes,
    matrix_products,
    nan_reductions,
    ordered_entries,
    rearranged_entries,
    reductions,
    split_and_repeat,
    stacked_products,
)
from mlir_sparse.arrays import reshape as shape
from mlir_sparse.arrays.axis_arguments import axes_of, axis_of, rolled_axes
from mlir_sparse.arrays.einsum import einsum, einsum_path
from mlir_sparse.arrays.flat_places import Array
from mlir_sparse.arrays.norms import norm
from mlir_sparse.arrays.reduction_table import reduction_functions
from mlir_sparse.errors import OperandError, RankError
from mlir_sparse.tensor import SparseTensor

__all__ = ["FUNCTIONS", "astype"]

Function = Callable[..., Any]


def _result_type(*given: Any) -> np.dtype[Any]:
    return np.result_type(*(value.dtype if isinstance(value, SparseTensor) else value for value in given))


def _shares(function: Function, a: Any, b: Any) -> bool:
    """Returns whether values share memory: positions and coordinates never change, whoever has them."""
    left, right = (one.storage.values if isinstance(one, SparseTensor) else one for one in (a, b))
    return bool(function(left, right))


def _cumulative(ufunc: np.ufunc) -> Function:
    """Returns the array API's function: an axis where there are several, and the identity before all if asked for."""

    def apply(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
        if axis is None and x.ndim > 1:
            raise RankError(f"expected axis= for running sums of {x.ndim} dimensions, but got none")
        along = axis_of(0 if axis is None else axis, x.ndim)
        found = dense_sequences.cumulative(ufunc, x, along, dtype)
        if not include_initial:
            return found
        shape = tuple(1 if at == along else extent for at, extent in enumerate(x.shape))
        return np.concatenate([np.full(shape, ufunc.identity, found.dtype), found], along)

    return apply


def _broadcast_arrays(*arrays: Any, subok: bool = False) -> tuple[Any, ...]:
    shape = np.broadcast_shapes(*(np.shape(one) if not isinstance(one, SparseTensor) else one.shape for one in arrays))
    return tuple(np.broadcast_to(one, shape) for one in arrays)


def _argwhere(a: SparseTensor) -> Array:
    return np.transpose(choice_functions.nonzero(a))


def _flatnonzero(a: SparseTensor) -> Array:
    return choice_functions.nonzero(shape.reshaped(a, -1))[0]


def _einsum(
    *operands: Any, optimize: Any = False, out: Any = None, dtype: Any = None, casting: str = "safe", order: str = "K"
) -> Any:
    # NumPy's default is one loop nest; the cheapest order gives the same result.
    return einsum(*operands, out=out, optimize=optimize or None, dtype=dtype, casting=casting, order=order)


def _path(*operands: Any, optimize: Any = "greedy") -> tuple[list[Any], str]:
    found = einsum_path(*operands, optimize=optimize)
    return found.path, str(found)


def _vector_norm(x: SparseTensor, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """Returns the norm of vectors whose elements lie along one axis, or several."""
    axes = axes_of(axis, x.ndim)
    rest = [at for at in range(x.ndim) if at not in axes]
    extents = [x.shape[at] for at in rest]
    flat = shape.reshaped(shape.transposed(x, (*rest, *axes)), (*extents, prod(x.shape[at] for at in axes)))
    found = norm(flat, ord, -1)
    if not keepdims:
        return found
    kept = tuple(1 if at in axes else extent for at, extent in enumerate(x.shape))
    return found.reshape(kept) if hasattr(found, "reshape") else np.reshape(found, kept)


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """Returns the array API's `astype` of a tensor, which copies where the type is the same too.

    Raises:
        OperandError: for another device than the tensor's.
    """
    if device not in (None, "cpu"):
        raise OperandError(f"expected device='cpu', but got {device!r}: use A.to({device!r})")
    return x.astype(dtype, copy=copy)


def _made_like(function: Function) -> Function:
    """Returns what makes an array to compute with beside a tensor, for `like=A`: NumPy's, or the tensor that is given.

    Dask's arrays ask for indices, bounds and values so, of the kind that go with their chunks.
    """

    def made(object: Any, dtype: Any = None, *args: Any, **options: Any) -> Any:
        if not isinstance(object, SparseTensor):
            return function(object, dtype, *args, **options)
        if dtype is not None and np.dtype(dtype) != object.dtype:
            return object.astype(dtype)
        return rearranged_entries.copied(object) if function is np.array and options.get("copy", True) else object

    return made


FUNCTIONS: dict[str, Function] = {
    # reductions
    **reduction_functions(reductions),
    "np.count_nonzero": lambda a, axis=None, *, keepdims=False: reductions.count_nonzero(a, axis, keepdims=keepdims),
    "np.trace": lambda a, offset=0, axis1=0, axis2=1, dtype=None: (
        a.trace(offset, axis1, axis2) if dtype is None else a.diagonal(offset, axis1, axis2).sum(-1, dtype)
    ),
    "np.linalg.norm": norm,
    "np.linalg.vector_norm": _vector_norm,
    "np.linalg.matrix_norm": lambda x, /, *, keepdims=False, ord="fro": norm(x, ord, (-2, -1), keepdims),
    "np.amax": reduction_functions(reductions)["np.max"],
    "np.amin": reduction_functions(reductions)["np.min"],
    "np.ptp": averages.spread,
    "np.average": averages.average,
    "np.cov": covariances.cov,
    "np.corrcoef": covariances.corrcoef,
    "np.nansum": nan_reductions.nansum,
    "np.nanprod": nan_reductions.nanprod,
    "np.nanmean": nan_reductions.nanmean,
    "np.nanargmax": nan_reductions.nanargmax,
    "np.nanargmin": nan_reductions.nanargmin,
    "np.nanmax": nan_reductions.nanmax,
    "np.nanmin": nan_reductions.nanmin,
    "np.nanvar": nan_reductions.nanvar,
    "np.nanstd": nan_reductions.nanstd,
    "np.nanmedian": nan_reductions.nanmedian,
    "np.nancumsum": lambda a, axis=None, dtype=None: nan_reductions.nancumulative(np.add, a, axis, dtype),
    "np.nancumprod": lambda a, axis=None, dtype=None: nan_reductions.nancumulative(np.multiply, a, axis, dtype),
    "np.cumsum": lambda a, axis=None, dtype=None: dense_sequences.cumulative(np.add, a, axis, dtype),
    "np.cumprod": lambda a, axis=None, dtype=None: dense_sequences.cumulative(np.multiply, a, axis, dtype),
    "np.cumulative_sum": _cumulative(np.add),
    "np.cumulative_prod": _cumulative(np.multiply),
    # products
    "np.dot": matrix_products.dot,
    "np.inner": matrix_products.inner,
    "np.outer": matrix_products.outer,
    "np.vdot": matrix_products.vdot,
    "np.kron": matrix_products.kron,
    "np.tensordot": lambda a, b, axes=2: matrix_products.tensordot(a, b, axes),
    "np.einsum": _einsum,
    "np.einsum_path": _path,
    "np.linalg.multi_dot": stacked_products.multi_dot,
    "np.linalg.matrix_power": stacked_products.matrix_power,
    "np.linalg.matmul": matrix_products.matmul,
    "np.linalg.outer": stacked_products.outer,
    "np.linalg.vecdot": stacked_products.vecdot,
    "np.linalg.tensordot": lambda x1, x2, /, *, axes=2: matrix_products.tensordot(x1, x2, axes),
    "np.linalg.trace": lambda x, /, *, offset=0, dtype=None: x.diagonal(offset, -2, -1).sum(-1, dtype),
    "np.cross": split_and_repeat.cross_along,
    "np.linalg.cross": split_and_repeat.cross,
    "np.linalg.diagonal": lambda x, /, *, offset=0: shape.diagonal(x, offset, -2, -1),
    "np.linalg.matrix_transpose": lambda x, /: shape.swapped(x, -1, -2),
    # elements
    "np.where": choice_functions.choose,
    "np.choose": choice_functions.choose_by_number,
    "np.select": choice_functions.select,
    "np.digitize": choice_functions.binned,
    "np.clip": choice_functions.clip,
    "np.round": choice_functions.rounded,
    "np.around": choice_functions.rounded,
    "np.real": choice_functions.real,
    "np.imag": choice_functions.imag,
    "np.angle": choice_functions.mapped(np.angle),
    "np.nan_to_num": choice_functions.mapped(np.nan_to_num),
    "np.interp": choice_functions.interpolated,
    "np.sinc": choice_functions.mapped(np.sinc),
    "np.fix": choice_functions.mapped(np.fix),
    "np.isposinf": choice_functions.mapped(np.isposinf),
    "np.isneginf": choice_functions.mapped(np.isneginf),
    "np.iscomplex": choice_functions.mapped(np.iscomplex),
    "np.isreal": choice_functions.mapped(np.isreal),
    "np.isclose": choice_functions.isclose,
    "np.allclose": choice_functions.allclose,
    "np.array_equal": choice_functions.array_equal,
    "np.array_equiv": choice_functions.array_equiv,
    "np.nonzero": choice_functions.nonzero,
    "np.argwhere": _argwhere,
    "np.flatnonzero": _flatnonzero,
    "np.isin": ordered_entries.isin,
    # order
    "np.sort": ordered_entries.sort,
    "np.argsort": ordered_entries.argsort,
    "np.partition": ordered_entries.partition,
    "np.argpartition": ordered_entries.argpartition,
    "np.searchsorted": ordered_entries.searchsorted,
    "np.median": ordered_entries.median,
    "np.unique": ordered_entries.unique,
    "np.quantile": distributions.quantile,
    "np.percentile": distributions.percentile,
    "np.nanquantile": distributions.nanquantile,
    "np.nanpercentile": distributions.nanpercentile,
    "np.histogram": distributions.histogram,
    "np.bincount": distributions.bincount,
    # shapes
    "np.transpose": lambda a, axes=None: shape.transposed(a, axes),
    "np.permute_dims": lambda a, axes=None: shape.transposed(a, axes),
    "np.matrix_transpose": lambda x, /: shape.swapped(x, -1, -2),
    "np.rollaxis": lambda a, axis, start=0: shape.transposed(a, rolled_axes(a.ndim, axis, start)),
    "np.swapaxes": lambda a, axis1, axis2: shape.swapped(a, axis1, axis2),
    "np.moveaxis": lambda a, source, destination: shape.moved(a, source, destination),
    "np.reshape": lambda a, /, shape=None, order="C", *, newshape=None, copy=None: _reshape(
        a, shape, newshape, order, copy
    ),
    "np.ravel": lambda a, order="C": shape.reshaped(a, -1, order),
    "np.squeeze": lambda a, axis=None: shape.squeezed_out(a, axis),
    "np.expand_dims": lambda a, axis: shape.expanded(a, axis),
    "np.broadcast_to": rearranged_entries.broadcast_to,
    "np.atleast_1d": rearranged_entries.at_least(1),
    "np.atleast_2d": rearranged_entries.at_least(2),
    "np.atleast_3d": rearranged_entries.at_least(3),
    "np.flip": lambda m, axis=None: shape.flipped(m, axis),
    "np.fliplr": lambda m: shape.flipped(m, 1),
    "np.flipud": lambda m: shape.flipped(m, 0),
    "np.roll": rearranged_entries.roll,
    "np.take": rearranged_entries.take,
    "np.diag": rearranged_entries.diag,
    "np.diagflat": lambda v, k=0: rearranged_entries.diag(shape.reshaped(v, -1), k),
    "np.diagonal": lambda a, offset=0, axis1=0, axis2=1: shape.diagonal(a, offset, axis1, axis2),
    "np.tril": lambda m, k=0: shape.triangle(m, False, k),
    "np.triu": lambda m, k=0: shape.triangle(m, True, k),
    # stacks
    "np.concatenate": lambda arrays, /, axis=0: join_axes.concatenated(arrays, axis),
    "np.stack": lambda arrays, axis=0: join_axes.stacked(arrays, axis),
    "np.vstack": rearranged_entries.vstack,
    "np.hstack": rearranged_entries.hstack,
    "np.dstack": rearranged_entries.dstack,
    "np.column_stack": rearranged_entries.column_stack,
    "np.append": lambda arr, values, axis=None: join_axes.concatenated([arr, values], axis),
    "np.take_along_axis": dense_sequences.take_along_axis,
    "np.broadcast_arrays": _broadcast_arrays,
    "np.pad": dense_sequences.pad,
    # parts
    "np.unstack": dense_sequences.unstack,
    "np.array_split": split_and_repeat.array_split,
    "np.split": split_and_repeat.split,
    "np.vsplit": split_and_repeat.vsplit,
    "np.dsplit": split_and_repeat.dsplit,
    "np.hsplit": lambda ary, indices_or_sections: split_and_repeat.split(
        ary, indices_or_sections, 1 if ary.ndim > 1 else 0
    ),
    "np.trim_zeros": split_and_repeat.trim_zeros,
    # differences
    "np.diff": differences.diff,
    "np.ediff1d": differences.ediff1d,
    "np.gradient": differences.gradient,
    "np.trapezoid": differences.trapezoid,
    # parts, and repeated ones
    "np.delete": split_and_repeat.delete,
    "np.tile": split_and_repeat.tile,
    "np.repeat": split_and_repeat.repeat,
    "np.rot90": split_and_repeat.rot90,
    # new tensors, and properties
    "np.zeros_like": rearranged_entries.zeros_like,
    "np.empty_like": rearranged_entries.zeros_like,
    "np.ones_like": rearranged_entries.ones_like,
    "np.full_like": rearranged_entries.full_like,
    "np.asarray": _made_like(np.asarray),
    "np.asanyarray": _made_like(np.asanyarray),
    "np.array": _made_like(np.array),
    "np.copy": lambda a, order="K", subok=False: rearranged_entries.copied(a),
    "np.astype": astype,
    "np.shape": lambda a: a.shape,
    "np.ndim": lambda a: a.ndim,
    "np.size": lambda a, axis=None: a.size if axis is None else a.shape[axis],
    "np.result_type": _result_type,
    "np.may_share_memory": lambda a, b, max_work=None: _shares(np.may_share_memory, a, b),
    "np.shares_memory": lambda a, b, max_work=None: _shares(np.shares_memory, a, b),
    "np.iscomplexobj": lambda x: x.dtype.kind == "c",
    "np.isrealobj": lambda x: x.dtype.kind != "c",
}


def _reshape(a: SparseTensor, wanted: Any, newer: Any, order: str, copy: bool | None) -> Any:
    found = shape.reshaped(a, newer if wanted is None else wanted, order)
    return shape.copied_as_asked(a, found, copy)
