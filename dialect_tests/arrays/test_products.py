"""Products of vectors, matrices and stacks take the operands that NumPy takes, extents of 1 above all."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

SHAPES = [(0,), (1,), (3,), (1, 3), (3, 1), (3, 3), (2, 1, 3), (1, 3, 1)]
PRODUCTS: dict[str, Callable[[Any, Any], Any]] = {
    "@": lambda a, b: a @ b,
    "dot": np.dot,
    "inner": np.inner,
    "tensordot": lambda a, b: np.tensordot(a, b, 1),
    "vecdot": np.vecdot,
    "vecdot along the first axis": lambda a, b: np.vecdot(a, b, axis=0),
    "matvec": np.matvec,
    "vecmat": np.vecmat,
    "linalg.vecdot": np.linalg.vecdot,
    "linalg.outer": np.linalg.outer,
    "multi_dot": lambda a, b: np.linalg.multi_dot([a, b]),
    "multi_dot of three": lambda a, b: np.linalg.multi_dot([a, b, b]),
    "matrix_power": lambda a, b: np.linalg.matrix_power(a, np.int64(2)),
    "matrix_power 1": lambda a, b: np.linalg.matrix_power(a, 1),
}


def _result(function: Callable[[Any, Any], Any], *operands: Any) -> np.ndarray[Any, Any] | None:
    """Returns a product, None where it is refused."""
    try:
        found = function(*operands)
    except (ms.RankError, ms.ExtentError):
        return None
    except (ValueError, IndexError):
        if any(isinstance(operand, ms.SparseTensor) for operand in operands):
            raise
        return None
    return found.to_numpy() if isinstance(found, ms.SparseTensor) else np.asarray(found)


@pytest.mark.parametrize("name", sorted(PRODUCTS))
def test_products_are_numpys_and_refused_where_numpys_are(name: str) -> None:
    function = PRODUCTS[name]
    for shapes in product(SHAPES, SHAPES):
        left, right = (np.arange(1.0, 1 + np.prod(shape)).reshape(shape) for shape in shapes)
        found, expected = _result(function, ms.tensor(left), ms.tensor(right)), _result(function, left, right)
        if expected is None or found is None:
            assert (found is None) == (expected is None), shapes
        else:
            assert found.shape == expected.shape, shapes
            assert np.array_equal(found, expected), shapes


@pytest.mark.parametrize("encoding", ["CSR", "CSC", "BSR(2, 2)", "DIA", "COO"])
def test_no_power_is_the_identity(encoding: str) -> None:
    matrix = np.arange(16).reshape(4, 4)
    found = np.linalg.matrix_power(ms.tensor(matrix, encoding), 0)
    assert np.array_equal(found.to_numpy(), np.eye(4))
    assert found.dtype == matrix.dtype
    with pytest.raises(ms.UnsupportedError, match="expected a power of 0 or more"):
        np.linalg.matrix_power(ms.tensor(matrix, encoding), -1)
    with pytest.raises(ms.UnsupportedError, match="of a stack of matrices"):
        np.linalg.matrix_power(ms.tensor(np.ones((2, 3, 3))), 0)


def test_vectors_lie_along_one_axis() -> None:
    tensor = ms.tensor(np.ones((2, 3)))
    with pytest.raises(ms.OperandError, match=r"expected an integer for axis of np.vecdot, but got \[0\]"):
        np.vecdot(tensor, tensor, axis=[0])
    with pytest.raises(ms.RankError, match="expected an axis from -2 to 1, but got 2"):
        np.vecdot(tensor, tensor, axis=2)


def test_kronecker_products_with_arrays_are_sparse() -> None:
    matrix = np.eye(3, 4)
    A = ms.tensor(matrix, "CSR")
    for other in (2.0, np.ones(3), np.eye(2, dtype=int), np.ones((2, 1, 2)), np.zeros((0, 2))):
        for made, wanted in ((np.kron(A, other), np.kron(matrix, other)), (np.kron(other, A), np.kron(other, matrix))):
            assert isinstance(made, ms.SparseTensor)
            assert made.nse == np.count_nonzero(wanted)
            assert made.dtype == wanted.dtype
            np.testing.assert_array_equal(made.to_numpy(), wanted)
    large = ms.eye(100_000)
    assert np.kron(large, np.eye(2)).nse == 200_000
