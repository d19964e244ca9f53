"""NumPy's function protocol: the functions that accept sparse tensors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from mlir_sparse.arrays.control_arguments import CONTROLS, controls_as_arrays
from mlir_sparse.arrays.filled.filled_elements import is_sparse
from mlir_sparse.arrays.numpy_functions import FUNCTIONS
from mlir_sparse.arrays.refused_functions import way_out
from mlir_sparse.arrays.ufunc_protocol import written
from mlir_sparse.errors import OperandError

__all__ = ["apply_function", "called"]

Function = Callable[..., Any]


def apply_function(
    function: Function,
    given: tuple[Any, ...],
    options: dict[str, Any],
    table: Mapping[str, Function] = FUNCTIONS,
    refusal: Callable[[str, tuple[Any, ...]], Exception] | None = None,
) -> Any:
    """Computes a function of NumPy's with a sparse argument.

    Args:
        function: NumPy's function.
        given: its arguments.
        options: those given by name.
        table: the functions of such arguments, by NumPy's names.
        refusal: returns the error for a name that the table has not.

    Raises:
        OperandError: for unsupported functions and arguments.
    """
    name = _name(function)
    if name in CONTROLS and (options or any(hasattr(one, "ndim") for one in given[1:])):
        try:
            given, options = controls_as_arrays(name, function, given, options)
        except TypeError:
            pass  # `called` says what the function takes
        else:
            if not any(map(is_sparse, (*given, *options.values()))):
                return function(*given, **options)
    ours = table.get(name)
    if ours is None:
        if refusal is not None:
            raise refusal(name, given)
        raise OperandError(f"expected a function of NumPy that sparse tensors offer, but got {name}: {way_out(name)}")
    return called(name, ours, given, options)


def called(name: str, ours: Function, given: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Calls a function of the table, and writes the result to the array of `out=` where it has no such option.

    Args:
        name: the user's name of it, for messages.
        ours: the function.
        given: its arguments.
        options: those given by name; what NumPy puts for none is dropped.

    Raises:
        OperandError: for arguments that it does not take.
    """
    is_out = "out" in options and "out" not in _signature(ours).parameters
    out = options["out"] if is_out else None
    rest = options
    if options:
        rest = {k: value for k, value in options.items() if value is not np._NoValue and not (is_out and k == "out")}
    try:
        found = ours(*given, **rest)
    except TypeError:
        _check_arguments(name, ours, given, rest)  # now alone: it takes longer than many functions
        raise
    return found if out is None else written(found, out)


def _check_arguments(name: str, ours: Function, given: tuple[Any, ...], options: dict[str, Any]) -> None:
    try:
        _signature(ours).bind(*given, **options)
    except TypeError as error:
        raise OperandError(f"expected arguments of {name} that sparse tensors offer, but got others: {error}") from None


@lru_cache(maxsize=512)
def _name(function: Function) -> str:
    module = getattr(function, "__module__", None) or "numpy"
    return f"{'np' + module.removeprefix('numpy')}.{function.__name__}"


@lru_cache(maxsize=256)
def _signature(function: Function) -> inspect.Signature:
    return inspect.signature(function)
