"""Incomplete factors without fill, as preconditioners: LU for any matrix, Cholesky for Hermitian ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.errors import SingularMatrixError
from mlir_sparse.linalg.linear_map import LinearMap
from mlir_sparse.linalg.operands import least_type, square_matrix
from mlir_sparse.linalg.triangle_structure import index_arrays, solve_triangle, with_rows
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.level_storage import Array

__all__ = ["IC0", "ILU0"]


class ILU0(LinearMap):
    """Approximate factors L and U with the entries of a matrix alone (Saad 2003, algorithm 10.4).

    Args:
        A: a square matrix with a full diagonal: a tensor, or anything `tensor` takes. Values that are written to it
            later do not change the factors.

    Raises:
        SingularMatrixError: for a row without a pivot: its diagonal element is missing, or became zero.

    >>> from mlir_sparse.tensor import tensor
    >>> M = ILU0(tensor([[4.0, 1.0], [2.0, 3.0]]))
    >>> M.solve(np.array([5.0, 5.0])), M.factors.to_numpy().tolist()
    (array([1., 1.]), [[4.0, 1.0], [0.5, 2.5]])
    """

    def __init__(self, A: Any) -> None:
        rows = with_rows(square_matrix(A))
        super().__init__(rows.shape[0], least_type(rows.dtype))
        self._factors = _factored(rows, self.dtype, _native.factor_ilu0, "a pivot other than zero for ILU(0)")
        self._transpose = self._factors.T  # over the same arrays

    @property
    def factors(self) -> SparseTensor:
        """Returns both factors in one tensor: L below the diagonal, whose own is 1, and U from the diagonal on."""
        return self._factors

    def _applied(self, sides: Array, *, adjoint: bool) -> Array:
        if not adjoint:
            solve_triangle(self._factors, sides, sides, lower=True, unit=True)
            solve_triangle(self._factors, sides, sides, lower=False, unit=False)
            return sides
        sides = np.conj(sides)
        solve_triangle(self._transpose, sides, sides, lower=True, unit=False)
        solve_triangle(self._transpose, sides, sides, lower=False, unit=True)
        return np.conj(sides)


class IC0(LinearMap):
    """An approximate factor L with `L @ L*` like a positive definite matrix, on the entries of its lower triangle.

    Args:
        A: a Hermitian matrix, of which the lower triangle is read: a tensor, or anything `tensor` takes.

    Raises:
        SingularMatrixError: for a row without a positive pivot; such a matrix is no M-matrix, and ILU0 may do.

    >>> from mlir_sparse.tensor import tensor
    >>> M = IC0(tensor([[4.0, 2.0], [2.0, 5.0]]))
    >>> M.solve(np.array([8.0, 12.0])), M.factor.to_numpy().tolist()
    (array([1., 2.]), [[2.0, 0.0], [1.0, 2.0]])
    """

    def __init__(self, A: Any) -> None:
        rows = with_rows(square_matrix(A))
        super().__init__(rows.shape[0], least_type(rows.dtype))
        self._factor = _factored(_lower(rows), self.dtype, _native.factor_ic0, "a positive pivot for IC(0)")
        # The upper factor in columns: the arrays of the lower one in rows, conjugated.
        self._upper = self._factor.conj().T

    @property
    def factor(self) -> SparseTensor:
        """Returns the lower factor."""
        return self._factor

    def _applied(self, sides: Array, *, adjoint: bool) -> Array:
        solve_triangle(self._factor, sides, sides, lower=True, unit=False)
        solve_triangle(self._upper, sides, sides, lower=False, unit=False)
        return sides


def _factored(rows: SparseTensor, dtype: np.dtype[Any], factor: Any, wanted: str) -> SparseTensor:
    values = np.array(rows.storage.values, dtype)
    row = factor(*index_arrays(rows), values)
    if row >= 0:
        raise SingularMatrixError(f"expected {wanted}, but got none in row {row}: add to its diagonal, or pivot")
    storage = rows.storage.with_values(values)
    return SparseTensor._trusted(storage.encoding, rows.shape, storage)


def _lower(rows: SparseTensor) -> SparseTensor:
    own, coordinates = index_arrays(rows)
    positions, places = _native.lower_triangle(own, coordinates)
    return SparseTensor.from_levels(
        "CSR", rows.shape, [None, positions.astype(own.dtype)], [None, coordinates[places]], rows.storage.values[places]
    )
