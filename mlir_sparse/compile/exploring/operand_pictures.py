"""Operands for people: their types, their storage, and the level tree of a small example."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from mlir_sparse.compile.exploring.passes_value import OperandView
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.errors import SparseError
from mlir_sparse.tensor import SparseTensor, tensor

__all__ = ["operand_view"]

_COLUMNS = 32
_MATRIX = np.zeros((4, 6))
_MATRIX[[0, 0, 1, 1, 3, 3, 3], [0, 1, 0, 1, 1, 3, 4]] = [5, 1, 7, 3, 8, 4, 9]
# What storage that keeps to a triangle or to square matrices can hold.
_SQUARE = np.array([[5.0, 1, 0, 0], [7, 3, 2, 0], [0, 6, 4, 8], [0, 0, 0, 9]])


def operand_view(name: str, kind: TensorType, *, is_result: bool) -> OperandView:
    """Returns a tensor of a statement as a page shows it.

    Args:
        name: its name.
        kind: its type.
        is_result: whether it is computed.
    """
    shown = f"{kind}{' (result)' if is_result else ''}"
    if kind.encoding is None:
        return OperandView(name, shown, "dense: an array, all elements in memory")
    example = _example(kind.encoding, kind.dtype)
    if example is None:
        return OperandView(name, shown, kind.encoding.describe())
    sizes = " x ".join(map(str, example.shape))
    picture = example.storage.draw(columns=_COLUMNS).svg()
    text = f"an example: {sizes}, {example.nse} entries stored"
    return OperandView(name, shown, kind.encoding.describe(), picture, text)


@lru_cache(maxsize=64)
def _example(encoding: Encoding, dtype: DType) -> SparseTensor | None:
    """Returns a small tensor in a storage; None where none of ours fits it, as with other sizes of blocks."""
    for values in _candidates(encoding):
        try:
            return tensor(values.astype(dtype.numpy), encoding)
        except (SparseError, ValueError, TypeError):  # as each storage refuses what it cannot hold
            continue
    return None


def _candidates(encoding: Encoding) -> Iterator[np.ndarray]:
    rank = encoding.dim_rank
    blocks = [max(1, encoding.block_of(dim)) for dim in range(rank)]
    if rank == 0 or math.prod(blocks) > 64:
        return
    if rank == 1:
        yield _MATRIX[3]
    if rank == 2 and not any(4 % rows or 6 % columns for rows, columns in [blocks]):
        yield _MATRIX
    if rank == 2:
        yield from (_SQUARE, np.tril(_SQUARE), np.triu(_SQUARE))
    if rank == 3:
        yield np.stack([_MATRIX[:2, :3], _MATRIX[2:, 2:5]])
    # Two blocks a dimension, some of them empty.
    shape = [2 * block for block in blocks]
    values = np.arange(1.0, 1 + math.prod(shape)).reshape(shape)
    yield np.where((np.indices(shape).sum(0) + values) % 3 == 0, values, 0)
