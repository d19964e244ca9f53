"""The pass that sums a fibre before it multiplies by what all of its entries meet: what it computes, what it leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.strategy_remarks import MASKED, NARROW, SPMM, said_by

CHAIN = "Y(i,r,s) = T(i,j,k) * B(j,r) * C(k,s)"
ROWS = "Y(i,r) = T(i,j,k) * B(j,r)"

Array = np.ndarray[Any, Any]


def operands(shape: tuple[int, ...] = (7, 6, 9), r: int = 5, s: int = 11, dtype: Any = np.float64) -> dict[str, Array]:
    rng = np.random.default_rng(3)
    T = rng.integers(1, 4, shape) * (rng.random(shape) < 0.4)
    B, C = rng.integers(-3, 4, (shape[1], r)), rng.integers(-3, 4, (shape[2], s))
    return {"T": T.astype(dtype), "B": B.astype(dtype), "C": C.astype(dtype)}


def chain_of(T: Array, B: Array, C: Array) -> Array:
    found: Array = np.einsum("ijk,jr,ks->irs", T, B, C)
    return found


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.complex128, np.float16])
@pytest.mark.parametrize(
    "stored",
    [
        *("CSF", "COO", "(i, j, k) -> (i : dense, j : dense, k : compressed)"),
        *("(i, j, k) -> (j : compressed, i : compressed, k : compressed)",),
        *("(i, j, k) -> (k : compressed, i : compressed, j : compressed)",),
    ],
)
@pytest.mark.parametrize("optimize", ["off", "auto"])
def test_chains_of_products(stored: str, dtype: Any, optimize: str) -> None:
    given = operands(dtype=dtype)
    T = ms.tensor(given["T"], stored)
    found = ms.evaluate(CHAIN, T=T, B=given["B"], C=given["C"], out="dense", optimize=optimize)
    np.testing.assert_array_equal(found, chain_of(**given))  # whole numbers add up without rounding


@pytest.mark.parametrize("sizes", [(0, 3, 4), (3, 0, 4), (3, 4, 0), (1, 1, 1), (40, 3, 2)])
@pytest.mark.parametrize(("r", "s"), [(0, 3), (3, 0), (1, 1), (2, 70), (33, 4)])
def test_all_extents(sizes: tuple[int, ...], r: int, s: int) -> None:
    given = operands(sizes, r, s)
    found = ms.evaluate(CHAIN, T=ms.tensor(given["T"], "CSF"), B=given["B"], C=given["C"], out="dense", optimize="off")
    np.testing.assert_array_equal(found, chain_of(**given))


@pytest.mark.parametrize("text", ["Y(i,r,s) += T(i,j,k) * B(j,r) * C(k,s)", "Y(i,r,s) -= T(i,j,k) * C(k,s) * B(j,r)"])
def test_what_is_added_to_counts(text: str) -> None:
    given = operands()
    if "-=" in text:
        text = "Y(i,r,s) = Z(i,r,s) - T(i,j,k) * C(k,s) * B(j,r)"
    start = np.arange(7 * 5 * 11.0).reshape(7, 5, 11)
    first = {"Z": start} if "Z" in text else {"Y": start.copy()}
    found = ms.evaluate(text, T=ms.tensor(given["T"], "CSF"), B=given["B"], C=given["C"], **first, out="dense")
    np.testing.assert_array_equal(found, start - chain_of(**given) if "Z" in text else start + chain_of(**given))


def test_a_sum_in_a_register() -> None:
    given = operands()
    found = ms.evaluate(ROWS, T=ms.tensor(given["T"], "CSF"), B=given["B"], out="dense", optimize="off")
    np.testing.assert_array_equal(found, given["T"].sum(2) @ given["B"])


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("text", [CHAIN, ROWS])
def test_fibres_without_entries_meet_nothing(text: str, special: float) -> None:
    """Elements of B that no entry meets are not read, whatever they are."""
    given = operands()
    given["T"][:, 2] = 0
    stored = ms.tensor(given["T"], "(i, j, k) -> (i : dense, j : dense, k : compressed)")
    B = given["B"].copy()
    B[2] = special
    read = {"C": given["C"]} if "C" in text else {}
    expected = ms.evaluate(text, T=stored, B=given["B"], **read, out="dense", optimize="off")
    found = ms.evaluate(text, T=stored, B=B, **read, out="dense", optimize="off")
    np.testing.assert_array_equal(found, expected)


def test_chunks_have_workspaces_of_their_own() -> None:
    rng = np.random.default_rng(5)
    T = rng.integers(1, 4, (200, 30, 40)) * (rng.random((200, 30, 40)) < 0.3) * 1.0
    B, C = rng.integers(-3, 4, (30, 8)) * 1.0, rng.integers(-3, 4, (40, 8)) * 1.0
    stored = ms.tensor(T, "CSF")
    found = ms.evaluate(CHAIN, T=stored, B=B, C=C, out="dense", optimize="off", threads=4)
    np.testing.assert_array_equal(found, chain_of(T, B, C))


def test_vectors_of_a_workspace_lie_in_one_cache_line() -> None:
    """As malloc places it, some processes took 1.3 times as long as others."""
    kernel = ms.compile(CHAIN, T="f64[?,?,?] CSF", B="f64[?,?]", C="f64[?,?]", optimize="off")
    assert "{alignment = 32 : i64}" in kernel.ir("sparsified")


@pytest.mark.parametrize("options", [NARROW, MASKED])
def test_it_says_where_factors_are_taken_out(options: object) -> None:
    assert said_by("fibre-workspace", CHAIN, "dense", options=options, T="CSF", B="", C="") == ["applied to k"]
    assert said_by("fibre-workspace", ROWS, "dense", options=options, T="CSF", B="") == ["applied to k"]


def test_it_leaves_what_differs_in_each_element() -> None:
    assert said_by("fibre-workspace", SPMM, A="CSR", B="") == []
    assert said_by("fibre-workspace", "Y(i,r) = T(i,j,k) * B(j,r) * C(k,r)", T="CSF", B="", C="") == []


def test_other_semirings_stay_as_they_are() -> None:
    (said,) = said_by("fibre-workspace", CHAIN, "dense", semiring="min_plus", T="CSF", B="", C="")
    assert said.endswith(": it adds up nothing that a common factor can be taken out of")
    given = operands()
    found = ms.evaluate(
        CHAIN, T=ms.tensor(given["T"], "CSF"), B=given["B"], C=given["C"], out="dense", semiring="min_plus"
    )
    T = np.where(given["T"] == 0, np.inf, given["T"])
    sums = T[:, :, :, None, None] + given["B"][None, :, None, :, None] + given["C"][None, None, :, None, :]
    np.testing.assert_array_equal(found, sums.min((1, 2)))
