"""Comprehensions on operands in parts: statements that one pass serves, and those that need several."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import mlir_sparse as ms
from dialect_tests.as_array import as_array

CHAIN = """def f(double(M,K) A, double(K,N) B, double(N) x) -> ({outputs}) {{
    C(i,k) = A(i,j) * B(j,k)
    y(i) = C(i,k) * x(k)
}}"""
SOFTMAX = """def f(double(M,K) A, double(K) u) -> (o) {
    z(i) = A(i,j) * u(j)
    m max=! z(i)
    e(i) = exp(z(i) - m)
    s +=! e(i)
    o(i) = e(i) / s
}"""
UNION = """def f(double(M,K) A, double(M,K) D, double(K) u) -> ({outputs}) {{
    C(i,k) = max(A(i,k), D(i,k))
    E(i,k) = C(i,k) * abs(C(i,k)) - A(i,k)
    y(i) +=! E(i,k) * u(k)
}}"""
BOTH_WAYS = """def f(double(M,K) A, double(M) w) -> (t, r) {
    v(j) = A(i,j) * w(i)
    r(i) = A(i,j) * v(j)
    t = r(i) * w(i)
}"""
UPDATED = """def f(double(M,K) A, double(K) u) -> (y) {
    z(i) = A(i,j) * u(j)
    y(i) += z(i) * z(i)
    y(i) *= 2
}"""
ZEROED = """def f(double(M,K) A) -> (y) {
    y(i) = 0 where i in 0:M
    y(i) += A(i,j)
}"""
WIDENED = """def f(float(M,K) F, double(K) u) -> (double(M) y) {
    t(i) = F(i,j) * F(i,j)
    y(i) = t(i) * 0.5
}"""
STENCIL = """def f(double(N) x, double(K) w) -> (y) {
    z(i) = x(i + k) * w(k)
    y(i) = z(i) * z(i)
}"""
RANGED = """def f(double(M,K) A, double(K) u) -> (y) {
    y(i) = A(i,j) * u(j) where j in 1:4
}"""
PLACED = """def f(double(M,K) A, double(K) u) -> (y) {
    z(i) = A(i,j) * u(j)
    y(2*i + 1) = z(i)
}"""
TEXTS = [CHAIN.format(outputs="y"), CHAIN.format(outputs="y, C"), SOFTMAX, UNION.format(outputs="y"), BOTH_WAYS]
TEXTS += [UNION.format(outputs="E, y"), UPDATED, ZEROED, WIDENED, STENCIL, RANGED, PLACED]
SHAPES = {"A": (7, 5), "B": (5, 6), "D": (7, 5), "F": (7, 5), "x": (6,), "u": (5,), "w": (7,), "y": (7,)}
MATRICES = [None, "CSR", "CSC", "DCSR", "COO", "BSR(2, 2)"]


def wholes(text: str, data: st.DataObject) -> dict[str, Any]:
    """Returns operands of a text in drawn storage."""
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    comprehension = ms.parse(text)
    shapes = SHAPES | ({"w": (3,), "x": (9,)} if text is STENCIL else {})
    found = dict[str, Any]()
    for name in comprehension.inputs:
        dense = random.integers(-3, 4, shapes[name]) * (random.random(shapes[name]) < 0.6)
        value = dense.astype(np.float32 if name == "F" else np.float64)
        storage = data.draw(st.sampled_from(MATRICES)) if value.ndim == 2 else None
        found[name] = value if storage is None else ms.tensor(value, storage)
    return found


def assert_equal(found: Any, expected: Any) -> None:
    """Asserts that results, or tuples of them, have the same kinds, types and values."""
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for one, other in pairs:
        assert type(one) is type(other) or np.ndim(other) == 0
        assert one.dtype == other.dtype
        np.testing.assert_allclose(as_array(one), as_array(other), rtol=1e-12)
