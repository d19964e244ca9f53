"""Tensors as sequences and numbers of Python's, with NumPy's meaning, whatever stands where nothing is stored."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from mlir_sparse.errors import OperandError, RankError

__all__ = ["AsSequences", "is_no_array"]


def is_no_array(value: object) -> bool:
    """Returns whether a value compares with a tensor as a whole, and not with its elements."""
    return value is None or value is NotImplemented or isinstance(value, str | bytes | type)


class AsSequences:
    """The methods by which Python's own syntax and functions take a tensor; all rest on its shape and indexing."""

    __slots__ = ()

    def __len__(self) -> int:
        return _shape(self)[0]

    def __iter__(self) -> Iterator[Any]:
        own: Any = self
        return (own[number] for number in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(self == value))

    def __bool__(self) -> bool:
        if math.prod(_shape(self)) != 1:
            raise OperandError(
                f"expected one element to be true or false, but got shape {_shape(self)}: use A.any() or A.all()"
            )
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __index__(self) -> int:
        own: Any = self
        if _shape(self) or own.dtype.kind not in "iu":
            raise OperandError(
                f"expected an integer of no dimension as an index, but got {own.dtype} of shape {_shape(self)}"
            )
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def item(self) -> Any:
        """Returns the only element as a number of Python's.

        Raises:
            RankError: for another number of elements than one.
        """
        shape = _shape(self)
        if math.prod(shape) != 1:
            raise RankError(f"expected a tensor of one element, but got shape {shape}")
        own: Any = self
        return own[(0,) * len(shape)].item()


def _shape(tensor: Any) -> tuple[int, ...]:
    shape: tuple[int, ...] = tensor.shape
    return shape
