"""Rows of a mask that are looked up: what is computed, and which rows are."""

from __future__ import annotations

import re

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.strategy_remarks import SPMM, said_by

MASKED = "C(i,j) = M(i,j) * (A(i,k) * B(k,j))"


@pytest.mark.parametrize("seed", range(3))
def test_products_where_a_mask_has_entries(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mask, left, right = (rng.integers(-2, 2, (11, 11)).clip(0) * number for number in (1.0, 2.0, 3.0))
    M, A, B = (ms.tensor(one, "CSR") for one in (mask, left, right))
    np.testing.assert_array_equal(ms.evaluate(MASKED, M=M, A=A, B=B, out="CSR").to_numpy(), mask * (left @ right))


def test_it_says_which_rows_are_looked_up() -> None:
    assert said_by("look-up-rows", MASKED, "CSR", M="CSR", A="CSR", B="CSR") == ["applied to j"]


def test_it_says_why_rows_are_merged() -> None:
    said = said_by("look-up-rows", MASKED, "CSR", M="DCSR", A="CSR", B="DCSR")
    assert said == [f"{variable}: no row stays the same in the loops around" for variable in "jk"]


def test_it_says_nothing_without_a_mask() -> None:
    assert said_by("look-up-rows", SPMM, "CSR", A="CSR", B="CSR") == []


def test_a_row_that_is_looked_up_is_not_merged() -> None:
    merged = {
        stored: re.search(r"scf.while .* -> \(index, index", text_of(stored, other)) is not None
        for stored, other in (("CSR", "CSR"), ("DCSR", "DCSR"))
    }
    assert merged == {"CSR": False, "DCSR": True}


def text_of(mask: str, factor: str) -> str:
    types = {"M": mask, "A": "CSR", "B": factor}
    return ms.compile(MASKED, out="CSR", **{name: f"f64[?,?] {kind}" for name, kind in types.items()}).ir("sparsified")
