"""What the operations of sparse libraries mean on arrays: a function each, for tensors and NumPy's arrays alike."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import mlir_sparse as ms
from dialect_tests.foreign.shadow import LeftOut

Function = Callable[..., Any]


def _reflected(function: Function) -> Function:
    return lambda right, left: function(left, right)


def _method(name: str) -> Function:
    return lambda a, *given, **options: getattr(a, name)(*given, **options)


_BINARY = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
    "matmul": operator.matmul,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}
_COMPARED = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
_UNARY = {"neg": operator.neg, "pos": operator.pos, "abs": operator.abs, "invert": operator.invert}

OPERATORS: dict[str, Function] = {
    **{f"__{name}__": function for name, function in (_BINARY | _COMPARED | _UNARY).items()},
    **{f"__r{name}__": _reflected(function) for name, function in _BINARY.items()},
    "__getitem__": operator.getitem,
}

REDUCTIONS = {name: _method(name) for name in ("sum", "prod", "mean", "std", "var", "max", "min", "any", "all")}
POSITIONS = {name: _method(name) for name in ("argmax", "argmin")}
SHAPES = {name: _method(name) for name in ("reshape", "transpose", "squeeze", "swapaxes", "flatten", "diagonal")}


def quotient(a: Any, b: Any) -> Any:
    """Returns what README.md says of a tensor over a dense array: what is not stored is zero, also over zero."""
    found = operator.truediv(a, b)
    return np.where(np.broadcast_to(a, found.shape) == 0, np.zeros((), found.dtype), found) if np.ndim(b) else found


def converted(encoding: str) -> Function:
    """Returns the conversion to an encoding, which leaves NumPy's arrays as they are."""
    return lambda a, *_, **__: a.convert(encoding) if isinstance(a, ms.SparseTensor) else a


def dense(a: Any, *_: Any, **__: Any) -> Any:
    """Returns the dense array."""
    return a.to_numpy() if isinstance(a, ms.SparseTensor) else a


def of_numpy(name: str) -> Function:
    """Returns NumPy's function of that name."""
    found = np
    for part in name.split("."):
        found = getattr(found, part)
    return found  # type: ignore[return-value]


def without(function: Function, *left_out: str) -> Function:
    """Returns a function of tensors for which options of the library's own are nothing, or leave the call out."""

    def call(*given: Any, **options: Any) -> Any:
        if any(options.get(name) for name in left_out):
            raise LeftOut(f"{' or '.join(left_out)}=")
        return function(*given, **{key: value for key, value in options.items() if key not in left_out})

    return call
