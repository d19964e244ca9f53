"""Products of sparse matrices at the entries of a third, which loops look up: on data, in each storage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.crossing import crossed
from dialect_tests.statement_cases import kind_of_levels
from mlir_sparse.plan.algebra import product_search
from mlir_sparse.plan.algebra.nest_times import NestTimes

N = 400
RNG = np.random.default_rng(0)


def drawn(rows: int = N, columns: int = N, degree: int = 30) -> np.ndarray[Any, Any]:
    """Returns a matrix of small whole numbers with a row and a column that are full."""
    full = RNG.integers(1, 4, (rows, columns)).astype(float)
    where = RNG.random((rows, columns)) < degree / columns
    where[0], where[:, 1] = True, True
    return full * where


A, B, C = drawn(), drawn(), drawn()
TEXTS = {
    "s = A(i,j) * B(j,k) * C(k,i)": lambda: np.einsum("ij,jk,ki->", A, B, C, optimize=True),
    "s = A(i,j) * B(j,k) * C(i,k)": lambda: np.einsum("ij,jk,ik->", A, B, C, optimize=True),
    "s = A(j,i) * B(k,j) * C(k,i)": lambda: np.einsum("ji,kj,ki->", A, B, C, optimize=True),
    "t(k) = A(i,j) * B(j,k) * C(k,i)": lambda: np.einsum("ij,jk,ki->k", A, B, C, optimize=True),
    "s = A(i,j) * A(j,k) * A(k,i)": lambda: np.einsum("ij,jk,ki->", A, A, A, optimize=True),
    "s = 2 * A(i,j) * A(j,k) * A(k,i) * B(i,l)": lambda: 2 * np.einsum("ij,jk,ki,il->", A, A, A, B, optimize=True),
    "s = A(i,j) * A(j,k) * A(k,i) + B(i,j)": lambda: np.einsum("ij,jk,ki->", A, A, A, optimize=True) + B.sum(),
}


@pytest.fixture(autouse=True)
def sparse_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of this small data would be arrays, and masks copied into some."""
    monkeypatch.setattr(product_search, "_FULL", 2.0)
    monkeypatch.setattr(NestTimes, "allow_copies", lambda *_: None)


@crossed(
    classes={"storage": kind_of_levels},
    text=list(TEXTS),
    storage=["CSR", "CSC", "COO", "DCSR", "ELL"],
    threads=[1, 2, 3],
)
def test_in_each_storage(text: str, storage: str, threads: int) -> None:
    operands = {name: ms.tensor(value, storage) for name, value in zip("ABC", (A, B, C), strict=True)}
    operands = {name: value for name, value in operands.items() if f"{name}(" in text}
    kernel = ms.compile(text, **operands, threads=threads)
    assert "mask in the product" in kernel.explain()
    np.testing.assert_array_equal(kernel(**operands), TEXTS[text]())


def test_the_mask_is_looked_up() -> None:
    explained = ms.compile("s = A(i,j) * A(j,k) * A(k,i)", A=ms.tensor(A, "CSR")).explain()
    assert explained.count("convert ") == 1
    assert "walks A.1, looks up A.converted.1" in explained
    assert "scattered: the entries of A.converted(k,i) along k, once" in explained
    assert "loop order: i, j, k; the cheapest by estimates on the data; by types alone it is k, i, j" in explained


@pytest.mark.parametrize("dtype", ["float32", "int32", "complex128", "float16"])
def test_in_other_types(dtype: str) -> None:
    operand = ms.tensor((A[:200, :200] > 0).astype(dtype), "CSR")
    text, dense = "t(i) = A(i,j) * A(j,k) * A(k,i)", (A[:200, :200] > 0).astype(int)
    found = ms.evaluate(text, A=operand)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, np.einsum("ij,jk,ki->i", dense, dense, dense).astype(dtype), rtol=1e-3)


@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (3, 3)])
def test_on_less_data_than_it_was_planned_for(shape: tuple[int, int]) -> None:
    A_, B_, C_ = (ms.tensor(value, "CSR") for value in (A, B, C))
    kernel = ms.compile("s = A(i,j) * B(j,k) * C(k,i)", A=A_, B=B_, C=C_)
    small = np.ones(shape)
    for other in (small, np.zeros(shape)):
        found = kernel(ms.tensor(small, "CSR"), ms.tensor(other, "CSR"), ms.tensor(small, "CSR"))
        assert found == np.einsum("ij,jk,ki->", small, other, small)


def test_numbers_that_are_not_finite_spread() -> None:
    value = A.copy()
    value[0, 1] = np.inf
    text = "t(i) = A(i,j) * A(j,k) * A(k,i)"
    operand = ms.tensor(value, "CSR")
    np.testing.assert_array_equal(ms.evaluate(text, A=operand), ms.evaluate(text, A=operand, optimize="off"))
