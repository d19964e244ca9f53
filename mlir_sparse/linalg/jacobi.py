"""Jacobi's preconditioner: the diagonal alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlir_sparse.errors import SingularMatrixError
from mlir_sparse.linalg.linear_map import LinearMap
from mlir_sparse.linalg.operands import least_type, square_matrix
from mlir_sparse.tensor.level_storage import Array

__all__ = ["Jacobi"]


class Jacobi(LinearMap):
    """The inverse of a matrix' diagonal.

    Args:
        A: a square matrix: a tensor, or anything `tensor` takes.

    Raises:
        SingularMatrixError: for a diagonal element that is zero or missing, with its row.

    >>> from mlir_sparse.tensor import tensor
    >>> Jacobi(tensor([[2.0, 1.0], [0.0, 4.0]])).solve(np.array([2.0, 4.0]))
    array([1., 1.])
    """

    def __init__(self, A: Any) -> None:
        matrix = square_matrix(A)
        super().__init__(matrix.shape[0], least_type(matrix.dtype))
        self._diagonal = _diagonal_of(matrix).astype(self.dtype)
        zeros = np.flatnonzero(self._diagonal == 0)
        if zeros.size:
            raise SingularMatrixError(
                f"expected a diagonal without zeros for Jacobi's preconditioner, but got one at row {zeros[0]}"
            )

    def _applied(self, sides: Array, *, adjoint: bool) -> Array:
        diagonal = np.conj(self._diagonal) if adjoint else self._diagonal
        found: Array = sides / (diagonal[:, None] if sides.ndim == 2 else diagonal)
        return found


def _diagonal_of(matrix: Any) -> Array:
    coordinates, values = matrix.to_coo()
    found = np.zeros(matrix.shape[0], values.dtype)
    on = coordinates[0] == coordinates[1]
    np.add.at(found, coordinates[0][on], values[on])  # entries stored twice are added
    return found
