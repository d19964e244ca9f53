"""Arguments `axis=` and `axes=` of NumPy's functions, each in the forms that NumPy takes there, and in no other.

Reductions take an integer or a tuple, functions of one axis an integer; those that move axes around take lists too.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from mlir_sparse.errors import RankError
from mlir_sparse.text.shortened import shortened

__all__ = ["axes_of", "axis_of", "listed_axes", "rolled_axes"]


def axes_of(axis: Any, rank: int) -> tuple[int, ...]:
    """Returns the axes of an argument that is an integer, a tuple of integers, or None for all axes; ascending.

    Raises:
        RankError: for other arguments, and for axes out of range or repeated.

    >>> axes_of(None, 2), axes_of(-1, 2), axes_of((1, 0), 2)
    ((0, 1), (1,), (0, 1))
    >>> axes_of([0], 2)
    Traceback (most recent call last):
    ...
    mlir_sparse.errors.RankError: expected axis= of an integer or a tuple of them, but got [0]
    """
    if axis is None:
        return tuple(range(rank))
    given = axis if isinstance(axis, tuple) else (axis,)
    try:
        numbers = [_integer(number) for number in given]
    except Exception:  # a user's object may raise anything
        raise RankError(f"expected axis= of an integer or a tuple of them, but got {shortened(repr(axis))}") from None
    found = sorted(_in_range(number, rank) for number in numbers)
    if len(set(found)) < len(found):
        raise RankError(f"expected each axis once, but got axis={axis!r}")
    return tuple(found)


def axis_of(axis: Any, rank: int) -> int:
    """Returns the axis of an argument that is one integer.

    Raises:
        RankError: for other arguments, and for an axis out of range.

    >>> axis_of(-1, 2)
    1
    """
    try:
        number = _integer(axis)
    except Exception:  # a user's object may raise anything
        raise RankError(f"expected an integer for an axis, but got {shortened(repr(axis))}") from None
    return _in_range(number, rank)


def listed_axes(axis: Any) -> tuple[Any, ...]:
    """Returns the axes of an argument that is an integer or any collection of axes in order, unchecked.

    >>> listed_axes(1), listed_axes([0, 1]), listed_axes(np.array([1]))
    ((1,), (0, 1), (1,))
    """
    if isinstance(axis, np.ndarray) and axis.ndim == 1:
        return tuple(axis.tolist())
    return tuple(axis) if isinstance(axis, tuple | list | range) else (axis,)


def rolled_axes(rank: int, axis: Any, start: Any) -> tuple[int, ...]:
    """Returns the order of axes in which one stands before another, or behind the last, as `np.rollaxis` has them.

    >>> rolled_axes(3, 2, 0), rolled_axes(3, 0, 3)
    ((2, 0, 1), (1, 2, 0))
    """
    moved, before = axis_of(axis, rank), rank if start == rank else axis_of(start, rank)
    order = [at for at in range(rank) if at != moved]
    order.insert(before - (moved < before), moved)
    return tuple(order)


def _integer(number: Any) -> int:
    if isinstance(number, bool | np.bool_):
        raise TypeError("a truth value is no axis")
    return operator.index(number)


def _in_range(number: int, rank: int) -> int:
    if not -rank <= number < rank:
        raise RankError(f"expected an axis from {-rank} to {rank - 1}, but got {number}")
    return number % rank
