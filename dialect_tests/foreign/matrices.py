"""What the methods of SciPy's matrices mean on arrays: `*` is the product, and results keep two dimensions."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from dialect_tests.foreign.arrays import Function


def _product(a: Any, b: Any) -> Any:
    return operator.mul(a, b) if np.ndim(b) == 0 or np.ndim(a) == 0 else operator.matmul(a, b)


def rows(function: Function) -> Function:
    """Returns a reduction whose result keeps the dimension that it takes, where it takes one."""

    def call(a: Any, axis: Any = None, *given: Any, **options: Any) -> Any:
        one = axis is not None and np.size(axis) == 1
        return function(a, axis, *given, **options | ({"keepdims": True} if one else {}))

    return call


def _item(a: Any, index: Any) -> Any:
    found = a[index]
    if np.ndim(found) != 1:
        return found
    return found.reshape(-1, 1) if _is_column(index) else found.reshape(1, -1)


def _is_column(index: Any) -> bool:
    """Returns whether an index is an integer for the columns; an ellipsis stands for what is not named."""
    parts = list(index) if isinstance(index, tuple) else [index]
    for at, part in enumerate(parts):
        if part is Ellipsis:
            parts[at : at + 1] = [slice(None)] * (3 - len(parts))
            break
    return len(parts) == 2 and not isinstance(parts[1], slice) and np.ndim(parts[1]) == 0


def methods(of_arrays: dict[str, Function]) -> dict[str, Function]:
    """Returns the methods of matrices, given those of arrays."""
    reductions = ["sum", "mean", "max", "min", "argmax", "argmin", "nanmax", "nanmin"]
    return of_arrays | {
        **{name: rows(of_arrays[name]) for name in reductions},
        "__mul__": _product,
        "__imul__": _product,
        "__rmul__": lambda right, left: _product(left, right),
        "__pow__": np.linalg.matrix_power,
        "__getitem__": _item,
        "getH": lambda a: np.conj(a).T,
        "getrow": lambda a, i: a[[i], :],
        "getcol": lambda a, j: a[:, [j]],
    }
