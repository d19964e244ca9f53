"""NumPy's function protocol: the functions that accept sparse tensors."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from mlir_sparse.arrays.numpy_functions import FUNCTIONS
from mlir_sparse.arrays.ufunc_protocol import written
from mlir_sparse.errors import OperandError

__all__ = ["apply_function"]

Function = Callable[..., Any]


def apply_function(function: Function, given: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Computes a function of NumPy's with a sparse argument.

    Raises:
        OperandError: for unsupported functions and arguments.
    """
    name = _name(function)
    ours = FUNCTIONS.get(name)
    if ours is None:
        raise OperandError(f"expected a function of NumPy that sparse tensors offer, but got {name}: use A.to_numpy()")
    out = options.get("out") if "out" not in _signature(ours).parameters else None
    rest = options if out is None else {key: value for key, value in options.items() if key != "out"}
    rest = {key: value for key, value in rest.items() if value is not np._NoValue}
    try:
        _signature(ours).bind(*given, **rest)
    except TypeError as error:
        raise OperandError(f"expected arguments of {name} that sparse tensors offer, but got others: {error}") from None
    found = ours(*given, **rest)
    return found if out is None else written(found, out)


def _name(function: Function) -> str:
    module = getattr(function, "__module__", None) or "numpy"
    return f"{'np' + module.removeprefix('numpy')}.{function.__name__}"


@lru_cache(maxsize=256)
def _signature(function: Function) -> inspect.Signature:
    return inspect.signature(function)
