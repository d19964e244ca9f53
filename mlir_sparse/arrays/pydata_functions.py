"""Functions that pydata/sparse has beside those of NumPy and the array API, by its names; `ms.xp` has them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from mlir_sparse.arrays.axis_arguments import axis_of
from mlir_sparse.arrays.broadcast import broadcast_shape
from mlir_sparse.arrays.co_iterated_functions import shape_of
from mlir_sparse.arrays.creation import random as drawn
from mlir_sparse.arrays.elementwise import as_operand, map_entries
from mlir_sparse.arrays.entry_lists import EntryList, entries_of
from mlir_sparse.arrays.filled.filled_elements import map_elements
from mlir_sparse.dtypes import numpy_dtype
from mlir_sparse.errors import OperandError
from mlir_sparse.tensor import FilledTensor, SparseTensor, read, tensor, write
from mlir_sparse.tensor.borders.foreign_arrays import is_sparse_source
from mlir_sparse.tensor.create import tensor_with_zeros
from mlir_sparse.tensor.level_storage import Array

__all__ = ["asCOO", "as_coo", "asnumpy", "diagonalize", "elemwise", "load_npz", "nanreduce", "random", "save_npz"]


def as_coo(x: Any, shape: Any = None, fill_value: Any = None, idx_dtype: Any = None) -> Any:
    """Returns anything that `ms.tensor` takes as a tensor in COO; a vector as SparseVector.

    Args:
        x: a tensor, an array, a sparse array of another library, or coordinates and values.
        shape: the extents; those of `x`, or the least that hold its coordinates.
        fill_value: the value of all that is not stored; that of `x` when None.
        idx_dtype: the integer type of coordinates.

    >>> as_coo([[0.0, 2.0], [3.0, 0.0]]).coords.tolist()
    [[0, 1], [1, 0]]
    """
    widths = {} if idx_dtype is None else dict.fromkeys(("pos_width", "crd_width"), 8 * np.dtype(idx_dtype).itemsize)
    given = {key: value for key, value in (("shape", shape), ("fill_value", fill_value)) if value is not None}
    found = tensor(x, **given)
    return found.convert("COO" if found.ndim > 1 else "SparseVector", **widths)


def asCOO(x: Any, name: str = "asCOO", check: bool = True) -> Any:  # noqa: N802 - pydata's name
    """Returns `as_coo(x)` of sparse arrays.

    Args:
        x: a tensor, or another library's sparse array.
        name: the function that asks, for the error.
        check: False takes dense arrays too.

    Raises:
        OperandError: for a dense array.
    """
    if check and not (isinstance(x, SparseTensor | FilledTensor) or is_sparse_source(x)):
        raise OperandError(f"expected a sparse array for {name}, but got {type(x).__name__}: pass ms.tensor(x)")
    return as_coo(x)


def asnumpy(a: Any, dtype: Any = None, order: Any = None) -> Array:
    """Returns a tensor or an array as a dense array.

    Raises:
        TooLargeError: for one that would not fit in memory.
    """
    dense = a.to_numpy() if isinstance(a, SparseTensor | FilledTensor) else a
    if is_sparse_source(dense):
        dense = tensor(dense).to_numpy()
    return np.asarray(dense, None if dtype is None else numpy_dtype(dtype), order)


def diagonalize(a: Any, axis: int = 0) -> SparseTensor:
    """Returns a tensor with a last axis more, and each element where its index is that along an axis; zeros elsewhere.

    Args:
        a: a tensor or an array.
        axis: the axis.

    Raises:
        UnsupportedError: for a fill value other than zero, with which each diagonal would be full.

    >>> diagonalize(tensor([5.0, 0.0, 7.0])).to_numpy().tolist()
    [[5.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 7.0]]
    """
    given = tensor_with_zeros(a, "diagonalize")
    at = axis_of(axis, given.ndim)
    entries = entries_of(given)
    return EntryList((*entries.dims, entries.dims[at]), entries.values, (*given.shape, given.shape[at])).tensor()


def elemwise(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Returns a function of elements, of tensors, arrays and numbers that broadcast.

    It is called with the stored entries, and once with what stands where nothing is stored.

    Args:
        func: a function of arrays, like a ufunc.
        args: its operands.
        kwargs: its options.

    >>> elemwise(lambda x, y: x * (x > y), tensor([1.0, 0.0, 5.0]), 2).to_numpy().tolist()
    [0.0, 0.0, 5.0]
    """
    if any(isinstance(one, FilledTensor) for one in args):
        return map_elements(func, args, getattr(func, "__name__", "elemwise"), **kwargs)
    operands = [as_operand("elemwise", one) for one in args]
    if not any(isinstance(one, SparseTensor) for one in operands):
        return func(*args, **kwargs)
    return map_entries(func, operands, broadcast_shape([shape_of(one) for one in operands], "elemwise"), **kwargs)


def nanreduce(
    x: Any, method: np.ufunc, identity: Any = None, axis: Any = None, keepdims: bool = False, **kwargs: Any
) -> Any:
    """Returns `method.reduce` of a tensor in which a number stands for NaN.

    Args:
        x: a tensor.
        method: a ufunc that reduces.
        identity: the number; the ufunc's identity when None.
        axis: an axis, several, or None for all.
        keepdims: whether reduced axes stay, with one element.
        kwargs: such as `dtype`.

    Raises:
        OperandError: for a ufunc without identity, where no number is given.
    """
    value = method.identity if identity is None else identity
    if value is None:
        raise OperandError(f"expected identity= for {method.__name__}, which has none, such as -np.inf for np.maximum")

    def without_nan(values: Any) -> Any:
        return np.where(np.isnan(values), np.asarray(value, values.dtype), values)

    return method.reduce(elemwise(without_nan, x), axis=axis, keepdims=keepdims, **kwargs)


def save_npz(filename: str | os.PathLike[str], matrix: Any, compressed: bool = True) -> None:
    """Writes a tensor as `.npz`, as `ms.write` does.

    Args:
        filename: `.npz` is appended to any other name.
        matrix: the tensor.
        compressed: whether the arrays are compressed.
    """
    name = os.fspath(filename)
    write(name if name.lower().endswith(".npz") else f"{name}.npz", matrix, compressed=compressed)


def load_npz(filename: str | os.PathLike[str]) -> Any:
    """Returns the tensor of a file that `save_npz` of this package, of pydata/sparse or of SciPy wrote."""
    return read(filename)


def random(
    shape: Any,
    density: float | None = None,
    nnz: int | None = None,
    random_state: Any = None,
    data_rvs: Callable[[int], Any] | None = None,
    format: str = "coo",
    fill_value: Any = None,
    idx_dtype: Any = None,
) -> Any:
    """Returns `ms.random`, with the arguments of pydata/sparse.

    Args:
        shape: the extents.
        density: the share of places with an entry, 0.01 when None.
        nnz: the number of entries instead.
        random_state: a generator of NumPy's, or what seeds one.
        data_rvs: returns so many values; uniform ones in [0, 1) when None.
        format: a storage that `asformat` takes.
        fill_value: the value of all else; zero when None.
        idx_dtype: the integer type of coordinates.

    Raises:
        OperandError: for density and nnz at once, or out of range.

    >>> random((10, 20), nnz=7, random_state=0).nse
    7
    """
    if density is not None and nnz is not None:
        raise OperandError(f"expected density or nnz, but got density={density!r} and nnz={nnz!r}")
    found: Any = drawn(shape, 0.01 if density is None else density, count=nnz, rng=random_state)
    if data_rvs is not None:
        found = found.with_values(np.asarray(data_rvs(found.nse)))
    found = as_coo(found, idx_dtype=idx_dtype) if format == "coo" else found.asformat(format)
    return found if fill_value is None else found.with_fill(fill_value)
