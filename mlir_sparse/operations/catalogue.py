"""The functions of NumPy that take sparse tensors, by name, each in terms of the operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mlir_sparse.operations import arrange, elements, join, matmul, parts, products, reduce, shape
from mlir_sparse.operations.einsum import einsum, einsum_path
from mlir_sparse.operations.elementwise import elementwise
from mlir_sparse.operations.entries import Array
from mlir_sparse.operations.norm import norm
from mlir_sparse.tensor import SparseTensor

__all__ = ["FUNCTIONS"]

Function = Callable[..., Any]


def _result_type(*given: Any) -> np.dtype[Any]:
    return np.result_type(*(value.dtype if isinstance(value, SparseTensor) else value for value in given))


def _reduction(ufunc: np.ufunc) -> Function:
    def apply(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
        return reduce.reduced(ufunc, a, axis, dtype=dtype, keepdims=keepdims)

    return apply


def _truth(ufunc: np.ufunc) -> Function:
    def apply(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        return reduce.reduced(ufunc, a, axis, keepdims=keepdims)

    return apply


def _position(largest: bool) -> Function:
    def apply(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        return reduce.position(largest, a, axis, keepdims=keepdims)

    return apply


def _deviation(a: Any, axis: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Any:
    return np.sqrt(reduce.variance(a, axis, ddof=ddof, keepdims=keepdims))


def _mean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    return reduce.mean(a, axis, dtype=dtype, keepdims=keepdims)


def _variance(a: Any, axis: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Any:
    return reduce.variance(a, axis, ddof=ddof, keepdims=keepdims)


def _argwhere(a: SparseTensor) -> Array:
    return np.transpose(elements.nonzero(a))


def _flatnonzero(a: SparseTensor) -> Array:
    return elements.nonzero(shape.reshaped(a, -1))[0]


def _einsum(
    *operands: Any, optimize: Any = False, out: Any = None, dtype: Any = None, casting: str = "safe", order: str = "K"
) -> Any:
    # NumPy's default is one loop nest; the order that costs least gives the same.
    return einsum(*operands, out=out, optimize=optimize or True, dtype=dtype, casting=casting, order=order)


def _path(*operands: Any, optimize: Any = "greedy") -> tuple[list[Any], str]:
    found = einsum_path(*operands, optimize=optimize)
    return found.path, str(found)


def _vector_norm(x: SparseTensor, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    return norm(x if axis is not None or x.ndim == 1 else shape.reshaped(x, -1), ord, axis, keepdims)


def _astype(x: SparseTensor, dtype: Any, /, *, copy: bool = True, device: Any = None) -> SparseTensor:
    return x.astype(dtype)


FUNCTIONS: dict[str, Function] = {
    # reductions
    "np.sum": _reduction(np.add),
    "np.prod": _reduction(np.multiply),
    "np.max": _truth(np.maximum),
    "np.min": _truth(np.minimum),
    "np.any": _truth(np.logical_or),
    "np.all": _truth(np.logical_and),
    "np.mean": _mean,
    "np.var": _variance,
    "np.std": _deviation,
    "np.argmax": _position(True),
    "np.argmin": _position(False),
    "np.count_nonzero": lambda a, axis=None, *, keepdims=False: reduce.count_nonzero(a, axis, keepdims=keepdims),
    "np.trace": lambda a, offset=0, axis1=0, axis2=1: a.trace(offset, axis1, axis2),
    "np.linalg.norm": norm,
    "np.linalg.vector_norm": _vector_norm,
    "np.linalg.matrix_norm": lambda x, /, *, keepdims=False, ord="fro": norm(x, ord, (-2, -1), keepdims),
    # products
    "np.dot": matmul.dot,
    "np.inner": matmul.inner,
    "np.outer": matmul.outer,
    "np.vdot": matmul.vdot,
    "np.kron": matmul.kron,
    "np.tensordot": lambda a, b, axes=2: matmul.tensordot(a, b, axes),
    "np.einsum": _einsum,
    "np.einsum_path": _path,
    "np.linalg.multi_dot": products.multi_dot,
    "np.linalg.matrix_power": products.matrix_power,
    "np.linalg.matmul": matmul.matmul,
    "np.linalg.outer": products.outer,
    "np.linalg.vecdot": products.vecdot,
    "np.linalg.tensordot": lambda x1, x2, /, *, axes=2: matmul.tensordot(x1, x2, axes),
    "np.linalg.trace": lambda x, /, *, offset=0: x.trace(offset, -2, -1),
    "np.linalg.diagonal": lambda x, /, *, offset=0: shape.diagonal(x, offset, -2, -1),
    "np.linalg.matrix_transpose": lambda x, /: shape.swapped(x, -1, -2),
    # elements
    "np.where": elements.choose,
    "np.clip": elements.clip,
    "np.round": elements.rounded,
    "np.around": elements.rounded,
    "np.real": elements.real,
    "np.imag": elements.imag,
    "np.angle": elements.mapped(np.angle),
    "np.nan_to_num": elements.mapped(np.nan_to_num),
    "np.sinc": elements.mapped(np.sinc),
    "np.fix": elements.mapped(np.fix),
    "np.isposinf": elements.mapped(np.isposinf),
    "np.isneginf": elements.mapped(np.isneginf),
    "np.iscomplex": elements.mapped(np.iscomplex),
    "np.isreal": elements.mapped(np.isreal),
    "np.isclose": elements.isclose,
    "np.allclose": elements.allclose,
    "np.array_equal": elements.array_equal,
    "np.array_equiv": lambda a1, a2: not np.any(elementwise(np.not_equal, [a1, a2])),
    "np.nonzero": elements.nonzero,
    "np.argwhere": _argwhere,
    "np.flatnonzero": _flatnonzero,
    # shapes
    "np.transpose": lambda a, axes=None: shape.transposed(a, axes),
    "np.permute_dims": lambda a, axes=None: shape.transposed(a, axes),
    "np.matrix_transpose": lambda x, /: shape.swapped(x, -1, -2),
    "np.swapaxes": lambda a, axis1, axis2: shape.swapped(a, axis1, axis2),
    "np.moveaxis": lambda a, source, destination: shape.moved(a, source, destination),
    "np.reshape": lambda a, /, shape=None, order="C", *, newshape=None, copy=None: _reshape(a, shape, newshape, order),
    "np.ravel": lambda a, order="C": shape.reshaped(a, -1, order),
    "np.squeeze": lambda a, axis=None: shape.squeezed_out(a, axis),
    "np.expand_dims": lambda a, axis: shape.expanded(a, axis),
    "np.broadcast_to": arrange.broadcast_to,
    "np.atleast_1d": arrange.at_least(1),
    "np.atleast_2d": arrange.at_least(2),
    "np.atleast_3d": arrange.at_least(3),
    "np.flip": lambda m, axis=None: shape.flipped(m, axis),
    "np.fliplr": lambda m: shape.flipped(m, 1),
    "np.flipud": lambda m: shape.flipped(m, 0),
    "np.roll": arrange.roll,
    "np.take": arrange.take,
    "np.diag": arrange.diag,
    "np.diagonal": lambda a, offset=0, axis1=0, axis2=1: shape.diagonal(a, offset, axis1, axis2),
    "np.tril": lambda m, k=0: shape.triangle(m, False, k),
    "np.triu": lambda m, k=0: shape.triangle(m, True, k),
    # stacks
    "np.concatenate": lambda arrays, /, axis=0: join.concatenated(arrays, axis),
    "np.stack": lambda arrays, axis=0: join.stacked(arrays, axis),
    "np.vstack": arrange.vstack,
    "np.hstack": arrange.hstack,
    "np.dstack": arrange.dstack,
    "np.column_stack": arrange.column_stack,
    "np.append": lambda arr, values, axis=None: join.concatenated([arr, values], axis),
    # parts
    "np.array_split": parts.array_split,
    "np.split": parts.split,
    "np.vsplit": parts.vsplit,
    "np.hsplit": lambda ary, indices_or_sections: parts.split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0),
    "np.diff": parts.diff,
    "np.tile": parts.tile,
    "np.repeat": parts.repeat,
    "np.rot90": parts.rot90,
    # new tensors, and what is asked of one
    "np.zeros_like": arrange.zeros_like,
    "np.empty_like": arrange.zeros_like,
    "np.ones_like": arrange.ones_like,
    "np.full_like": arrange.full_like,
    "np.copy": lambda a, order="K", subok=False: arrange.copied(a),
    "np.astype": _astype,
    "np.shape": lambda a: a.shape,
    "np.ndim": lambda a: a.ndim,
    "np.size": lambda a, axis=None: a.size if axis is None else a.shape[axis],
    "np.result_type": _result_type,
    "np.iscomplexobj": lambda x: x.dtype.kind == "c",
    "np.isrealobj": lambda x: x.dtype.kind != "c",
}


def _reshape(a: SparseTensor, wanted: Any, newer: Any, order: str) -> SparseTensor:
    return shape.reshaped(a, newer if wanted is None else wanted, order)
