"""Products of a matrix by one of few columns, which are computed some rows at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.runtime import thin_products
from mlir_sparse.runtime.thin_products import is_thin, multiply_thin

RNG = np.random.default_rng(0)
TEXT = "C(i,k) = A(i,j) * B(j,k)"


def drawn(*shape: int, dtype: str = "float64") -> np.ndarray[Any, Any]:
    return RNG.integers(-3, 4, shape).astype(dtype)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thin_products, "_SMALL", 2000)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rows", [80, 81, 99, 100, 119, 120, 1000])
@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_rows_that_are_no_multiple_of_a_block(dtype: str, rows: int, threads: int) -> None:
    one, other = drawn(rows, 10, dtype=dtype), drawn(10, 5, dtype=dtype)
    out = np.full((rows, 5), np.nan, dtype)
    assert is_thin(one, other, out)
    multiply_thin(one, other, out, threads)
    np.testing.assert_array_equal(out, one @ other)


@pytest.mark.usefixtures("small")
def test_threads_do_not_change_a_bit() -> None:
    one, other = RNG.random((1003, 10)), RNG.random((10, 5))
    results = []
    for threads in (1, 2, 3, 5, 200):
        out = np.empty((1003, 5))
        multiply_thin(one, other, out, threads)
        results.append(out)
    assert all(np.array_equal(results[0], other) for other in results)


@pytest.mark.parametrize(
    ("rows", "summed", "columns", "dtype", "thin"),
    [
        (10_000, 512, 16, "float64", True),
        (10_000, 512, 16, "float32", True),
        (10_000, 512, 1, "float64", False),  # a vector
        (10_000, 512, 65, "float64", False),
        (10_000, 512, 16, "complex128", False),
        (200, 512, 16, "float64", False),  # a small product anyway
        (10_000, 5000, 64, "float64", False),  # blocks would have three rows
        (10_000, 0, 16, "float64", False),
        (0, 512, 16, "float64", False),
        (10_000, 512, 0, "float64", False),
    ],
)
def test_what_is_thin(rows: int, summed: int, columns: int, dtype: str, thin: bool) -> None:
    one, other = np.empty((rows, summed), dtype), np.empty((summed, columns), dtype)
    assert is_thin(one, other, np.empty((rows, columns), dtype)) == thin
    by_column = np.empty((rows, summed), dtype, order="F")
    assert not is_thin(by_column, other, np.empty((rows, columns), dtype)) or summed == 1


@pytest.mark.parametrize("threads", [1, 2])
def test_in_a_statement(threads: int) -> None:
    """Rows apart in memory, columns of another array, NaN, and an operand that is only read."""
    A, B = drawn(6000, 512)[::2], drawn(512, 40)[:, 3:19]
    A[17, 5], A.flags.writeable = np.nan, False
    kernel: Any = ms.compile(TEXT, A=A, B=B, threads=threads)
    assert "BLAS" in kernel.explain(A=A, B=B)
    assert is_thin(A, B, np.empty((3000, 16)))
    np.testing.assert_array_equal(kernel(A=A, B=B), A @ B)
    into = np.ones((3000, 16))
    assert kernel(A=A, B=B, out=into) is into
    np.testing.assert_array_equal(into, A @ B)


def test_infinity_warns_nobody() -> None:
    A, B = np.full((4000, 300), 1e308), np.full((300, 8), 10.0)
    with np.errstate(all="raise"):
        assert np.isinf(ms.evaluate(TEXT, A=A, B=B, threads=2)).all()
