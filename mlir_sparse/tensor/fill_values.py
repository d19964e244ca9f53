"""Fill values: the one value of all elements that a tensor does not store."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlir_sparse.dtypes import DType, is_numeric
from mlir_sparse.errors import DTypeError, OperandError, UnsupportedError
from mlir_sparse.text.shortened import shortened

__all__ = ["WAY_OUT", "cast_fill", "fill_of", "is_filling", "is_zero_fill", "no_fill"]

WAY_OUT = "pass A.to_numpy() for a dense copy, or A.stored for the stored entries beside zeros"

Array = np.ndarray[Any, Any]


def fill_of(value: object, dtype: DType) -> Any:
    """Returns a number as a fill value of an element type; real and complex types round it, as they do values.

    Raises:
        OperandError: for anything else than one number.
        DTypeError: for a number that the type does not hold, such as infinity among integers.

    >>> from mlir_sparse.dtypes import DType
    >>> fill_of(float("inf"), DType.of("f32")), fill_of(-1, DType.of("i8"))
    (np.float32(inf), np.int8(-1))
    """
    if isinstance(value, str | bytes):
        raise OperandError(f"expected a number as fill value, but got {shortened(repr(value))}")
    try:
        given = np.asarray(value)
    except Exception:  # a user's object may raise anything
        given = np.empty(0, object)
    is_large = isinstance(value, int) and given.dtype.kind == "O"  # of more than 64 bits
    if given.ndim != 0 or not (is_numeric(given.dtype) or is_large):
        raise OperandError(f"expected a number as fill value, but got {shortened(repr(value))}")
    with np.errstate(all="ignore"):
        try:
            found = given.astype(dtype.numpy)
            same = bool(found == given) if dtype.is_exact or dtype.is_truth else _is_near(found, given)
        except (OverflowError, TypeError, ValueError):
            same = False
    if not same:
        raise DTypeError(
            f"expected a fill value that {dtype} holds, but got {shortened(repr(value))}: ask for another element "
            "type, as in A.astype(...) or dtype=..."
        )
    return found[()]


def _is_near(found: Array, given: Array) -> bool:
    """Returns whether a number is still itself, but for rounding."""
    if given.dtype.kind == "c" and found.dtype.kind != "c":
        return False
    wide, known = (np.asarray(one.astype(complex)) for one in (found, given))
    parts = ((wide.real, known.real), (wide.imag, known.imag))
    return all(bool(np.isnan(one) == np.isnan(other) and np.isinf(one) == np.isinf(other)) for one, other in parts)


def is_zero_fill(fill: Any) -> bool:
    """Returns whether a fill value is that of every SparseTensor: zero, and not -0.0.

    >>> is_zero_fill(np.float64(0.0)), is_zero_fill(np.float64(-0.0)), is_zero_fill(np.False_)
    (True, False, True)
    """
    return not any(np.asarray(fill).tobytes())


def is_filling(values: Array, fill: Any) -> Array:
    """Returns which values are a fill value: bit for bit, but any NaN of a real type for NaN.

    >>> is_filling(np.array([0.0, -0.0, 2.0]), np.float64(-0.0))
    array([False,  True, False])
    """
    if values.dtype.kind in "biu":
        same: Array = values == fill
        return same
    words = values.dtype.itemsize // 8 or 1
    kind = f"u{values.dtype.itemsize // words}"
    bits = np.ascontiguousarray(values).view(kind).reshape(*values.shape, words)
    wanted = np.asarray(fill, values.dtype).reshape(1).view(kind)
    same = (bits == wanted).all(axis=-1)
    if values.dtype.kind != "c" and np.isnan(fill):
        same |= np.isnan(values)
    return same


def cast_fill(fill: np.generic, dtype: DType) -> Any:
    """Returns a fill value in another element type, as values are cast: rounded towards zero, and NaN is true.

    Raises:
        DTypeError: for one that the type does not hold.
    """
    value: Any = fill
    if dtype.is_truth:
        value = bool(value != 0)
    elif dtype.is_exact and fill.dtype.kind in "fV" and np.isfinite(value):
        value = int(float(value))
    return fill_of(value, dtype)


def no_fill(fill: object, what: str, way_out: str) -> UnsupportedError:
    """Returns the refusal of a tensor whose missing elements are other than zero.

    Args:
        fill: its fill value.
        what: what takes zeros alone.
        way_out: what to do.
    """
    return UnsupportedError(
        f"expected zeros where nothing is stored for {what}, but got fill value {shortened(str(fill))}: {way_out}"
    )
