"""NumPy's protocols on tensors with a fill value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlir_sparse.arrays.filled import filled_products, filled_reductions
from mlir_sparse.arrays.filled.filled_elements import map_elements
from mlir_sparse.arrays.filled.filled_functions import FILLED_FUNCTIONS
from mlir_sparse.arrays.function_protocol import apply_function
from mlir_sparse.arrays.ufunc_protocol import check_options, written
from mlir_sparse.dtypes import numpy_dtype
from mlir_sparse.errors import OperandError, UnsupportedError
from mlir_sparse.tensor.fill_values import WAY_OUT, no_fill
from mlir_sparse.tensor.filled_tensor import FilledTensor

__all__ = ["filled_function", "filled_ufunc"]

Function = Callable[..., Any]


def filled_ufunc(ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
    """Computes a ufunc's call, `reduce` or `outer` with an operand that has a fill value.

    Raises:
        OperandError: for other methods and unsupported options.
        UnsupportedError: for products of matrices, which take zeros where nothing is stored.
    """
    dtype = options.pop("dtype", None)
    typed = {} if dtype is None else {"dtype": numpy_dtype(dtype)}
    if ufunc is np.matmul and method == "__call__":
        check_options(ufunc, options)
        product = filled_products.matmul(*inputs)
        product = product if dtype is None else product.astype(typed["dtype"])
        return product if out is None else written(product, out)
    if ufunc.signature is not None:
        raise _no_product(f"np.{ufunc.__name__}", inputs)
    if any(isinstance(one, FilledTensor) for one in (out if isinstance(out, tuple) else ())):
        raise OperandError("expected a NumPy array for out, but got FilledTensor: results are new tensors")
    match method:
        case "__call__":
            check_options(ufunc, options)
            found = map_elements(ufunc, inputs, ufunc.__name__, **typed)
        case "reduce":
            axis, keepdims, initial = (
                options.pop("axis", 0),
                options.pop("keepdims", False),
                options.pop("initial", None),
            )
            check_options(ufunc, options)
            initial = None if initial is np._NoValue else initial
            found = filled_reductions.reduced(ufunc, inputs[0], axis, keepdims=keepdims, dtype=dtype, initial=initial)
        case "outer":
            check_options(ufunc, options)
            left, right = inputs
            count = np.ndim(right)
            left = left if np.ndim(left) == 0 else np.reshape(left, (*np.shape(left), *(1,) * count))
            found = map_elements(ufunc, (left, right), ufunc.__name__, **typed)
        case _:
            raise OperandError(
                f"expected a call, reduce or outer of a ufunc of sparse tensors, but got np.{ufunc.__name__}.{method}: "
                "use A.to_numpy()"
            )
    return found if out is None else written(found, out)


def filled_function(function: Function, given: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Computes a function of NumPy's with an argument that has a fill value.

    Raises:
        OperandError: for unsupported functions and arguments.
        UnsupportedError: for functions that take zeros where nothing is stored.
    """
    return apply_function(function, given, options, FILLED_FUNCTIONS, _refusal)


def _refusal(name: str, given: tuple[Any, ...]) -> Exception:
    """Returns the error for a function that tensors with a fill value do not offer."""
    return _no_product(name, given)


def _no_product(name: str, given: Sequence[Any]) -> UnsupportedError:
    flat = [part for one in given for part in (one if isinstance(one, list | tuple) else (one,))]
    fill = next((one.fill_value for one in flat if isinstance(one, FilledTensor)), "other than zero")
    return no_fill(fill, name, WAY_OUT)
