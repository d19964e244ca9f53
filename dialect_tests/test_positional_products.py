"""Semirings whose products are positions: `min_secondi` and the like, against loops over entries."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.crossing import crossed

POSITIONS: dict[str, Callable[[int, int, int], int]] = {
    "firsti": lambda i, k, j: i,
    "firstj": lambda i, k, j: k,
    "secondi": lambda i, k, j: k,
    "secondj": lambda i, k, j: j,
}
ADDITIONS: dict[str, Callable[[list[int]], int]] = {"min": min, "max": max, "plus": sum}


@crossed(
    multiply=[*POSITIONS, *(f"{name}1" for name in POSITIONS)],
    add=list(ADDITIONS),
    storage=["CSR", "CSC", "COO", "DCSR", "ELL"],
    dtype=["f32", "f64", "i8", "bool"],
)
def test_positions_of_products(multiply: str, add: str, storage: str, dtype: str) -> None:
    """Values are of no account: each product is the subscript that the name says, from 0 or from 1."""
    rng = np.random.default_rng(0)
    left, right = rng.random((5, 6)) < 0.4, rng.random((6, 4)) < 0.4
    A, B = (ms.tensor(one.astype(float), storage).astype(ms.DType(dtype).numpy) for one in (left, right))
    found = ms.evaluate("C(i,j) = A(i,k) * B(k,j)", A=A, B=B, semiring=f"{add}_{multiply}")
    place, base = POSITIONS[multiply.rstrip("1")], int(multiply.endswith("1"))
    assert found.dtype == np.int64
    array, entries = found.to_numpy(), 0
    for i, j in np.ndindex(5, 4):
        met = [place(i, k, j) + base for k in range(6) if left[i, k] and right[k, j]]
        assert array[i, j] == (ADDITIONS[add](met) if met else 0)
        entries += bool(met)
    assert found.nse == entries


def test_parents_of_a_search() -> None:
    G = ms.tensor(np.array([[0.0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]]))
    frontier = ms.tensor(np.array([0.0, 1, 1, 0]), "(i) -> (i : compressed)")
    for name, parent in (("min_firsti", 1), ("max_firsti", 2), ("min_secondi1", 2), ("max_secondj1", 3)):
        assert ms.evaluate("p(j) = A(i,j) * f(i)", A=G, f=frontier, semiring=name)[3] == parent


def test_masks_and_kernels() -> None:
    A = ms.tensor(np.eye(3, k=1) + np.eye(3))
    kernel = ms.compile("C(i,j) = A(i,k) * A(k,j) if A(i,j)", A="f64[?,?] CSR", semiring="max_secondi")
    assert kernel.parameters == ("A",)
    assert kernel(A).to_numpy().tolist() == [[0, 1, 0], [0, 1, 2], [0, 0, 2]]


def test_what_has_no_position_is_refused() -> None:
    A = np.eye(3)
    with pytest.raises(ms.NotationError, match="whose position firsti is, but got `A") as caught:
        ms.evaluate("C(i,j) = (A(i,k) + 1) * A(k,j)", A=A, semiring="min_firsti")
    assert "notation:1:11" in str(caught.value)
    with pytest.raises(ms.NotationError, match=r"firsti, .* but got 'min_thirdi'"):
        ms.semiring("min_thirdi")


def test_results_accumulate_by_other_operators() -> None:
    """`max=` under min_plus: the target's entries and the semiring's, the greater of two, either where one is alone."""
    rng = np.random.default_rng(2)
    D, T = (np.where(rng.random((5, 5)) < 0.5, rng.integers(1, 9, (5, 5)), 0).astype(float) for _ in range(2))
    open_, x, y = np.where(D == 0, np.inf, D), rng.integers(0, 9, 5).astype(float), np.arange(5.0) * 3
    reached = (open_ + x).min(1)
    text = "y(i) max= sum(j : A(i,j) * x(j))"
    for storage in ("CSR", "CSC", "COO", "DCSR"):
        found = ms.evaluate(text, A=ms.tensor(D, storage), x=x, y=y, semiring="min_plus")
        np.testing.assert_array_equal(found, np.where(np.isinf(reached), y, np.maximum(y, reached)))
        both = ms.evaluate(
            "C(i,j) max= sum(k : A(i,k) * A(k,j))",
            A=ms.tensor(D, storage),
            C=ms.tensor(T, storage),
            semiring="min_plus",
        )
        shortest = (open_[:, :, None] + open_).min(1)
        expected = np.where(np.isinf(shortest), T, np.maximum(T, shortest))
        np.testing.assert_array_equal(both.to_numpy(), expected)
    with pytest.raises(ms.NotationError, match="the reduction max"):
        ms.evaluate("y(i) max= A(i,j) * x(j)", A=D, x=x, y=y, semiring="min_plus")
