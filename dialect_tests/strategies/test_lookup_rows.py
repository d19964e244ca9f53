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


@pytest.mark.parametrize("rows", [1, 5, 4000])
@pytest.mark.parametrize("columns", [1, 3, 100])
def test_lists_of_more_coordinates_than_the_result_has_are_met(rows: int, columns: int) -> None:
    """The list of rows of D stays the same in the loop over s: there are no places for its coordinates."""
    rng = np.random.default_rng(rows)
    S, D, A = ((rng.random(shape) < 0.6) * 2.0 for shape in ((3, columns), (rows, columns), (rows, 3)))
    tensors = {"S": ms.tensor(S, "CSR"), "D": ms.tensor(D, "DCSR"), "A": ms.tensor(A, "CSC")}
    statement, expected = "S(s,i) * D(t,i) * A(t,s)", np.einsum("si,ti,ts->i", S, D, A)
    for optimize in ("off", "auto"):
        found = ms.evaluate(f"Y(i) = {statement}", out="SparseVector", optimize=optimize, tensors=tensors)
        np.testing.assert_array_equal(found.to_numpy(), expected)
    said = said_by("look-up-rows", f"Y(i) = {statement}", "SparseVector", S="CSR", D="DCSR", A="CSC")
    assert "t: its coordinates are not those of a row of the result" in said


def test_it_says_which_rows_are_looked_up() -> None:
    assert said_by("look-up-rows", MASKED, "CSR", M="CSR", A="CSR", B="CSR") == ["applied to j"]


def test_it_says_why_rows_are_merged() -> None:
    said = said_by("look-up-rows", MASKED, "CSR", M="DCSR", A="CSR", B="DCSR")
    assert said == [
        "j: no row stays the same in the loops around",
        "k: its coordinates are not those of a row of the result",
    ]


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
