"""Arrays between pages that cannot be read: who reads before or behind them ends the process."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np

__all__ = ["guarded"]

Array = np.ndarray[Any, Any]


def guarded(array: Array, *, begins: bool = False) -> Array:
    """Returns a copy that ends where a page begins that cannot be read, or that begins where one ends."""
    page = mmap.PAGESIZE
    inside = page * max(1, -(-array.nbytes // page))
    memory = mmap.mmap(-1, inside + 2 * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    offset = page if begins else page + inside - array.nbytes
    found = np.frombuffer(memory, array.dtype, array.size, offset=offset)
    found[:] = array
    for guard in (address, address + page + inside):
        assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(page), 0) == 0
    return found
