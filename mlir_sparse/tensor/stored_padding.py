"""The distinction of stored entries from padding."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["is_given"]

Array = np.ndarray[Any, Any]


def is_given(values: Array) -> Array:
    """Returns a mask of the values that are no padding: all except positive zeros.

    >>> is_given(np.array([0.0, -0.0, 2.0]))
    array([False,  True,  True])
    """
    if values.dtype.kind in "biu":
        given: Array = values != 0
        return given
    words = values.dtype.itemsize // 8 or 1
    bits: Array = np.ascontiguousarray(values).view(f"u{values.dtype.itemsize // words}").reshape(-1, words)
    given = bits[:, 0] != 0
    for word in range(1, words):
        given |= bits[:, word] != 0
    return given
