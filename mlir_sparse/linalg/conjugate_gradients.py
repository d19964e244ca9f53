"""The method of conjugate gradients, on vectors that are changed in place."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.compile.entry_points import compile
from mlir_sparse.errors import DTypeError, ExtentError, RankError, SettingError
from mlir_sparse.linalg.operands import least_type, right_sides, square_matrix
from mlir_sparse.tensor.level_storage import Array
from mlir_sparse.text.given_arguments import shown

__all__ = ["cg"]

_BREAKDOWN = -1
_LEAST_SQUARE = np.finfo(np.float64).smallest_normal / np.finfo(np.float64).eps


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[[Array], object] | None = None,
) -> tuple[Array, int]:
    """Returns the solution x of `A @ x = b` for a Hermitian, positive definite matrix, by conjugate gradients.

    Arguments, iterates and results are those of `scipy.sparse.linalg.cg` up to rounding. Vectors are changed in place,
    by all threads, in two passes an iteration beside the products, so that an iteration with a large matrix takes
    less time than SciPy's. Results are the same, bit for bit, for any number of threads. Whether A is Hermitian is not
    checked. Other Krylov solvers (`minres`, `bicgstab`, `gmres`) are SciPy's, which take a tensor too (Saad, Iterative
    methods for sparse linear systems, 2003, algorithms 6.18 and 9.1).

    Args:
        A: a matrix of shape (n, n): a tensor of any storage, anything that `tensor` takes, or a linear operator, which
            has `shape` and `matvec`.
        b: the right side, of shape (n,) or (n, 1), dense; it is not changed.
        x0: where to begin, of the shape of `b`; zeros when absent.
        rtol: the solution is found when the norm of `b - A @ x` is less than the greater of `atol` and `rtol` times
            the norm of `b`.
        atol: the other bound of that norm.
        maxiter: the greatest number of iterations, 1 at least; 10 n when absent.
        M: a preconditioner, an approximate inverse of A that is Hermitian and positive definite: a tensor, `IC0`,
            `Jacobi`, or a linear operator.
        callback: is called with the present solution after each iteration. It is changed by the next one: keep a copy.

    Returns:
        an array of shape (n,) in the common type of A and b, f32 at least, and 0 if the solution was found; otherwise
        the last iterate, and the number of iterations; or -1 where no further one can be computed, because a number
        that is to be divided by is zero or not finite: A or M is not positive definite, or data has infinities, NaN, or
        numbers whose squares are out of range (a right side of norm 1e-150 or 1e155).

    Raises:
        ExtentError: for a matrix that is not square, and vectors or a preconditioner of other sizes.
        RankError: for several right sides.
        DTypeError: for a complex `x0` or M in a real system.
        OperandError: for sparse right sides.
        SettingError: for a tolerance that is negative or no number, and fewer iterations than one.

    >>> from mlir_sparse.tensor import tensor
    >>> A = tensor([[4.0, 1.0], [1.0, 3.0]], "CSR")
    >>> x, failed = cg(A, np.array([1.0, 2.0]))
    >>> x.round(4), failed
    (array([0.0909, 0.6364]), 0)
    """
    matrix = A if _is_map(A) else square_matrix(A)
    size = _size_of(matrix, "matrix")
    side = _vector(b, size)
    dtype = least_type(_type_of(matrix, side.dtype), side.dtype)
    side = _as(side, dtype, "the right side")
    steps = _steps(maxiter, size)
    squared = _inner(side, side).real
    bound = max(_tolerance("atol", atol), _tolerance("rtol", rtol) * math.sqrt(squared))
    start = None if x0 is None else _as(_vector(x0, size), dtype, "x0")
    precondition = None if M is None else _product(_preconditioner(M, size), dtype, "the preconditioner")
    if not side.any():
        return np.zeros(size, dtype), 0
    # Squares that have lost their digits, or are infinite: no test of convergence would mean anything.
    if not (squared < math.inf and max(squared, bound * bound) >= _LEAST_SQUARE):
        return np.zeros(size, dtype) if start is None else start, _BREAKDOWN
    iteration = _Iteration.at(_product(matrix, dtype, "the matrix"), precondition, side, start)
    for _ in range(steps):
        if iteration.squared == 0 or math.sqrt(iteration.squared) < bound:
            return iteration.x, 0
        if not iteration.advance():
            return iteration.x, _BREAKDOWN
        if callback is not None:
            callback(iteration.x)
    return iteration.x, steps


@dataclass(slots=True)
class _Iteration:
    """The vectors of the method: solution, residual, direction and its product, each in memory of its own."""

    product: Callable[[Array, Array], Array]
    precondition: Callable[[Array, Array], Array] | None
    x: Array
    r: Array
    p: Array
    q: Array
    z: Array
    squared: float  # the sum of |r|^2
    rho: complex = 0.0  # the inner product of r and z, of the iteration before; 0 before the first

    @classmethod
    def at(cls, product: Any, precondition: Any, side: Array, start: Array | None) -> _Iteration:
        """Returns the state before the first iteration."""
        x, r, q = np.zeros_like(side) if start is None else start, side, np.empty_like(side)
        if start is not None and start.any():
            r -= product(x, q)
        p = np.empty_like(side)
        z = r if precondition is None else np.empty_like(side)
        return cls(product, precondition, x, r, p, q, z, _inner(r, r).real)

    def advance(self) -> bool:
        """Makes one iteration; returns False where it cannot be made, and changes neither x nor r then."""
        z = self.r if self.precondition is None else self.precondition(self.r, self.z)
        rho = complex(self.squared) if self.precondition is None else _inner(self.r, z)
        if not _divides(rho):
            return False
        if self.rho == 0:
            self.p[...] = z
        else:
            _native.turn_direction(self.p, z, rho / self.rho)
        q = self.product(self.p, self.q)
        curvature = _inner(self.p, q)
        if not _divides(curvature):
            return False
        self.squared = _native.advance(self.x, self.r, self.p, q, rho / curvature)
        self.rho = rho
        return True


def _divides(number: complex) -> bool:
    return number != 0 and math.isfinite(number.real) and math.isfinite(number.imag)


def _inner(a: Array, b: Array) -> complex:
    return _native.inner_product(a, b)


def _is_map(operator: Any) -> bool:
    """Returns whether an operand is a linear operator and no matrix, of which tensors are made."""
    return hasattr(operator, "matvec") and hasattr(operator, "shape") and not hasattr(operator, "encoding")


def _product(operator: Any, dtype: np.dtype[Any], what: str) -> Callable[[Array, Array], Array]:
    """Returns the function that multiplies by an operator: of a vector, and an array that it may write to."""
    if _is_map(operator):
        return lambda x, out: _values_of(operator, x, dtype, what)
    matrix = operator if operator.dtype == dtype else operator.astype(_castable(operator.dtype, dtype, what))
    kernel = compile("y(i) = A(i,j) * x(j)", A=matrix, x=np.empty(matrix.shape[1], dtype), deterministic=True)

    def multiplied(x: Array, out: Array) -> Array:
        kernel(matrix, x, out=out)
        return out

    return multiplied


def _values_of(operator: Any, x: Array, dtype: np.dtype[Any], what: str) -> Array:
    """Returns a linear operator's values as a vector."""
    found = np.asarray(operator.matvec(x))
    if found.size != x.size:
        raise ExtentError(f"expected a vector of {x.size} elements from {what}, but got shape {found.shape}")
    return np.ascontiguousarray(found.reshape(-1), _castable(found.dtype, dtype, what))


def _castable(given: np.dtype[Any], dtype: np.dtype[Any], what: str) -> np.dtype[Any]:
    if given.kind == "c" and dtype.kind != "c":
        raise DTypeError(f"expected a real type for {what} of a system in {dtype}, but got {given}: pass a complex b")
    return dtype


def _as(vector: Array, dtype: np.dtype[Any], what: str) -> Array:
    """Returns a copy of a vector in the type to solve in."""
    return np.array(vector, _castable(vector.dtype, dtype, what), order="C")


def _vector(source: Any, size: int) -> Array:
    given = right_sides(source, size)
    if given.ndim == 2 and given.shape[1] != 1:
        raise RankError(f"expected one right side, of shape ({size},) or ({size}, 1), but got shape {given.shape}")
    return given.reshape(-1)


def _type_of(matrix: Any, other: np.dtype[Any]) -> np.dtype[Any]:
    """Returns an operator's element type; that of the right side where it has none, as some linear operators do."""
    dtype = getattr(matrix, "dtype", None)
    return other if dtype is None else np.dtype(dtype)


def _preconditioner(source: Any, size: int) -> Any:
    operator = source if _is_map(source) else square_matrix(source)
    if _size_of(operator, "preconditioner") != size:
        raise ExtentError(f"expected a preconditioner of {size} rows, as the matrix has, but got {operator.shape}")
    return operator


def _size_of(operator: Any, what: str) -> int:
    shape = tuple(operator.shape)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ExtentError(f"expected a square {what}, but got shape {shape}")
    return int(shape[0])


def _steps(given: int | None, size: int) -> int:
    if given is None:
        return 10 * size
    if not isinstance(given, int | np.integer) or given < 1:
        raise SettingError(f"expected a number of iterations of 1 or more as maxiter, but got {given!r}")
    return int(given)


def _tolerance(name: str, given: Any) -> float:
    try:
        value = math.nan if isinstance(given, str | bytes) else float(given)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not value >= 0:
        raise SettingError(f"expected a number of 0 or more as {name}, but got {shown(given)}")
    return value
