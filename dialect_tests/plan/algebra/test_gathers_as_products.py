"""Statements with gathered rows: where a sum is made before its elements are gathered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import mlir_sparse as ms
from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import parse, with_explicit_sums
from mlir_sparse.plan.algebra.gathers_as_products import gathers_as_products

Array = np.ndarray[Any, Any]


def plan_of(text: str, **tensors: Any) -> list[str]:
    best, *_ = ms.compile(text, **tensors).alternatives()
    return [*(str(part.value) for part in best.parts), str(best.statement.value)]


def drawn(rows: int, columns: int, each: int) -> Any:
    rng = np.random.default_rng(rows)
    places = np.repeat(np.arange(rows), each), rng.integers(0, columns, rows * each)
    return ms.tensor(sp.coo_array((rng.random(rows * each), places), shape=(rows, columns)).tocsr())


def test_products_by_all_rows_come_before_rows_that_are_taken() -> None:
    rng = np.random.default_rng(0)
    B, q, z = drawn(3000, 2000, 30), rng.integers(0, 3000, 3000), rng.random(2000)
    assert plan_of("w(r) = B(q(r), c) * z(c)", B=B, q=q, z=z) == ["sum(c : B(B.p,c) * z(c))", "w.part(q(r))"]
    np.testing.assert_allclose(ms.evaluate("w(r) = B(q(r), c) * z(c)", B=B, q=q, z=z), (B.to_scipy() @ z)[q])


def test_few_rows_are_taken_before_the_product() -> None:
    rng = np.random.default_rng(0)
    B, q, z = drawn(30_000, 2000, 30), rng.integers(0, 30_000, 20), rng.random(2000)
    assert plan_of("w(r) = B(q(r), c) * z(c)", B=B, q=q, z=z) == ["sum(c : B(q(r),c) * z(c))"]
    np.testing.assert_allclose(ms.evaluate("w(r) = B(q(r), c) * z(c)", B=B, q=q, z=z), (B.to_scipy() @ z)[q])


@pytest.mark.parametrize(
    "text",
    [
        "y(i) = A(P(i), j) * x(j)",
        "y(i) = A(P(i), j) * A(j, k) * x(k)",
        "y(i) = A(P(i), Q(j)) * x(j)",
        "s = A(P(i), j) * x(j) * x(i)",
        "y(k) = A(P(i), k) * x(i)",
        "y(i) = x(i) * A(P(i), j) * A(P(j), k) * x(k) + x(P(i))",
        "y(i,k) = A(P(i), j) * A(j, Q(k))",
    ],
)
@pytest.mark.parametrize("storage", ["CSR", "DCSR", "dense"])
def test_rewritten_statements_give_what_those_as_written_give(text: str, storage: str) -> None:
    n, rng = 400, np.random.default_rng(1)
    dense = np.where(rng.random((n, n)) < 0.05, rng.integers(1, 9, (n, n)), 0).astype(float)
    given: dict[str, Any] = {"x": rng.integers(-3, 4, n).astype(float)}
    given |= {name: rng.integers(0, n, n) for name in "PQ"}
    given["A"] = dense if storage == "dense" else ms.tensor(dense, storage)
    given = {name: value for name, value in given.items() if f"{name}(" in text}
    expected = ms.evaluate(text, optimize="off", out="dense", **given)
    np.testing.assert_array_equal(ms.evaluate(text, out="dense", **given), expected)
    for way in ms.compile(text, out="dense", **given).alternatives():
        np.testing.assert_array_equal(ms.evaluate(way, **given), expected)


def test_a_matrix_stands_for_the_places_only_where_rows_are_gathered() -> None:
    kinds = {name: TensorType.parse("f64[?,?] CSR") for name in "AB"} | {"x": TensorType.parse("f64[?]")}
    kinds |= {"P": TensorType.parse("i64[?]"), "Q": TensorType.parse("i64[?,?]")}
    for text in ("y(i) = x(P(i)) * x(i)", "y(i,k) = A(Q(i,k), j) * x(j)", "y(i) = A(P(P(i)), j) * x(j)"):
        statement = with_explicit_sums(parse(text))
        found = gathers_as_products(statement, kinds)
        assert (found.assignment, dict(found.selections)) == (statement, {})


def test_places_out_of_range_are_refused_whichever_way() -> None:
    A, P, x = drawn(3000, 3000, 30), np.zeros(3000, np.int32), np.ones(3000)
    ms.evaluate("y(i) = A(P(i), j) * x(j)", A=A, P=P, x=x)
    for wrong in (3000, -1, np.iinfo(np.int32).max, np.iinfo(np.int32).min):
        P[2999] = wrong
        for optimize in ("auto", "off"):
            with pytest.raises(ms.CoordinatesError, match=rf"0 to 2999 \(axis 0\), but got {wrong} at \(2999\)"):
                ms.evaluate("y(i) = A(P(i), j) * x(j)", A=A, P=P, x=x, optimize=optimize)


def test_types_alone_do_not_say_which_rows_are_fewer() -> None:
    text, types = "y(i) = A(P(i), j) * x(j)", {"A": "f64[?,?] CSR", "P": "i64[?]", "x": "f64[?]"}
    kernel = ms.compile(text, **types)
    assert "pick A(P(i),j)" in kernel.explain()
    A, P, x = drawn(3000, 3000, 30), np.arange(3000)[::-1].copy(), np.ones(3000)
    assert "pick y.part(P(i))" in kernel.explain(A=A, P=P, x=x)
    np.testing.assert_allclose(kernel(A=A, P=P, x=x), (A.to_scipy() @ x)[P])
