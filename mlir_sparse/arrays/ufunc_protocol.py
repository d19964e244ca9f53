"""NumPy's ufunc protocol: `np.sin(A)`, `np.add(x, A)`, `np.add.reduce(A, axis=1)`, `np.multiply.outer(A, B)`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlir_sparse.arrays.elementwise import elementwise
from mlir_sparse.arrays.matrix_products import matmul
from mlir_sparse.arrays.reductions import reduced
from mlir_sparse.arrays.reshape import reshaped
from mlir_sparse.arrays.stacked_products import STACKED, stacked
from mlir_sparse.dtypes import numpy_dtype
from mlir_sparse.errors import DTypeError, ExtentError, OperandError
from mlir_sparse.runtime import operand_check
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.filled_tensor import FilledTensor
from mlir_sparse.text.given_arguments import shown

__all__ = ["apply_ufunc", "check_options", "written"]

# Options of a call that do not change the result.
_DEFAULTS = {"casting": "same_kind", "order": "K", "subok": True, "where": True, "keepdims": False, "initial": None}


def apply_ufunc(ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
    """Computes a ufunc's call, `reduce` or `outer` with a sparse operand.

    Raises:
        OperandError: for other methods and unsupported options.
    """
    dtype = options.pop("dtype", None)
    dtype = None if dtype is None else numpy_dtype(dtype)
    match method:
        case "__call__":
            found = _called(ufunc, inputs, dtype, options)
        case "reduce":
            found = _reduced(ufunc, inputs[0], dtype, options)
        case "outer":
            check_options(ufunc, options)
            left, right = (operand_check.value_of(f"an operand of {ufunc.__name__}.outer", value) for value in inputs)
            found = elementwise(ufunc, [_before(left, right.ndim), right], dtype=dtype)
        case _:
            raise OperandError(
                f"expected a call, reduce or outer of a ufunc of sparse tensors, but got np.{ufunc.__name__}.{method}: "
                "use A.to_numpy()"
            )
    return found if out is None else written(found, out)


def _reduced(ufunc: np.ufunc, tensor: Any, dtype: Any, options: dict[str, Any]) -> Any:
    axis, keepdims, initial = options.pop("axis", 0), options.pop("keepdims", False), options.pop("initial", None)
    check_options(ufunc, options)
    found = reduced(ufunc, tensor, axis, keepdims=keepdims, dtype=dtype)
    if initial is None:
        return found
    return elementwise(ufunc, [found, initial]) if isinstance(found, SparseTensor) else ufunc(found, initial)


def _before(value: Any, count: int) -> Any:
    """Returns a value with further axes of one element at the end."""
    shape = (*value.shape, *(1,) * count)
    return reshaped(value, shape) if isinstance(value, SparseTensor) else value.reshape(shape)


def check_options(ufunc: np.ufunc, options: dict[str, Any]) -> None:
    """Raises OperandError for options of a ufunc's call that change the result."""
    for name, value in options.items():
        default = _DEFAULTS.get(name)
        if name not in _DEFAULTS or not (value is default or (isinstance(value, str) and value == default)):
            raise OperandError(f"expected no {name}= for np.{ufunc.__name__} of sparse tensors, but got {shown(value)}")


def _called(ufunc: np.ufunc, inputs: tuple[Any, ...], dtype: Any, options: dict[str, Any]) -> Any:
    axis = options.pop("axis", -1) if ufunc.__name__ == "vecdot" else -1
    check_options(ufunc, options)
    if ufunc is np.matmul:
        left, right = inputs
        return matmul(left, right, dtype=dtype)
    if ufunc.__name__ in STACKED:
        return stacked(ufunc.__name__, *inputs, axis=axis, dtype=dtype)
    if ufunc.signature is not None:
        raise OperandError(f"expected a ufunc that sparse tensors offer, but got np.{ufunc.__name__}: use A.to_numpy()")
    return elementwise(ufunc, inputs, dtype=dtype)


def written(found: Any, out: Any) -> Any:
    """Writes results to the arrays of `out=`, and returns these.

    Raises:
        OperandError: for objects that are no arrays.
        ExtentError: for an array with another shape.
        DTypeError: for an array of a type that the result cannot be cast to.
    """
    several = found if isinstance(found, tuple) else (found,)
    targets = out if isinstance(out, tuple) else (out,)
    for value, target in zip(several, targets, strict=True):
        if target is not None:
            _write(value, target)
    given = tuple(value if target is None else target for value, target in zip(several, targets, strict=True))
    return given if isinstance(found, tuple) else given[0]


def _write(value: Any, target: Any) -> None:
    if not isinstance(target, np.ndarray):
        raise OperandError(
            f"expected a NumPy array for out, but got {type(target).__name__}: sparse results are new tensors"
        )
    is_sparse = isinstance(value, SparseTensor | FilledTensor)
    if np.shape(target) != (value.shape if is_sparse else np.shape(value)):
        raise ExtentError(f"expected out of shape {value.shape}, but got {target.shape}")
    try:
        if is_sparse:
            value = value.to_numpy()
        np.copyto(target, value, casting="same_kind")
    except TypeError:
        raise DTypeError(f"expected out of a type that {value.dtype} goes into, but got {target.dtype}") from None
