"""Some of a tensor's entries, in the same storage, chosen by a mask."""

from __future__ import annotations

import numpy as np

from mlir_sparse import _native
from mlir_sparse.process.available_memory import check_fits
from mlir_sparse.tensor.dense_entries import lists_entries
from mlir_sparse.tensor.level_storage import Array, LevelStorage
from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["kept_entries"]


def kept_entries(tensor: SparseTensor, mask: Array, values: Array | None = None) -> SparseTensor | None:
    """Returns a tensor of the entries that a mask keeps, in the same storage; None where none of its levels lists them.

    Args:
        tensor: the whole.
        mask: a truth value for each entry, in storage order.
        values: as many values, of any element type, in place of the tensor's own.

    >>> from mlir_sparse.tensor.create import tensor
    >>> A = tensor([[0.0, 2.0], [3.0, 4.0]], "CSR")
    >>> kept_entries(A, A.storage.values > 2).to_numpy().tolist()
    [[0.0, 0.0], [3.0, 4.0]]
    """
    encoding, storage = tensor.encoding, tensor.storage
    if encoding.explicit_val is not None or lists_entries(encoding) is None:
        return None
    begins, coordinates, own = storage.buffers()
    stored = own if values is None else values
    check_fits(stored.nbytes + coordinates.nbytes, f"{own.size} entries")
    starts, named, kept = _native.kept_entries(begins.astype(np.int64, copy=False), mask, coordinates, stored)
    buffers = starts.astype(begins.dtype, copy=False), named, kept
    return SparseTensor._trusted(
        encoding, tensor.shape, LevelStorage.from_buffers(encoding, storage.level_sizes, buffers)
    )
