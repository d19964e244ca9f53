"""Tensors of fibres, without a copy, and tensors with copies of the first levels of another."""

from __future__ import annotations

import numpy as np

from mlir_sparse import _native
from mlir_sparse.encoding import Encoding
from mlir_sparse.tensor.level_storage import Array, LevelStorage
from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["fibres_of", "of_rows", "shared_structure"]

# Bytes from which on a copy is worth a further thread on some machines: which, native code decides.
_SHARED = 1 << 18


def fibres_of(tensor: SparseTensor, depth: int, encoding: Encoding) -> SparseTensor:
    """Returns the tensor whose first dimension numbers the stored fibres of another, which keeps the last one.

    So calls find what was computed from its positions by the call before.

    Args:
        tensor: a tensor with plain dense and compressed levels.
        depth: the number of levels above the fibres; the last of them and the next are compressed.
        encoding: the encoding of the result: a dense level, then those of the fibres.

    >>> from mlir_sparse.encoding import encoding
    >>> from mlir_sparse.tensor import tensor
    >>> A = tensor([[[1.0, 2.0], [0.0, 0.0]], [[0.0, 0.0], [3.0, 0.0]]], "CSF")
    >>> fibres_of(A, 2, encoding("CSR").with_widths(32, 32)).to_numpy().tolist()
    [[1.0, 2.0], [3.0, 0.0]]
    """
    known = tensor._fibres
    if known is not None and known[0] == depth and known[1] == encoding:
        found: SparseTensor = known[2]
        return found
    storage = tensor.storage
    starts, above = storage.positions[depth], storage.coordinates[depth - 1]
    assert starts is not None
    assert above is not None
    places = len(above)
    positions = (None, starts[: places + 1], *storage.positions[depth + 1 :])
    coordinates = (None, *storage.coordinates[depth:])
    sizes = (places, *storage.level_sizes[depth:])
    # The view's dimensions are its levels, in order.
    levels = LevelStorage(encoding, sizes, positions, coordinates, storage.values)
    view = SparseTensor._trusted(encoding, sizes, levels)
    tensor._fibres = depth, encoding, view
    return view


def of_rows(rows: Array, tensor: SparseTensor, depth: int, encoding: Encoding, shape: tuple[int, ...]) -> SparseTensor:
    """Returns a tensor with copies of the first levels of another, and a contiguous row below each position in them."""
    sizes = (*tensor.storage.level_sizes[:depth], *rows.shape[1:])
    # Copies, as the owner of the operand's arrays may change them.
    buffers = (*map(_copied, shared_structure(tensor, depth)), rows.reshape(-1))
    return SparseTensor._trusted(encoding, shape, LevelStorage.from_buffers(encoding, sizes, buffers))


def shared_structure(tensor: SparseTensor, depth: int) -> tuple[Array, ...]:
    """Returns the positions and coordinates of the first levels of a tensor, as they are."""
    storage = tensor.storage
    if depth == len(storage.level_sizes):
        return storage.buffers()[:-1]
    pairs = zip(storage.positions[:depth], storage.coordinates[:depth], strict=True)
    return tuple(buffer for pair in pairs for buffer in pair if buffer is not None)


def _copied(buffer: Array) -> Array:
    copy = _native.reserve(len(buffer), buffer.dtype)
    if buffer.nbytes < _SHARED:
        np.copyto(copy, buffer)
    else:
        _native.concatenate((buffer,), (0,), copy)
    return copy
