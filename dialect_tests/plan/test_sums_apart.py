"""A sum of differences is made of the differences: neither they nor it overflow where the text does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

BIG = 1e308


@pytest.mark.parametrize("storage", ["dense", "CSR", "CSC", "DCSR", "COO", "CSF"])
@pytest.mark.parametrize(
    "text", ["y(i) = sum(j : A(i,j) - B(i,j))", "y(i) = b(i) - sum(j : (A(i,j) - B(i,j)) / 1 - Z(i,j))"]
)
def test_differences_are_made_before_they_are_summed(text: str, storage: str) -> None:
    D, Z = np.array([[BIG, BIG, 0], [BIG, -BIG, 3]]), np.array([[0, 0, 1.0], [0, 2, 0]])
    given: dict[str, Any] = {"A": D, "B": np.where(D == 3, 0, D), "Z": Z}
    operands = {
        name: D if storage == "dense" else ms.tensor(D, storage) for name, D in given.items() if f"{name}(" in text
    }
    b = {"b": np.array([7.0, 8])} if "b(i)" in text else {}
    expected = [8.0, 7.0] if b else [0.0, 3.0]
    np.testing.assert_array_equal(ms.evaluate(text, **operands, **b), expected)


def test_parentheses_of_arrays_are_kept() -> None:
    big, one = np.array([BIG]), np.array([1.0])
    assert ms.evaluate("y(i) = x(i) - (z(i) - w(i))", x=big, z=-big, w=-big) == big
    assert np.signbit(ms.evaluate("y(i) = -(x(i) - z(i))", x=one, z=one))[0]
    assert ms.evaluate("y = sum(i : x(i) - (z(i) - w(i)))", x=big, z=-big, w=-big) == BIG


@pytest.mark.parametrize(
    "text",
    [
        "y(i) = (A(i,j) + b(i)) * x(j)",
        "y(i) = sum(j : A(i,j) - x(j))",
        "Y(i,j) = (A(i,j) + b(i)) * A(i,j)",
    ],
)
def test_what_is_summed_or_multiplied_otherwise_is_said(text: str) -> None:
    for dtype, said in (("f64", True), ("i64", False)):
        types = {"A": f"{dtype}[?,?] CSR", "b": f"{dtype}[?]", "x": f"{dtype}[?]"}
        tensors = {name: kind for name, kind in types.items() if f"{name}(" in text}
        assert ("\narithmetic\n" in ms.compile(text, tensors=tensors, optimize="off").explain()) == said, dtype
