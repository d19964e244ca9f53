"""Sparse results that are small: for operands of known sizes one native call reserves, fills and trims buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import Encoding
from mlir_sparse.runtime.call_arguments import sparse_result
from mlir_sparse.runtime.sparse_result_buffers import SparseResultLayout
from mlir_sparse.tensor import SparseTensor

__all__ = ["SmallCall", "small_call"]

# Bytes of buffers for the most entries that there may be.
_MOST = 1 << 24
# No limit on the number of entries.
_ANY = 1 << 62


@dataclass(frozen=True, slots=True, eq=False)
class SmallCall:
    """A call with a small sparse result.

    Args:
        launcher: the function.
        forms: the shape of each operand, and the number of entries of a tensor.
        small: what the native call needs.
        encoding: the encoding of the result.
        shape: its shape.
        sizes: its level sizes.
    """

    launcher: _native.Launcher
    forms: tuple[tuple[tuple[int, ...], int | None], ...]
    small: _native.SmallResult
    encoding: Encoding
    shape: tuple[int, ...]
    sizes: tuple[int, ...]

    def run(self, operands: tuple[Any, ...]) -> SparseTensor | None:
        """Returns the result; None for operands of other sizes or types, and where more than one call is needed."""
        if len(operands) != len(self.forms):
            return None
        for one, (shape, entries) in zip(operands, self.forms, strict=True):
            if type(one) is SparseTensor:
                if one.nse != entries or one.shape != shape:
                    return None
            elif type(one) is not np.ndarray or entries is not None or one.shape != shape:
                return None
        buffers = self.launcher.filled(operands, self.small)
        return None if buffers is None else sparse_result(self.encoding, self.shape, self.sizes, buffers)


def small_call(
    launcher: _native.Launcher,
    layout: SparseResultLayout,
    operands: Sequence[np.ndarray[Any, Any] | SparseTensor],
    shape: tuple[int, ...],
    sizes: tuple[int, ...],
    most: int,
    points: int,
) -> SmallCall | None:
    """Returns the call for operands of the sizes that some have; None for a result that may be large.

    Args:
        launcher: the function.
        layout: the layout of the result.
        operands: arrays and tensors.
        shape: the shape of the result.
        sizes: its level sizes.
        most: the most entries that it may have.
        points: an estimate of the number of points to compute.
    """
    capacities = layout.capacities(sizes, most)
    lengths = layout.lengths([capacity + 1 for capacity in capacities])
    workspace = layout.workspace_lengths(sizes)
    if 8 * (sum(lengths) + sum(workspace)) + most * layout.entry_bytes > _MOST or most >= layout.most_positions:
        return None
    control = [*capacities, *sizes, *[0] * len(sizes), 0, _ANY, 0]
    small = _native.SmallResult(lengths, workspace, control, points)
    forms = tuple((one.shape, one.nse if isinstance(one, SparseTensor) else None) for one in operands)
    return SmallCall(launcher, forms, small, layout.encoding, shape, sizes)
