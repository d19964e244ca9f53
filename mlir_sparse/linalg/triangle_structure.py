"""Tensors as triangles for native code: the structure, kept with the tensor, and the values as they are now."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.errors import SingularMatrixError
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.convert.convert import serves_as
from mlir_sparse.tensor.level_storage import Array

__all__ = ["index_arrays", "solve_triangle", "with_rows"]

_ROWS, _COLUMNS = as_encoding("CSR"), as_encoding("CSC")
_NARROW = np.iinfo(np.int32).max


def solve_triangle(matrix: SparseTensor, given: Array, sides: Array, *, lower: bool, unit: bool) -> None:
    """Solves a triangular system for right sides.

    Args:
        matrix: a square matrix; of storage other than CSR, CSC and BSR a copy in CSR is solved with.
        given: the right sides, a contiguous array of shape (n,) or (n, k), of the type to solve in.
        sides: where the solutions go: the same array, which they replace, or another one like it.
        lower: whether the lower triangle counts, and not the upper.
        unit: whether the diagonal is taken to be 1, whatever is stored.

    Raises:
        SingularMatrixError: for a diagonal element that is zero or missing, with its row.
    """
    if not _is_native(matrix):
        matrix = matrix.convert("CSR")
    known = matrix._triangles or {}
    triangle = known.get(lower)
    if triangle is None:
        triangle = _triangle(matrix, lower)
        matrix._triangles = {**known, lower: triangle}  # replaced whole: other threads read it
    values = np.ascontiguousarray(matrix.storage.values, sides.dtype)
    row = triangle.solve(values, given, sides, unit)
    if row >= 0:
        which = "lower" if lower else "upper"
        raise SingularMatrixError(
            f"expected a diagonal without zeros to solve with a {which} triangle, but got none at row {row}: "
            "add it, or pass unit_diagonal=True for ones"
        )


def with_rows(matrix: SparseTensor) -> SparseTensor:
    """Returns a matrix as CSR, with entries in order and without repeats; itself if it is that."""
    return matrix if serves_as(matrix.encoding, _ROWS) and not matrix.storage.view else matrix.convert("CSR")


def index_arrays(matrix: SparseTensor) -> tuple[Array, Array]:
    """Returns positions and coordinates of compressed rows, columns or rows of blocks, in 32 bits or both in 64."""
    positions, coordinates = matrix.storage.positions[1], matrix.storage.coordinates[1]
    assert positions is not None
    assert coordinates is not None
    narrow = coordinates.size <= _NARROW and max(matrix.shape) <= _NARROW
    both_wide = positions.dtype == coordinates.dtype == np.int64
    width = np.int32 if narrow and not both_wide else np.int64
    return np.ascontiguousarray(positions, width), np.ascontiguousarray(coordinates, width)


def _triangle(matrix: SparseTensor, lower: bool) -> Any:
    encoding = matrix.encoding
    block = 1 if encoding.is_permutation else encoding.block_of(0)
    by_columns = encoding.is_permutation and encoding.level_order == (1, 0)
    return _native.Triangle(*index_arrays(matrix), matrix.shape[0], lower, by_columns, block)


def _is_native(matrix: SparseTensor) -> bool:
    encoding = matrix.encoding
    if matrix.storage.view:
        return False
    return serves_as(encoding, _ROWS) or serves_as(encoding, _COLUMNS) or _has_square_blocks(encoding)


def _has_square_blocks(encoding: Encoding) -> bool:
    if encoding.is_permutation or encoding.lvl_rank != 4:
        return False
    block = (encoding.block_of(0), encoding.block_of(1))
    return block[0] == block[1] > 1 and serves_as(encoding, as_encoding("BSR", block=block))
