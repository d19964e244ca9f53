"""Triangular systems: forward and backward substitution on sparse storage."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.linalg.operands import least_type, right_sides, square_matrix
from mlir_sparse.linalg.triangle_structure import solve_triangle
from mlir_sparse.tensor.level_storage import Array

__all__ = ["solve_triangular"]


def solve_triangular(A: Any, b: Any, lower: bool = True, unit_diagonal: bool = False) -> Array:
    """Returns the solution x of `A @ x = b` for a triangular matrix.

    CSR, CSC and BSR of square blocks are solved with as they are stored, other storage through a copy in CSR. Entries
    of the other triangle are not read, as in LAPACK and `scipy.linalg.solve_triangular`: one tensor can have both
    factors of LU. From the second system with a tensor on, rows that do not depend on one another can be solved at once
    by several threads, where there are enough of them (Anderson and Saad, Solving sparse triangular linear systems on
    parallel computers, 1989). Such rows lie apart in memory, so one thread is often faster: both ways take turns in
    the first six systems, and the faster is kept. The result is the same, bit for bit, for any number of threads.

    Args:
        A: a square matrix of shape (n, n): a tensor, or anything `tensor` takes.
        b: right sides of shape (n,) or (n, k), dense; they are not changed.
        lower: True for the lower triangle, False for the upper.
        unit_diagonal: True takes the diagonal to be 1, whatever is stored there.

    Returns:
        an array of the shape of `b`, in the common type of both, f32 at least; integers are solved in f64.

    Raises:
        SingularMatrixError: for a diagonal element that is zero or missing, with its row; it is a
            `numpy.linalg.LinAlgError`.
        ExtentError: for a matrix that is not square, or another number of rows.
        RankError: for operands of other numbers of dimensions.
        OperandError: for sparse right sides.

    >>> from mlir_sparse.tensor import tensor
    >>> L = tensor([[2.0, 0.0], [1.0, 4.0]])
    >>> solve_triangular(L, np.array([2.0, 9.0]))
    array([1., 2.])
    """
    matrix = square_matrix(A)
    given = right_sides(b, matrix.shape[0])
    sides = np.require(given, least_type(matrix.dtype, given.dtype), ["C", "A"])
    found = _native.dense_array(sides.shape, sides.dtype)
    solve_triangle(matrix, sides, found, lower=bool(lower), unit=bool(unit_diagonal))
    return found
