"""Direct solvers of other libraries: SuperLU, UMFPACK and PARDISO, on a tensor's storage."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from mlir_sparse.errors import ExtentError, MissingPackageError, OperandError, SingularMatrixError
from mlir_sparse.linalg.linear_map import LinearMap
from mlir_sparse.linalg.operands import least_type, right_sides, square_matrix
from mlir_sparse.tensor.level_storage import Array

__all__ = ["DirectSolver", "factorized", "solve"]

Solve = Callable[[Array, bool], Array]


def solve(A: Any, b: Any, method: str = "superlu") -> Array:
    """Returns the solution x of `A @ x = b` by a direct solver.

    Args:
        A: a square matrix of shape (n, n): a tensor, or anything `tensor` takes.
        b: right sides of shape (n,) or (n, k), dense.
        method: see `factorized`.

    Raises:
        SingularMatrixError: for a matrix without an inverse.
        MissingPackageError: without the library.

    >>> from mlir_sparse.tensor import tensor
    >>> solve(tensor([[2.0, 1.0], [1.0, 3.0]]), np.array([3.0, 4.0])).round(12)
    array([1., 1.])
    """
    matrix = square_matrix(A)
    sides = right_sides(b, matrix.shape[0])
    # In the precision of both; the parts of complex sides are solved for one by one.
    return factorized(matrix.astype(least_type(matrix.dtype, sides.real.dtype)), method).solve(sides)


def factorized(A: Any, method: str = "superlu") -> DirectSolver:
    """Returns a matrix factored for any number of systems.

    Args:
        A: a square matrix: a tensor, or anything `tensor` takes. Values that are written to it later do not change
            the factors. Systems are solved in its element type, f32 at least, whatever that of their right sides is.
        method: `superlu` (SciPy's), `umfpack` (the package scikit-umfpack) or `pardiso` (the package pypardiso).

    Raises:
        SingularMatrixError: for a matrix without an inverse.
        MissingPackageError: without the library.
        OperandError: for another method.
    """
    return DirectSolver(A, method)


class DirectSolver(LinearMap):
    """The inverse of a matrix by its factors. A pickle has the matrix, which is factored again.

    Args:
        A: a square matrix: a tensor, or anything `tensor` takes.
        method: see `factorized`.
    """

    def __init__(self, A: Any, method: str = "superlu") -> None:
        if method not in _METHODS:
            raise OperandError(f"expected one of {', '.join(_METHODS)} as a method, but got {method!r}")
        matrix = square_matrix(A)
        if 0 in matrix.shape:
            raise ExtentError("expected a matrix of a row or more to factor, but got shape (0, 0)")
        super().__init__(matrix.shape[0], least_type(matrix.dtype))
        self.method = method
        # Of its own values, for pickles and for later systems.
        self._matrix = matrix.convert("CSC").astype(self.dtype).copy()
        self._solve: Solve = _METHODS[method](self._matrix.to_scipy())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._matrix, self.method)

    def __deepcopy__(self, memo: dict[int, Any]) -> DirectSolver:
        return self  # nothing of it changes

    def _applied(self, sides: Array, *, adjoint: bool) -> Array:
        if sides.dtype.kind == "c" and self.dtype.kind != "c":
            real, imaginary = (self._applied(part.copy(), adjoint=adjoint) for part in (sides.real, sides.imag))
            return np.asarray(real + 1j * imaginary)
        found = np.asarray(self._solve(sides.astype(self.dtype, copy=False), adjoint))
        if not np.isfinite(found).all() and np.isfinite(sides).all():
            raise SingularMatrixError("expected a matrix with an inverse, but got solutions that are not finite")
        return found.astype(sides.dtype, copy=False).reshape(sides.shape)


def _superlu(matrix: Any) -> Solve:
    linalg = _imported("scipy.sparse.linalg", "SciPy", "scipy")
    try:
        factors = linalg.splu(matrix)
    except RuntimeError as error:
        raise SingularMatrixError(f"expected a matrix with an inverse, but SuperLU found that {error}") from None
    return lambda sides, adjoint: factors.solve(sides, "H" if adjoint else "N")


def _umfpack(matrix: Any) -> Solve:
    umfpack = _imported("scikits.umfpack", "UMFPACK", "scikit-umfpack")
    wide = matrix.astype(np.result_type(matrix.dtype, np.float64))
    factors, adjoints = umfpack.splu(wide), umfpack.splu(wide.conj().T.tocsc())

    def solved(sides: Array, adjoint: bool) -> Array:
        solver = adjoints if adjoint else factors
        columns = [solver.solve(column.astype(wide.dtype)) for column in sides.reshape(len(sides), -1).T]
        return np.stack(columns, axis=1)

    return solved


def _pardiso(matrix: Any) -> Solve:
    pypardiso = _imported("pypardiso", "PARDISO", "pypardiso")
    if matrix.dtype.kind == "c":
        raise OperandError("expected a real matrix for pardiso, but got a complex one: use method='superlu'")
    wide = matrix.astype(np.float64)
    ways = {adjoint: (pypardiso.PyPardisoSolver(), (wide.T if adjoint else wide).tocsr()) for adjoint in (False, True)}

    def solved(sides: Array, adjoint: bool) -> Array:
        solver, rows = ways[adjoint]
        if not solver._is_already_factorized(rows):
            solver.factorize(rows)
        found: Array = solver.solve(rows, sides.astype(np.float64))
        return found

    return solved


_METHODS: dict[str, Callable[[Any], Solve]] = {"superlu": _superlu, "umfpack": _umfpack, "pardiso": _pardiso}


def _imported(module: str, title: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPackageError(f"expected {title} to be installed, but got {error}: pip install {package}") from None
