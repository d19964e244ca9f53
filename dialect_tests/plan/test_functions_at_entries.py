"""Functions of the entries of one operand: their values are computed in a vector, and its levels are shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

RNG = np.random.default_rng(4)
DENSE = np.where(RNG.uniform(size=(9, 7)) < 0.4, RNG.uniform(0.5, 2, (9, 7)), 0)
STORAGES = ("CSR", "CSC", "COO", "DCSR", "SoA-COO")
AT_ENTRIES = "those of the result"


def with_zeros(storage: str) -> ms.SparseTensor:
    """Returns a matrix of which some entries are stored zeros."""
    matrix = ms.tensor(DENSE, storage)
    values = np.array(matrix.storage.values)
    values[::3] = 0
    return matrix.with_values(values)


def planned(text: Any, **operands: Any) -> str:
    return ms.compile(text, **operands).explain()


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(
    ("text", "computed"),
    [
        ("E(i,j) = stored(exp(A(i,j)))", lambda a, x: np.exp(a)),
        ("E(i,j) = stored(cos(A(i,j)) + x(j))", lambda a, x: np.cos(a) + x),
        ("E(i,j) = stored(A(i,j) > x(j))", lambda a, x: (a > x).astype(float)),
    ],
)
def test_functions_of_entries_keep_the_levels(text: str, computed: Any, storage: str) -> None:
    matrix, x = with_zeros(storage), RNG.uniform(0, 2, 7)
    operands = {"A": matrix, "x": x} if "x(" in text else {"A": matrix}
    assert AT_ENTRIES in planned(text, **operands, out=storage)
    result = ms.evaluate(text, **operands, out=storage)
    assert result.nse == matrix.nse
    there = DENSE != 0
    np.testing.assert_allclose(result.to_numpy()[there], computed(matrix.to_numpy(), x[None])[there], rtol=1e-14)
    assert not result.to_numpy()[~there].any()
    assert matrix.nse == np.count_nonzero(DENSE)  # the operand is as it was


@pytest.mark.parametrize("storage", STORAGES)
def test_products_of_semirings_keep_the_levels(storage: str) -> None:
    matrix, x = ms.tensor(DENSE, storage), RNG.uniform(0, 2, 7)
    kernel = ms.compile("E(i,j) = A(i,j) * x(j)", A=matrix, x=x, out=storage, semiring="min_plus")
    assert AT_ENTRIES in kernel.explain()
    found = {(i, j): value for (i, j), value in entries(kernel(matrix, x))}
    assert found == {(i, j): value + x[j] for (i, j), value in entries(matrix)}


def entries(matrix: ms.SparseTensor) -> list[tuple[tuple[int, int], float]]:
    coordinates = matrix.to_scipy().tocoo()
    return sorted(
        ((int(i), int(j)), float(v)) for i, j, v in zip(coordinates.row, coordinates.col, coordinates.data, strict=True)
    )


def test_chosen_entries_are_fewer() -> None:
    text = "E(i,j) = select(A(i,j), A(i,j) > 1)"
    matrix = ms.tensor(DENSE, "CSR")
    assert AT_ENTRIES not in planned(text, A=matrix, out="CSR")
    result = ms.evaluate(text, A=matrix, out="CSR")
    assert result.nse == np.count_nonzero(DENSE > 1)
    np.testing.assert_array_equal(result.to_numpy(), np.where(DENSE > 1, DENSE, 0))


def test_two_sparse_operands_are_merged() -> None:
    text, other = "E(i,j) = stored(A(i,j) * cos(B(i,j)))", DENSE[::-1].copy()
    operands = {"A": ms.tensor(DENSE, "CSR"), "B": ms.tensor(other, "CSR")}
    assert AT_ENTRIES not in planned(text, **operands, out="CSR")
    wanted = np.where((DENSE != 0) & (other != 0), DENSE * np.cos(other), 0)
    np.testing.assert_allclose(ms.evaluate(text, **operands, out="CSR").to_numpy(), wanted)


def test_values_of_another_type() -> None:
    is_large = ms.operator(lambda a: a > 1, name="is_large", dtype="bool")
    matrix = ms.tensor(DENSE, "CSR")
    statement = ms.parse("E(i,j) = is_large(A(i,j))", is_large=is_large)
    assert AT_ENTRIES in planned(statement, A=matrix, out="CSR")
    result = ms.evaluate(statement, A=matrix, out="CSR")
    assert result.nse == matrix.nse
    np.testing.assert_array_equal(result.to_numpy().astype(bool), DENSE > 1)


@pytest.mark.parametrize("body", ["stored(exp(A(i,j)) + x(j))", "stored(x(j) / A(i,j))"])
def test_plans_show_what_is_computed_at_entries(body: str) -> None:
    """They printed `stored(A(i,j), x(j))`, whatever stood in it."""
    types = {"A": "f64[?,?] CSR", "x": "f64[?]"}
    assert body in planned(f"E(i,j) = {body}", **types, out="CSR")
    assert body in planned(f"y(i) = {body}", **types)
