"""Kernels of one call on level-space views of tensors: the fast path to the views that are cached with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.encoding import Encoding
from mlir_sparse.process.first_use import import_at_first_call
from mlir_sparse.runtime.call_arguments import operand_of
from mlir_sparse.tensor import SparseTensor

if TYPE_CHECKING:
    from mlir_sparse.tensor.level_view import level_view
else:
    import_at_first_call(__name__, {"tensor.level_view": ("level_view",)})

__all__ = ["LevelViewCall"]


class LevelViewCall:
    """A kernel of one call with a dense result on the level-space views of some operands.

    Args:
        function: the native launcher.
        order: the number of each of its operands among the kernel's.
        encodings: the encodings of the operands with views, by number: another encoding may have the same levels, and
            mean another tensor.
        framed: for each of the function's arrays whose first axis is indexed by diagonal plus row: the operand with the
            diagonals, and its dimension that the axis is.
    """

    def __init__(
        self,
        function: _native.Launcher,
        order: Sequence[int],
        viewed: Mapping[int, Encoding],
        framed: Mapping[int, tuple[int, int]],
    ) -> None:
        self._function = function
        self._order = order
        self._viewed = viewed
        self._framed = framed
        self._lows: tuple[tuple[int, ...], list[tuple[int, int]]] = (), []

    def direct(self, operands: tuple[Any, ...], out: object = None) -> Any:
        """Returns the result; None for operands that do not fit, which the caller then names."""
        if len(operands) != len(self._order):
            return None
        ready = list(operands)
        for number, encoding in self._viewed.items():
            tensor = operands[number]
            if not isinstance(tensor, SparseTensor):
                return None
            if tensor.encoding is not encoding and tensor.encoding != encoding:
                return None
            ready[number] = level_view(tensor)
            operand_of(ready[number])
        arguments = tuple(ready[number] for number in self._order)
        if not self._framed:
            return self._function.direct(arguments, out)
        for place, (number, dim) in self._framed.items():
            array, shape = arguments[place], operands[number].shape
            if not isinstance(array, np.ndarray) or not array.ndim or array.shape[0] != shape[dim] or 0 in shape:
                return None
        return self._function.framed(arguments, out, self._lows_of(operands))

    def _lows_of(self, operands: tuple[Any, ...]) -> list[tuple[int, int]]:
        """Returns for each framed array the element at the loops' index 0, which depends on the shapes of tensors."""
        shapes = tuple(size for number, _ in self._framed.values() for size in operands[number].shape)
        known, lows = self._lows
        if known == shapes:
            return lows
        lows = []
        for place, (number, dim) in self._framed.items():
            tensor = operands[number]
            low, _ = tensor.encoding.level_space().dim_bounds[dim]
            lows.append((place, min(0, int(low.evaluate((), tensor.shape)))))
        self._lows = shapes, lows
        return lows
