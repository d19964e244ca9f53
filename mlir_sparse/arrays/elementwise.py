"""NumPy's ufuncs on sparse tensors.

A ufunc of two operands is a kernel where possible (`planned`). With one tensor and numbers the function is applied to
the values, without a loop over levels. All others are merged entry by entry (`merged`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlir_sparse.arrays.broadcast import broadcast_shape, without_axes
from mlir_sparse.arrays.co_iterated_functions import is_planned, planned, recently, shape_of, types_of
from mlir_sparse.arrays.merged_entries import Operand, merged
from mlir_sparse.errors import OperandError, SparseError
from mlir_sparse.runtime import operand_check
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.borders.dense_arrays import array_of

__all__ = ["as_operand", "elementwise", "map_entries", "shape_of"]

_NUMBERS = frozenset((bool, int, float, complex))
_ANNIHILATED = (np.bitwise_and, np.logical_and)


def as_operand(what: str, value: Any) -> Operand:
    """Returns an operand as an array, a tensor, or one of Python's numbers.

    Raises:
        OperandError: for any other object.
    """
    if isinstance(value, SparseTensor | complex | float | int) and not isinstance(value, np.generic):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return array_of(value, f"an array or tensor of numbers for an operand of {what}")
    return operand_check.value_of(f"an operand of {what}", value)


def elementwise(ufunc: np.ufunc, inputs: Sequence[Any], *, dtype: Any = None) -> Any:
    """Computes a ufunc of operands that broadcast, in NumPy's choice of type where dtype is None.

    Raises:
        ExtentError: for shapes that do not broadcast.
        OperandError: for element types that the ufunc lacks.

    >>> from mlir_sparse.tensor import tensor
    >>> elementwise(np.sqrt, [tensor([[0.0, 4.0]])]).to_numpy()
    array([[0., 2.]])
    """
    if dtype is None and (known := recently(ufunc, tuple(inputs))) is not None:
        return known
    options = {} if dtype is None else {"dtype": dtype}
    if (alone := _only_tensor(inputs)) is not None:
        return map_entries(ufunc, inputs, alone.shape, annihilated=ufunc in _ANNIHILATED, **options)
    operands = [as_operand(ufunc.__name__, value) for value in inputs]
    shape = broadcast_shape([shape_of(operand) for operand in operands], ufunc.__name__)
    operands = [_unstretched(operand, shape) for operand in operands]
    if not any(isinstance(operand, SparseTensor) for operand in operands):
        return _of_arrays(ufunc, operands, shape, dtype)
    if is_planned(ufunc, operands, shape):
        return planned(ufunc, operands, shape, dtype)
    return map_entries(ufunc, operands, shape, annihilated=ufunc in _ANNIHILATED, **options)


def _only_tensor(inputs: Sequence[Any]) -> SparseTensor | None:
    """Returns the tensor among operands that are Python's numbers beside it: nothing is broadcast, and no loop made."""
    found = None
    for one in inputs:
        if type(one) in _NUMBERS:
            continue
        if type(one) is not SparseTensor or found is not None:
            return None
        found = one
    return found


def map_entries(
    function: Any, operands: Sequence[Operand], shape: tuple[int, ...], *, annihilated: bool = False, **options: Any
) -> Any:
    """Computes an elementwise function of NumPy's, with one sparse operand or more; see `merged`.

    Raises:
        OperandError: for operands that the function refuses.
    """
    name = function.__name__
    try:
        return merged(lambda *values: function(*values, **options), operands, shape, annihilated=annihilated)
    except SparseError:
        raise
    except (TypeError, ValueError) as error:  # NumPy's errors for types that a function lacks, and the like
        raise OperandError(f"expected operands that {name} takes, but got {types_of(operands)}: {error}") from None


def _unstretched(operand: Operand, shape: tuple[int, ...]) -> Operand:
    """Returns an operand of one element as an array, so that it does not decide the result's storage."""
    if isinstance(operand, SparseTensor) and operand.shape != shape and all(size == 1 for size in operand.shape):
        operand = without_axes(operand, range(operand.ndim))
    if isinstance(operand, np.ndarray) and operand.size == 1 and operand.shape != shape:
        return operand.reshape(1)
    return operand.reshape(1) if isinstance(operand, np.ndarray) and operand.ndim == 0 else operand


def _of_arrays(ufunc: np.ufunc, operands: Sequence[Operand], shape: tuple[int, ...], dtype: Any) -> Any:
    found = ufunc(*operands, dtype=dtype)
    several = found if isinstance(found, tuple) else (found,)
    spread = tuple(np.broadcast_to(part.reshape(shape) if part.size == 1 else part, shape).copy() for part in several)
    return spread if isinstance(found, tuple) else spread[0]
