"""Calls of `evaluate` that were made before: their kernels, by text, options and the types of the operands.

To parse, check and infer anew takes a hundred times as long as such a call itself.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse.compile.compiled_kernel import CompiledKernel
from mlir_sparse.compile.definitions.defined_operators import DefinedOperators
from mlir_sparse.compile.statement_optimizer import get_optimize
from mlir_sparse.process.first_use import import_at_first_call
from mlir_sparse.tensor import SparseTensor

if TYPE_CHECKING:
    from mlir_sparse.tensor.sketch_of import rounded_sketch
else:
    import_at_first_call(__name__, {"tensor.sketch_of": ("rounded_sketch",)})

__all__ = ["REPEATED", "RepeatedCalls"]

_MOST = 512
# Values of these types compare equal only where `evaluate` takes them for the same: True is no number of threads.
_PLAIN = frozenset((str, int, bool, type(None)))
_NUMBERS = frozenset((float, complex))


class _CallByData:
    """Stands for the key of a call that data decides: it has a hash by identity, and a key is long."""

    __slots__ = ()


class RepeatedCalls:
    """The kernels of calls."""

    def __init__(self) -> None:
        # Its `popitem` is one step, where threads keep kernels at once.
        self._kernels: OrderedDict[Hashable, CompiledKernel] = OrderedDict()
        self._by_data: dict[Hashable, _CallByData] = {}

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
        kinds = tuple(map(type, options))
        if not _PLAIN.issuperset(kinds):
            return None
        if optimize is None:
            optimize = get_optimize()
        found: list[Any] = [text, form, options, kinds, type(optimize), str(optimize)]
        for name, value in named.items():
            kind = type(value)
            if kind is SparseTensor:
                storage = value._storage
                found += (name, storage.encoding, storage.values.dtype, len(value._shape))
            elif kind is np.ndarray:
                found += (name, value.dtype, value.ndim)
            elif kind in _NUMBERS:
                found += (name, kind)
            elif issubclass(kind, DefinedOperators):
                found += (name, value.signature)
            else:
                return None
        key = tuple(found)
        by_data = self._by_data.get(key)
        return key if by_data is None else (by_data, *map(rounded_sketch, named.values()))

    def get(self, key: Hashable) -> CompiledKernel | None:
        """Returns the kernel of earlier calls with a key."""
        return None if key is None else self._kernels.get(key)

    def keep(self, key: Hashable, kernel: CompiledKernel, *, by_data: bool) -> None:
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
            self._by_data[key] = _CallByData()
        else:
            while len(self._kernels) >= _MOST:
                self._kernels.popitem(last=False)
            self._kernels[key] = kernel

    def known(self, text: str, semiring: str | None, named: Mapping[str, Any]) -> CompiledKernel | None:
        """Returns the kernel that `evaluate` took for a statement on such operands; None where it keeps none.

        Args:
            text: index notation.
            semiring: the meaning of `+` and `*`.
            named: the operands.
        """
        return self.get(self.key(text, None, (semiring, "cpu", "auto", None, None, False), None, named))


REPEATED = RepeatedCalls()
"""The kernels of all calls of `evaluate`."""


def _has_sizes(key: Hashable) -> bool:
    return isinstance(key, tuple) and type(key[0]) is _CallByData
