"""Parts that are nearly full, which are arrays: on data, against the statement as it is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.crossing import crossed
from dialect_tests.statement_cases import kind_of_levels

N = 150
RNG = np.random.default_rng(0)
A, B = (RNG.integers(1, 4, (N, N)) * (RNG.random((N, N)) < 0.1) for _ in "AB")
TEXTS = {
    "s = A(i,j) * A(j,k) * A(k,l) * A(l,i)": lambda: np.einsum("ij,jk,kl,li->", A, A, A, A, optimize=True),
    "s = A(i,j) * B(j,k) * A(k,l) * B(l,i)": lambda: np.einsum("ij,jk,kl,li->", A, B, A, B, optimize=True),
    "s = A(i,j) * B(k,j) * A(k,l) * B(i,l)": lambda: np.einsum("ij,kj,kl,il->", A, B, A, B, optimize=True),
    "t(i) = A(i,j) * B(j,k) * A(k,l) * B(l,i)": lambda: np.einsum("ij,jk,kl,li->i", A, B, A, B, optimize=True),
    "s = -2 * A(i,j) * A(j,k) * A(k,l) * A(l,m) * B(m,i)": lambda: (
        -2 * np.einsum("ij,jk,kl,lm,mi->", A, A, A, A, B, optimize=True)
    ),
}


@crossed(
    classes={"storage": kind_of_levels},
    text=list(TEXTS),
    storage=["CSR", "CSC", "COO", "DCSR", "BSR(2,2)"],
    dtype=["int64", "float64", "complex128"],
)
def test_in_each_storage(text: str, storage: str, dtype: str) -> None:
    given = {"A": ms.tensor(A.astype(dtype), storage), "B": ms.tensor(B.astype(dtype), storage)}
    operands = {name: value for name, value in given.items() if f"{name}(" in text}
    kernel = ms.compile(text, **operands)
    assert any(part.is_array for part in kernel.spec.rewriting.parts)
    for threads in (1, 3):
        np.testing.assert_array_equal(kernel.within(threads, False)(**operands), TEXTS[text]())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_numbers_are_made_in_wide_ones(dtype: str) -> None:
    """Parts have sums beyond what the type holds."""
    text, value = "s = A(i,j) * A(j,k) * A(k,l) * A(l,i)", (A > 0) * 0.25
    operand = ms.tensor(ms.tensor(value, "CSR").astype(dtype))
    kernel: Any = ms.compile(text, A=operand)
    assert not any(part.estimate.is_sparse for part in kernel.spec.rewriting.parts)
    expected = np.einsum("ij,jk,kl,li->", value, value, value, value, optimize=True)
    np.testing.assert_allclose(np.float64(kernel(operand)), expected, rtol=0.01)


@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (2, 2)])
def test_other_extents_than_it_was_planned_for(shape: tuple[int, int]) -> None:
    kernel = ms.compile("s = A(i,j) * A(j,k) * A(k,l) * A(l,i)", A=ms.tensor(A.astype(float), "CSR"))
    for value in (np.ones(shape), np.zeros(shape)):
        assert kernel(ms.tensor(value, "CSR")) == np.einsum("ij,jk,kl,li->", value, value, value, value)
