"""Calls along diagonals: arrays are read where they are, but for rows near the edges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse import _native

SPMV = "y(i) = A(i,j) * x(j)"


@pytest.fixture(params=["whole", "pieces"], autouse=True)
def pieces(request: pytest.FixtureRequest) -> Iterator[None]:
    """Cuts nothing, or whatever can be cut."""
    threads, work = ms.get_num_threads(), _native.piece_work()
    if request.param == "pieces":
        ms.set_num_threads(3)
        _native.set_piece_work(1)
    yield
    _native.set_piece_work(work)
    ms.set_num_threads(threads)


def banded(rows: int, columns: int, offsets: list[int], dtype: Any = np.float64) -> Any:
    full = np.zeros((rows, columns), dtype)
    for number, offset in enumerate(offsets):
        full += ((1 + number) * np.eye(rows, columns, offset)).astype(dtype)
    return full


SHAPES = [(1, 1), (40, 40), (40, 7), (7, 40), (300, 300), (0, 4), (4, 0)]
OFFSETS = [[0], [-1, 0, 1], [5, 6], [-6, -5], [-3, 2], [-39, 39]]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("offsets", OFFSETS)
def test_every_way_to_reach_the_edges(shape: tuple[int, int], offsets: list[int]) -> None:
    full, x = banded(*shape, offsets), np.arange(1.0, shape[1] + 1)
    A = ms.tensor(full, "DIA")
    kernel = ms.compile(SPMV, A="f64[?,?] DIA", x="f64[?]")
    out = np.full(shape[0], np.nan)
    for _ in range(2):  # the second call takes the short way
        np.testing.assert_array_equal(kernel(A, x), full @ x)
        assert kernel(A, x, out=out) is out
        np.testing.assert_array_equal(out, full @ x)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int64, np.complex128])
def test_all_element_types(dtype: Any) -> None:
    full, x = banded(30, 33, [-4, 0, 3, 8], dtype), np.arange(1, 34).astype(dtype)
    kernel = ms.compile(SPMV, A=ms.tensor(full, "DIA"), x=x)
    for _ in range(2):
        np.testing.assert_allclose(kernel(ms.tensor(full, "DIA"), x), full @ x)


def test_matrices_and_addends() -> None:
    full, B, b = banded(30, 33, [-4, 0, 3, 8]), np.arange(33.0 * 5).reshape(33, 5), np.arange(30.0)
    A = ms.tensor(full, "DIA")
    product = ms.compile("C(i,k) = A(i,j) * B(j,k)", A=A, B=B)
    residual = ms.compile("y(i) = b(i) - A(i,j) * x(j)", A=A, b=b, x=B[:, 0].copy())
    for _ in range(2):
        np.testing.assert_allclose(product(A, B), full @ B)
        np.testing.assert_allclose(product(A, B[:, :0].copy()), full @ B[:, :0])
        np.testing.assert_allclose(residual(A=A, b=b, x=B[:, 0].copy()), b - full @ B[:, 0])
        out = b.copy()
        np.testing.assert_allclose(residual(A=A, b=out, x=B[:, 0].copy(), out=out), b - full @ B[:, 0])


def test_tensors_of_other_shapes_by_one_kernel() -> None:
    kernel = ms.compile(SPMV, A="f64[?,?] DIA", x="f64[?]")
    for rows, columns in [(20, 20), (9, 30), (30, 9), (20, 20)]:
        full, x = banded(rows, columns, [-2, 0, 4]), np.arange(1.0, columns + 1)
        np.testing.assert_array_equal(kernel(ms.tensor(full, "DIA"), x), full @ x)


def test_what_does_not_fit_is_refused() -> None:
    full, x = banded(20, 20, [-1, 0, 1]), np.arange(20.0)
    A = ms.tensor(full, "DIA")
    kernel = ms.compile(SPMV, A=A, x=x)
    kernel(A, x)
    for wrong in (np.arange(19.0), np.arange(60.0)):
        with pytest.raises(ms.ExtentError):
            kernel(A, wrong)
    with pytest.raises(ms.ExtentError):
        kernel(A, x, out=np.zeros(21))
    with pytest.raises(ms.OperandError):
        kernel(ms.tensor(full, "(i, j) -> (i + j : compressed, i : range)"), x)
    held = x.copy()
    np.testing.assert_array_equal(kernel(A, held, out=held), full @ x)
