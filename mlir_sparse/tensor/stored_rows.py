"""Some rows of a matrix that is stored by rows, without a copy of entries."""

from __future__ import annotations

from mlir_sparse.tensor.level_storage import LevelStorage
from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["rows_between"]


def rows_between(matrix: SparseTensor, begin: int, end: int) -> SparseTensor:
    """Returns the rows of a matrix from one on, up to another.

    Args:
        matrix: a matrix in CSR, of any widths.
        begin: the number of the first row.
        end: the number of the row behind the last.

    >>> from mlir_sparse.tensor import tensor
    >>> A = tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]], "CSR")
    >>> rows_between(A, 1, 3).to_numpy().tolist()
    [[0.0, 2.0], [3.0, 4.0]]
    """
    positions, columns, values = matrix.storage.buffers()
    first, last = int(positions[begin]), int(positions[end])
    starts, shape = positions[begin : end + 1] - positions[begin], (end - begin, matrix.shape[1])
    storage = LevelStorage(matrix.encoding, shape, (None, starts), (None, columns[first:last]), values[first:last])
    return SparseTensor._trusted(matrix.encoding, shape, storage)
