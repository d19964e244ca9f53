"""Concatenation and stacking of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from mlir_sparse.arrays.axis_arguments import axis_of
from mlir_sparse.arrays.entry_lists import EntryList, entries_of
from mlir_sparse.arrays.reshape import expanded, reshaped
from mlir_sparse.encoding.buffer_layout import check_extents
from mlir_sparse.errors import ExtentError, RankError
from mlir_sparse.runtime import operand_check
from mlir_sparse.tensor import SparseTensor, tensor
from mlir_sparse.tensor.level_ranges import joined_along
from mlir_sparse.tensor.matrix_lines import beside, line_order, lists_beside

__all__ = ["as_tensors", "concatenated", "stacked"]


def as_tensors(sources: Sequence[Any]) -> list[SparseTensor]:
    """Returns operands as tensors, with the nonzero elements of arrays."""
    values = [operand_check.value_of(f"operand {number}", source) for number, source in enumerate(sources)]
    if not values:
        raise RankError("expected one tensor or more to join, but got none")
    return [value if isinstance(value, SparseTensor) else tensor(np.atleast_1d(value)) for value in values]


def concatenated(sources: Sequence[Any], axis: int | None = 0) -> SparseTensor:
    """Returns tensors and arrays concatenated along an axis, with the storage of the first tensor.

    Args:
        sources: tensors and arrays whose extents agree except along the axis.
        axis: the axis; None joins all of them flattened.

    Raises:
        ExtentError, RankError: for shapes that do not fit.

    >>> concatenated([tensor([[1.0, 0.0]]), np.array([[0.0, 2.0]])]).to_numpy().tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    parts = as_tensors(sources)
    if axis is None:
        parts, axis = [reshaped(part, (-1,)) if part.ndim > 1 else part for part in parts], 0
    at = axis_of(axis, parts[0].ndim)
    first = parts[0].shape
    for part in parts:
        if part.ndim != len(first):
            raise RankError(f"expected tensors of {len(first)} dimensions to join, but got {part.ndim}")
        if part.shape[:at] != first[:at] or part.shape[at + 1 :] != first[at + 1 :]:
            raise ExtentError(f"expected shapes that agree but for axis {at}, but got {first} and {part.shape}")
    joined = joined_along(parts, at)
    if joined is None and parts[0].ndim == 2 and line_order(parts[0].encoding) == (1 - at, at):
        joined = beside(parts)
    elif joined is None and parts[0].ndim == 2 and at == 1:
        joined = lists_beside(parts)
    if joined is not None:
        return joined
    return _joined(parts, at, next((s for s in sources if isinstance(s, SparseTensor)), parts[0]))


def _joined(parts: Sequence[SparseTensor], at: int, like: SparseTensor) -> SparseTensor:
    lists = [entries_of(part) for part in parts]
    starts = list(accumulate((part.shape[at] for part in parts), initial=0))
    shape = (*parts[0].shape[:at], starts[-1], *parts[0].shape[at + 1 :])
    check_extents(shape)  # before shifted coordinates overflow
    dims = tuple(
        np.concatenate(
            [entries.dims[dim] + (start if dim == at else 0) for entries, start in zip(lists, starts, strict=False)]
        )
        for dim in range(parts[0].ndim)
    )
    values = np.concatenate([entries.values for entries in lists])
    return EntryList(dims, values, shape).tensor(like)


def stacked(sources: Sequence[Any], axis: int = 0) -> SparseTensor:
    """Returns tensors and arrays of one shape along a new axis."""
    parts = as_tensors(sources)
    for part in parts:
        if part.shape != parts[0].shape:
            raise ExtentError(f"expected tensors of one shape to stack, but got {parts[0].shape} and {part.shape}")
    at = axis_of(axis, parts[0].ndim + 1)
    return concatenated([expanded(part, at) for part in parts], at)
