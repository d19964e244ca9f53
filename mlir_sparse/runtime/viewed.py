"""Calls on tensors that are read over their levels, as what users call: the short way to what is kept with a tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mlir_sparse import _native
from mlir_sparse.encoding import Encoding
from mlir_sparse.runtime.abi import operand_of
from mlir_sparse.tensor import SparseTensor, level_view

__all__ = ["Viewed"]


class Viewed:
    """A call with a dense result whose function takes the levels of some operands.

    Args:
        function: the call.
        order: where each of its operands is among those given.
        viewed: of the operands given that are seen over their levels, how they are stored: other storage may have the
            same levels, and mean another tensor.
    """

    def __init__(self, function: _native.Launcher, order: Sequence[int], viewed: Mapping[int, Encoding]) -> None:
        self._function = function
        self._order = order
        self._viewed = viewed

    def direct(self, operands: tuple[Any, ...], out: object = None) -> Any:
        """Returns the result; None where something is not as it must be, for the caller to say what."""
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
        return self._function.direct(tuple(ready[number] for number in self._order), out)
