"""Workspaces that calls have left empty, for the next calls of a thread.

A workspace has an element for each column of a sparse result, all 0 before a call. Loops leave it so: each row takes
its entries out again. To clear it for each call takes longer than some products of few rows.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from mlir_sparse import _native

__all__ = ["give_back", "take_workspace"]

Array = np.ndarray[Any, Any]
_Key = tuple[tuple[int, Any], ...]

_LEAST, _MOST = 1 << 16, 1 << 24
"""The bytes of workspaces that are kept: smaller ones are cleared at once, and larger ones by the system."""
_KEPT = 2


class _Kept(threading.local):
    def __init__(self) -> None:
        self.workspaces: dict[_Key, list[Array]] = {}


_kept = _Kept()


def take_workspace(lengths: Sequence[int], dtypes: Sequence[np.dtype[Any]]) -> list[Array]:
    """Returns arrays of zeros, which are the caller's until it gives them back."""
    key = tuple(zip(lengths, dtypes, strict=True))
    found = _kept.workspaces.pop(key, None)
    return [_native.reserve(*one, zeroed=True) for one in key] if found is None else found


def give_back(workspace: list[Array]) -> None:
    """Keeps arrays that are all zeros again; those of a call that was left in the middle are to be dropped."""
    if _LEAST <= sum(array.nbytes for array in workspace) <= _MOST:
        kept = _kept.workspaces
        kept[tuple((len(array), array.dtype) for array in workspace)] = workspace
        while len(kept) > _KEPT:
            del kept[next(iter(kept))]
