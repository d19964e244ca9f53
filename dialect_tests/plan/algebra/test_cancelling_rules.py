"""Rules that let terms cancel: with `optimize="algebra"`, and for integers, which are a ring."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.statement_cases import matrix, vector
from mlir_sparse.compile import Kernel
from mlir_sparse.plan.algebra.choose_rewriting import choose_rewriting, ranked_ways
from mlir_sparse.plan.algebra.tensor_facts import TensorFacts
from mlir_sparse.runtime import operand_check
from mlir_sparse.tensor.sketch_of import sketch_of

LOSS = "s = sum(i, j : (X(i,j) - sum(k : U(i,k) * V(j,k))) ** 2)"
ROWS, COLUMNS, RANK = 300, 200, 4
FACTS = {"X": matrix(20_000, 20_000, 20), "U": vector(20_000, 16), "V": vector(20_000, 16)}


def low_rank(residual: float) -> dict[str, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    U, V = rng.random((ROWS, RANK)), rng.random((COLUMNS, RANK))
    return {"X": U @ V.T + residual * rng.standard_normal((ROWS, COLUMNS)), "U": U, "V": V}


def facts_of(operands: dict[str, Any]) -> dict[str, TensorFacts]:
    values = {name: operand_check.value_of(name, one) for name, one in operands.items()}
    return {name: TensorFacts(operand_check.type_of(one), sketch_of(one)) for name, one in values.items()}


def chosen(text: str, facts: dict[str, TensorFacts], *, cancels: bool) -> list[str]:
    spec = ms.compile(text, tensors={name: one.kind for name, one in facts.items()}).spec
    found = choose_rewriting(spec.explicit, facts, cancels=cancels)
    return [] if found is None else [str(found.value), *map(str, found.parts)]


def test_a_square_is_multiplied_out() -> None:
    value, *parts = chosen(LOSS, FACTS, cancels=True)
    assert value.startswith("sum(i, j : X(i,j) * X(i,j)) - sum(")
    assert " * s.part" in value
    grams = [part.partition(" = ")[2] for part in parts]
    assert "sum(i : U(i,k) * U(i,k.1)) by BLAS" in grams or "sum(i : U(i,k) * U(i,k.1))" in grams
    assert not any("X(i,j) -" in text for text in (value, *parts))


@pytest.mark.parametrize(
    ("text", "names", "expanded"),
    [
        ("y(i) = (A(i,j) - U(i,k) * V(j,k)) * x(j)", "AUVx", "A(i,j) * x(j)"),
        ("s = sum(i, j : (A(i,j) + u(i) * v(j)) * (A(i,j) + u(i) * v(j)))", "Auv", "A(i,j) * A(i,j)"),
        ("s = sum(i, j : square(A(i,j) - u(i) * v(j)))", "Auv", "A(i,j) * A(i,j)"),
    ],
)
def test_only_where_it_is_asked_for(text: str, names: str, expanded: str) -> None:
    n = 20_000
    known = {
        "A": matrix(n, n, 20),
        "U": vector(n, 8),
        "V": vector(n, 8),
        "x": vector(n),
        "u": vector(n),
        "v": vector(n),
    }
    facts = {name: known[name] for name in names}
    assert any(expanded in line for line in chosen(text, facts, cancels=True))
    assert not any(expanded in line for line in chosen(text, facts, cancels=False))


@pytest.mark.parametrize("residual", [1e-4, 1e-8])
def test_small_residuals_keep_their_digits(residual: float) -> None:
    """Multiplied out, no digit is right at 1e-8: the terms are 1e16 times as large as their sum."""
    operands = low_rank(residual)
    wide = {name: one.astype(np.longdouble) for name, one in operands.items()}
    expected = float(((wide["X"] - wide["U"] @ wide["V"].T) ** 2).sum())
    allowed = 4e-16 * RANK / residual
    for optimize in ("auto", "off"):
        np.testing.assert_allclose(ms.evaluate(LOSS, **operands, optimize=optimize), expected, rtol=allowed)
    way = next(one for one in ways_of(LOSS, operands) if "squares multiplied out" in one.rules)
    assert abs(float(ms.evaluate(way, **operands)) / expected - 1) > allowed


def ways_of(text: str, operands: dict[str, Any]) -> tuple[ms.Alternative, ...]:
    kernel = ms.compile(text, **operands, optimize="algebra")
    assert isinstance(kernel, Kernel)
    return kernel.alternatives()


def test_of_the_process() -> None:
    operands = low_rank(1.0)
    try:
        ms.set_optimize("algebra")
        kernel = ms.compile(LOSS, **operands)
        assert isinstance(kernel, Kernel)
        assert any("squares multiplied out" in way.rules for way in kernel.alternatives())
    finally:
        ms.set_optimize(None)
    assert not any("squares multiplied out" in way.rules for way in ms.compile(LOSS, **operands).alternatives())


def test_statements_of_a_comprehension() -> None:
    head = "def loss(double(m,n) X, double(m,r) U, double(n,r) V) -> (s)"
    text = head + " { R(i,j) +=! U(i,k) * V(j,k) s +=! (X(i,j) - R(i,j)) ** 2 }"
    rng = np.random.default_rng(0)
    X = ms.tensor((rng.integers(0, 1000, (2, 9000)), rng.random(9000)), "CSR", shape=(1000, 1000))
    operands = {"X": X, "U": rng.random((1000, 4)), "V": rng.random((1000, 4))}
    expected = ms.evaluate(text, **operands, optimize="off")
    for optimize, expanded in (("auto", False), ("algebra", True)):
        kernel = ms.compile(text, **operands, optimize=optimize)
        np.testing.assert_allclose(kernel(**operands), expected, rtol=1e-9)
        assert ("X(i,j) * X(i,j)" in kernel.explain()) == expanded


@pytest.mark.parametrize(
    ("text", "dtype", "rule", "value"),
    [
        ("y(i) = A(i,j) * x(j) + A(i,k) * x(k)", "f8", "equal terms added", "sum(j : 2 * A(i,j) * x(j))"),
        ("y(i) = A(i,j) * x(j) + z(i) - A(i,k) * x(k)", "f8", "equal terms cancelled", None),
        ("y(i) = A(i,j) * x(j) + z(i) - A(i,k) * x(k)", "i4", "equal terms cancelled", "z(i)"),
        ("y(i) = (A(i,j) - A(i,j)) * x(j) + z(i)", "i4", "equal terms cancelled", "z(i)"),
        ("y(i) = A(i,j) * x(j) - A(i,k) * x(k)", "i4", "equal terms cancelled", None),
    ],
)
def test_equal_terms(text: str, dtype: str, rule: str, value: str | None) -> None:
    rng = np.random.default_rng(0)
    A = ms.tensor(
        (rng.integers(0, 3000, (2, 90_000)), rng.integers(-9, 9, 90_000).astype(dtype)), "CSR", shape=(3000,) * 2
    )
    operands = {"A": A, "x": rng.integers(-9, 9, 3000).astype(dtype), "z": rng.integers(-9, 9, 3000).astype(dtype)}
    given = {name: operands[name] for name in ms.parse(text).inputs}
    kernel = ms.compile(text, **given)
    assert isinstance(kernel, Kernel)
    found = [str(way.statement.value) for way in kernel.alternatives() if rule in way.rules]
    assert (value in found) if value else not found
    np.testing.assert_array_equal(kernel(**given), ms.evaluate(text, **given, optimize="off"))


def test_terms_that_cancel_leave_no_infinity_behind_in_algebra_alone() -> None:
    text = "y(i) = A(i,j) * x(j) + z(i) - A(i,k) * x(k)"
    operands = {"A": np.full((2, 2), np.inf), "x": np.ones(2), "z": np.ones(2)}
    assert np.isnan(ms.evaluate(text, **operands)).all()
    way = next(one for one in ways_of(text, operands) if "equal terms cancelled" in one.rules)
    np.testing.assert_array_equal(ms.evaluate(way, **operands), np.ones(2))


@pytest.mark.parametrize(
    "text",
    [
        "y = sum(i, j : (A(i,j) - B(j,i)) * (A(i,j) + x(i))) - sum(k, l : A(k,l) * A(k,l))",
        "y = sum(i, j : (A(i,j) - sum(k : B(i,k) * A(k,j))) ** 2)",
        "y(i) = A(i,j) * x(j) - (x(k) - B(i,k)) * A(i,k) + B(i,l) * A(i,l)",
    ],
)
def test_integers_are_a_ring(text: str) -> None:
    """Every way that rules find computes the same bits, wrapped."""
    rng = np.random.default_rng(0)
    operands: dict[str, Any] = {n: ms.tensor(rng.integers(-99, 99, (5, 5)).astype("i1")) for n in "AB"}
    operands = {"x": rng.integers(-99, 99, 5).astype("i1"), **operands}
    given = {name: operands[name] for name in ms.parse(text).inputs}
    kernel = ms.compile(text, **given, optimize="off")
    assert isinstance(kernel, Kernel)
    ways = ranked_ways(kernel.spec.explicit, facts_of(given), cancels=True)
    assert any("multiplied out" in rule for way in ways for rule in way.rules)
    for way in ways[:: len(ways) // 4 + 1]:
        other = Kernel(replace(kernel.spec, rewriting=way.rewriting))
        np.testing.assert_array_equal(other(**given), kernel(**given), err_msg=str(way))
