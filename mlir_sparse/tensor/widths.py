"""Widths of positions and coordinates: their integer types and ranges.

Compiled code reads 8 and 16 bits as unsigned numbers. 32 and 64 bits stay within the signed range, so that arrays can
be shared with SciPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.errors import WidthError

__all__ = ["check_width", "resolve_width", "resolve_widths", "width_dtype", "width_limit"]

_DTYPES: dict[int, np.dtype[Any]] = {
    8: np.dtype(np.uint8),
    16: np.dtype(np.uint16),
    32: np.dtype(np.int32),
    64: np.dtype(np.int64),
}
_LIMITS = {width: int(np.iinfo(dtype).max) for width, dtype in _DTYPES.items()}
_WORDS = {"posWidth": "positions", "crdWidth": "coordinates"}


def width_dtype(width: int) -> np.dtype[Any]:
    """Returns the dtype that stores positions or coordinates of a width.

    >>> width_dtype(8), width_dtype(32)
    (dtype('uint8'), dtype('int32'))
    """
    return _DTYPES[width]


def width_limit(width: int) -> int:
    """Returns the largest position or coordinate of a width.

    >>> width_limit(8), width_limit(32)
    (255, 2147483647)
    """
    return _LIMITS[width]


def check_width(key: str, width: int, largest: int) -> None:
    """Raises WidthError when the largest position or coordinate does not fit.

    Args:
        key: `posWidth` or `crdWidth`.
        width: bits; 8, 16, 32 or 64.
        largest: the largest number to be stored.

    >>> check_width("posWidth", 32, 2**31)
    Traceback (most recent call last):
    mlir_sparse.errors.WidthError: expected positions of at most 2147483647 for posWidth = 32, but got 2147483648: \
use posWidth = 64, or leave it out
    """
    if largest <= width_limit(width):
        return
    wider = next((w for w in (16, 32, 64) if largest <= width_limit(w)), 64)
    raise WidthError(
        f"expected {_WORDS[key]} of at most {width_limit(width)} for {key} = {width}, but got {largest}: "
        f"use {key} = {wider}, or leave it out"
    )


def resolve_width(key: str, named: int, source: int | None, largest: int) -> int:
    """Returns the width to store: the named one, else the source's 32 or 64 if it suffices, else 32 or 64 as needed.

    Args:
        key: `posWidth` or `crdWidth`.
        named: the encoding's width, 0 when it names none.
        source: the bits of the source's integers, if any.
        largest: the largest number to be stored.

    Raises:
        WidthError: for a named width that is too small.

    >>> resolve_width("crdWidth", 0, 64, 1000), resolve_width("crdWidth", 0, None, 1000)
    (64, 32)
    """
    if named:
        check_width(key, named, largest)
        return named
    if source == 64 or largest > width_limit(32):
        return 64
    return 32


def resolve_widths(
    encoding: Encoding,
    *,
    largest_position: int,
    largest_coordinate: int,
    source: tuple[int | None, int | None] = (None, None),
) -> Encoding:
    """Returns the encoding with both widths concrete (see `resolve_width`).

    Args:
        encoding: the encoding, whose widths are 0 if not named.
        largest_position: the largest position; 0 without positions.
        largest_coordinate: the largest coordinate; -1 or 0 without coordinates.
        source: the widths of positions and coordinates in the source.
    """
    pos = resolve_width("posWidth", encoding.pos_width, source[0], largest_position)
    crd = resolve_width("crdWidth", encoding.crd_width, source[1], largest_coordinate)
    return encoding if (pos, crd) == (encoding.pos_width, encoding.crd_width) else encoding.with_widths(pos, crd)
