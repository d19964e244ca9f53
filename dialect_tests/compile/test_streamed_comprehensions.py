"""Comprehensions on sources: their statements in passes over parts give what they give on tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mlir_sparse as ms
from dialect_tests.as_array import as_array
from dialect_tests.comprehension_cases import (
    BOTH_WAYS,
    CHAIN,
    PLACED,
    SOFTMAX,
    STENCIL,
    TEXTS,
    assert_equal,
    wholes,
)

N = 60


class _Counted(ms.TensorSource):
    """A tensor that counts how many rows are read of it."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor
        self.shape, self.type = tensor.shape, tensor.type
        self.rows = 0

    def read(self, low: int, high: int) -> Any:
        self.rows += high - low
        return self._tensor[low:high]

    def nbytes_between(self, low: int, high: int) -> int:
        return 100 * (high - low)


@pytest.fixture(scope="module")
def dense() -> np.ndarray:
    random = np.random.default_rng(4)
    return np.where(random.random((N, N)) < 0.2, random.random((N, N)), 0)


STREAMED = [text for text in TEXTS if text not in (PLACED, STENCIL)]


@pytest.mark.parametrize("text", STREAMED)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_passes_over_parts_give_what_tensors_give(text: str, data: st.DataObject) -> None:
    operands = wholes(text, data)
    optimize = data.draw(st.sampled_from(["auto", "off", "algebra"]))
    first = next(name for name, value in operands.items() if np.ndim(value) == 2)
    value = operands[first]
    sparse = value if isinstance(value, ms.SparseTensor) else ms.tensor(value, "CSR")
    memory = data.draw(st.sampled_from([4 * max(1, sparse.nbytes), 1 << 30]))
    try:
        read = ms.source(sparse)
    except ms.UnsupportedError:  # storage without parts, as entries in any order
        return
    expected = ms.evaluate(text, tensors={**operands, first: sparse}, optimize=optimize)
    found = ms.stream(text, tensors={**operands, first: read}, optimize=optimize, memory=memory)
    assert_equal(found, expected)


@pytest.mark.parametrize("memory", [4000, 1 << 30])
def test_passes_are_as_many_as_sums_over_parts_need(dense: np.ndarray, memory: int) -> None:
    A, u, seen = _Counted(ms.tensor(dense, "CSR")), np.linspace(0, 1, N), list[tuple[int, int]]()
    found = ms.stream(SOFTMAX, A=A, u=u, memory=memory, progress=lambda *at: seen.append(at))
    raised = np.exp(dense @ u - (dense @ u).max())
    np.testing.assert_allclose(found, raised / raised.sum(), rtol=1e-12)
    assert A.rows == 3 * N  # for the greatest, for the sum, and for the quotients
    assert seen[-1] == (3 * N, 3 * N)
    A.rows = 0
    w = np.linspace(1, 2, N)
    t, r = ms.stream(BOTH_WAYS, A=A, w=w, memory=memory)
    np.testing.assert_allclose(r, dense @ (dense.T @ w), rtol=1e-12)
    np.testing.assert_allclose(t, r @ w, rtol=1e-12)
    assert A.rows == 2 * N


def test_arrays_for_results_are_written(dense: np.ndarray) -> None:
    A, B, x = ms.source(ms.tensor(dense, "CSR")), ms.tensor(dense, "CSR"), np.linspace(0, 1, N)
    out = {"y": np.full(N, np.nan), "C": np.full((N, N), np.nan)}
    y, C = ms.stream(CHAIN.format(outputs="y, C"), A=A, B=B, x=x, memory=6000, out=out)
    assert y is out["y"]
    assert C is out["C"]
    np.testing.assert_allclose(C, dense @ dense, rtol=1e-12)
    np.testing.assert_allclose(y, dense @ dense @ x, rtol=1e-12)
    shared = np.linspace(0, 1, N)  # is written while others read it
    y = ms.stream(CHAIN.format(outputs="y"), A=A, B=B, x=shared, memory=6000, out=shared)
    assert y is shared
    np.testing.assert_allclose(y, dense @ dense @ x, rtol=1e-12)
    y, C = ms.stream(CHAIN.format(outputs="y, C"), A=A, B=B, x=x, memory=6000, out={"C": "DCSR"})
    assert C.encoding.with_widths(0, 0) == ms.encoding("DCSR")
    np.testing.assert_allclose(as_array(C), dense @ dense, rtol=1e-12)


def test_what_is_the_same_for_all_parts_is_made_once(dense: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    large = np.tile(dense, (5, 5))
    P, x = ms.tensor(large, "CSR"), np.linspace(0, 1, 5 * N)
    read = list[str]()
    run = ms.Kernel.__call__

    def counted(self: Any, *operands: Any, **named: Any) -> Any:
        read.extend(named)
        return run(self, *operands, **named)

    monkeypatch.setattr(ms.Kernel, "__call__", counted)
    for optimize, reads in (("auto", False), ("off", True)):
        read.clear()
        found = ms.stream("y(i) = P(i,j) * Q(j,k) * x(k)", P=ms.source(P), Q=P, x=x, memory="64KiB", optimize=optimize)
        np.testing.assert_allclose(found, large @ (large @ x), rtol=1e-12)
        assert len(read) > 3
        assert ("Q" in read) == reads
    with pytest.raises(ms.UnsupportedError, match="expected optimize= one of"):
        ms.stream("y(i) = P(i,j) * x(j)", P=ms.source(P), x=x, optimize="fast")


def test_parts_that_are_read_otherwise_are_kept_whole_or_refused_by_name(dense: np.ndarray) -> None:
    A, x = _Counted(ms.tensor(dense, "CSR")), np.ones(N)
    text = """def f(double(M,K) A, double(K) x) -> (y) {
        z(i) = A(i,j) * x(j)
        y(i) = A(i,j) * z(j)
        y(i) += A(j,i) * z(j)
    }"""
    y = ms.stream(text, A=A, x=x, memory=6000)
    np.testing.assert_allclose(y, dense @ (dense @ x) + dense.T @ (dense @ x), rtol=1e-12)
    assert A.rows == 2 * N
    text = "def f(double(M,K) A, double(M,K) B) -> ({outputs}) {{ C(i,j) = A(i,j) + B(i,j); y(i,k) = C(i,j) * C(j,k) }}"
    B = ms.tensor(dense.T.copy(), "CSR")
    with pytest.raises(ms.UnsupportedError, match=r"expected a statement that reads C part by part.*among the outputs"):
        ms.stream(text.format(outputs="y"), A=A, B=B, memory=6000)
    C, y = ms.stream(text.format(outputs="C, y"), A=A, B=B, memory=6000)
    np.testing.assert_allclose(as_array(C), dense + dense.T, rtol=1e-12)
    np.testing.assert_allclose(as_array(y), (dense + dense.T) @ (dense + dense.T), rtol=1e-12)
    text = "def f(double(N) u, double(K) w) -> (y) { z(i) = u(i) * u(i); y(i) = z(i + k) * w(k) }"
    u, w = np.linspace(0, 1, N), np.arange(3.0)
    read = ms.source(lambda low, high: u[low:high], shape=(N,), type="f64[?] SparseVector", nbytes=4000)
    y = ms.stream(text.replace("-> (y)", "-> (z, y)"), u=read, w=w, memory=2000)[1]
    np.testing.assert_allclose(as_array(y), np.convolve(u * u, w[::-1], "valid"), rtol=1e-12)
    with pytest.raises(ms.UnsupportedError, match="expected statements that assign whole tensors, where"):
        ms.stream(PLACED, A=A, u=x)


def test_two_sources_of_unlike_extents_are_read_in_passes_of_their_own(dense: np.ndarray) -> None:
    A, B = _Counted(ms.tensor(dense, "CSR")), _Counted(ms.tensor(dense[:20], "CSR"))
    text = """def f(double(M,K) A, double(N,K) B) -> (t) {
        a(i) = A(i,j)
        b(i) = B(i,j)
        s +=! a(i) * a(i)
        r +=! b(i) * b(i)
        t = s * r
    }"""
    found = ms.stream(text, A=A, B=B, memory=3000)
    np.testing.assert_allclose(found, (dense.sum(1) ** 2).sum() * (dense[:20].sum(1) ** 2).sum(), rtol=1e-12)
    assert (A.rows, B.rows) == (N, 20)


def test_a_part_that_two_statements_have_is_made_once(dense: np.ndarray) -> None:
    text = """def f(double(M,K) A, double(K,N) B, double(N) x, double(M) w) -> (y, z) {
        y(i) = A(i,j) * B(j,k) * x(k)
        z(i) = w(i) * A(i,j) * B(j,k) * x(k)
    }"""
    large = np.tile(dense, (5, 5))
    operands = {"B": ms.tensor(large, "CSR"), "x": np.linspace(0, 1, 5 * N), "w": np.linspace(1, 2, 5 * N)}
    y, z = ms.stream(text, A=ms.source(ms.tensor(large, "CSR")), **operands, memory="64KiB")
    np.testing.assert_allclose(y, large @ (large @ operands["x"]), rtol=1e-12)
    np.testing.assert_allclose(z, y * operands["w"], rtol=1e-12)


def test_statements_are_streamed_as_written_where_passes_cannot_do_what_is_planned(dense: np.ndarray) -> None:
    text = "def f(double(M,K) A, double(M,K) B) -> (C, y) { C(i,j) = A(i,j) + B(i,j); y(i,k) = C(i,j) * C(j,k) }"
    A, B = ms.tensor(dense, "CSR"), ms.tensor(dense.T.copy(), "CSR")
    for optimize in ("auto", "off", "algebra"):
        C, y = ms.stream(text, A=ms.source(A), B=B, memory=6000, optimize=optimize)
        np.testing.assert_allclose(as_array(C), dense + dense.T, rtol=1e-12)
        np.testing.assert_allclose(as_array(y), (dense + dense.T) @ (dense + dense.T), rtol=1e-12)
