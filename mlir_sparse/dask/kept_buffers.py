"""Buffers that a worker fills anew for each piece, kept while the parts that pieces read live.

Memory that the system has just given is filled at a third of the speed of memory that was used before.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass

__all__ = ["buffer_for"]

_LEAST = 1 << 20
"""Smaller buffers come from memory that the process has anyway."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    """Buffers of one shape, and the identities of the objects that they were filled for."""

    buffers: list[Array]
    users: set[int]


_known: dict[tuple[Any, ...], _Kept] = {}
_lock = threading.Lock()


def buffer_for(user: Any, shape: Sequence[int], dtype: Any) -> Array:
    """Returns an array that nothing else refers to, with zeros or what was in it before.

    Args:
        user: while it lives, the array is kept for further calls, once nothing refers to it any more.
        shape: the shape.
        dtype: the element type.
    """
    if np.dtype(dtype).itemsize * np.prod(shape, dtype=float) < _LEAST:
        return np.zeros(shape, dtype)
    key = (*shape, np.dtype(dtype).str)
    with _lock:
        kept = _known.setdefault(key, _Kept([], set()))
        if id(user) not in kept.users:
            kept.users.add(id(user))
            weakref.finalize(user, _left, key, id(user))
        for number in range(len(kept.buffers)):
            # Views of a buffer refer to it; here the list does, and the call.
            if sys.getrefcount(kept.buffers[number]) == 2:
                return kept.buffers[number]
        found: Array = np.zeros(shape, dtype)
        kept.buffers.append(found)
        return found


def _left(key: tuple[Any, ...], user: int) -> None:
    kept = _known.get(key)
    if kept is not None:
        kept.users.discard(user)
        if not kept.users:
            del _known[key]
