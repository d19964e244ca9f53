"""Dense arrays of numbers: which objects are some, decided by their types and never by iterating over them.

A graph, a mapping or a table of text also has a length and items, of which NumPy would make an array of names. So an
object is an array only if it is NumPy's, if its type has an array protocol or a buffer, or if it is a list or tuple,
nested or not, of numbers.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np

from mlir_sparse.errors import OperandError
from mlir_sparse.tensor.borders.foreign_arrays import as_host, is_sparse_source, is_torch
from mlir_sparse.tensor.level_storage import Array

__all__ = ["array_of", "is_array_source"]

_NUMBERS = (bool, int, float, complex, np.generic)
_PLAIN_NUMBERS = {bool, int, float, complex}
_BYTES = (str, bytes, bytearray)
_PROTOCOLS = ("__array__", "__array_interface__", "__array_struct__", "__dlpack__")
# The properties that count stored entries in SciPy, in the dialect and in GraphBLAS.
_COUNTS_OF_ENTRIES = ("nnz", "nse", "nvals")
# The greatest number of dimensions of a NumPy array.
_DEEPEST = 64
_FILLED = "mlir_sparse.tensor.filled_tensor"
# For packages whose objects are refused, an expression that converts them; `x` is the object.
_WAYS_OUT = {
    "mlir_sparse.tensor.device_tensor": "x.to('cpu')",
    _FILLED: "x.to_numpy(), or x.stored for its entries beside zeros",
    "mlir_sparse.tensor.sparse_tensor": "it on its own, or several through numpy.stack",
    "networkx": "networkx.to_scipy_sparse_array(x)",
    "igraph": "x.get_adjacency_sparse()",
    "sparse": "x.to_scipy_sparse(), or (x.coords, x.data) with shape=x.shape of a COO",
    "jax": "jax.experimental.sparse.BCOO.fromdense(x.todense())",
    "graphblas": "graphblas.io.to_scipy_sparse(x)",
    "tensorflow": "(x.indices.numpy().T, x.values.numpy()) with shape=x.shape",
    "numpy.ma": "x.filled(0)",
}


def array_of(source: object, expected: str) -> Array:
    """Returns an array of numbers, sharing memory with the source if possible.

    Args:
        source: an array of NumPy's or one that speaks an array protocol, a buffer, a number, or
            nested lists and tuples of these.
        expected: the rule, for the message.

    Raises:
        OperandError: for any other object, with an object to pass instead; for data on a device.

    >>> array_of([[1, 2], (3, 4)], "an array").tolist()
    [[1, 2], [3, 4]]
    >>> array_of({1: 2.0}, "an array")
    Traceback (most recent call last):
    ...
    mlir_sparse.errors.OperandError: expected an array, but got dict: pass a pair (coordinates, values)
    """
    if type(source) is np.ndarray:
        array: Array = source
    else:
        refused = _refused(source)
        if refused is not None:
            raise OperandError(f"expected {expected}, but got {refused}")
        array = _converted(as_host(source), expected)
    if array.dtype.kind == "O":
        raise OperandError(f"expected {expected}, but got {type(source).__name__} of Python objects: pass numbers")
    return array


def _converted(source: object, expected: str) -> Array:
    try:
        return np.asarray(source)
    except Exception as error:  # other libraries' own, and NumPy's for lists of different lengths
        text = " ".join(str(error).split())[:200]
        raise OperandError(f"expected {expected}, but got {type(source).__name__}: {text}") from None


def is_array_source(source: object) -> bool:
    """Returns whether `array_of` may convert an object; its elements are not looked at.

    >>> is_array_source(np.eye(2)), is_array_source(range(3)), is_array_source("ab"), is_array_source({1: 2})
    (True, True, False, False)
    """
    return _refused(source) is None


def _refused(source: object) -> str | None:
    """Returns what to say of an object and what to pass instead; None for an array of numbers."""
    if isinstance(source, list | tuple):
        return _odd_element(source)
    return None if _is_array(source) else _named(source)


def _odd_element(source: list[Any] | tuple[Any, ...]) -> str | None:
    """Returns the first element of nested lists that is no number, breadth first; None if there is none."""
    level: Any = source
    for _ in range(_DEEPEST):
        kinds = set(map(type, level))
        if kinds <= _PLAIN_NUMBERS:
            return None
        sequences = {kind for kind in kinds if issubclass(kind, list | tuple)}
        others = kinds - sequences - _PLAIN_NUMBERS
        odd = next((item for item in level if type(item) in others and not _is_array(item)), None) if others else None
        if odd is not None or type(None) in others:
            return f"{type(source).__name__} that holds {_named(odd)}"
        # Visit each list once: a list that contains itself twice would double at each level.
        nested = {id(item): item for item in level if type(item) in sequences}
        level = list(chain.from_iterable(nested.values()))
    return f"{type(source).__name__} nested deeper than {_DEEPEST}"


def _is_array(source: object) -> bool:
    kind = type(source)
    if issubclass(kind, _NUMBERS) or is_torch(source) or kind is range:
        return True
    if isinstance(source, np.ndarray):
        # A subclass that overrides NumPy's functions, as arrays with units do, means more than its numbers.
        return not _is_masked(source) and type(source).__array_ufunc__ is np.ndarray.__array_ufunc__
    if isinstance(source, type | str | bytes | bytearray) or _is_sparse(source) or _is_measured(source):
        return False
    return any(_offers(source, name) for name in _PROTOCOLS) or _has_buffer(source)


def _is_masked(source: object) -> bool:
    module = sys.modules.get("numpy.ma")
    return module is not None and isinstance(source, module.MaskedArray)


def _is_measured(source: object) -> bool:
    """Returns whether an object has a unit that NumPy's functions respect: its bare numbers mean something else."""
    kind = type(source)
    return hasattr(kind, "__array_ufunc__") and any(hasattr(kind, name) for name in ("unit", "units"))


def _is_sparse(source: object) -> bool:
    """Returns whether an object is sparse: converting it to an array would silently make it dense."""
    return is_sparse_source(source) or any(hasattr(type(source), name) for name in _COUNTS_OF_ENTRIES)


def _offers(source: object, name: str) -> bool:
    """Returns whether the type or the object itself defines a protocol; `__getattr__` could answer for any name."""
    return inspect.getattr_static(source, name, None) is not None


def _has_buffer(source: Any) -> bool:
    try:
        memoryview(source)
    except (TypeError, ValueError, BufferError):
        return False
    return True


def _is_on_device(source: Any) -> bool:
    return str(getattr(source, "device", "cpu")) != "cpu"


def _named(source: Any) -> str:
    """Returns a description of an object, and what to pass instead."""
    kind = type(source)
    name = kind.__name__
    for ancestor in kind.__mro__:
        module = ancestor.__module__ or ""
        for package, way_out in _WAYS_OUT.items():
            if module == package or module.startswith(f"{package}."):
                if module == _FILLED:
                    return f"fill value {source.fill_value} of a {name} where nothing is stored: pass {way_out}"
                where = f"on {source.device}" if _is_on_device(source) else f"of {module.partition('.')[0]}"
                return f"{name} {where}: pass {way_out}"
    if isinstance(source, np.ndarray) or _is_measured(source):
        return f"{name}, which means more than its numbers: pass numpy.asarray(x) for these alone"
    if is_sparse_source(source) or _is_sparse(source):
        return f"{name}, a sparse array: pass it on its own, or a pair (coordinates, values)"
    if isinstance(source, Mapping):
        return f"{name}: pass a pair (coordinates, values)"
    if hasattr(kind, "__iter__") and not isinstance(source, _BYTES):
        return f"{name}: pass an array or a list of its numbers"
    return name
