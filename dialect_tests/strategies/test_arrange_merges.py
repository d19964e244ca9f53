"""Merging loops into sparse results: what they compute, and which are arranged."""

from __future__ import annotations

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.strategy_remarks import ADD, SPMV, said_by


@pytest.mark.parametrize("stored", ["CSR", "DCSR", "COO", "CSC"])
@pytest.mark.parametrize("seed", [1, 2])
def test_sums_and_products_of_equal_and_other_structure(stored: str, seed: int) -> None:
    rng = np.random.default_rng(0)
    first, rng = rng.integers(-1, 2, (9, 14)).clip(0) * 3.0, np.random.default_rng(seed - 1)
    second = rng.integers(-1, 2, (9, 14)).clip(0) * 2.0
    A, B = ms.tensor(first, stored), ms.tensor(second, stored)
    np.testing.assert_array_equal(ms.evaluate(ADD, A=A, B=B, out=stored).to_numpy(), first + second)
    product = ms.evaluate("C(i,j) = A(i,j) * B(i,j)", A=A, B=B, out=stored)
    np.testing.assert_array_equal(product.to_numpy(), first * second)


@pytest.mark.parametrize("text", [ADD, "C(i,j) = A(i,j) * B(i,j)"])
def test_it_says_which_merges_are_arranged(text: str) -> None:
    assert said_by("arrange-merges", text, "CSR", A="CSR", B="CSR") == ["applied to j"]
    assert set(said_by("arrange-merges", text, "DCSR", A="DCSR", B="DCSR")) == {"applied to j", "applied to i"}


def test_it_says_nothing_of_dense_results_and_of_one_operand() -> None:
    assert said_by("arrange-merges", ADD, "dense", A="CSR", B="CSR") == []
    assert said_by("arrange-merges", SPMV, A="CSR", x="") == []


def test_operands_that_meet_move_on_together() -> None:
    trace = ms.compile(ADD, A="f64[?,?] CSR", B="f64[?,?] CSR", out="CSR").passes()
    (text,) = [step.text for step in trace if step.name == "assemble-sparse-results"]
    assert [line for line in text.splitlines() if "scf.if" in line and "-> (index, index, index)" in line]
