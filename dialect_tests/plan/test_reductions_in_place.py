"""Reductions other than sums, as loops come to the entries: without a temporary for what is reduced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.crossing import crossed
from mlir_sparse.plan import plan

Array = np.ndarray[Any, Any]

RANDOM = np.random.default_rng(4)


def some(rows: int, columns: int) -> Array:
    return np.where(RANDOM.random((rows, columns)) < 0.5, RANDOM.integers(-4, 5, (rows, columns)), 0).astype(float)


A, C, D, E = some(7, 6), some(7, 6), some(6, 5), some(5, 4)
A[2], A[3], A[4] = RANDOM.integers(1, 5, 6), -RANDOM.integers(1, 5, 6), 0  # rows full of either sign, an empty one
B = RANDOM.integers(-3, 4, (6, 5)).astype(float)
P = A[:, :, None] * B[None]

REDUCTIONS: dict[str, Array] = {
    "Y(i,k) = max(j : A(i,j) * B(j,k))": P.max(1),
    "Y(i,k) = min(j : B(j,k) * A(i,j))": P.min(1),
    "Y(i,k) *=! A(i,j) * B(j,k)": P.prod(1),
    "Y(i,k) = and(j : A(i,j) * B(j,k))": (P != 0).all(1),
    "Y(i,k) = or(j : A(i,j) * B(j,k))": (P != 0).any(1),
    "y(i) = max(j, k : A(i,j) * B(j,k))": P.max((1, 2)),
    "y(k) = min(i, j : A(i,j) * B(j,k))": P.min((0, 1)),
    "y(i) = max(j : A(i,j) * C(i,j))": (A * C).max(1),
    "Y(i,k) = max(j : A(i,j) * D(j,k))": (A[:, :, None] * D).max(1),
    "Y(i,k) = max(j : abs(A(i,j)) * B(j,k) / 2)": (np.abs(A)[:, :, None] * B / 2).max(1),
    "Y(i,k) = min(j : -A(i,j) * B(j,k))": (-P).min(1),
}


@pytest.mark.parametrize("storage", ["CSR", "CSC", "COO", "RowBlocked(4)"])
@pytest.mark.parametrize("text", REDUCTIONS)
def test_products(text: str, storage: str) -> None:
    known = {"A": ms.tensor(A, storage), "C": ms.tensor(C, storage), "D": ms.tensor(D, storage), "B": B}
    operands = {name: value for name, value in known.items() if f"{name}(" in text}
    kernel = ms.compile(text, **operands)
    np.testing.assert_array_equal(kernel(**operands), REDUCTIONS[text])
    made = [kind for name, kind in plan(kernel.spec).types if name.startswith("t.")]
    assert max((kind.rank for kind in made), default=0) <= 2


def test_memory_is_that_of_the_result() -> None:
    """The product of these has 20,000 x 20,000 x 100 elements: 320 GB."""
    places = RANDOM.integers(0, 20_000, (2, 5000))
    sparse = ms.tensor((places, np.ones(5000)), "CSR", shape=(20_000, 20_000))
    other = RANDOM.integers(1, 9, (20_000, 100)).astype(float)
    found = ms.evaluate("Y(i,k) = max(j : A(i,j) * B(j,k))", A=sparse, B=other, out="dense")
    wanted = np.zeros((20_000, 100))
    entries = sparse.to_scipy().tocoo()
    np.maximum.at(wanted, entries.row, entries.data[:, None] * other[entries.col])
    np.testing.assert_array_equal(found, wanted)


@crossed(
    storage=["CSR", "CSC", "COO", "DCSC", "DIA"],
    other=["CSR", "CSC", "dense"],
    kept=["i", "j", "k", "l", "il", "ik", "jl"],
)
def test_several_reductions_by_a_monoid(storage: str, other: str, kept: str) -> None:
    """Of reductions outside and inside of a loop of the result, the inner ones must not overwrite what is there."""
    right, last = (D, ms.tensor(E, "CSR")) if other == "dense" else (ms.tensor(D, other), ms.tensor(E, other))
    there = (A != 0)[:, :, None, None] & (E != 0) & ((D != 0) | (other == "dense"))[:, :, None]
    product = np.where(there, A[:, :, None, None] * D[:, :, None] * E, -np.inf)
    summed = tuple(axis for axis, name in enumerate("ijkl") if name not in kept)
    text = f"Y({','.join(kept)}) = A(i,j) * D(j,k) * E(k,l)"
    found = ms.evaluate(text, semiring="max_times", out="dense", A=ms.tensor(A, storage), D=right, E=last)
    np.testing.assert_array_equal(found, product.max(summed), text)


def test_an_order_that_would_overwrite_is_refused() -> None:
    text, csc = "y(i) = A(i,j) * B(j,k)", ms.tensor(A, "CSC")
    with pytest.raises(ms.UnsupportedError, match="innermost, or none of them, but got j, i, k"):
        ms.compile(text, A=csc, B=B, semiring="max_times", schedule="order=j,i,k").explain()
    found = ms.evaluate(text, A=csc, B=B, semiring="max_times", schedule="order=j,k,i")
    np.testing.assert_array_equal(found, np.where((A != 0)[:, :, None], P, -np.inf).max((1, 2)))


@pytest.mark.parametrize("t", [0.0, 0.25, 0.5, 0.7])
def test_differences_are_numbers_where_logic_asks_whether_they_are_zero(t: float) -> None:
    w, z = np.array([1.5, 1.0, 0.25]), np.array([0.5, 0.0, 0.25])
    found = ms.evaluate(
        "y and=! w(k) * (t - z(k))", w=ms.tensor(w, "SparseVector"), z=ms.tensor(z, "SparseVector"), t=t
    )
    assert bool(found) == bool((w * (t - z) != 0).all())


def test_differences_are_wide_where_integers_beside_them_are_not() -> None:
    A, B = np.array([[0.5, 0.0, 0.25], [1.0, 2.0, 3.0]]), np.array([[0.0, 0.5, 0.0], [1.0, 0.5, 3.0]])
    C = np.array([[1, 2, 3], [4, 5, 6]], np.int32)
    stored = {"A": ms.tensor(A, "CSR"), "B": ms.tensor(B, "CSR"), "C": C}
    found = ms.evaluate("y(i) = max(k : ((A(i,k) - B(i,k)) != 0) * C(i,k))", tensors=stored)
    np.testing.assert_array_equal(found, ((A - B != 0) * C).max(axis=1))
