"""Parts that one sum alone reads, as a term, are computed into it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.statement_cases import matrix, rewritten, vector
from mlir_sparse.compile import Kernel

N = 20_000
FACTS = {name: matrix(N, N, 20) for name in "AB"} | {name: vector(N) for name in "xyz"}


def parts_of(text: str) -> list[str]:
    facts = {name: one for name, one in FACTS.items() if f"{name}(" in text}
    found = rewritten(text, facts, always=True)
    return [] if found is None else [str(part) for part in found.parts]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("g(j) = A(i,j) * (sum(k : A(i,k) * x(k)) - y(i))", ["g.part.2(i) = sum(k : A(i,k) * x(k)) - y(i)"]),
        ("g(j) = A(i,j) * (y(i) - sum(k : A(i,k) * x(k)))", ["g.part.2(i) = y(i) - sum(k : A(i,k) * x(k))"]),
        (
            "g(j) = A(i,j) * exp(sum(k : A(i,k) * x(k)))",
            ["g.part(i) = sum(k : A(i,k) * x(k))", "g.part.2(i) = exp(g.part(i))"],
        ),
    ],
)
def test_terms_of_one_sum_are_merged(text: str, parts: list[str]) -> None:
    assert parts_of(text) == parts


def test_what_is_read_twice_is_made_once() -> None:
    product = "sum(k : A(i,k) * x(k))"
    found = parts_of(f"g(j) = A(i,j) * ({product} - y(i)) + B(i,j) * {product}")
    assert "g.part(i) = sum(k : A(i,k) * x(k))" in found
    assert "g.part.2(i) = g.part(i) - y(i)" in found


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64", "i8", "i64", "c128"])
@pytest.mark.parametrize("shape", [(5, 7), (1, 1), (0, 3), (3, 0)])
def test_they_compute_the_same(dtype: str, shape: tuple[int, int]) -> None:
    rng, numpy = np.random.default_rng(0), ms.DType(dtype).numpy
    operands: dict[str, Any] = {
        "A": ms.tensor(rng.integers(0, 3, shape).astype(numpy), "CSR"),
        "x": rng.integers(0, 3, shape[1]).astype(numpy),
        "y": rng.integers(0, 3, shape[0]).astype(numpy),
    }
    text = "g(j) = A(i,j) * (y(i) - sum(k : A(i,k) * x(k)))"
    kernel = ms.compile(text, **operands, optimize="off")
    large = {name: replace(FACTS[name], kind=kernel.spec.type_of(name)) for name in operands}
    found = rewritten(text, large, always=True)
    assert found is not None
    assert len(found.parts) == 1
    result = Kernel(replace(kernel.spec, rewriting=found))(**operands)
    np.testing.assert_array_equal(result, kernel(**operands))


def test_arrays_over_equal_variables_are_multiplied_first_where_factors_are_many() -> None:
    rng, n = np.random.default_rng(0), 2000
    dense = np.where(rng.random((n, n)) < 0.02, rng.integers(1, 4, (n, n)), 0).astype(float)
    given = {name: rng.integers(1, 3, n).astype(float) for name in "abcdefx"}
    given |= {"A": ms.tensor(dense), "B": ms.tensor(dense.T.copy())}
    text = "y(i) = a(i) * b(i) * A(i,j) * c(j) * d(j) * B(j,k) * e(k) * f(k) * x(k)"
    best, *_ = ms.compile(text, **given).alternatives()
    assert [str(part.value) for part in best.parts] == [
        "c(j) * d(j)",
        "e(k) * f(k) * x(k)",
        "sum(k : y.part(j) * B(j,k) * y.part.2(k))",
    ]
    vectors = {name: given[name] for name in "abcdefx"}
    expected = dense.T @ (vectors["e"] * vectors["f"] * vectors["x"])
    expected = vectors["a"] * vectors["b"] * (dense @ (vectors["c"] * vectors["d"] * expected))
    np.testing.assert_array_equal(ms.evaluate(text, **given), expected)
