"""Apache Arrow's sparse tensors: COO, CSR, CSC and CSF, whose buffers are shared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.tensor.borders.foreign_parts import Entries, ForeignParts, Given, Lines
from mlir_sparse.tensor.borders.imported_library import imported, index_pair
from mlir_sparse.tensor.borders.listed_entries import listed_entries

if TYPE_CHECKING:
    from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["arrow_of", "arrow_parts"]


def arrow_parts(source: Any) -> Given:
    """Returns the buffers of a sparse tensor of Arrow's as arrays."""
    kind, shape = type(source).__name__, tuple(source.shape)
    if kind == "SparseCOOTensor":
        values, indices = source.to_numpy()
        return Entries(shape, indices, values.ravel(), interleaved=True)
    if kind in ("SparseCSRMatrix", "SparseCSCMatrix"):
        values, positions, coordinates = source.to_numpy()
        return Lines(kind[6:9], shape, positions.ravel(), coordinates.ravel(), values.ravel())
    values, positions, coordinates = source.to_numpy()
    order = list(source.axis_order) if hasattr(source, "axis_order") else list(range(len(shape)))
    dims = ", ".join(f"d{d}" for d in range(len(shape)))
    encoding = as_encoding(f"({dims}) -> ({', '.join(f'd{d} : compressed' for d in order)})")
    columns = [column.ravel() for column in coordinates]
    first = np.array([0, len(columns[0])], columns[0].dtype)
    return ForeignParts(encoding, shape, (first, *(each.ravel() for each in positions)), tuple(columns), values.ravel())


def arrow_of(tensor: SparseTensor) -> Any:
    """Returns a tensor as SparseCSRMatrix or SparseCSCMatrix of the same storage, else as SparseCOOTensor."""
    arrow = imported("pyarrow", "Apache Arrow", "pyarrow")
    pair = index_pair(tensor)
    if pair is None:
        coordinates, values = listed_entries(tensor)
        return arrow.SparseCOOTensor.from_numpy(values, np.ascontiguousarray(coordinates.T), tensor.shape)
    name, positions, coordinates = pair
    make = arrow.SparseCSRMatrix if name == "CSR" else arrow.SparseCSCMatrix
    return make.from_numpy(tensor.storage.values, positions, coordinates, tensor.shape)
