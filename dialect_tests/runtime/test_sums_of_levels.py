"""Calls in pieces whose result is written at a sum of levels: pieces begin in it where their levels say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse import _native

Array = np.ndarray[Any, Any]

THREADS = (1, 2, 3, 5)
# Blocks along rows alone, of rows that blocks divide or not, in one step or two, and overlapping diagonals.
MATRICES = (
    "RowBlocked(4)",
    "RowBlocked(3)",
    "ColumnBlocked(4)",
    "(i, j) -> (i floordiv 4 : dense, i mod 4 : dense, j : compressed)",
    "(i, j) -> (i floordiv 8 : dense, (i mod 8) floordiv 2 : dense, j : compressed, i mod 2 : dense)",
    "(i, j) -> (i mod 4 : dense, i floordiv 4 : dense, j : compressed)",
    "(i, j) -> (i + j : dense, i : compressed)",
    "(i, j) -> (j - i : dense, i : compressed)",
    "(i, j) -> (j - i : compressed, i : range)",
)
TENSORS = (
    "RowBlocked(4)",
    "(i, j, k) -> (j floordiv 2 : dense, i : dense, k : compressed, j mod 2 : dense)",
)


@pytest.fixture
def many_pieces() -> Iterator[None]:
    _native.set_piece_work(1)
    yield
    _native.set_piece_work(0)
    ms.set_num_threads(None)


def whole_numbers(*shape: int) -> Array:
    random = np.random.default_rng(7)
    return np.where(random.random(shape) < 0.4, random.integers(1, 9, shape), 0).astype(float)


def check(text: str, wanted: Array, **operands: Any) -> None:
    kernel = ms.compile(text, out="dense", **operands)
    for threads in THREADS:
        ms.set_num_threads(threads)
        np.testing.assert_array_equal(kernel(**operands), wanted, f"{text} on {threads} threads")


@pytest.mark.usefixtures("many_pieces")
@pytest.mark.parametrize("storage", MATRICES)
def test_matrices(storage: str) -> None:
    dense = whole_numbers(23, 23)
    A, x, B = ms.tensor(dense, storage), np.arange(1.0, 24.0), np.arange(23 * 3.0).reshape(23, 3)
    check("y(i) = A(i,j) * x(j)", dense @ x, A=A, x=x)
    check("y(j) = A(i,j) * x(i)", dense.T @ x, A=A, x=x)
    check("y(i) = A(i,j)", dense.sum(1), A=A)
    check("y(i) = max(j : A(i,j))", dense.max(1), A=A)
    check("y(i) = x(i) - A(i,j) * x(j)", x - dense @ x, A=A, x=x)
    check("C(i,k) = A(i,j) * B(j,k)", dense @ B, A=A, B=B)
    check("C(k,i) = A(i,j) * B(j,k)", (dense @ B).T, A=A, B=B)
    check("C(i,j) = A(i,j) * x(j)", dense * x, A=A, x=x)
    check("y(i) += A(i,j) * x(j)", 5.0 + dense @ x, A=A, x=x, y=np.full(23, 5.0))


@pytest.mark.usefixtures("many_pieces")
@pytest.mark.parametrize("storage", TENSORS)
def test_tensors(storage: str) -> None:
    dense = whole_numbers(11, 9, 7)
    T, U, P, Q = ms.tensor(dense, storage), *(np.arange(2.0 * size).reshape(size, 2) for size in (11, 9, 7))
    check("y(i,r) = T(i,j,k) * P(j,r) * Q(k,r)", np.einsum("ijk,jr,kr->ir", dense, P, Q), T=T, P=P, Q=Q)
    check("y(j,r) = T(i,j,k) * U(i,r) * Q(k,r)", np.einsum("ijk,ir,kr->jr", dense, U, Q), T=T, U=U, Q=Q)
    check("y(j) = T(i,j,k)", dense.sum((0, 2)), T=T)


@pytest.mark.parametrize("threads", THREADS)
def test_large_enough_to_be_cut_by_itself(threads: int) -> None:
    with _native.Limits(threads):
        np.testing.assert_array_equal(ms.tensor(np.ones((400, 400)), "RowBlocked(4)") @ np.ones(400), np.full(400, 400))


def test_rows_of_blocks_are_apart() -> None:
    told = ms.compile("y(i) = A(i,j) * x(j)", A="f64[?,?] RowBlocked(4)", x="f64[?]").explain()
    assert "by the rows of A" in told
    assert "each with a separate part of the result" in told
