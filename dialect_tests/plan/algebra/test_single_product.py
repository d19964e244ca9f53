"""Statements that are known to have one way to be computed without a look at the rules."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import mlir_sparse as ms
from mlir_sparse.plan.algebra.gathers_as_products import gathers_as_products
from mlir_sparse.plan.algebra.possible_gain import may_gain
from mlir_sparse.plan.algebra.ruled_statement import ruled_statement
from mlir_sparse.plan.algebra.single_product import is_single_product

SINGLE = [
    "y(i) = A(i,j) * x(j)",
    "y(j) = A(i,j) * x(i)",
    "C(i,j) = A(i,j) * B(i,j)",
    "C(i,k) = A(i,j) * B(j,k)",
    "y(i) = A(i,j)",
    "B(j,i) = A(i,j)",
    "a = x(i) * z(i)",
    "y(i) = x(i) * z(i)",
]
OTHERS = [
    "y(i) = A(i,j) * B(i,k)",
    "y(i) = A(i,j) * x(j) * z(j)",
    "y(i) = 2 * A(i,j) * x(j)",
    "y(i) max=! A(i,j) * x(j)",
    "y(i) = A(i,i) * x(i)",
    "y(i) = A(i,j) * exp(x(j))",
    "y(i) = A(i,j) * x(2*j)",
    "y(i) = A(i,j) + x(i)",
    "y(i) = A(P(i),j) * x(j)",
    "D(i,k) = E(i,j) * F(j,k)",
]


def spec_of(text: str, dtype: str) -> Any:
    matrices = dict.fromkeys("AB", f"{dtype}[?,?] CSR") | dict.fromkeys("EF", f"{dtype}[?,?]")
    types = matrices | dict.fromkeys("xz", f"{dtype}[?]") | {"P": "i64[?]"}
    return ms.compile(text, tensors={name: kind for name, kind in types.items() if f"{name}(" in text.split("=")[1]})


@pytest.mark.parametrize(("text", "dtype"), list(itertools.product(SINGLE, ("f64", "i32", "c128"))))
def test_single_products_are_those_that_rules_know_nothing_for(text: str, dtype: str) -> None:
    spec = spec_of(text, dtype).spec
    assert is_single_product(spec)
    ruled = ruled_statement(spec)
    if ruled is not None:
        arrays = {name for name, kind in spec.inputs if kind.encoding is None}
        products = gathers_as_products(ruled.assignment, dict(spec.inputs)).assignment
        assert not may_gain(products, arrays, cancels=True)


@pytest.mark.parametrize("text", OTHERS)
def test_other_statements_are_asked_about(text: str) -> None:
    assert not is_single_product(spec_of(text, "f64").spec)


@pytest.mark.parametrize("text", SINGLE)
def test_truth_values_are_asked_about(text: str) -> None:
    assert not is_single_product(spec_of(text, "bool").spec)
