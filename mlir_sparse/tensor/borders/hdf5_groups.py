"""Sparse matrices of anndata in HDF5 and Zarr: groups of `data`, `indices` and `indptr`, read whole, and written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse.errors import FileFormatError, OperandError
from mlir_sparse.tensor.borders.anndata_attributes import matrix_format, matrix_shape
from mlir_sparse.tensor.borders.foreign_parts import Lines
from mlir_sparse.tensor.borders.imported_library import index_pair

if TYPE_CHECKING:
    from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["group_of", "group_parts", "is_sparse_group"]


def is_sparse_group(source: Any) -> bool:
    """Returns whether a group of HDF5 or Zarr is a sparse matrix.

    Raises:
        OperandError: for a group that cannot be read, as one of a file that is closed.
    """
    try:
        return matrix_format(source.attrs) is not None
    except (KeyError, OSError, RuntimeError, ValueError) as error:
        raise OperandError(f"expected a group of an open file, but got from reading it: {error}") from error


def group_parts(source: Any) -> Lines:
    """Returns the arrays of a group, which are read from its file.

    Raises:
        FileFormatError: for a group that lacks an array or its shape.
    """
    name, shape = matrix_format(source.attrs), matrix_shape(source.attrs)
    missing = [name for name in ("data", "indices", "indptr") if name not in source]
    if name is None or shape is None or missing:
        raise FileFormatError(
            "expected a group with data, indices, indptr and a shape of two extents, "
            f"but got no {missing[0] if missing else 'such shape'} in {source.name}"
        )
    values, coordinates, positions = (np.asarray(source[name][...]) for name in ("data", "indices", "indptr"))
    return Lines(name, shape, positions, coordinates, values)


def group_of(tensor: SparseTensor, group: Any = None) -> Any:
    """Writes a matrix into an empty group as anndata reads it, and returns the group.

    Args:
        tensor: a matrix; CSR and CSC as they are, other storage as CSR.
        group: a group of h5py or zarr.

    Raises:
        OperandError: without a group, or with one that has members.
    """
    if group is None or not hasattr(group, "attrs") or len(group):
        raise OperandError(
            "expected an empty group to write to, but got none: A.to('anndata', group=file.create_group('X'))"
        )
    rows = tensor if index_pair(tensor) is not None else tensor.convert("CSR")
    pair = index_pair(rows)
    assert pair is not None
    name, positions, coordinates = pair
    arrays = {"data": rows.storage.values, "indices": coordinates, "indptr": positions}
    make = getattr(group, "create_array", None) or group.create_dataset
    for key, array in arrays.items():
        make(key, data=array)
    group.attrs["encoding-type"] = f"{name.lower()}_matrix"
    group.attrs["encoding-version"] = "0.1.0"
    group.attrs["shape"] = list(tensor.shape)
    return group
