"""Arguments that say where, how often or between which bounds: numbers and small vectors, which are read densely.

NumPy hands a call over where any of its arguments is a tensor, so that `np.split(array, tensor)` comes here too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from mlir_sparse.arrays.filled.filled_elements import is_sparse

__all__ = ["CONTROLS", "controls_as_arrays"]

_PARTS = ("indices_or_sections",)
_SHARES = ("q",)

# By NumPy's names of functions; and of their arguments.
CONTROLS: Mapping[str, tuple[str, ...]] = {
    "np.array_split": _PARTS,
    "np.bincount": ("weights", "minlength"),
    "np.delete": ("obj",),
    "np.digitize": ("bins",),
    "np.dsplit": _PARTS,
    "np.ediff1d": ("to_end", "to_begin"),
    "np.gradient": ("varargs",),
    "np.histogram": ("bins", "range", "weights"),
    "np.hsplit": _PARTS,
    "np.interp": ("xp", "fp", "left", "right"),
    "np.linalg.matrix_power": ("n",),
    "np.linalg.norm": ("ord",),
    "np.linalg.tensordot": ("axes",),
    "np.nanpercentile": _SHARES,
    "np.nanquantile": _SHARES,
    "np.pad": ("pad_width",),
    "np.percentile": _SHARES,
    "np.quantile": _SHARES,
    "np.repeat": ("repeats",),
    "np.roll": ("shift",),
    "np.searchsorted": ("sorter",),
    "np.split": _PARTS,
    "np.take": ("indices",),
    "np.take_along_axis": ("indices",),
    "np.tensordot": ("axes",),
    "np.tile": ("reps",),
    "np.vsplit": _PARTS,
}


def controls_as_arrays(
    name: str, function: Callable[..., Any], given: tuple[Any, ...], options: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns the arguments of a call, with arrays for tensors that say where or how, and numbers for arrays of one.

    Args:
        name: the function's name, in NumPy.
        function: NumPy's function, whose names of arguments `CONTROLS` has.
        given: the arguments.
        options: those given by name.

    Raises:
        TypeError: for arguments that the function does not take.
        TooLargeError: for a tensor that would not fit in memory as an array.
    """
    signature = _signature(function)
    bound = signature.bind(*given, **options)
    for control in CONTROLS[name]:
        if control in bound.arguments:
            value = bound.arguments[control]
            several = signature.parameters[control].kind is inspect.Parameter.VAR_POSITIONAL
            bound.arguments[control] = tuple(map(_as_array, value)) if several else _as_array(value)
    return bound.args, bound.kwargs


@cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def _as_array(value: Any) -> Any:
    if is_sparse(value):
        return value.to_numpy()
    return value.item() if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "biuf" else value
