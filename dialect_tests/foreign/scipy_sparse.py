"""SciPy's own tests of its sparse arrays and matrices: their operators, methods and functions."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

import mlir_sparse as ms
from dialect_tests.foreign import matrices
from dialect_tests.foreign.arrays import (
    OPERATORS,
    POSITIONS,
    REDUCTIONS,
    SHAPES,
    Function,
    converted,
    dense,
    of_numpy,
    quotient,
    without,
)
from dialect_tests.foreign.shadow import MOST_ELEMENTS, Recorder, Shadow, TooLarge

TESTS = [
    *(
        f"scipy.sparse.tests.test_{name}"
        for name in (
            "arithmetic1d",
            "array_api",
            "base",
            "common1d",
            "construct",
            "coo",
            "csc",
            "csr",
            "dok",
            "extract",
        )
    ),
    "scipy.sparse.tests.test_indexing1d",
    "scipy.sparse.tests.test_minmax1d",
    "scipy.sparse.linalg.tests.test_norm",
]
PACKAGES = ["scipy"]
PARTS = 8
OPTIONS: list[str] = []

_FORMATS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
# None is the storage that a SciPy array comes with, most often.
_STORED = [None, None, None, "CSR", "CSC", "COO", "DCSR", "BSR(2, 2)", "DIA", "ELL"]

_UFUNCS = "arcsin arcsinh arctan arctanh ceil deg2rad expm1 floor log1p rad2deg rint sign sin sinh sqrt tan tanh trunc"


def _stack_along(axis: int) -> Function:
    # Vectors are rows, but where only vectors are put side by side.
    def call(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
        ranks = {np.ndim(block) for block in blocks}
        parts = [block if axis == -1 and ranks == {1} else np.atleast_2d(block) for block in blocks]
        found = np.concatenate(parts, axis=axis)
        return found if dtype is None else found.astype(np.dtype(dtype))

    return call


METHODS: dict[str, Function] = {
    **OPERATORS,
    **REDUCTIONS,
    **POSITIONS,
    **SHAPES,
    # SciPy's explicit=True is about stored entries alone.
    **{name: without(function, "explicit") for name, function in (POSITIONS | REDUCTIONS).items()},
    "diagonal": lambda a, k=0: a.diagonal(k),
    "trace": lambda a, offset=0: a.trace(offset),
    "transpose": lambda a, axes=None, copy=False: np.transpose(a, axes),
    "reshape": lambda a, *shape, order="C", copy=False: a.reshape(*shape, order=order),
    **{name: of_numpy(name) for name in _UFUNCS.split()},
    "nanmax": without(lambda a, axis=None, **options: np.fmax.reduce(a, axis=axis, **options), "explicit"),
    "nanmin": without(lambda a, axis=None, **options: np.fmin.reduce(a, axis=axis, **options), "explicit"),
    # The name "i8" is NumPy's int64 and this package's int8.
    "astype": lambda a, dtype, **options: a.astype(np.dtype(dtype)),
    "conj": lambda a, **options: np.conj(a),
    "conjugate": lambda a, **options: np.conjugate(a),
    "count_nonzero": np.count_nonzero,
    "dot": np.dot,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "multiply": np.multiply,
    "nonzero": np.nonzero,
    "power": lambda a, n, dtype=None: np.power(a, n) if dtype is None else np.power(a.astype(dtype), n),
    "tensordot": np.tensordot,
    "toarray": dense,
    "todense": dense,
    "tobsr": converted("BSR(1, 2)"),
    "tocoo": converted("COO"),
    "tocsc": converted("CSC"),
    "tocsr": converted("CSR"),
    "todia": converted("DIA"),
    "__round__": np.round,
    # A tensor's name is given to the result.
    **{f"__i{name}__": OPERATORS[f"__{name}__"] for name in ("add", "mul", "sub", "truediv")},
}
# Those that change an array, or ask how it is stored: a tensor's structure never changes, and has other names.
_LEFT_OUT = (
    "__setitem__ check_format eliminate_zeros prune resize setdiag "
    "sort_indices sorted_indices sum_duplicates todok tolil"
)
LEFT_OUT = _LEFT_OUT.split()
# A dictionary of keys is one, of which `|` joins the keys.
_OF_DICTIONARIES: dict[str, Function | None] = {"__or__": None, "__ror__": None}
FUNCTIONS: dict[str, Function] = {
    "kron": lambda a, b, **options: np.kron(a, b),
    "hstack": _stack_along(-1),
    "vstack": _stack_along(0),
    "tril": lambda a, k=0, **options: np.tril(a, k),
    "triu": lambda a, k=0, **options: np.triu(a, k),
    "expand_dims": lambda a, axis=0, **options: np.expand_dims(a, axis),
    "permute_dims": lambda a, axes=None, **options: np.transpose(a, axes),
    "swapaxes": np.swapaxes,
    "norm": np.linalg.norm,
}


def install(recorder: Recorder) -> None:
    """Wraps the methods of SciPy's sparse arrays and matrices, and its functions, wherever they are looked up."""
    import scipy.sparse as sparse

    shadow = Shadow(lambda value: _as_ours(value, recorder), _as_dense, recorder)
    of_matrices = matrices.methods(METHODS)
    for name in _FORMATS:
        other = _OF_DICTIONARIES if name == "dok" else {}
        _wrap(getattr(sparse, f"{name}_array"), shadow, METHODS | other)
        _wrap(getattr(sparse, f"{name}_matrix"), shadow, of_matrices | other, "matrix.")
    for name, ours in FUNCTIONS.items():
        modules = ["scipy.sparse.linalg", "scipy.sparse.linalg._norm"] if name == "norm" else _MODULES
        for module in filter(lambda one: hasattr(one, name), map(importlib.import_module, modules)):
            setattr(module, name, shadow.wrapped(name, getattr(module, name), ours))


def _wrap(kind: type, shadow: Shadow, methods: Mapping[str, Function | None], prefix: str = "") -> None:
    for name in [*methods, *LEFT_OUT]:
        if hasattr(kind, name):
            by_numpy = quotient if name == "__truediv__" else None
            setattr(kind, name, shadow.wrapped(prefix + name, getattr(kind, name), methods.get(name), by_numpy))


_MODULES = ["scipy.sparse", "scipy.sparse._construct", "scipy.sparse._extract", "scipy.sparse._base"]


def _as_ours(value: Any, recorder: Recorder) -> Any:
    import scipy.sparse as sparse

    if not sparse.issparse(value):
        return value
    wanted = recorder.pick(_STORED) if value.ndim == 2 else None
    return ms.tensor(value, wanted)


def _as_dense(value: Any) -> Any:
    import scipy.sparse as sparse

    if isinstance(value, np.ndarray):
        return np.array(value)
    if not sparse.issparse(value):
        return value
    if math.prod(value.shape) > MOST_ELEMENTS:
        raise TooLarge
    return np.array(value.toarray())
