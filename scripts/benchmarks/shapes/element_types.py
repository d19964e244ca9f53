"""Operands of other element types than f64: as they are stored, and as reference results are computed of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import scipy.sparse

from benchmarks.entries import Array
from benchmarks.on_lines import empty_on_lines

__all__ = ["TOLERANCES", "TYPES", "as_type", "wide"]

TYPES: Mapping[str, Any] = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i8": np.dtype(np.int8),
    "i32": np.dtype(np.int32),
    "c64": np.dtype(np.complex64),
}

# Results are rounded once, sums of some hundred terms kept in f32 are off by some of its last places.
TOLERANCES: Mapping[str, float] = {"f16": 1e-3, "bf16": 6e-3, "f32": 2e-5, "f64": 1e-13, "c64": 2e-5}


def as_type(operand: Any, name: str) -> Any:
    """Returns an operand with elements of a type: numbers in [0, 1) as they are rounded, as integers 1 or -1 or 0."""
    if scipy.sparse.issparse(operand):
        values = _converted(operand.data, name)
        made = type(operand)((values, operand.indices, operand.indptr), shape=operand.shape)
        made.has_canonical_format = True
        return made
    placed = empty_on_lines(operand.shape, TYPES[name])
    placed[...] = _converted(operand, name)
    return placed


def _converted(values: Array, name: str) -> Array:
    if TYPES[name].kind == "i":
        return np.where(values < 0.5, 1, -1).astype(TYPES[name])
    if TYPES[name].kind == "c":
        return (values + 1j * values[..., ::-1]).astype(TYPES[name])
    return values.astype(TYPES[name])


def wide(operand: Any) -> Any:
    """Returns an operand of f64 or c128; integers, whose sums wrap round in their own type, as they are."""
    values = operand.data if scipy.sparse.issparse(operand) else operand
    if values.dtype.kind == "i":
        return operand
    kind = np.complex128 if values.dtype.kind == "c" else np.float64
    if not scipy.sparse.issparse(operand):
        return operand.astype(kind)
    return type(operand)((values.astype(kind), operand.indices, operand.indptr), shape=operand.shape)
