"""Parts of operands whose subscript is a sum with the variable of a cut: those of neighbouring pieces overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import dask.array
import numpy as np

from mlir_sparse.notation import IndexVar
from mlir_sparse.plan.halos import Halo

__all__ = ["ends_along", "laid_out", "ranges_read"]

Range = tuple[int, int]


def ends_along(ends: Sequence[int], halo: Halo | None, extent: int) -> tuple[int, ...]:
    """Returns where pieces begin along a variable, and its extent, given where chunks of an operand end.

    Args:
        ends: 0, and the ends of the chunks.
        halo: what pieces read of the operand; None where its subscript is the variable.
        extent: the extent of the variable.
    """
    if halo is None:
        return tuple(ends)
    inside = {end // halo.factor for end in ends if end // halo.factor < extent}
    return (*sorted(inside | {0}), extent) if extent else (0, 0)


def ranges_read(
    ends: Sequence[int], halo: Halo | None, extents: Mapping[IndexVar, int], size: int
) -> tuple[list[Range], list[int]]:
    """Returns the range of an operand's axis that each piece reads, and where these ranges lie one behind the other.

    Args:
        ends: where pieces begin, and the extent.
        halo: what pieces read; None where that is the coordinates between two ends.
        extents: the extent of each index variable.
        size: the extent of the axis.
    """
    if halo is None:
        return list(pairwise(ends)), list(ends)
    read = [halo.part(low, high, extents) for low, high in pairwise(ends)]
    read = [(begin, max(begin, min(end, size))) for begin, end in read]
    return read, np.cumsum([0, *(end - begin for begin, end in read)]).tolist()


def laid_out(value: Any, axis: int, ranges: Sequence[Range]) -> Any:
    """Returns a dask.array with the ranges of an axis one behind the other."""
    before = (slice(None),) * axis
    return dask.array.concatenate([value[(*before, slice(*one))] for one in ranges], axis)
