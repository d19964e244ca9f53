"""Statements that the sparsifier crashes on as they stand are computed in other steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

# Each adds a product with a literal and a union of entries to something with a dense row.
TEXTS = [
    "y(i,j) = B(i,j) * d(j) + 2 * (C(i,j) + P(i,j))",
    "y(i,j) = T(i,j) * d(j) - P(i,j) * (!E(i,j)) * 2",
    "y(i,j) = B(i,j) * d(j) + E(i,j) * (0.5 + P(i,j)) * T(i,j)",
    "y(i,j) = P(i,j) - (B(i,j) * d(j) + C(i,j) + T(i,j)) / 2",
    "y(i,j) = B(i,j) * S(i,j) + (2 * C(i,j) + P(i,j)) * d(i)",
    "y(i,j) = P(i,j) * (!E(i,j)) * E(j,i) * 2 * where(f, B(i,j), 1) * d(j) - P(i,j) * (!E(i,j)) * E(j,i) * 2",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("out", ["CSR", "COO"])
def test_sums_of_dense_rows_and_of_products_with_literals(text: str, out: str) -> None:
    rng = np.random.default_rng(len(text))
    arrays: dict[str, Any] = {"d": rng.random(6), "f": np.array(2.0), "w": np.array(1.5), "S": rng.random((6, 6))}
    for name in "BCEPT":
        arrays[name] = rng.integers(-3, 4, (6, 6)) * (rng.random((6, 6)) < 0.5) * 1.0
    arrays["E"] = arrays["E"] > 0
    arrays = {name: arrays[name] for name in ms.parse(text).inputs}
    given = {name: ms.tensor(one, "CSR") if name in "BCEPT" else one for name, one in arrays.items()}
    found = ms.evaluate(text, tensors=given, out=out, optimize="off")
    np.testing.assert_allclose(found.to_numpy(), ms.evaluate(text, tensors=arrays), rtol=1e-14)


@pytest.mark.parametrize(("lists", "rows"), [("CSF", "CSR"), ("COO", "CSR"), ("CSF", "CSC"), ("CSF", "DCSR")])
@pytest.mark.parametrize(
    "text",
    [
        "Y(i,j,k) = 2 * (Z(i,j,k) + B(i,j,k)) + A(i,j,k) * T(i,k)",
        "Y(i,j,k) = (Z(i,j,k) - B(i,j,k)) / 2 - A(i,j,k) * T(j,k)",
        "Y(i,j,k) = 3 * (Z(i,j,k) + 2 * (B(i,j,k) + A(i,j,k) * T(i,k)))",
        "Y(i,j,k) = sin(2 * (Z(i,j,k) + B(i,j,k))) + A(i,j,k) * T(i,k)",
        "Y(i,j,k) = 2 * max(Z(i,j,k), B(i,j,k)) + A(i,j,k) * T(i,k)",
        "Y(i,k) = 2 * (T(i,k) + S(i,k)) + R(i,k) * T(k,i)",
    ],
)
def test_sums_of_rows_and_of_products_with_literals(text: str, lists: str, rows: str) -> None:
    """The dense level of an operand beside another's list is a dense row too."""
    rng = np.random.default_rng(len(text))
    arrays = {name: rng.integers(-3, 4, (4,) * (3 if name in "ABZ" else 2)) for name in ms.parse(text).inputs}
    arrays = {name: one * (rng.random(one.shape) < 0.5) * 1.0 for name, one in arrays.items()}
    given = {name: ms.tensor(one, lists if one.ndim == 3 else rows) for name, one in arrays.items()}
    found = ms.evaluate(text, tensors=given)
    assert isinstance(found, ms.SparseTensor)
    np.testing.assert_allclose(found.to_numpy(), ms.evaluate(text, tensors=arrays), rtol=1e-14)


def test_operands_of_logic_have_a_type_each() -> None:
    """A part that is made first has the type of the statement; functions of real numbers beside it have their own."""
    text = (
        "y(i,j) = where(where(S(i,j), g(i), h(j)) & B(i,j), Z(i,j) * (P(i,j) * fmin(d(j), where(f, g(i), f))"
        " & max(B(i,j), max(max(k : R(k,j)), 2 + Q(i,j)))), 0)"
    )
    rng = np.random.default_rng(0)
    arrays: dict[str, Any] = {"g": rng.random(6), "h": rng.random(6), "d": rng.random(6), "f": np.array(0.5)}
    for name in "SBPRQZ":
        arrays[name] = rng.integers(-3, 4, (6, 6)) * (rng.random((6, 6)) < 0.6) * 1.0
    arrays["Z"] = arrays["Z"] * (1 + 2j)
    given = {name: ms.tensor(one, "CSR") if name in "SBPRQZ" else one for name, one in arrays.items()}
    found = ms.evaluate(text, tensors=given, optimize="off", out="CSR")
    np.testing.assert_array_equal(found.to_numpy(), ms.evaluate(text, tensors=arrays))


@pytest.mark.parametrize(
    "terms",
    [
        "A(i,k) * d(k) + F(i,j) + C(j,k)",
        "F(k,i) * A(i,k) - F(i,j) - C(j,k)",
        "F(i,j) + A(i,k) * d(k) * f + C(j,k) * d(i)",
        "A(i,k) * d(k) + F(i,j) + C(j,k) * F(k,k)",
        "(A(i,k) * d(k) + F(i,j)) * C(j,k) + T(i,j)",
        "A(i,k) * d(k) + F(i,j) + C(j,k) + T(i,j)",
    ],
)
@pytest.mark.parametrize("out", ["CSR", "dense"])
@pytest.mark.parametrize("optimize", ["off", "auto"])
def test_reduced_sums_of_three_terms(terms: str, out: str, optimize: str) -> None:
    """Loops over a union of entries look up arrays and rows where the entries beside them are."""
    text = f"Y(i,j) = P(i,j) + ({terms}) * E(j,k) * B(k,i) * P(i,j)"
    rng = np.random.default_rng(len(terms))
    arrays: dict[str, Any] = {
        "d": rng.integers(1, 5, 5) * 1.0,
        "F": rng.integers(1, 5, (5, 5)) * 1.0,
        "f": np.array(2.0),
    }
    for name in "ABCEPT":
        arrays[name] = rng.integers(-3, 4, (5, 5)) * (rng.random((5, 5)) < 0.6) * 1.0
    arrays = {name: arrays[name] for name in ms.parse(text).inputs}
    given = {name: ms.tensor(one, "CSR") if name in "ABCEPT" else one for name, one in arrays.items()}
    found = ms.evaluate(text, tensors=given, out=out, optimize=optimize)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(ms.evaluate(text, tensors=arrays)))
