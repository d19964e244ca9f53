"""The arguments of the array API standard's functions, for `help`, editors and `inspect.signature`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

__all__ = ["signature_of"]

# Functions that are never called: each has the arguments of the names beside it.
_ARGUMENTS: tuple[tuple[Callable[..., Any], str], ...] = (
    (
        lambda x, /: None,
        (
            "abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite "
            "isinf isnan log log10 log1p log2 logical_not matrix_transpose negative nonzero positive real "
            "reciprocal round sign signbit sin sinh sqrt square tan tanh trunc linalg.det linalg.eig linalg.eigh "
            "linalg.eigvals linalg.eigvalsh linalg.inv linalg.matrix_transpose linalg.slogdet linalg.svdvals"
        ),
    ),
    (
        lambda x1, x2, /: None,
        (
            "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide "
            "equal floor_divide greater greater_equal hypot less less_equal logaddexp logical_and logical_or "
            "logical_xor matmul maximum minimum multiply nextafter not_equal pow remainder subtract linalg.matmul "
            "linalg.outer linalg.solve"
        ),
    ),
    (lambda x, /, *, axis=None, keepdims=False: None, "all any argmax argmin count_nonzero max mean min"),
    (lambda x, /, *, axis=None, dtype=None, keepdims=False: None, "prod sum"),
    (lambda x, /, *, axis=None, correction=0.0, keepdims=False: None, "std var"),
    (lambda x, /, *, axis=None, dtype=None, include_initial=False: None, "cumulative_prod cumulative_sum"),
    (lambda x, /, *, axis=-1, descending=False, stable=True: None, "argsort sort"),
    (lambda x, dtype, /, *, copy=True, device=None: None, "astype"),
    (lambda *arrays: None, "broadcast_arrays"),
    (lambda x, /, shape: None, "broadcast_to"),
    (lambda x, /, min=None, max=None: None, "clip"),
    (lambda arrays, /, *, axis=0: None, "concat stack"),
    (lambda x, /, *, axis=-1, n=1, prepend=None, append=None: None, "diff"),
    (lambda x, /, *, dtype=None, device=None: None, "empty_like ones_like zeros_like"),
    (lambda x, /, fill_value, *, dtype=None, device=None: None, "full_like"),
    (lambda x, /, *, axis=0: None, "expand_dims"),
    (lambda x, /, *, axis=None: None, "flip"),
    (lambda x1, x2, /, *, invert=False: None, "isin"),
    (lambda x, source, destination, /: None, "moveaxis"),
    (lambda x, /, axes: None, "permute_dims"),
    (lambda x, repeats, /, *, axis=None: None, "repeat"),
    (lambda x, /, shape, *, copy=None: None, "reshape"),
    (lambda x, /, shift, *, axis=None: None, "roll"),
    (lambda x1, x2, /, *, side="left", sorter=None: None, "searchsorted"),
    (lambda x, /, axis: None, "squeeze"),
    (lambda x, indices, /, *, axis=None: None, "take"),
    (lambda x, indices, /, *, axis=-1: None, "take_along_axis"),
    (lambda x1, x2, /, *, axes=2: None, "tensordot linalg.tensordot"),
    (lambda x, repetitions, /: None, "tile"),
    (lambda x1, x2, /, *, axis=-1: None, "vecdot linalg.cross linalg.vecdot"),
    (lambda condition, x1, x2, /: None, "where"),
    (lambda x, /, *, upper=False: None, "linalg.cholesky"),
    (lambda x, /, *, offset=0: None, "linalg.diagonal"),
    (lambda x, /, *, offset=0, dtype=None: None, "linalg.trace"),
    (lambda x, /, *, keepdims=False, ord="fro": None, "linalg.matrix_norm"),
    (lambda x, n, /: None, "linalg.matrix_power"),
    (lambda x, /, *, rtol=None: None, "linalg.matrix_rank linalg.pinv"),
    (lambda x, /, *, mode="reduced": None, "linalg.qr"),
    (lambda x, /, *, full_matrices=True: None, "linalg.svd"),
    (lambda x, /, *, axis=None, keepdims=False, ord=2: None, "linalg.vector_norm"),
)


@cache
def _table() -> dict[str, inspect.Signature]:
    return {name: inspect.signature(arguments) for arguments, names in _ARGUMENTS for name in names.split()}


def signature_of(name: str) -> inspect.Signature | None:
    """Returns the arguments of a function of the standard; None for a name that it does not have.

    >>> str(signature_of("sum"))
    '(x, /, *, axis=None, dtype=None, keepdims=False)'
    """
    return _table().get(name)
