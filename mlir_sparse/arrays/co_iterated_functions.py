"""Ufuncs of two operands as kernels, which co-iterate sparse operands."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from mlir_sparse.arrays.broadcast import Labels, without_axes
from mlir_sparse.arrays.compact_products import compacted, wide_labels
from mlir_sparse.arrays.contraction import cast
from mlir_sparse.arrays.entry_lists import WIDEST
from mlir_sparse.arrays.flat_places import Array
from mlir_sparse.arrays.merged_entries import Operand
from mlir_sparse.arrays.operator_kernels import access, assignment, computed
from mlir_sparse.arrays.recent_kernels import RecentKernels
from mlir_sparse.dtypes import REAL, DType
from mlir_sparse.errors import OperandError
from mlir_sparse.notation import Binary, BinaryOp, Call, Expr
from mlir_sparse.spec import promote
from mlir_sparse.tensor import SparseTensor

__all__ = ["is_planned", "planned", "recently", "shape_of", "types_of"]

_Join = Callable[[Expr, Expr], Expr]


def _call(function: str) -> _Join:
    return lambda left, right: Call(function, (left, right))


_ARITHMETIC: dict[np.ufunc, _Join] = {
    np.add: partial(Binary, BinaryOp.ADD),
    np.subtract: partial(Binary, BinaryOp.SUB),
    np.multiply: partial(Binary, BinaryOp.MUL),
    np.true_divide: partial(Binary, BinaryOp.DIV),
}
# These are zero for two zeros: kernels visit only places where an operand has an entry.
_UNITING: dict[np.ufunc, _Join] = {
    np.maximum: _call("max"),
    np.minimum: _call("min"),
    np.less: partial(Binary, BinaryOp.LT),
    np.greater: partial(Binary, BinaryOp.GT),
    np.not_equal: partial(Binary, BinaryOp.NE),
    np.logical_and: partial(Binary, BinaryOp.AND),
    np.logical_or: partial(Binary, BinaryOp.OR),
}
# Of ufuncs of two tensors that kernels loop over as they are stored.
_recent: dict[np.ufunc, RecentKernels] = {}
# Of products of a matrix and an array of one row or of one column, by the axis along which that is.
_recent_stretched: dict[tuple[np.ufunc, int], RecentKernels] = {}
# These convert each operand to a truth value by itself.
_LOGICAL = (np.logical_and, np.logical_or)


def is_planned(ufunc: np.ufunc, operands: Sequence[Operand], shape: tuple[int, ...]) -> bool:
    """Returns whether a kernel can compute a ufunc of operands without a dense copy of any."""
    if ufunc in _UNITING:
        return all(isinstance(o, SparseTensor) and o.shape == shape and o.dtype.kind in "biuf" for o in operands)
    if ufunc not in _ARITHMETIC or any(_is_number(operand) for operand in operands):
        return False
    if any(o.dtype.kind not in "biufcV" for o in operands if isinstance(o, np.ndarray | SparseTensor)):
        return False
    if ufunc is np.true_divide:
        return isinstance(operands[0], SparseTensor) and not isinstance(operands[1], SparseTensor)
    # A sum with a stretched tensor has entries all along the stretched axes.
    stretched = [operand for operand in operands if isinstance(operand, SparseTensor) and operand.shape != shape]
    return ufunc is np.multiply or not stretched


def _is_number(operand: Operand) -> bool:
    return not isinstance(operand, SparseTensor) and shape_of(operand) in ((), (1,))


def shape_of(operand: Operand) -> tuple[int, ...]:
    """Returns an operand's shape; () for a number."""
    return operand.shape if isinstance(operand, SparseTensor | np.ndarray) else ()


def types_of(operands: Sequence[Operand]) -> str:
    """Returns the element types of operands, for errors."""
    return ", ".join(str(o.dtype) if isinstance(o, SparseTensor | np.ndarray) else type(o).__name__ for o in operands)


def planned(ufunc: np.ufunc, operands: Sequence[Any], shape: tuple[int, ...], dtype: Any = None) -> Any:
    """Computes a ufunc that `is_planned` of two operands with a kernel; NumPy chooses the type where dtype is None."""
    given = operands if dtype is None else None
    left, right, result = _loop_types(ufunc, operands, dtype)
    # Comparisons and logic compute in the operands' common type, as kernels do.
    result = left if result == np.bool_ else result
    common = promote(*(DType.of(operand.dtype) for operand in operands))
    if common.is_exact and ufunc is np.true_divide:
        common = REAL
    if DType.of(result) != common and ufunc not in _LOGICAL:
        operands = [cast(operand, to) for operand, to in zip(operands, (left, right), strict=True)]
    names = tuple(f"i{axis}" for axis in range(len(shape)))
    ready, labels = [], []
    for operand in operands:
        own_names = names[len(shape) - operand.ndim :]
        axes = [axis for axis, name in enumerate(own_names) if operand.shape[axis] != shape[int(name[1:])]]
        ready.append(without_axes(operand, axes))
        labels.append(tuple(name for axis, name in enumerate(own_names) if axis not in axes))
    join = _ARITHMETIC.get(ufunc) or _UNITING[ufunc]
    make = lambda: assignment(names, join(access(0, labels[0]), access(1, labels[1])))  # noqa: E731
    run = partial(computed, (ufunc, *labels, len(shape)), make)
    if _looped_as_stored(ready, labels):
        kept = given is not None and all(map(operator.is_, ready, given))
        return run(ready, recent=_recent.setdefault(ufunc, RecentKernels()) if kept else None)
    wide = wide_labels(ready, labels)
    if given is not None and not wide and (one := _squeezed_array(given)) is not None and ready[0] is given[0]:
        return run(ready, recent=_recent_stretched.setdefault((ufunc, one[1]), RecentKernels()))
    return compacted(run, ready, labels, names, wide) if wide else run(ready)


def recently(ufunc: np.ufunc, operands: tuple[Any, ...]) -> Any:
    """Returns the result of a ufunc of operands that an earlier call's kernel takes; None without one."""
    recent = _recent.get(ufunc)
    found = None if recent is None else recent.run(operands)
    if found is None and _recent_stretched and (one := _squeezed_array(operands)) is not None:
        array, axis = one
        recent = _recent_stretched.get((ufunc, axis))
        return None if recent is None else recent.run((operands[0], array))
    return found


def _squeezed_array(operands: Sequence[Any]) -> tuple[Array, int] | None:
    """Returns the array of one row or one column beside a matrix without its axis of one element, and the other axis.

    Returns:
        None for other operands, and for a matrix of one row or column, or with an axis that `wide_labels` has.
    """
    if len(operands) != 2 or type(operands[1]) is not np.ndarray or type(operands[0]) is not SparseTensor:
        return None
    array, sizes = operands[1], operands[0].shape
    if len(sizes) != 2 or array.ndim != 2 or min(sizes) < 2 or max(sizes) > WIDEST:
        return None
    axis = 1 if array.shape == (1, sizes[1]) else 0 if array.shape == (sizes[0], 1) else None
    return None if axis is None else (array.reshape(-1), axis)


def _looped_as_stored(operands: Sequence[Any], labels: Sequence[Labels]) -> bool:
    """Returns whether a kernel can loop over operands without a conversion."""
    left, right = operands
    sparse = [one for one in operands if isinstance(one, SparseTensor)]
    if not sparse or labels[0] != labels[1] or left.shape != right.shape:
        return False
    encoding = sparse[0].encoding
    return encoding.is_permutation and encoding.is_native and all(one.encoding == encoding for one in sparse)


def _loop_types(ufunc: np.ufunc, operands: Sequence[Any], dtype: Any) -> tuple[Any, ...]:
    given = tuple(operand.dtype for operand in operands)
    wanted: dict[str, Any] = {} if dtype is None else {"signature": (None, None, np.dtype(dtype))}
    try:
        return tuple(ufunc.resolve_dtypes((*given, None), casting="same_kind", **wanted))
    except TypeError as error:
        taken = f"operands that {ufunc.__name__} takes"
        raise OperandError(f"expected {taken}, but got {types_of(operands)}: {error}") from None
