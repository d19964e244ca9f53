"""Results that are filled before loops add to some of their elements: through the caches and past them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse import _native
from mlir_sparse.machine import machine_profile

SPMV = "y(i) = A(i,j) * x(j)"
COO = ms.encoding("COO")
# Around the vectors that are stored, and one of several chunks of a fill.
SIZES = (1, 7, 8, 9, 31, 64, 67, 1025, 300_001)


@pytest.fixture(params=[0, 1 << 62], ids=["past the caches", "through the caches"])
def _threshold(request: pytest.FixtureRequest) -> Iterator[None]:
    _native.set_machine_fill(request.param)
    yield
    _native.set_machine_fill(machine_profile().number("filled"))


def few_rows(rows: int, dtype: str) -> tuple[ms.SparseTensor, np.ndarray]:
    """Returns a matrix with entries in its first, middle and last row, and it as an array."""
    full = np.zeros((rows, 3), dtype)
    for row in {0, rows // 2, rows - 1}:
        full[row, row % 3] = row % 5 + 1
    return ms.tensor(full, encoding=COO), full


@pytest.mark.usefixtures("_threshold")
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
def test_every_element_is_written_and_none_beside_the_result(dtype: str, threads: int) -> None:
    x = np.arange(1, 4).astype(dtype)
    kernel = ms.compile(SPMV, A=few_rows(9, dtype)[0], x=x, threads=threads)
    for rows in SIZES:
        A, full = few_rows(rows, dtype)
        for offset in (0, 1, 3):
            whole = np.full(rows + offset + 3, 77, dtype)
            kernel(A, x, out=whole[offset : offset + rows])
            np.testing.assert_array_equal(whole[offset : offset + rows], full @ x)
            assert (whole[:offset] == 77).all()
            assert (whole[offset + rows :] == 77).all()


@pytest.mark.usefixtures("_threshold")
@pytest.mark.parametrize(("semiring", "fill"), [("min_plus", np.inf), ("max_plus", -np.inf)])
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_without_entries_have_the_identity_of_the_semiring(semiring: str, fill: float, threads: int) -> None:
    kernel = ms.compile(SPMV, A=few_rows(9, "float64")[0], x=np.zeros(3), semiring=semiring, threads=threads)
    for rows in (67, 300_001):
        A, full = few_rows(rows, "float64")
        found = kernel(A, np.zeros(3))
        expected = np.where(full.any(axis=1), full.max(axis=1), fill)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("_threshold")
def test_results_without_entries_or_elements() -> None:
    kernel = ms.compile(SPMV, A=few_rows(9, "float64")[0], x=np.ones(3))
    assert kernel(ms.tensor(np.zeros((0, 3)), encoding=COO), np.ones(3)).shape == (0,)
    empty = ms.tensor(np.zeros((1000, 3)), encoding=COO)
    np.testing.assert_array_equal(kernel(empty, np.ones(3), out=np.full(1000, 9.0)), 0)
