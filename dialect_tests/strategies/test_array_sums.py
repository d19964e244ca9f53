"""The pass that adds up arrays in loops that carry the sum: what it computes, and what it leaves alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.strategy_remarks import said_by

NAME = "array-sums"


def numbers(*shape: int, dtype: Any = np.float64, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(-5, 9, shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int32, np.int8, np.complex128])
@pytest.mark.parametrize("size", [0, 1, 7, 32, 33, 1000])
def test_sums_of_all_types_and_lengths(size: int, dtype: Any) -> None:
    a, b = numbers(size, dtype=dtype), numbers(size, dtype=dtype, seed=1)
    found = ms.evaluate("total = first(place) * second(place)", first=a, second=b, optimize="off")
    assert isinstance(found, np.ndarray)
    assert found.dtype == dtype
    wide = np.float64 if dtype == np.float16 else dtype
    np.testing.assert_array_equal(found, np.dot(a.astype(wide), b.astype(wide)).astype(dtype))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s = X(i,j) * X(i,j)", lambda X, Y, v: (X * X).sum()),
        ("s = X(i,j) * Y(i,j) * v(j)", lambda X, Y, v: (X * Y * v).sum()),
        ("s = sum(i, j : abs(X(i,j) - Y(i,j)))", lambda X, Y, v: np.abs(X - Y).sum()),
        ("s = sum(i, j : pow(X(i,j) - v(j), 2))", lambda X, Y, v: ((X - v) ** 2).sum()),
        ("y(i) = sum(j : where(X(i,j) < 0, -X(i,j), 2 * Y(i,j)))", lambda X, Y, v: np.where(X < 0, -X, 2 * Y).sum(1)),
        ("y(j) = X(i,j)", lambda X, Y, v: X.sum(0)),
        ("y(i) = 3 - X(i,j) * v(j)", lambda X, Y, v: 3 - X @ v),
        ("s = 3 - sum(i, j : abs(X(i,j)))", lambda X, Y, v: 3 - np.abs(X).sum()),
        ("s = sum(i, j : X(i,j)) - sum(i, j : 2 * X(i,j) * Y(i,j))", lambda X, Y, v: X.sum() - 2 * (X * Y).sum()),
        ("y(i) += X(i,j) * v(j)", lambda X, Y, v: 1 + X @ v),
        ("C(i,k) = X(i,j) * Y(k,j)", lambda X, Y, v: X @ Y.T),
        ("C(i,k) = X(i,j) * X(k,j) * v(j)", lambda X, Y, v: (X * v) @ X.T),
        ("s = X(i,j) * X(j,i)", lambda X, Y, v: np.trace(X @ X)),
    ],
)
@pytest.mark.parametrize("size", [1, 5, 40])
def test_nests_of_arrays(size: int, text: str, expected: Any) -> None:
    X, Y, v = numbers(size, size), numbers(size, size, seed=1), numbers(size, seed=2)
    read = {name: array for name, array in {"X": X, "Y": Y, "v": v}.items() if f"{name}(" in text}
    given = {"y": np.ones(size)} if "+=" in text else {}
    found = ms.evaluate(text, tensors={**given, **read}, optimize="off")
    np.testing.assert_array_equal(found, expected(X, Y, v))


@pytest.mark.parametrize("subscripts", ["bbac", "abbc", "aabb", "abab", "abca", "abcc", "abbb", "aaaa", "cabab"])
@pytest.mark.parametrize("kept", ["", "a"])
def test_diagonals(subscripts: str, kept: str) -> None:
    X, v = numbers(*[3] * len(subscripts)), numbers(3, seed=1)
    text = f"y{f'({kept})' * bool(kept)} = X({','.join(subscripts)})"
    for more, times in (("", {}), (" * v(b)", {"v": v})):
        if more and "b" not in subscripts:
            continue
        found = ms.evaluate(text + more, X=X, **times, optimize="off")
        np.testing.assert_array_equal(found, np.einsum(f"{subscripts}{',b' * bool(more)}->{kept}", X, *times.values()))


def test_empty_rows() -> None:
    np.testing.assert_array_equal(ms.evaluate("y(i) = X(i,j)", X=np.ones((3, 0)), optimize="off"), np.zeros(3))
    np.testing.assert_array_equal(ms.evaluate("y(i) = X(i,j)", X=np.ones((0, 3)), optimize="off"), np.zeros(0))
    assert ms.evaluate("s = X(i,j,k)", X=np.ones((2, 0, 3)), optimize="off") == 0


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_large_sums_on_threads(threads: int) -> None:
    X = numbers(300, 700)
    kernel = ms.compile("s = X(i,j) * X(i,j)", X=X, optimize="off", threads=threads)
    assert kernel(X) == (X * X).sum()


def test_values_that_are_not_finite() -> None:
    x = np.array([1.0, np.inf, 2.0] * 20)
    assert ms.evaluate("s = x(i)", x=x) == np.inf
    x[1] = np.nan
    assert np.isnan(ms.evaluate("s = x(i) * x(i)", x=x))


def test_static_extents() -> None:
    x = np.arange(12.0).reshape(3, 4)
    kernel = ms.compile("s = X(i,j)", X="f64[3,4]")
    assert kernel(x) == 66


@pytest.mark.parametrize(
    "text",
    ["s = x(i) * z(i)", "s = sum(i, j : pow(R(i,j), 2))", "s = -sum(i : x(i) * z(i))", "y(i) = 1 - R(i,j) * x(j)"],
)
def test_sums_are_those_of_vectors(text: str) -> None:
    read = {name: "" for name in "xzR" if f"{name}(" in text}
    assert said_by(NAME, text, **read) == ["applied to "]
    assert said_by("inner-sums", text, **read) == ["applied to "]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int32, np.int8])
@pytest.mark.parametrize(("name", "reduce"), [("max", np.max), ("min", np.min), ("prod", np.prod)])
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (5, 8), (2, 33), (4, 1000)])
def test_other_accumulations_of_all_types(shape: tuple[int, int], name: str, reduce: Any, dtype: Any) -> None:
    X = numbers(*shape, dtype=dtype) if name != "prod" else np.ones(shape, dtype)
    X[0, -1] = 3
    assert said_by(NAME, f"y(i) = {name}(j : R(i,j))", R="") == ["applied to "]
    found = ms.evaluate(f"y(i) = {name}(j : R(i,j))", R=X)
    np.testing.assert_array_equal(found, reduce(X, axis=1).astype(dtype))
    np.testing.assert_array_equal(ms.evaluate(f"s = {name}(i, j : R(i,j))", R=X), reduce(X).astype(dtype))


@pytest.mark.parametrize("place", [0, 5, 39])
def test_extremes_of_what_is_not_finite(place: int) -> None:
    x = -np.ones(40)
    for special, greatest, least in ((np.nan, np.nan, np.nan), (np.inf, np.inf, -1), (-np.inf, -1, -np.inf)):
        x[place] = special
        np.testing.assert_equal(ms.evaluate("s = max(i : x(i))", x=x)[()], float(greatest))
        np.testing.assert_equal(ms.evaluate("s = min(i : x(i))", x=x)[()], float(least))
    x[:], x[place] = -0.0, 0.0
    assert not np.signbit(ms.evaluate("s = max(i : x(i))", x=x))
    assert np.signbit(ms.evaluate("s = min(i : x(i))", x=x))


def test_what_is_stored_side_by_side_is_one_loop() -> None:
    kernel = ms.compile("s = R(i,j,k) * S(i,j,k)", R="f64[?,?,?]", S="f64[?,?,?]")
    assert "memref.collapse_shape" in kernel.passes().diff("array-sums")


@pytest.mark.parametrize(
    ("text", "dtype", "reason"),
    [
        ("s = R(i,j) * R(j,i)", "f64", "its innermost loop does not go along rows of what it adds up"),
        ("s = x(i)", "c128", "vectors do not hold its elements"),
        ("s = min(i : R(i,i))", "f64", "its innermost loop does not go along rows of what it adds up"),
    ],
)
def test_what_it_leaves(text: str, dtype: str, reason: str) -> None:
    read = {name: "" for name in "xR" if f"{name}(i" in text}
    assert said_by(NAME, text, dtype=dtype, **read) == [reason]
