"""Matrices and vectors of python-graphblas; what it exports is a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse.errors import RankError
from mlir_sparse.tensor.borders.foreign_parts import Entries, Given, Lines
from mlir_sparse.tensor.borders.imported_library import imported, index_pair
from mlir_sparse.tensor.borders.listed_entries import listed_entries
from mlir_sparse.tensor.level_storage import Array

if TYPE_CHECKING:
    from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["graphblas_of", "graphblas_parts"]


def graphblas_parts(source: Any) -> Given:
    """Returns the arrays of a Matrix as CSR, of a Vector as SparseVector; entries that are absent become zeros."""
    if len(source.shape) == 1:
        coordinates, values = source.to_coo()
        return Entries(source.shape, _signed(coordinates)[np.newaxis], np.ascontiguousarray(values))
    if not hasattr(source, "to_csr"):  # a transposed matrix, or an expression
        source = source.new()
    if source.shape[0] > 1 << 31:  # more positions than memory has
        rows, columns, values = source.to_coo()
        return Entries(source.shape, (_signed(rows), _signed(columns)), values)
    positions, coordinates, values = source.to_csr()
    # Of values that are all equal GraphBLAS has one, which it gives as an array without steps.
    stored = np.ascontiguousarray(values)
    return Lines("CSR", source.shape, _signed(positions), _signed(coordinates), stored)


def _signed(indices: Array) -> Array:
    """Returns indices, which GraphBLAS keeps below 2^60, as signed numbers of the same bits."""
    return indices.view(np.int64) if indices.dtype == np.uint64 else indices


def graphblas_of(tensor: SparseTensor) -> Any:
    """Returns a tensor as a Matrix or a Vector.

    Raises:
        RankError: for more dimensions than two.
    """
    graphblas = imported("graphblas", "python-graphblas", "python-graphblas")
    if tensor.ndim > 2:
        raise RankError(f"expected a matrix or a vector for GraphBLAS, but got shape {tensor.shape}")
    if tensor.ndim == 1:
        coordinates, values = listed_entries(tensor)
        return graphblas.Vector.from_coo(coordinates[0], values, size=tensor.shape[0])
    pair = index_pair(tensor)
    if pair is None:
        coordinates, values = listed_entries(tensor)
        return graphblas.Matrix.from_coo(*coordinates, values, nrows=tensor.shape[0], ncols=tensor.shape[1])
    name, positions, coordinates = pair
    values = tensor.storage.values
    if name == "CSR":
        return graphblas.Matrix.from_csr(positions, coordinates, values, ncols=tensor.shape[1])
    return graphblas.Matrix.from_csc(positions, coordinates, values, nrows=tensor.shape[0])
