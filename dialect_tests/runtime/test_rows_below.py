"""Calls cut along rows that stand below diagonals, slots or other levels: each piece has some rows of the result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.crossing import crossed


@pytest.fixture(autouse=True)
def three_threads(whatever_can_be_cut: None) -> None:
    ms.set_num_threads(3)


def matrix(rows: int, columns: int, dtype: Any = np.float64) -> Any:
    rng = np.random.default_rng(0)
    full = rng.integers(1, 9, (rows, columns)).astype(dtype)
    full[rng.random((rows, columns)) > 0.3] = 0
    return full


STORED = ["SlotELL", "DIA", "CountedELL", "HashedRows", "(i, j) -> (j : dense, i : dense)"]


PRODUCTS = {
    "y(i) = A(i,j) * x(j)": lambda A, B, b, x: A @ x,
    "y(i) = b(i) - A(i,j) * x(j)": lambda A, B, b, x: b - A @ x,
    "C(i,k) = A(i,j) * B(j,k)": lambda A, B, b, x: A @ B,
    "C(k,i) = A(i,j) * B(j,k)": lambda A, B, b, x: (A @ B).T,
    "y(j) = A(i,j) * b(i)": lambda A, B, b, x: A.T @ b,
}


@crossed(encoding=STORED, text=PRODUCTS, dtype=[np.float64, np.float32, np.int16, np.complex64])
def test_products(encoding: str, text: str, dtype: Any) -> None:
    dense = {
        "A": matrix(37, 23, dtype),
        "B": np.arange(23 * 5).reshape(23, 5).astype(dtype),
        "b": np.arange(37).astype(dtype),
        "x": np.arange(1, 24).astype(dtype),
    }
    operands = {**dense, "A": ms.tensor(dense["A"], "CSR").convert(encoding)}
    found = ms.evaluate(text, tensors={name: operands[name] for name in ms.parse(text).inputs})
    np.testing.assert_allclose(found, PRODUCTS[text](**dense), rtol=1e-5)


@pytest.mark.parametrize("encoding", STORED)
@pytest.mark.parametrize(("rows", "columns"), [(0, 3), (3, 0), (1, 1), (2, 9), (9, 2)])
def test_all_extents(encoding: str, rows: int, columns: int) -> None:
    full, x = matrix(rows, columns), np.arange(1.0, columns + 1)
    A = ms.tensor(full, "CSR").convert(encoding)
    np.testing.assert_array_equal(ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x), full @ x)


@pytest.mark.parametrize("text", ["max", "min"])
@pytest.mark.parametrize("encoding", ["SlotELL", "HashedRows"])
def test_other_reductions(encoding: str, text: str) -> None:
    full = -matrix(37, 23)
    found = ms.evaluate(f"y(i) = {text}(j : A(i,j))", A=ms.tensor(full, "CSR").convert(encoding))
    np.testing.assert_array_equal(found, getattr(full, text)(axis=1))


@pytest.mark.parametrize("levels", ["dense, dense, dense", "dense, dense, compressed", "compressed, dense, compressed"])
def test_tensors_along_a_level_below(levels: str) -> None:
    first, second, third = levels.split(", ")
    full, v = matrix(7 * 11, 13).reshape(7, 11, 13), np.arange(13.0)
    T = ms.tensor(full, f"(i, j, k) -> (i : {first}, j : {second}, k : {third})")
    np.testing.assert_allclose(ms.evaluate("y(j) = T(i,j,k) * v(k)", T=T, v=v), (full @ v).sum(axis=0))
    w = np.arange(7.0)
    np.testing.assert_allclose(ms.evaluate("C(j,k) = T(i,j,k) * w(i)", T=T, w=w), np.einsum("ijk,i->jk", full, w))
    out = np.ones(11)
    kernel = ms.compile("y(j) += T(i,j,k) * v(k)", T=T, v=v, y=out)
    np.testing.assert_allclose(kernel(T=T, v=v, y=out, out=out), 1 + (full @ v).sum(axis=0))


def test_vectors_of_the_sparsifier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIR_SPARSE_VECTOR_LANES", "8")
    full, x = matrix(37, 23), np.arange(23.0)
    for encoding in ("SlotELL", "DIA"):
        A = ms.tensor(full, "CSR").convert(encoding)
        np.testing.assert_allclose(ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x), full @ x)


@pytest.mark.parametrize("encoding", ["SlotELL", "DIA"])
def test_the_plan_says_so(encoding: str) -> None:
    told = ms.compile("y(i) = A(i,j) * x(j)", A=f"f64[?,?] {encoding}", x="f64[?]").explain()
    assert "in chunks: along i, by the rows of A.levels, each with a separate part of the result" in told
