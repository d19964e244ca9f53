"""pydata/sparse's tests, which its wheel holds: COO, GCXS and DOK, NumPy's functions on them, and its own."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np
from scipy.sparse import issparse

import mlir_sparse as ms
from dialect_tests.foreign.arrays import OPERATORS, POSITIONS, REDUCTIONS, SHAPES, Function, dense, of_numpy, without
from dialect_tests.foreign.shadow import MOST_ELEMENTS, LeftOut, Recorder, Shadow, TooLarge

TESTS = [
    f"sparse.numba_backend.tests.test_{name}"
    for name in (
        "array_function",
        "compressed",
        "compressed_2d",
        "compressed_slicing",
        "conversion",
        "coo",
        "dok",
        "dot",
        "einsum",
        "elemwise",
        "namespace",
    )
]
PACKAGES = ["sparse"]
# Each process compiles pydata's functions anew.
PARTS = 2
OPTIONS: list[str] = []

# By rank; None is the storage that a pair of coordinates and values gets.
_STORED: list[dict[int, str]] = [
    {},
    {1: "SparseVector", 2: "CSR", 3: "CSF", 4: "CSF"},
    {2: "CSC", 3: "CSF"},
    {2: "DCSR", 3: "COO"},
    {2: "BSR(2, 2)"},
]

METHODS: dict[str, Function] = {
    **OPERATORS,
    **REDUCTIONS,
    **POSITIONS,
    **SHAPES,
    "amax": REDUCTIONS["max"],
    "amin": REDUCTIONS["min"],
    # The name "i8" is NumPy's int64 and this package's int8.
    "astype": lambda a, dtype, **options: a.astype(np.dtype(dtype)),
    "broadcast_to": np.broadcast_to,
    "clip": np.clip,
    "conj": np.conj,
    "dot": np.dot,
    "isinf": np.isinf,
    "isnan": np.isnan,
    "nonzero": np.nonzero,
    "reduce": lambda a, method, axis=(0,), keepdims=False, **options: method.reduce(
        a, axis=axis, keepdims=keepdims, **options
    ),
    "round": np.round,
    "round_": np.round,
    "todense": dense,
    "maybe_densify": dense,
    "__array_ufunc__": lambda a, ufunc, method, *inputs, **options: getattr(ufunc, method)(*inputs, **options),
    "__array_function__": lambda a, function, types, given, options: function(*given, **options),
}
LEFT_OUT = ["__setitem__", "change_compressed_axes", "asformat", "to_scipy_sparse"]
_SAME_AS_NUMPY = (
    "abs argmax argmin argwhere broadcast_to clip concatenate diagonal dot einsum equal expand_dims flip "
    "imag isinf isnan isneginf isposinf kron matmul matrix_transpose max mean min moveaxis nonzero "
    "outer permute_dims prod real repeat reshape roll round squeeze stack std sum take tensordot tile "
    "tril triu var vecdot where"
)
FUNCTIONS: dict[str, Function] = {
    **{name: of_numpy(name) for name in _SAME_AS_NUMPY.split() if hasattr(np, name)},
    **{f"{name}_like": without(of_numpy(f"{name}_like"), "format") for name in ("full", "ones", "zeros")},
    # pydata's tests name prepend= and append= always.
    "diff": lambda a, **options: np.diff(a, **{key: value for key, value in options.items() if value is not None}),
    "all": np.all,
    "any": np.any,
    "concat": np.concatenate,
    "nanmax": np.nanmax,
    "nanmean": np.nanmean,
    "nanmin": np.nanmin,
    "nanprod": np.nanprod,
    "nansum": np.nansum,
    "pad": np.pad,
    "sort": without(np.sort, "descending", "stable"),
    "tensordot": without(np.tensordot, "return_type"),
}


def install(recorder: Recorder) -> None:
    """Wraps the classes' methods and the package's functions."""
    sparse = importlib.import_module("sparse")
    shadow = Shadow(lambda value: _as_ours(value, recorder), _as_dense, recorder)
    for kind in (sparse.COO, sparse.GCXS, sparse.DOK):
        for name in [*METHODS, *LEFT_OUT]:
            if hasattr(kind, name) and callable(getattr(kind, name)):
                setattr(kind, name, shadow.wrapped(name, getattr(kind, name), METHODS.get(name)))
    for name, ours in FUNCTIONS.items():
        setattr(sparse, name, shadow.wrapped(f"sparse.{name}", getattr(sparse, name), ours))


def _is_sparse(value: Any) -> bool:
    return isinstance(value, importlib.import_module("sparse").SparseArray)


def _as_coo(value: Any) -> Any:
    return value if type(value).__name__ == "COO" else value.asformat("coo")


def _as_ours(value: Any, recorder: Recorder) -> Any:
    if issparse(value):
        return ms.tensor(value)
    if not _is_sparse(value):
        return value
    fill = np.asarray(value.fill_value)
    if np.any(fill != np.zeros_like(fill)):
        raise LeftOut("fill value other than zero")
    if value.ndim == 0:
        return np.asarray(value.todense())
    coo, wanted = _as_coo(value), recorder.pick(_STORED).get(value.ndim)
    return ms.tensor((coo.coords, coo.data), wanted, shape=coo.shape)


def _as_dense(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return np.array(value)
    if issparse(value):
        return value.toarray()
    if not _is_sparse(value):
        return value
    if math.prod(value.shape) > MOST_ELEMENTS:
        raise TooLarge
    return np.asarray(value.todense())
