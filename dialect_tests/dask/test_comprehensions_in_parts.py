"""Comprehensions on `dask.array`s: statements cut in turn and together give what they give on tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mlir_sparse as ms
from dialect_tests.as_array import as_array
from dialect_tests.comprehension_cases import CHAIN, TEXTS, assert_equal, wholes

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
msd = pytest.importorskip("mlir_sparse.dask")


def _operands(text: str, data: st.DataObject) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns operands as wholes, and the same, at least one of them in chunks."""
    given = wholes(text, data)
    parts = dict(given)
    for number, (name, value) in enumerate(given.items()):
        if number and not data.draw(st.booleans()):
            continue
        pieces = data.draw(st.integers(1, 4))
        if isinstance(value, ms.SparseTensor):
            parts[name] = msd.from_tensor(value, pieces=pieces)
        else:
            parts[name] = da.from_array(value, chunks=-(-value.shape[0] // pieces))
    return given, parts


@pytest.mark.parametrize("text", TEXTS)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_comprehensions_in_parts_give_what_they_give_on_tensors(text: str, data: st.DataObject) -> None:
    given_whole, parts = _operands(text, data)
    optimize = data.draw(st.sampled_from(["auto", "off", "algebra"]))
    expected = ms.evaluate(text, tensors=given_whole, optimize=optimize)
    made = ms.evaluate(text, tensors=parts, optimize=optimize)
    for one in made if isinstance(made, tuple) else (made,):
        assert isinstance(one, da.Array)
    (found,) = dask.compute(made, scheduler="synchronous")
    assert_equal(found, expected)
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
    whole = {
        name: one.compute(scheduler="threads") if isinstance(one, da.Array) else one for name, one in parts.items()
    }
    text = "def f(double(M,K) A, double(K) x) -> (y) { t(i) = A(i,j) * x(j); y(i) = A(i,j) * t(j) }"
    operands = {name: parts[name] for name in "Ax"}
    expected = ms.evaluate(text, tensors={name: whole[name] for name in "Ax"}, semiring="min_plus")
    found = ms.evaluate(text, tensors=operands, semiring="min_plus").compute(scheduler="threads")
    np.testing.assert_allclose(as_array(found), as_array(expected))


def test_comprehensions_run_on_two_processes(cluster: Any) -> None:
    parts = _parts_of_chain()
    whole = {
        name: one.compute(scheduler="threads") if isinstance(one, da.Array) else one for name, one in parts.items()
    }
    for optimize in ("auto", "off"):
        made = ms.evaluate(CHAIN.format(outputs="y, C"), tensors=parts, optimize=optimize)
        found = tuple(one.result() for one in cluster.compute(list(made)))
        assert_equal(found, ms.evaluate(CHAIN.format(outputs="y, C"), tensors=whole, optimize=optimize))


def test_what_cannot_be_is_refused_by_name() -> None:
    parts = _parts_of_chain()
    with pytest.raises(ms.UnsupportedError, match="expected one statement for along='i', but got a comprehension"):
        msd.evaluate(CHAIN.format(outputs="y"), tensors=parts, along="i")
    with pytest.raises(ms.UnknownTensorError, match="expected data for tensor B"):
        msd.evaluate(CHAIN.format(outputs="y"), A=parts["A"], x=parts["x"])
    with pytest.raises(ms.OperandError, match="expected the storage of results for out="):
        ms.evaluate(CHAIN.format(outputs="y"), tensors=parts, out={"y": np.zeros(12)})
    text = "def f(double(M,K) A) -> (y) { y(i) = A(i,j); y(i) = 1 where i in 0:2 }"
    with pytest.raises(ms.UnsupportedError, match="expected statements that assign whole tensors, where"):
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


def test_values_made_in_pieces_are_not_made_once_more() -> None:
    parts, text = _parts_of_chain(100), CHAIN.format(outputs="y")
    made = ms.evaluate(text, tensors=parts, optimize="off")
    # Not only are such tasks left out where Dask finds that nothing needs them: the graph has none.
    assert not [key for key in made.dask.to_dict() if str(key).startswith("('C(i,k)")]
    both = dask.compute(made, ms.evaluate(CHAIN.format(outputs="C"), tensors=parts, optimize="off"), scheduler="sync")
    A = parts["A"].compute(scheduler="sync").to_numpy() @ parts["B"].to_numpy()
    np.testing.assert_allclose(both[0], A @ parts["x"], rtol=1e-12)
    np.testing.assert_allclose(as_array(both[1]), A, rtol=1e-12)


def test_a_part_that_two_statements_have_is_made_once() -> None:
    text = """def f(double(M,K) A, double(K,N) B, double(N) x, double(K,M) D) -> (y, z) {
        y(i) = A(i,j) * B(j,k) * x(k)
        z(l) = D(l,j) * B(j,k) * x(k)
    }"""
    random = np.random.default_rng(6)
    A, B, D = (ms.tensor(random.random((300, 300)) * (random.random((300, 300)) < 0.1), "CSR") for _ in "ABD")
    operands = {"A": msd.from_tensor(A, pieces=3), "B": B, "x": random.random(300), "D": msd.from_tensor(D, pieces=2)}
    assert "is made once, and read by" in msd.explain(text, tensors=operands)
    y, z = dask.compute(*ms.evaluate(text, tensors=operands), scheduler="threads")
    made = B.to_numpy() @ operands["x"]
    np.testing.assert_allclose(y, A.to_numpy() @ made, rtol=1e-12)
    np.testing.assert_allclose(z, D.to_numpy() @ made, rtol=1e-12)
