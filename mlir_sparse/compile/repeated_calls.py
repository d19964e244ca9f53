"""Calls of `evaluate` that were made before: their kernels, by text, options and the types of the operands.

To parse, check and infer anew takes a hundred times as long as such a call itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from mlir_sparse.compile.cpu_kernel import Kernel
from mlir_sparse.compile.statement_optimizer import get_optimize
from mlir_sparse.encoding import Sketch
from mlir_sparse.tensor import SparseTensor, sketch_of

__all__ = ["RepeatedCalls"]

_MOST = 512
# Values of these types compare equal only where `evaluate` takes them for the same: True is no number of threads.
_PLAIN = (str, int, bool, type(None))
_NUMBERS = (float, complex)


class RepeatedCalls:
    """The kernels of calls."""

    def __init__(self) -> None:
        self._kernels: dict[Hashable, Kernel] = {}
        self._by_data: set[Hashable] = set()

    def key(self, text: Any, out: Any, options: tuple[Any, ...], optimize: Any, named: Mapping[str, Any]) -> Hashable:
        """Returns what a call has in common with those that one kernel computes; None where only `evaluate` can say.

        Args:
            text: index notation.
            out: the storage of the result, or an array for it.
            options: the other options.
            optimize: how the statement is optimized.
            named: the operands.
        """
        form = np.ndarray if type(out) is np.ndarray else out
        if type(text) is not str or not (form is np.ndarray or type(form) in _PLAIN):
            return None
        if any(type(option) not in _PLAIN for option in options):
            return None
        if optimize is None:
            optimize = get_optimize()
        found: list[Any] = [text, form, options, tuple(map(type, options)), type(optimize), str(optimize)]
        for name, value in named.items():
            kind = type(value)
            if kind is SparseTensor:
                found += (name, value.encoding, value.dtype, value.ndim)
            elif kind is np.ndarray:
                found += (name, value.dtype, value.ndim)
            elif kind in _NUMBERS:
                found += (name, kind)
            else:
                return None
        key = tuple(found)
        return (key, *map(_size, named.values())) if key in self._by_data else key

    def get(self, key: Hashable) -> Kernel | None:
        """Returns the kernel of earlier calls with a key."""
        return None if key is None else self._kernels.get(key)

    def keep(self, key: Hashable, kernel: Kernel, *, by_data: bool) -> None:
        """Keeps the kernel of a call; the oldest goes where there are many.

        Args:
            key: the key of the call.
            kernel: the kernel.
            by_data: whether data decided how it computes: keys of such calls have the data's sketches from now on.
        """
        if key is None:
            return
        if by_data and not _has_sizes(key):
            if len(self._by_data) >= _MOST:
                self._by_data.clear()
            self._by_data.add(key)
        else:
            while len(self._kernels) >= _MOST:
                self._kernels.pop(next(iter(self._kernels)), None)
            self._kernels[key] = kernel


def _has_sizes(key: Hashable) -> bool:
    return isinstance(key, tuple) and isinstance(key[0], tuple)


def _size(value: Any) -> Hashable:
    """Returns what plans are chosen by: data that is alike, but for factors below 4, has one plan."""
    return _rounded(sketch_of(value)) if isinstance(value, SparseTensor | np.ndarray) else None


@lru_cache(maxsize=1024)
def _rounded(sketch: Sketch) -> Hashable:
    return sketch.rounded
