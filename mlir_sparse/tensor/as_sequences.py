"""Tensors as sequences and numbers of Python's, with NumPy's meaning, whatever stands where nothing is stored."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from mlir_sparse.errors import IndexRangeError, OperandError, RankError

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

    def item(self, *places: Any) -> Any:
        """Returns an element as a number of Python's, as NumPy's method does.

        Args:
            places: nothing for the only element; else its place in row-major order, or its coordinates, an integer an
                axis, which count from the end where they are negative.

        Raises:
            RankError: without places for another number of elements than one; for another number of coordinates.
            IndexRangeError: for places out of range.
            OperandError: for places that are no integers.

        >>> from mlir_sparse.tensor import tensor
        >>> A = tensor([[0.0, 5.0], [7.0, 0.0]])
        >>> A.item(1), A.item(-1, 0), A.item((1, 1))
        (5.0, 7.0, 0.0)
        """
        shape = _shape(self)
        own: Any = self
        return own[_coordinates(places, shape)].item()


def _coordinates(places: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    size = math.prod(shape)
    if not places and size != 1:
        raise RankError(f"expected a tensor of one element, but got shape {shape}: pass its place, as in A.item(0)")
    given = places[0] if len(places) == 1 and isinstance(places[0], tuple) else places
    if not all(isinstance(place, int | np.integer) for place in given):
        raise OperandError(f"expected integers as the place of an element, but got {places}")
    if not places:
        return (0,) * len(shape)
    if given is places and len(given) == 1:
        return _unravelled(int(given[0]), shape, size)
    if len(given) != len(shape):
        raise RankError(f"expected {len(shape)} coordinates or a place in row-major order, but got {places}")
    return tuple(int(place) for place in given)


def _unravelled(place: int, shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    if not -size <= place < size:
        raise IndexRangeError(f"expected a place from {-size} to {size - 1}, but got {place}")
    rest, found = place % size, []
    for extent in reversed(shape):
        rest, coordinate = divmod(rest, extent)
        found.append(coordinate)
    return tuple(reversed(found))


def _shape(tensor: Any) -> tuple[int, ...]:
    shape: tuple[int, ...] = tensor.shape
    return shape
