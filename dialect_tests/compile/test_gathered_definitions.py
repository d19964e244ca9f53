"""Defined tensors whose rows are selected by data: what is gathered in place of sums, and what selections compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.compile.definitions.composed_kernel import ComposedKernel

Array = np.ndarray[Any, Any]
ROWS, GROUPS = 12, 5

# The statement, what it is of the array that the tensor stands for, and whether elements are gathered.
STATEMENTS = {
    "p(i) = M(i,d) * t(d)": (lambda M, t, x, D: M @ t, True),
    "p(i) = M(i,d) * D(d,f) * v(f)": (lambda M, t, x, D: M @ D @ np.arange(3.0), True),
    "p(i,f) = M(i,d) * D(d,f)": (lambda M, t, x, D: M @ D, True),
    "p(i,f) = x(i) * (M(i,d) * t(d) * D(d,f))": (lambda M, t, x, D: (x * 1.0)[:, None] * (M @ (t[:, None] * D)), True),
    "p(i) = 2 * M(i,d) * t(d) - x(i)": (lambda M, t, x, D: 2 * M @ t - x, True),
    "q(d) = M(i,d) * x(i)": (lambda M, t, x, D: M.T @ x, False),
    "s = M(i,d) * x(i) * t(d)": (lambda M, t, x, D: x @ M @ t, False),
    "K(i,d) = M(i,d)": (lambda M, t, x, D: M, False),
    "K(d,e) = M(i,d) * M(i,e)": (lambda M, t, x, D: M.T @ M, False),
    "p(i) = M(i,d)": (lambda M, t, x, D: M.sum(1), False),
    "p(i) = abs(M(i,d) - 1) * t(d)": (lambda M, t, x, D: abs(M - 1) @ t, False),
}


def given(text: str, rows: int, groups: int) -> dict[str, Array]:
    rng = np.random.default_rng(rows)
    arrays = {"t": rng.integers(-3, 4, groups), "x": rng.integers(-3, 4, rows), "D": rng.integers(-3, 4, (groups, 3))}
    arrays["v"] = np.arange(3)
    return {name: array.astype(float) for name, array in arrays.items() if f"{name}(" in text}


def as_array(found: Any) -> Array:
    return np.asarray(found.to_numpy() if isinstance(found, ms.SparseTensor) else found)


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("rows", [ROWS, 1, 0])
@pytest.mark.parametrize("text", STATEMENTS)
def test_one_hot_tensors_give_what_the_array_gives(text: str, rows: int, outside: bool) -> None:
    rng = np.random.default_rng(3)
    c = rng.integers(-2 * outside, GROUPS + 2 * outside, rows)
    M = ms.define("M(i,d) = 1.0 if c(i) == d", c=c, shape=(None, GROUPS))
    dense = (c[:, None] == np.arange(GROUPS)).astype(float)
    arrays = given(text, rows, GROUPS)
    t, x, D = (arrays.get(name, np.zeros(0)) for name in "txD")
    expected = STATEMENTS[text][0](dense, t, x, D)
    kernel = ms.compile(text, M=M, **arrays)
    for _ in range(2):
        np.testing.assert_array_equal(as_array(ms.evaluate(text, M=M, **arrays)), expected)
        np.testing.assert_array_equal(as_array(ms.evaluate(text, M=M, optimize="off", **arrays)), expected)
        np.testing.assert_array_equal(as_array(kernel(M=M, **arrays)), expected)


@pytest.mark.parametrize("text", STATEMENTS)
def test_elements_are_gathered_where_the_rows_are_those_of_the_result(text: str) -> None:
    M = ms.define("M(i,d) = 1.0 if c(i) == d", c=np.zeros(ROWS, np.int64), shape=(None, GROUPS))
    kernel = ms.compile(text, M=M, **given(text, ROWS, GROUPS))
    assert isinstance(kernel, ComposedKernel)
    composed = kernel.explain().splitlines()[0]
    assert ("(c(i)" in composed, "c_selected" in composed) == (STATEMENTS[text][1], not STATEMENTS[text][1])


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("element", ["int32", "float32", "float64", "complex128", "float16"])
def test_places_and_elements_of_each_type(dtype: str, element: str) -> None:
    c, t = np.array([3, 0, 4, 4, 1], dtype), np.array([5, -6, 7, 8, 9], element)
    M = ms.define("M(i,d) = w(i) if c(i) == d", c=c, w=np.array([2, 1, 3, 1, -1], element), shape=(None, 5))
    np.testing.assert_array_equal(ms.evaluate("p(i) = M(i,d) * t(d)", M=M, t=t), np.array([16, 5, 27, 9, 6], element))
    c[1] = -1
    np.testing.assert_array_equal(ms.evaluate("p(i) = M(i,d) * t(d)", M=M, t=t), np.array([16, 0, 27, 9, 6], element))
    c[1] = 2
    np.testing.assert_array_equal(ms.evaluate("p(i) = M(i,d) * t(d)", M=M, t=t), np.array([16, 7, 27, 9, 6], element))


def test_rows_without_an_entry_are_zero_whatever_else_is_not_finite() -> None:
    c, t = np.array([1, 7, -1]), np.array([1.0, np.inf, np.nan])
    M = ms.define("M(i,d) = 1.0 if c(i) == d", c=c, shape=(None, 3))
    for optimize in ("auto", "off"):
        found = ms.evaluate(
            "p(i) = x(i) * M(i,d) * t(d)", M=M, t=t, x=np.array([1.0, np.inf, np.nan]), optimize=optimize
        )
        np.testing.assert_array_equal(found[:1], [np.inf])
    np.testing.assert_array_equal(ms.evaluate("p(i) = M(i,d) * t(d)", M=M, t=t), [np.inf, 0, 0])


def test_formulas_of_integers_say_the_places() -> None:
    c = np.array([5, 4, 3, 2, 1, 0])
    M = ms.define("M(i,d) = 1.0 if abs(c(i) - 3) == d", c=c, shape=(None, 4))
    t = np.arange(4.0) + 1
    np.testing.assert_array_equal(ms.evaluate("p(i) = M(i,d) * t(d)", M=M, t=t), [3, 2, 1, 2, 3, 4])
    N = ms.define("N(k,d) = M(Q(k),d)", M=M, Q=np.array([0, 5]))
    np.testing.assert_array_equal(ms.evaluate("p(k) = N(k,d) * t(d)", N=N, t=t), [3, 4])


def test_two_keys_of_one_table() -> None:
    rng = np.random.default_rng(0)
    c, e, T = rng.integers(0, 4, 9), rng.integers(0, 3, 9), rng.integers(-4, 5, (4, 3)).astype(float)
    M = ms.define("M(i,d) = 1.0 if c(i) == d", c=c, shape=(None, 4))
    N = ms.define("N(i,g) = 1.0 if e(i) == g", e=e, shape=(None, 3))
    np.testing.assert_array_equal(ms.evaluate("p(i) = M(i,d) * N(i,g) * T(d,g)", M=M, N=N, T=T), T[c, e])


def test_rows_out_of_range_are_refused_by_the_names_of_the_text() -> None:
    A, P, x = ms.tensor(np.eye(4)), np.array([0, 3, 1]), np.arange(4.0)
    M = ms.define("M(i,j) = A(P(i), j)", A=A, P=P)
    kernel = ms.compile("y(i) = M(i,j) * x(j)", M=M, x=x)
    np.testing.assert_array_equal(kernel(M=M, x=x), [0, 3, 1])
    for wrong in (4, -1):
        P[1] = wrong
        for call in (kernel, lambda **given: ms.evaluate("y(i) = M(i,j) * x(j)", **given)):
            with pytest.raises(
                ms.CoordinatesError, match=rf"positions of A, 0 to 3 \(axis 0\), but got {wrong} at \(1\)"
            ):
                call(M=M, x=x)
    P[1] = 2
    np.testing.assert_array_equal(kernel(M=M, x=x), [0, 2, 1])


def test_extents_that_gathers_do_not_compare_are_compared() -> None:
    M = ms.define("M(i,d) = 1.0 if c(i) == d", c=np.zeros(3, np.int64), shape=(None, 4))
    kernel = ms.compile("p(i) = M(i,d) * t(d)", M=M, t=np.ones(4))
    for call in (kernel, lambda **given: ms.evaluate("p(i) = M(i,d) * t(d)", **given)):
        np.testing.assert_array_equal(call(M=M, t=np.ones(4)), np.ones(3))
        with pytest.raises(ms.ExtentError):
            call(M=M, t=np.ones(5))


def test_a_target_is_added_to_once() -> None:
    c, t, p = np.array([1, 9, 0]), np.array([5.0, 7.0]), np.ones(3)
    M = ms.define("M(i,d) = 1.0 if c(i) == d", c=c, shape=(None, 2))
    found = ms.evaluate("p(i) += M(i,d) * t(d)", M=M, t=t, p=p, out=np.ones(3))
    np.testing.assert_array_equal(found, [8, 1, 6])


def test_results_go_where_they_are_asked_for() -> None:
    c, t = np.arange(150_000) % 700, np.arange(700.0)
    M = ms.define("M(i,d) = 1.0 if c(i) == d", c=c, shape=(None, 700))
    for threads in (1, 2, 3):
        out = np.full(c.size, np.nan)
        assert ms.evaluate("p(i) = M(i,d) * t(d)", M=M, t=t, out=out, threads=threads) is out
        np.testing.assert_array_equal(out, t[c])
    own = np.arange(700.0)
    N = ms.define("N(i,d) = 1.0 if c(i) == d", c=np.arange(700)[::-1].copy(), shape=(None, 700))
    ms.evaluate("p(i) = N(i,d) * t(d)", N=N, t=own, out=own)
    np.testing.assert_array_equal(own, np.arange(700.0)[::-1])
