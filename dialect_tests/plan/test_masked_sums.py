"""Sums over variables of a mask: each value that the mask keeps is a term."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.notation import parse, with_explicit_sums

RANDOM = np.random.default_rng(5)
L = np.tril(RANDOM.integers(0, 4, (6, 6)), -1).astype(float)
B = np.where(RANDOM.random((6, 6)) < 0.5, RANDOM.integers(-3, 4, (6, 6)), 0).astype(float)
x = np.arange(1.0, 7.0)
m = np.array([1.0, 0, 0, 2, 0, 3])
KEPT, AT = L != 0, m != 0

SUMS = {
    "t = L(i,k) * L(k,j) if L(i,j)": ((L @ L) * KEPT).sum(),
    "t = L(i,k) * L(k,j) if not L(i,j)": ((L @ L) * ~KEPT).sum(),
    "t = B(i,k) * L(k,j) if L(i,j)": ((B @ L) * KEPT).sum(),
    "t = L(i,j) * x(j) if m(i)": ((L @ x) * AT).sum(),
    "t = L(i,j) * x(j) if not m(i)": ((L @ x) * ~AT).sum(),
    "t = L(i,j) if m(j)": (L * AT).sum(),
    "t = B(i,j) + L(i,j) if L(j,i)": ((B + L) * KEPT.T).sum(),
    "t = B(i,j) + 1 if L(j,i)": ((B + 1) * KEPT.T).sum(),
    "t = x(i) * x(j) if L(i,j)": (np.outer(x, x) * KEPT).sum(),
    "t = 2 * x(i) if m(i)": (2 * x * AT).sum(),
    "y(i) = L(i,j) * x(j) if m(j)": (L * AT) @ x,
    "y(i) = L(i,j) * x(j) if not m(j)": (L * ~AT) @ x,
    "y(i) = B(i,k) * L(k,j) if L(i,j)": ((B @ L) * KEPT).sum(1),
    "y(j) = B(i,k) * L(k,j) if not L(i,j)": ((B @ L) * ~KEPT).sum(0),
    "y(k) = B(i,k) * L(k,j) if L(i,j)": np.einsum("ik,kj,ij->k", B, L, KEPT * 1.0),
}


def operands(text: str, storage: str, **more: Any) -> dict[str, Any]:
    known = {"L": ms.tensor(L, storage), "B": ms.tensor(B, storage), "x": x, "m": ms.tensor(m, "SparseVector"), **more}
    right = text.partition("=")[2]
    return {name: value for name, value in known.items() if f"{name}(" in right}


@pytest.mark.parametrize("storage", ["CSR", "CSC", "COO"])
@pytest.mark.parametrize("text", SUMS)
def test_sums(text: str, storage: str) -> None:
    np.testing.assert_array_equal(ms.evaluate(text, **operands(text, storage)), SUMS[text])


@pytest.mark.parametrize("text", ["t = L(i,j) * x(j) if m(i)", "t = L(i,j) if m(j)"])
def test_masks_that_are_arrays(text: str) -> None:
    np.testing.assert_array_equal(ms.evaluate(text, **operands(text, "CSR", m=m)), SUMS[text])


def test_onto_a_present_value() -> None:
    text = "t += L(i,j) * x(j) if m(i)"
    np.testing.assert_array_equal(ms.evaluate(text, t=np.array(5.0), **operands(text, "CSR")), 5 + ((L @ x) * AT).sum())


@pytest.mark.parametrize(("semiring", "least"), [("min_plus", np.min), ("max_plus", np.max)])
def test_under_a_semiring(semiring: str, least: Any) -> None:
    i, j, k = np.nonzero(KEPT[:, :, None] & (L != 0)[:, None, :] & (B != 0).T[None])
    text = "t = L(i,k) * B(k,j) if L(i,j)"
    found = ms.evaluate(text, semiring=semiring, **operands(text, "CSR"))
    assert found == least(L[i, k] + B[k, j])


def test_where_the_sums_stand() -> None:
    text = with_explicit_sums(parse("t = L(i,k) * L(k,j) if m(i)"))
    assert [str(index) for index in text.value.indices] == ["i"]  # type: ignore[union-attr]
    assert with_explicit_sums(text) == text
