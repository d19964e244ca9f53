"""Tensors as lists of entries, which most libraries have: the stored arrays themselves where these are such a list."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from mlir_sparse import _native
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.encoding.derived_fact import fact_of
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.tensor.convert.convert import serves_as
from mlir_sparse.tensor.level_storage import Array

if TYPE_CHECKING:
    from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["is_listed_in_order", "listed_columns", "listed_entries", "side_by_side"]


def listed_entries(tensor: SparseTensor) -> tuple[Array, Array]:
    """Returns coordinates, of shape (rank, entries) in 32 or 64 bits, and values: in row-major order, each entry once.

    Of COO, SoA-COO and vectors both are on the tensor's memory, coordinates read-only. Those of COO are columns of one
    array: their transpose is contiguous.
    """
    columns, values = listed_columns(tensor)
    return side_by_side(columns), values


def listed_columns(tensor: SparseTensor) -> tuple[list[Array], Array]:
    """Returns the same, the coordinates as one array a dimension: those of SoA-COO lie anywhere in memory."""
    if not is_listed_in_order(tensor):
        tensor = tensor.convert(_wanted(tensor.ndim))
    columns = [column for column in tensor.storage.coordinates if column is not None]
    if columns[0].dtype.itemsize < 4:
        columns = [column.astype(np.int32) for column in columns]
    return columns, tensor.storage.values


def is_listed_in_order(tensor: SparseTensor) -> bool:
    """Returns whether a tensor is stored as a list of entries in row-major order, each once."""
    return not tensor.storage.view and _is_list(tensor.encoding)


def side_by_side(columns: Sequence[Array]) -> Array:
    """Returns an array whose rows are the columns, on their memory if they lie at equal distances in it."""
    joined = _native.join_views(columns)
    return np.stack(columns) if joined is None else joined


@lru_cache(maxsize=16)
def _wanted(rank: int) -> Encoding:
    return as_encoding("SparseVector") if rank == 1 else as_encoding("SoA-COO", rank=rank)


@fact_of
def _is_list(encoding: Encoding) -> bool:
    """Returns whether storage is one coordinate an entry and dimension, in row-major order, each entry once."""
    rank = encoding.dim_rank
    kinds = (_wanted(rank), as_encoding("COO", rank=rank)) if rank > 1 else (_wanted(rank),)
    return any(serves_as(encoding, kind) for kind in kinds)
