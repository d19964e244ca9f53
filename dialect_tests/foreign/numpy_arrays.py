"""NumPy's tests of ufuncs, indexing and functions of arrays, on the same arrays stored sparse.

An array's methods are written in C and cannot be replaced, so the tests' own modules get another `np`:
its ufuncs and functions are wrapped, and its arrays are of a class whose operators are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np

import mlir_sparse as ms
from dialect_tests.foreign.arrays import OPERATORS, Function
from dialect_tests.foreign.shadow import MOST_ELEMENTS, LeftOut, Recorder, Shadow, TooLarge, holds_tensor
from mlir_sparse.arrays.numpy_functions import FUNCTIONS

TESTS = [
    "numpy._core.tests.test_indexing",
    "numpy._core.tests.test_shape_base",
    "numpy._core.tests.test_ufunc",
    "numpy.lib.tests.test_shape_base",
    "numpy.lib.tests.test_twodim_base",
]
PACKAGES = ["numpy"]
PARTS = 2
# Of ufuncs that are no names of NumPy, of `ufunc.at` on arrays, each with tens of thousands of views, and of the
# classes that results have.
OPTIONS = ["-k", "not test_matrix_multiply and not test_ufunc_at and not array_priority"]

# By rank; dense stays an array.
_STORED: list[dict[int, str]] = [
    {1: "SparseVector", 2: "CSR", 3: "CSF"},
    {1: "SparseVector", 2: "CSC", 3: "COO", 4: "COO"},
    {2: "COO", 3: "dense"},
    {1: "dense", 2: "BSR(2, 2)", 4: "CSF"},
]
_MADE_BY = ["arange", "array", "empty", "eye", "full", "identity", "linspace", "ones", "zeros"]


_replaced: dict[str, Any] = {}


def install(recorder: Recorder) -> None:
    """Makes what judges calls of NumPy's functions and ufuncs, and of the operators of arrays."""
    shadow = Shadow(lambda value: value, _copied, recorder, of_tensors=False)
    kind = _watched(shadow, recorder)
    for name in dir(np):
        value = getattr(np, name)
        if name in _MADE_BY:
            _replaced[name] = _maker(value, kind)
        elif isinstance(value, np.ufunc):
            _replaced[name] = _Ufunc(value, shadow, recorder)
        elif f"np.{name}" in FUNCTIONS and name != "empty_like":
            _replaced[name] = shadow.wrapped(name, value, _stored(value, recorder), value)


def prepare(module: ModuleType) -> None:
    """Gives a module of tests a NumPy whose calls are judged."""
    numpy = _NumPy(_replaced)
    by_identity = {id(getattr(np, name)): value for name, value in _replaced.items()} | {id(np): numpy}
    for name, value in list(vars(module).items()):
        if id(value) in by_identity:
            setattr(module, name, by_identity[id(value)])
    # What is judged is held a while.
    if hasattr(module, "HAS_REFCOUNT"):
        vars(module)["HAS_REFCOUNT"] = False


class _NumPy:
    """The module, with some of its names replaced."""

    def __init__(self, replaced: Mapping[str, Any]) -> None:
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


class _Ufunc:
    """A ufunc whose call, `reduce` and `outer` are judged."""

    def __init__(self, ufunc: np.ufunc, shadow: Shadow, recorder: Recorder) -> None:
        self._ufunc = ufunc
        self._call = shadow.wrapped(ufunc.__name__, ufunc, _stored(ufunc, recorder, ufunc.nin), ufunc)
        for method, operands in (("reduce", 1), ("outer", 2)):
            theirs = getattr(ufunc, method)
            name = f"{ufunc.__name__}.{method}"
            setattr(self, method, shadow.wrapped(name, theirs, _stored(theirs, recorder, operands), theirs))

    def __call__(self, *given: Any, **options: Any) -> Any:
        return self._call(*given, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ufunc, name)


def _watched(shadow: Shadow, recorder: Recorder) -> type[np.ndarray[Any, Any]]:
    """Returns a class of arrays whose operators are judged."""
    methods = {
        name: shadow.wrapped(name, getattr(np.ndarray, name), _stored(function, recorder, 1), function)
        for name, function in OPERATORS.items()
        if hasattr(np.ndarray, name)
    }
    # Its results are plain arrays in NumPy's tests of which class a result has.
    return type("ndarray", (np.ndarray,), methods)


def _maker(function: Callable[..., Any], kind: type[np.ndarray[Any, Any]]) -> Callable[..., Any]:
    def call(*given: Any, **options: Any) -> Any:
        found = function(*given, **options)
        return found.view(kind) if type(found) is np.ndarray and found.dtype.kind in "bifc" else found

    return call


def _copied(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.size > MOST_ELEMENTS:
        raise TooLarge
    return np.array(value) if isinstance(value, np.ndarray) else value


def _stored(function: Function, recorder: Recorder, operands: int | None = None) -> Function:
    """Returns a function whose first operands are stored sparse, all where no number is given."""

    def call(*given: Any, **options: Any) -> Any:
        chosen = recorder.pick(_STORED)
        mapped = [
            _operand(value, chosen) if operands is None or at < operands else _out(value)
            for at, value in enumerate(given)
        ]
        if not holds_tensor(mapped):
            raise LeftOut("no operand is a tensor")
        return function(*mapped, **{key: _out(value) for key, value in options.items()})

    return call


def _out(value: Any) -> Any:
    """Returns a copy of what a call may write to."""
    return tuple(map(_copied, value)) if type(value) is tuple else _copied(value)


def _operand(value: Any, chosen: dict[int, str]) -> Any:
    if type(value) in (list, tuple):
        return type(value)(_operand(item, chosen) for item in value)
    wanted = isinstance(value, np.ndarray) and value.ndim in chosen and value.dtype.kind in "bifc"
    return ms.tensor(value, chosen[value.ndim]) if wanted else _copied(value)
