"""Products of arrays by the BLAS that NumPy has, on the arrays as they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.classes import dataclass
from mlir_sparse.process.available_memory import check_fits
from mlir_sparse.process.first_use import import_at_first_call
from mlir_sparse.program import ArrayProduct

if TYPE_CHECKING:
    from mlir_sparse.runtime.blas_threads import (
        has_work_for_one,
        multiply_by_vector,
        multiply_on_one_thread,
        multiply_within_limits,
        short_product,
    )
else:
    import_at_first_call(
        __name__,
        {
            "runtime.blas_threads": (
                "has_work_for_one",
                "multiply_by_vector",
                "multiply_on_one_thread",
                "multiply_within_limits",
                "short_product",
            ),
        },
    )

__all__ = [
    "ArrayMultiplication",
    "is_short_product",
    "multiply_arrays",
    "native_product",
    "repeated_product",
    "repeated_short_products",
]

Array = np.ndarray[Any, Any]
# Bytes of an array from which on the memory available is asked for.
_LARGE = 1 << 26
_MOST = 1 << 63
# The multiplications of matrices from which on BLAS takes much longer than a call; fewer than those of thin products.
_LONG = 1 << 20


class ArrayMultiplication:
    """A kernel that is one product of arrays.

    Args:
        step: the product.
        order: the numbers of its operands among the kernel's.
        count: the number of the kernel's operands; the product reads each.
    """

    def __init__(self, step: ArrayProduct, order: Sequence[int], count: int) -> None:
        self._step = step
        self._layout = _layout(step)
        self._order = order
        self._count = count
        self._bounds: Sequence[tuple[int, int]] = ((0, _MOST),) * count

    def within(self, bounds: Sequence[tuple[int, int]]) -> ArrayMultiplication:
        """Returns the same for operands with numbers of elements within bounds."""
        found = ArrayMultiplication(self._step, self._order, self._count)
        found._bounds = bounds
        return found

    def direct(self, operands: tuple[Any, ...], out: Any = None) -> Array | None:
        """Returns the result; None for operands that do not fit, which the caller then names."""
        step = self._step
        if len(operands) != self._count or not all(type(one) is np.ndarray for one in operands):
            return None
        for one, (low, high) in zip(operands, self._bounds, strict=True):
            if not low <= one.size <= high:
                return None
        arrays = [operands[number] for number in self._order]
        extents: dict[str, int] = {}
        for array, axes in zip(arrays, step.axes, strict=True):
            if array.dtype != step.dtype.numpy or array.ndim != len(axes):
                return None
            if any(extents.setdefault(v, size) != size for v, size in zip(axes, array.shape, strict=True)):
                return None
        shape = tuple(extents[variable] for variable in step.variables)
        layout, dtype = self._layout, step.dtype.numpy
        if out is None:
            return _multiplied(layout, dtype, arrays, None, shape)
        if type(out) is not np.ndarray or out.shape != shape or out.dtype != step.dtype.numpy or not _is_plain(out):
            return None
        if any(np.may_share_memory(out, array) for array in arrays):
            return None
        return _multiplied(layout, dtype, arrays, out, shape)


def multiply_arrays(step: ArrayProduct, values: Mapping[str, Any], extents: Mapping[str, int]) -> Array:
    """Returns the product of two of the values, in the array that its name has among them, else a new one.

    Raises:
        TooLargeError: for a result that does not fit in memory.
    """
    return repeated_product(step, extents)(values)


def repeated_product(step: ArrayProduct, extents: Mapping[str, int]) -> Callable[[Mapping[str, Any]], Array]:
    """Returns what multiplies two of the values, as `multiply_arrays` does, again for the same extents."""
    first, second = step.operands
    shape, layout = tuple(extents[name] for name in step.variables), _layout(step)
    dtype, result = step.dtype.numpy, step.result
    if layout.is_by_vector and math.prod(shape) * dtype.itemsize < _LARGE:
        return _by_vector(step, layout, shape)
    return lambda values: _multiplied(layout, dtype, (values[first], values[second]), values.get(result), shape)


def _by_vector(step: ArrayProduct, layout: _Layout, shape: tuple[int, ...]) -> Callable[[Mapping[str, Any]], Array]:
    """Returns what multiplies a matrix and a vector, with as little as possible to do in each call."""
    (first, second), result, dtype = step.operands, step.result, step.dtype.numpy
    matrix, vector = (second, first) if layout.turned else (first, second)
    transposed = layout.left == (1, 0)
    fresh = np.empty if math.prod(shape) * dtype.itemsize < _native.LARGE_ARRAY else _native.dense_array

    def run(values: Mapping[str, Any]) -> Array:
        out = values.get(result)
        array: Array = fresh(shape, dtype) if out is None else out
        one = values[matrix]
        multiply_by_vector(one.T if transposed else one, values[vector], array)
        return array

    return run


def is_short_product(step: ArrayProduct, extents: Mapping[str, int]) -> bool:
    """Returns whether a product, of two matrices or of one and a vector, has work for one thread of BLAS alone."""
    layout, names = _layout(step), {*step.axes[0], *step.axes[1]}
    if not (layout.is_by_vector or (layout.has_matrices and not layout.stack)) or not extents.keys() >= names:
        return False
    if math.prod(extents[name] for name in step.variables) * step.dtype.itemsize >= _LARGE:
        return False
    work = math.prod(extents[name] for name in names)
    return has_work_for_one(work, by_vector=layout.is_by_vector) and (layout.is_by_vector or work < _LONG)


def native_product(
    step: ArrayProduct, extents: Mapping[str, int]
) -> tuple[_native.BlasProduct, tuple[str, str]] | None:
    """Returns a short product for native programs, with the operands in its order; None for others.

    Args:
        step: the product.
        extents: the extent of each index variable.
    """
    if not is_short_product(step, extents) or not all(extents[name] for axes in step.axes for name in axes):
        return None
    layout, axes, (left, right) = _layout(step), step.axes, step.operands
    if layout.turned:
        axes, left, right = axes[::-1], right, left
    rows, summed = (extents[axes[0][place]] for place in layout.left)
    if layout.is_by_vector and rows == 1:
        return None  # NumPy adds up one row in another order than products of matrices do, and it makes the first call
    columns = 0 if layout.is_by_vector else extents[axes[1][layout.right[1]]]
    turns = {"turns_left": layout.left == (1, 0), "turns_right": layout.right == (1, 0)}
    found = short_product(step.dtype.numpy.char, rows, summed, columns, **turns)
    return None if found is None else (found, (left, right))


def repeated_short_products(
    steps: Sequence[ArrayProduct], extents: Mapping[str, int]
) -> Callable[[dict[str, Any]], Array]:
    """Returns what multiplies values again for the same extents, as one step: what it makes is added to the values.

    Args:
        steps: the products, all short ones.
        extents: the extent of each index variable.
    """
    products, last = [_short(step, extents) for step in steps], steps[-1].result

    def run(values: dict[str, Any]) -> Array:
        multiply_on_one_thread(products, values)
        found: Array = values[last]
        return found

    return run


def _short(step: ArrayProduct, extents: Mapping[str, int]) -> Callable[[dict[str, Any]], None]:
    layout, result, dtype = _layout(step), step.result, step.dtype.numpy
    shape = tuple(extents[name] for name in step.variables)
    left, right = reversed(step.operands) if layout.turned else step.operands
    turns_left, turns_right = layout.left == (1, 0), layout.right == (1, 0)

    def run(values: dict[str, Any]) -> None:
        out = values.get(result)
        if out is None:
            out = values[result] = np.empty(shape, dtype)
        one, other = values[left], values[right]
        np.dot(one.T if turns_left else one, other.T if turns_right else other, out=out)

    return run


def _is_plain(array: Array) -> bool:
    return bool(array.flags.c_contiguous and array.flags.aligned and array.flags.writeable)


def _multiplied(
    layout: _Layout, dtype: np.dtype[Any], arrays: Sequence[Array], out: Array | None, shape: tuple[int, ...]
) -> Array:
    if out is None:
        check_fits(math.prod(shape) * dtype.itemsize, f"a dense array of shape {shape}")
        out = _native.dense_array(shape, dtype)
    first, second = (arrays[1], arrays[0]) if layout.turned else (arrays[0], arrays[1])
    if layout.is_by_vector:
        multiply_by_vector(first.T if layout.left == (1, 0) else first, second, out)
        return out
    left, right, result = first.transpose(layout.left), second.transpose(layout.right), out.transpose(layout.result)
    if layout.has_matrices:
        multiply_within_limits(left, right, result)
        return out
    # A view where strides allow it, else a copy.
    matrices = result.reshape(_sizes(result.shape, layout.stack, layout.rows))
    multiply_within_limits(
        left.reshape(_sizes(left.shape, layout.stack, layout.rows)),
        right.reshape(_sizes(right.shape, layout.stack, layout.summed)),
        matrices,
    )
    if out.size and not np.may_share_memory(matrices, out):
        result[...] = matrices.reshape(result.shape)
    return out


def _sizes(shape: tuple[int, ...], stack: int, rows: int) -> tuple[int, ...]:
    """Returns the shape of a stack of matrices, in which as many axes are one."""
    matrix = math.prod(shape[stack : stack + rows]), math.prod(shape[stack + rows :])
    return (math.prod(shape[:stack]), *matrix) if stack else matrix


@dataclass(frozen=True, slots=True)
class _Layout:
    """The axes of a product as those of matrices.

    Args:
        turned: whether the operands change places, as in the product of the transposes.
        left: the axes of the left operand: those of the stack, of rows, of sums.
        right: the axes of the right operand: those of the stack, of sums, of columns.
        result: the axes of the result: those of the stack, of rows, of columns.
        stack: how many variables number matrices.
        rows: how many number rows.
        summed: over how many the sums are.
        has_matrices: whether the axes are those of matrices, or of one stack.
        is_by_vector: whether they are those of a matrix and a vector.
    """

    turned: bool
    left: tuple[int, ...]
    right: tuple[int, ...]
    result: tuple[int, ...]
    stack: int
    rows: int
    summed: int
    has_matrices: bool
    is_by_vector: bool


@lru_cache(maxsize=256)
def _layout(step: ArrayProduct) -> _Layout:
    """Returns the layout of a product, in which the result's first variable of one operand alone numbers rows."""
    first, second = step.axes
    shared = [variable for variable in step.variables if variable in first and variable in second]
    own = [variable for variable in step.variables if variable not in shared]
    turned = own[0] in second
    one, other = (second, first) if turned else (first, second)
    rows, columns = ([variable for variable in own if variable in axes] for axes in (one, other))
    summed = [variable for variable in one if variable not in step.variables]
    return _Layout(
        turned,
        tuple(one.index(variable) for variable in (*shared, *rows, *summed)),
        tuple(other.index(variable) for variable in (*shared, *summed, *columns)),
        tuple(step.variables.index(variable) for variable in (*shared, *rows, *columns)),
        len(shared),
        len(rows),
        len(summed),
        len(shared) < 2 and len(rows) == len(columns) == len(summed) == 1,
        not shared and not columns and len(rows) == len(summed) == 1,
    )
