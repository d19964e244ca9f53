"""Sums of arrays and sparse tensors inside of functions are arrays that entries are added to in place."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms
from dialect_tests.statement_cases import matrix, rewritten, vector
from mlir_sparse import plan
from mlir_sparse.compile import Kernel
from mlir_sparse.plan import plan_steps

M, N, K = 1000, 2000, 16
FACTS = {"Seen": matrix(M, N, 10), "U": vector(M, K), "V": vector(N, K), "Dn": vector(M, N), "b": vector(N)}
PRODUCT, NEGATED = "sum(k : U(i,k) * V(j,k))", "Seen(i,j) - sum(k : U(i,k) * V(j,k))"
SUBTRACTED = "part.2(i,j) = -Seen(i,j) + sum(k : U(i,k) * V(j,k)) by BLAS"


def plan_of(text: str) -> tuple[str, list[str]]:
    found = rewritten(text, {name: one for name, one in FACTS.items() if f"{name}(" in text}, always=True)
    assert found is not None
    return str(found.value), [str(part).split(".", 1)[1] for part in found.parts]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (f"loss = sum(i, j : ({NEGATED}) ** 2)", "sum(i, j : pow(loss.part.2(i,j), 2))"),
        (f"loss = sum(i, j : abs({NEGATED}))", "sum(i, j : abs(loss.part.2(i,j)))"),
        (
            f"loss = sum(i, j : where(abs({NEGATED}) < 1, ({NEGATED}) ** 2, 2 * abs({NEGATED}) - 1))",
            "sum(i, j : where(abs(loss.part.2(i,j)) < 1, pow(loss.part.2(i,j), 2), 2 * abs(loss.part.2(i,j)) - 1))",
        ),
        (f"row(i) = sum(j : sqrt(1 + ({NEGATED}) ** 2))", "sum(j : sqrt(1 + pow(row.part.2(i,j), 2)))"),
    ],
)
def test_even_functions_read_the_difference_in_place(text: str, value: str) -> None:
    assert plan_of(text) == (value, [SUBTRACTED])


def test_other_functions_read_it_with_its_sign() -> None:
    value, parts = plan_of(f"loss = sum(i, j : exp({NEGATED}))")
    assert value == "sum(i, j : exp(loss.part.2(i,j)))"
    assert parts == ["part(i,j) = sum(k : U(i,k) * V(j,k)) by BLAS", "part.2(i,j) = Seen(i,j) - loss.part(i,j)"]


def test_further_arrays_are_added_too() -> None:
    _, parts = plan_of(f"loss = sum(i, j : ({PRODUCT} + b(j) - 2 * Seen(i,j)) ** 2)")
    assert parts == ["part.2(i,j) = sum(k : U(i,k) * V(j,k)) + b(j) - 2 * Seen(i,j) by BLAS"]


def test_what_is_read_twice_is_not_written_over() -> None:
    _, parts = plan_of(f"C(i,j) = ({NEGATED}) ** 2 * exp({PRODUCT})")
    assert parts == ["part(i,j) = sum(k : U(i,k) * V(j,k)) by BLAS", "part.2(i,j) = -Seen(i,j) + C.part(i,j)"]


def test_functions_with_values_where_no_entry_is_are_no_terms() -> None:
    _, parts = plan_of(f"loss = sum(i, j : (cos(Seen(i,j)) - {PRODUCT}) ** 2)")
    assert all("cos" not in part for part in parts)


STATEMENTS = {
    "squares": (f"loss = sum(i, j : ({NEGATED}) ** 2)", lambda X, R: ((X - R) ** 2).sum()),
    "cubes": (f"loss = sum(i, j : ({NEGATED}) ** 3)", lambda X, R: ((X - R) ** 3).sum()),
    "absolute": (f"C(i,j) = abs({NEGATED})", lambda X, R: np.abs(X - R)),
    "quotient": (f"C(i,j) = 1 / ({NEGATED} + 0.5)", lambda X, R: 1 / (X - R + 0.5)),
    "twice": (f"C(i,j) = ({NEGATED}) ** 2 * cos({PRODUCT})", lambda X, R: (X - R) ** 2 * np.cos(R)),
    "truth": (f"C(i,j) = where({NEGATED} > 0, 1, 2)", lambda X, R: np.where(X - R > 0, 1, 2)),
}


@pytest.mark.parametrize("storage", ["CSR", "CSC", "COO", "DCSR"])
@pytest.mark.parametrize("name", STATEMENTS)
@pytest.mark.parametrize("shape", [(7, 5, 3), (1, 1, 1), (0, 4, 2), (4, 3, 0)])
def test_they_compute_what_is_written(shape: tuple[int, int, int], name: str, storage: str) -> None:
    (text, expected), (m, n, k) = STATEMENTS[name], shape
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((m, n), density=0.3, rng=rng, format="csr")
    operands: dict[str, Any] = {"Seen": ms.tensor(X, storage), "U": rng.random((m, k)), "V": rng.random((n, k))}
    kernel = ms.compile(text, tensors=operands, optimize="off")
    facts = {name: replace(FACTS[name], kind=kernel.spec.type_of(name)) for name in operands}
    found = rewritten(text, facts, always=True)
    assert found is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        result = Kernel(replace(kernel.spec, rewriting=found))(**operands)
        np.testing.assert_allclose(result, expected(X.toarray(), operands["U"] @ operands["V"].T), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_types_are_those_of_the_statement(dtype: Any) -> None:
    rng = np.random.default_rng(1)
    X = scipy.sparse.random_array((300, 200), density=0.1, rng=rng, format="csr").astype(dtype)
    U, V = (rng.random((size, 8)).astype(dtype) for size in (300, 200))
    text = f"loss = sum(i, j : abs({NEGATED}))"
    found = ms.evaluate(text, Seen=ms.tensor(X), U=U, V=V)
    written = ms.evaluate(text, Seen=ms.tensor(X), U=U, V=V, optimize="off")
    assert isinstance(found, np.ndarray)
    assert isinstance(written, np.ndarray)
    assert found.dtype == written.dtype
    np.testing.assert_allclose(found, written, rtol=1e-5)


ADDED = f"({PRODUCT} + Seen(i,j))"
ADDED_AGAIN = "(sum(m : U(j,m) * V(l,m)) + Seen(j,l))"


@pytest.mark.parametrize("optimize", ["auto", "algebra", "off"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"y(i) = sum(j, l : {ADDED} * {ADDED_AGAIN} * x(l))", lambda R, x: R @ (R @ x)),
        (f"y(i) = sum(j : {ADDED} * x(j)) + sum(j : {ADDED} * 2)", lambda R, x: R @ x + 2 * R.sum(1)),
        (f"C(i,l) = sum(j : {ADDED} * {ADDED_AGAIN})", lambda R, _: R @ R),
    ],
)
def test_what_entries_are_added_to_is_read_behind_all_of_them(text: str, expected: Any, optimize: str) -> None:
    """BLAS starts a part, loops add to it, and BLAS reads it: products of arrays run early, but not before those."""
    rng = np.random.default_rng(4)
    X = scipy.sparse.random_array((300, 300), density=0.1, rng=rng, format="csr")
    U, V, x = rng.random((300, 5)), rng.random((300, 5)), rng.random(300)
    operands = {"Seen": ms.tensor(X), "U": U, "V": V} | ({"x": x} if "x(" in text else {})
    found = ms.evaluate(text, tensors=operands, out="dense", optimize=optimize)
    np.testing.assert_allclose(np.asarray(found), expected(U @ V.T + X.toarray(), x), rtol=1e-11)


def test_no_step_reads_what_a_later_step_adds_to() -> None:
    rng = np.random.default_rng(4)
    X = scipy.sparse.random_array((300, 300), density=0.1, rng=rng, format="csr")
    operands = {"Seen": ms.tensor(X), "U": rng.random((300, 5)), "V": rng.random((300, 5)), "x": rng.random(300)}
    text = f"y(i) = sum(j, l : {ADDED} * {ADDED_AGAIN} * x(l))"
    kernel = ms.compile(text, tensors=operands, optimize="off")
    facts = {name: one for name, one in FACTS.items() if name in operands} | {"x": vector(M)}
    found = rewritten(text, facts | {"Seen": matrix(M, M, 100), "V": vector(M, K)}, always=True)
    assert found is not None
    steps = plan.plan(replace(kernel.spec, rewriting=found)).steps
    last = {step.result: number for number, step in enumerate(steps)}
    for number, step in enumerate(steps):
        assert all(last.get(name, -1) < number for name in plan_steps.values_read(step) if name != step.result)
