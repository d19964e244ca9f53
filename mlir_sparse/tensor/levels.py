"""A tensor seen over its levels: the plain tensor that its buffers are."""

from __future__ import annotations

import numpy as np

from mlir_sparse.encoding.level_space import Buffer, LevelView
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.tensor.sparse_tensor import SparseTensor
from mlir_sparse.tensor.storage import Array, LevelStorage

__all__ = ["level_view"]


def level_view(tensor: SparseTensor) -> SparseTensor:
    """Returns a tensor of rank lvl_rank with the same buffers, a dimension for each level.

    Arrays are shared, but for coordinates that do not start at 0: those are shifted copies.

    >>> from mlir_sparse.tensor import tensor
    >>> level_view(tensor([[1.0, 2.0], [0.0, 3.0]], "BSR(2, 2)")).shape
    (1, 1, 2, 2)
    """
    space, storage = tensor.encoding.level_space(), tensor.storage
    offsets = space.offsets(tensor.shape)
    shape = space.shape(tensor.shape)
    plain = space.encoding.with_widths(tensor.encoding.pos_width, tensor.encoding.crd_width)
    positions, coordinates = [], []
    for view, offset in zip(space.views, offsets, strict=True):
        positions.append(_buffer(view, view.positions, storage.positions[view.source], 0))
        coordinates.append(_buffer(view, view.coordinates, storage.coordinates[view.source], offset))
    levels = LevelStorage(plain, shape, tuple(positions), tuple(coordinates), storage.values)
    return SparseTensor._trusted(plain, shape, levels)


def _buffer(view: LevelView, kind: Buffer, stored: Array | None, offset: int) -> Array | None:
    match kind:
        case Buffer.NONE:
            return None
        case Buffer.STORED:
            return stored
        case Buffer.SHIFTED:
            assert stored is not None
            return np.add(stored, offset, dtype=stored.dtype)
        case Buffer.MADE:
            rule = "expected a level whose buffers are stored"
            raise UnsupportedError(f"{rule}, but got {view.type}: convert the tensor")
