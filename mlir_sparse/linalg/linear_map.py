"""Linear maps that are no matrices, as preconditioners and factors are: SciPy's protocol of linear operators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from mlir_sparse.linalg.operands import least_type, right_sides
from mlir_sparse.tensor.level_storage import Array
from mlir_sparse.text.shown_text import PrintedValue

__all__ = ["LinearMap"]


class LinearMap(PrintedValue, ABC):
    """The inverse of a matrix, or of one like it, that is applied and not computed.

    It has the methods of SciPy's linear operators, so that `scipy.sparse.linalg.cg(A, b, M=...)` takes it. It can be
    pickled and copied, and any number of threads may use it at once.

    Args:
        size: the number of rows and columns.
        dtype: the element type of its values.
    """

    def __init__(self, size: int, dtype: np.dtype[Any]) -> None:
        self.shape = (size, size)
        self.dtype = dtype

    def solve(self, b: Any) -> Array:
        """Returns the map's values for right sides of shape (n,) or (n, k): for the exact inverse, solutions."""
        sides = self._sides(b)
        return self._applied(sides, adjoint=False)

    def matvec(self, x: Any) -> Array:
        """Returns `solve(x)`, by the name that SciPy's linear operators have for it."""
        return self.solve(x)

    def rmatvec(self, x: Any) -> Array:
        """Returns the values of the adjoint map, the conjugate transpose."""
        return self._applied(self._sides(x), adjoint=True)

    matmat = matvec
    rmatmat = rmatvec

    def __matmul__(self, x: Any) -> Array:
        return self.solve(x)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of shape {self.shape}, {self.dtype}>"

    def _sides(self, b: Any) -> Array:
        """Returns right sides as a new array, contiguous and of the type to compute in."""
        given = right_sides(b, self.shape[0])
        return np.array(given, least_type(self.dtype, given.dtype), order="C", ndmin=1)

    @abstractmethod
    def _applied(self, sides: Array, *, adjoint: bool) -> Array:
        """Returns the map's values for right sides, which it may overwrite."""
