"""Matrices and vectors of python-graphblas; what it exports is a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse.errors import DTypeError, RankError
from mlir_sparse.tensor.borders.foreign_parts import Entries, Given, Lines
from mlir_sparse.tensor.borders.imported_library import imported, index_pair
from mlir_sparse.tensor.borders.listed_entries import listed_entries
from mlir_sparse.tensor.level_storage import Array

if TYPE_CHECKING:
    from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["graphblas_of", "graphblas_parts"]


def graphblas_parts(source: Any) -> Given:
    """Returns the arrays of a Matrix as CSR, of a Vector as SparseVector; entries that are absent become zeros.

    Raises:
        DTypeError: for elements that are arrays, or of a type that users define.
    """
    if source.dtype.np_type.kind == "V":  # arrays and structures
        raise DTypeError(
            f"expected numbers as elements of a {type(source).__name__}, but got {source.dtype.np_type}: pass a "
            f"{type(source).__name__} of each of their numbers"
        )
    if len(source.shape) == 1:
        coordinates, values = source.to_coo()
        return Entries(source.shape, _signed(coordinates)[np.newaxis], np.ascontiguousarray(values))
    if not hasattr(source, "to_csr"):  # a transposed matrix, or an expression
        source = source.new()
    if source.shape[0] > 1 << 31:  # more positions than memory has
        rows, columns, values = source.to_coo()
        return Entries(source.shape, (_signed(rows), _signed(columns)), values)
    positions, coordinates, values = _rows(source)
    return Lines("CSR", source.shape, _signed(positions), _signed(coordinates), values)


def _rows(source: Any) -> tuple[Array, Array, Array]:
    """Returns the arrays of a matrix by rows; of values that are all equal GraphBLAS has one."""
    own = getattr(source, "ss", None)  # what SuiteSparse has beyond the standard, without `to_csr`'s views
    if own is None:
        positions, coordinates, values = source.to_csr()
        return positions, coordinates, np.ascontiguousarray(values)
    parts = own.export("csr", sort=True)
    positions, coordinates, values = parts["indptr"], parts["col_indices"], parts["values"]
    if parts["is_iso"]:
        values = values.repeat(coordinates.size)
    return positions, coordinates, values


def _signed(indices: Array) -> Array:
    """Returns indices, which GraphBLAS keeps below 2^60, as signed numbers of the same bits."""
    return indices.view(np.int64) if indices.dtype == np.uint64 else indices


def _unsigned(indices: Array) -> Array:
    return indices.view(np.uint64) if indices.dtype == np.int64 else indices.astype(np.uint64)


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
    rows, columns = tensor.shape
    arrays = _unsigned(positions), _unsigned(coordinates), tensor.storage.values
    own = getattr(graphblas.Matrix, "ss", None)
    if own is None:
        kind = graphblas.Matrix
        return kind.from_csr(*arrays, ncols=columns) if name == "CSR" else kind.from_csc(*arrays, nrows=rows)
    # SuiteSparse copies the arrays; the standard's import also looks at each.
    given = {"nrows": rows, "ncols": columns, "indptr": arrays[0], "values": arrays[2]}
    if name == "CSR":
        return own.import_csr(**given, col_indices=arrays[1], sorted_cols=True)
    return own.import_csc(**given, row_indices=arrays[1], sorted_rows=True)
