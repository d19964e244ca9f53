"""Comprehensions on `dask.array`s: statements cut in turn and together give what they give on tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mlir_sparse as ms

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
msd = pytest.importorskip("mlir_sparse.dask")

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


def _operands(text: str, data: st.DataObject) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns operands as wholes, and the same, at least one of them in chunks."""
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    comprehension = ms.parse(text)
    shapes = SHAPES | ({"w": (3,), "x": (9,)} if text is STENCIL else {})
    wholes, parts = dict[str, Any](), dict[str, Any]()
    for number, name in enumerate(comprehension.inputs):
        dense = random.integers(-3, 4, shapes[name]) * (random.random(shapes[name]) < 0.6)
        value: Any = dense.astype(np.float32 if name == "F" else np.float64)
        storage = data.draw(st.sampled_from(MATRICES)) if value.ndim == 2 else None
        value = value if storage is None else ms.tensor(value, storage)
        wholes[name] = parts[name] = value
        if number and not data.draw(st.booleans()):
            continue
        pieces = data.draw(st.integers(1, 4))
        if storage is None:
            parts[name] = da.from_array(value, chunks=-(-value.shape[0] // pieces))
        else:
            parts[name] = msd.from_tensor(value, pieces=pieces)
    return wholes, parts


def _dense(value: Any) -> Any:
    return value.to_numpy() if isinstance(value, ms.SparseTensor) else np.asarray(value)


def _assert_equal(found: Any, expected: Any) -> None:
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for one, other in pairs:
        assert type(one) is type(other) or np.ndim(other) == 0
        assert one.dtype == other.dtype
        np.testing.assert_allclose(_dense(one), _dense(other), rtol=1e-12)


@pytest.mark.parametrize("text", TEXTS)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_comprehensions_in_parts_give_what_they_give_on_tensors(text: str, data: st.DataObject) -> None:
    wholes, parts = _operands(text, data)
    optimize = data.draw(st.sampled_from(["auto", "off", "algebra"]))
    expected = ms.evaluate(text, tensors=wholes, optimize=optimize)
    made = ms.evaluate(text, tensors=parts, optimize=optimize)
    for one in made if isinstance(made, tuple) else (made,):
        assert isinstance(one, da.Array)
    (found,) = dask.compute(made, scheduler="synchronous")
    _assert_equal(found, expected)
    for one, own in zip(*((v if isinstance(v, tuple) else (v,)) for v in (made, found)), strict=True):
        assert one.shape == own.shape
        assert one.dtype == own.dtype


def _parts_of_chain(rows: int = 12) -> dict[str, Any]:
    random = np.random.default_rng(5)
    A, B = (ms.tensor(random.random((rows, rows)) * (random.random((rows, rows)) < 0.3), "CSR") for _ in "AB")
    return {"A": msd.from_tensor(A, pieces=4), "B": B, "x": random.random(rows)}


def _pieces_of(made: Any, label: str) -> int:
    return sum(str(key).startswith(f"('{label}") for key in da.optimization.optimize(made.dask, made.__dask_keys__()))


def test_a_value_that_one_piece_reads_is_made_in_its_task() -> None:
    parts = _parts_of_chain(100)  # every piece reads most of B
    alone = ms.evaluate(CHAIN.format(outputs="y"), tensors=parts, optimize="off")
    assert _pieces_of(alone, "y(i)") == alone.npartitions > 1
    assert _pieces_of(alone, "C(i,k)") == 0
    beside, product = ms.evaluate(CHAIN.format(outputs="y, C"), tensors=parts, optimize="off")
    assert _pieces_of(beside, "C(i,k)") == product.npartitions


def test_statements_are_planned_together() -> None:
    random = np.random.default_rng(5)
    A, B = (ms.tensor(random.random((300, 300)) * (random.random((300, 300)) < 0.1), "CSR") for _ in "AB")
    operands = {"A": msd.from_tensor(A, pieces=3), "B": B, "x": random.random(300)}
    text = CHAIN.format(outputs="y")
    told = msd.explain(text, tensors=operands)
    assert "C is computed where it is read" in told
    assert "first, once: y_part(j) = sum(k : B(j,k) * x(k))" in told
    told = msd.explain(text, tensors=operands, optimize="off")
    assert "C(i,k) = A(i,j) * B(j,k)\n  cut along i: axis 0 of A" in told
    assert "y(i) = C(i,k) * x(k), whose pieces make C if they read a part each\n  cut along i: axis 0 of C" in told
    expected = A.to_numpy() @ (B.to_numpy() @ operands["x"])
    np.testing.assert_allclose(ms.evaluate(text, tensors=operands).compute(scheduler="threads"), expected)


def test_storage_of_outputs_is_the_one_asked_for() -> None:
    made = ms.evaluate(CHAIN.format(outputs="y, C"), tensors=_parts_of_chain(), out={"C": "DCSR"})
    assert made[1].compute(scheduler="threads").encoding.with_widths(0, 0) == ms.encoding("DCSR")
    made = ms.evaluate(CHAIN.format(outputs="y, C"), tensors=_parts_of_chain(), out={"C": "dense"})
    assert isinstance(made[1].compute(scheduler="threads"), np.ndarray)


def test_comprehensions_run_under_semirings() -> None:
    parts = _parts_of_chain()
    wholes = {
        name: one.compute(scheduler="threads") if isinstance(one, da.Array) else one for name, one in parts.items()
    }
    text = "def f(double(M,K) A, double(K) x) -> (y) { t(i) = A(i,j) * x(j); y(i) = A(i,j) * t(j) }"
    operands = {name: parts[name] for name in "Ax"}
    expected = ms.evaluate(text, tensors={name: wholes[name] for name in "Ax"}, semiring="min_plus")
    found = ms.evaluate(text, tensors=operands, semiring="min_plus").compute(scheduler="threads")
    np.testing.assert_allclose(_dense(found), _dense(expected))


def test_comprehensions_run_on_two_processes(cluster: Any) -> None:
    parts = _parts_of_chain()
    wholes = {
        name: one.compute(scheduler="threads") if isinstance(one, da.Array) else one for name, one in parts.items()
    }
    for optimize in ("auto", "off"):
        made = ms.evaluate(CHAIN.format(outputs="y, C"), tensors=parts, optimize=optimize)
        found = tuple(one.result() for one in cluster.compute(list(made)))
        _assert_equal(found, ms.evaluate(CHAIN.format(outputs="y, C"), tensors=wholes, optimize=optimize))


def test_what_cannot_be_is_refused_by_name() -> None:
    parts = _parts_of_chain()
    with pytest.raises(ms.UnsupportedError, match="expected one statement for along='i', but got a comprehension"):
        msd.evaluate(CHAIN.format(outputs="y"), tensors=parts, along="i")
    with pytest.raises(ms.UnknownTensorError, match="expected data for tensor B"):
        msd.evaluate(CHAIN.format(outputs="y"), A=parts["A"], x=parts["x"])
    with pytest.raises(ms.OperandError, match="expected the storage of results for out="):
        ms.evaluate(CHAIN.format(outputs="y"), tensors=parts, out={"y": np.zeros(12)})
    text = "def f(double(M,K) A) -> (y) { y(i) = A(i,j); y(i) = 1 where i in 0:2 }"
    with pytest.raises(ms.UnsupportedError, match="expected statements that assign whole tensors on dask"):
        ms.evaluate(text, A=parts["A"])
    text = "def f(double(M,K) A, int n) -> (y) { y(i) = A(i,j) where j in 0:n }"
    with pytest.raises(ms.OperandError, match="expected a number for n, which extents may depend on"):
        ms.evaluate(text, A=parts["A"], n=da.from_array(np.int32(3)))
    found = ms.evaluate(text, A=parts["A"], n=np.int32(3)).compute(scheduler="threads")
    np.testing.assert_allclose(found, parts["A"].compute(scheduler="threads").to_numpy()[:, :3].sum(1))


def test_statements_on_numbers_are_tasks() -> None:
    text = "def f(double(M,K) A) -> (r) { s = A(i,j); t = A(i,j) * A(i,j); r = s * s / t }"
    parts = _parts_of_chain()
    dense = parts["A"].compute(scheduler="threads").to_numpy()
    found = ms.evaluate(text, A=parts["A"]).compute(scheduler="threads")
    np.testing.assert_allclose(found, dense.sum() ** 2 / (dense**2).sum())
