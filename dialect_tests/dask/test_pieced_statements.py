"""Statements of several steps on `dask.array`s: every way to compute them in pieces gives what the whole does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import mlir_sparse as ms
from mlir_sparse.compile import statement_pieces
from mlir_sparse.notation.laws import PLUS_TIMES
from mlir_sparse.plan.composed_cuts import ComposedCut, compose
from mlir_sparse.plan.cut_steps import CutSteps, in_plain_names, steps_under
from mlir_sparse.spec import Part, Rewriting
from mlir_sparse.tensor.sketch_of import sketch_of

da = pytest.importorskip("dask.array")
msd = pytest.importorskip("mlir_sparse.dask")
pieced_statements = pytest.importorskip("mlir_sparse.dask.pieced_statements")
sketch_of_operand = pytest.importorskip("mlir_sparse.dask.operand_sketches").sketch_of_operand

EXTENTS = {"i": 5, "j": 6, "k": 4, "l": 7}
STORAGE: dict[int, list[str | None]] = {1: [None, "SparseVector"], 2: [None, "CSR", "CSC", "DCSR", "COO", "BSR(2, 2)"]}
# A square matrix S is read along several of its axes.
STATEMENTS = [
    "y(i) = A(i,j) * B(j,k) * x(k)",
    "y(i) = A(i,j) * B(j,k) * C(k,l) * v(l)",
    "Y(i,l) = A(i,j) * B(j,k) * C(k,l)",
    "Y(i,l) = A(i,j) * B(j,k) * C(k,l) * w(j)",
    "y(j) = A(i,j) * A(i,k) * x(k)",
    "s = u(i) * A(i,j) * B(j,k) * x(k)",
    "s = A(i,j) * B(j,k) * C(k,l)",
    "y(i) = S(i,j) * S(j,k) * x(k)",
    "y(i) = S(i,j) * S(k,j) * S(k,l) * x(l)",
    "y(i) = (A(i,j) + D(i,j)) * w(j)",
    "y(i) = A(i,j) * B(j,k) * x(k) + D(i,j) * w(j)",
    "y(i) = D(i,j) * w(j) - A(i,j) * sum(k : B(j,k) * x(k))",
    "y(i) += A(i,j) * B(j,k) * x(k)",
    "Y(i,j) = M(i,j) * E(i,k) * F(k,j) * z(k)",
    "y(i) = A(i,j) * abs(B(j,k) * x(k))",
]


def _indices(text: str) -> dict[str, str]:
    """Returns the index variables of each tensor, the target's among them where it is read."""
    statement = ms.parse(text)
    accesses = [*statement.reads, *([statement.target] if statement.op.reads_target else [])]
    return {access.tensor: "".join(index.name for index in access.indices) for access in accesses}


def _operands(text: str, data: st.DataObject, *, square: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns operands as wholes, and the same, some of them in chunks."""
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    extents = dict.fromkeys(EXTENTS, data.draw(st.integers(0, 6))) if square else EXTENTS
    wholes, parts = dict[str, Any](), dict[str, Any]()
    for name, indices in _indices(text).items():
        shape = tuple(extents[index] for index in indices)
        dense = random.integers(-3, 4, shape) * (random.random(shape) < 0.6).astype(float)
        storage = data.draw(st.sampled_from(STORAGE[len(shape)]))
        wholes[name] = dense if storage is None else ms.tensor(dense, storage)
        parts[name] = wholes[name]
        if data.draw(st.booleans()):
            along, pieces = data.draw(st.integers(0, len(shape) - 1)), data.draw(st.integers(1, 4))
            chunks = [max(1, -(-extent // pieces)) if axis == along else -1 for axis, extent in enumerate(shape)]
            made = da.from_array(dense, chunks=chunks) if storage is None else None
            parts[name] = msd.from_tensor(wholes[name], pieces=pieces, along=along) if made is None else made
    assume(any(isinstance(one, da.Array) for one in parts.values()))
    return wholes, parts


def _array(found: Any) -> np.ndarray:
    return found.to_numpy() if isinstance(found, ms.SparseTensor) else np.asarray(found)


@settings(max_examples=40)
@given(st.data())
def test_every_way_is_that_of_the_whole(data: Any) -> None:
    text = data.draw(st.sampled_from(STATEMENTS))
    wholes, parts = _operands(text, data, square="S" in _indices(text) or data.draw(st.booleans()))
    wanted = ms.evaluate(text, optimize="off", **wholes)
    statement = ms.parse(text)
    plans = [way.spec.rewriting for way in ms.compile(text, **wholes).alternatives(**wholes)]
    plan = data.draw(st.sampled_from(plans))
    plain = plan and in_plain_names(plan, statement)
    assume(plain is None or not plain.symmetric)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieced_statements, "rewriting_of_pieces", lambda given, *_: plain if given == statement else None)
        found, _ = pieced_statements.ways(statement, parts, None, PLUS_TIMES, None, "auto")
    for way in found:
        made = way.array(None, PLUS_TIMES, "auto", None)
        np.testing.assert_array_equal(_array(made.compute(scheduler="synchronous")), _array(wanted), err_msg=str(way))


@settings(max_examples=25)
@given(st.data())
def test_the_way_that_is_taken_is_that_of_the_whole(data: Any) -> None:
    text = data.draw(st.sampled_from(STATEMENTS))
    wholes, parts = _operands(text, data, square="S" in _indices(text))
    along = data.draw(st.sampled_from([None, "i", "j", "k", "l"]))
    try:
        found = msd.evaluate(text, along=along, **parts)
    except ms.UnsupportedError:
        assume(False)
    wanted = _array(ms.evaluate(text, **wholes))
    np.testing.assert_array_equal(_array(found.compute(scheduler="synchronous")), wanted)


def _matrix(rows: int, columns: int, seed: int) -> ms.SparseTensor:
    random = np.random.default_rng(seed)
    return ms.tensor(random.random((rows, columns)) * (random.random((rows, columns)) < 0.1), "CSR")


A, B, x = _matrix(900, 800, 1), _matrix(800, 700, 2), np.random.default_rng(3).random(700)


def test_what_is_the_same_for_all_pieces_is_made_once() -> None:
    parts = {"A": msd.from_tensor(A, pieces=5), "B": msd.from_tensor(B, pieces=3), "x": x}
    y = ms.evaluate("y(i) = A(i,j) * B(j,k) * x(k)", **parts)
    assert len([layer for layer in y.dask.layers if layer.startswith("y_part(j)=")]) == 1
    assert msd.explain("y(i) = A(i,j) * B(j,k) * x(k)", **parts).splitlines()[:4] == [
        "first, once: y_part(j) = sum(k : B(j,k) * x(k))",
        "  cut along j: axis 0 of B; each piece reads all of x; results follow one another along axis 0",
        "    3 tasks, 16.4 KiB read whole by every piece",
        "cut along i: axis 0 of A; each piece reads all of y_part; results follow one another along axis 0",
    ]
    np.testing.assert_allclose(y.compute(scheduler="threads"), A.to_numpy() @ (B.to_numpy() @ x))


def test_a_cut_that_serves_all_steps_makes_a_task_a_piece() -> None:
    parts = {"A": msd.from_tensor(A, pieces=5), "w": np.ones(800)}
    text = "y(j) = A(i,j) * A(i,k) * w(k)"
    assert (
        "  each piece: y_part(i) = sum(k : A(i,k) * w(k)), then y(j) = sum(i : A(i,j) * y_part(i))"
        in msd.explain(text, **parts).splitlines()
    )
    y = ms.evaluate(text, **parts)
    assert len([key for key in y.dask if str(key).startswith("('piece of y(j)=")]) == 5
    dense = A.to_numpy()
    np.testing.assert_allclose(y.compute(scheduler="threads"), dense.T @ (dense @ np.ones(800)))


@pytest.mark.parametrize("optimize", ["off", "auto"])
def test_optimize_is_heard(optimize: str) -> None:
    parts = {"A": msd.from_tensor(A, pieces=5), "B": B, "x": x}
    text = "y(i) = A(i,j) * B(j,k) * x(k)"
    y = ms.evaluate(text, optimize=optimize, **parts)
    assert any("part" in layer for layer in y.dask.layers) == (optimize == "auto")
    assert ("first, once" in msd.explain(text, optimize=optimize, **parts)) == (optimize == "auto")
    np.testing.assert_allclose(y.compute(scheduler="threads"), A.to_numpy() @ (B.to_numpy() @ x))


def test_an_optimization_that_there_is_not_is_refused() -> None:
    with pytest.raises(ms.UnsupportedError, match="expected optimize= one of"):
        ms.evaluate("y(i) = A(i,j) * w(j)", A=msd.from_tensor(A), w=np.ones(800), optimize="much")


def test_parts_are_rounded_as_the_statement_is() -> None:
    """A part of numbers of 32 bits alone would be made in those, where the statement has 64."""
    single = ms.tensor(B.to_numpy().astype(np.float32) / 3, "CSR")
    parts = {"A": msd.from_tensor(A, pieces=5), "B": single, "x": x.astype(np.float32)}
    found = ms.evaluate("y(i) = A(i,j) * B(j,k) * x(k)", **parts).compute(scheduler="threads")
    wanted = A.to_numpy() @ (single.to_numpy().astype(float) @ x.astype(np.float32).astype(float))
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_an_operand_that_is_read_in_parts_and_as_a_whole() -> None:
    square = _matrix(600, 600, 4)
    S, v = msd.from_tensor(square, pieces=4), np.arange(600.0)
    text = "y(i) = v(i) * S(i,j) * S(j,k) * v(k)"
    assert "first, once: y_part(j) = sum(k : S(j,k) * v(k))" in msd.explain(text, S=S, v=v)
    wanted = v * (square.to_numpy() @ (square.to_numpy() @ v))
    np.testing.assert_allclose(ms.evaluate(text, S=S, v=v).compute(scheduler="threads"), wanted)


def test_values_that_are_not_finite() -> None:
    C = B.to_numpy()
    C[3, 3], C[4, 5] = np.inf, np.nan
    parts = {"A": msd.from_tensor(A, pieces=5), "B": ms.tensor(C, "CSR"), "x": x}
    text = "y(i) = A(i,j) * B(j,k) * x(k)"
    whole = ms.evaluate(text, A=A, B=parts["B"], x=x)
    np.testing.assert_allclose(ms.evaluate(text, **parts).compute(scheduler="threads"), whole)


def test_steps_are_planned_once_for_all_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    original = statement_pieces.rewriting_for
    monkeypatch.setattr(statement_pieces, "rewriting_for", lambda *given: asked.append(given) or original(*given))
    parts = {"A": msd.from_tensor(A, pieces=5), "w": np.ones(800)}
    ms.evaluate("y(j) = A(i,j) * A(i,k) * w(k)", **parts).compute(scheduler="synchronous")
    assert len(asked) == 1


def test_a_share_of_sums_serves_no_step_that_reads_it() -> None:
    statement = ms.parse("y(i) = A(i,j) * abs(sum(k : B(j,k) * x(k)))")
    part = ms.parse("t(j) = sum(k : B(j,k) * x(k))")
    plan = Rewriting((Part(part.target, part.value),), ms.parse("y(i) = sum(j : A(i,j) * abs(t(j)))").value)
    along_j = compose(statement, ["j"])
    assert isinstance(along_j, ComposedCut)
    steps = steps_under(along_j, plan)
    assert isinstance(steps, CutSteps)
    assert (len(steps.within), steps.before) == (1, ())
    assert isinstance(compose(statement, ["k"]), str)  # it is no cut at all


def _chain(parts: dict[str, Any]) -> np.ndarray:
    found = ms.evaluate("y(i) = A(i,j) * B(j,k) * x(k)", **parts)
    assert any(layer.startswith("y_part(j)=") for layer in found.dask.layers)
    return found.compute()


def test_steps_on_a_cluster_of_persisted_parts_and_of_files(cluster: Any, tmp_path: Path) -> None:
    wanted = A.to_numpy() @ (B.to_numpy() @ x)
    dA, dB = (msd.from_tensor(one, pieces=4).persist() for one in (A, B))
    np.testing.assert_allclose(_chain({"A": dA, "B": dB, "x": x}), wanted)
    for name, whole in (("A", A), ("B", B)):
        (tmp_path / name).mkdir()
        for number, low in enumerate(range(0, whole.shape[0], 300)):
            ms.write(tmp_path / name / f"{number}.npz", whole[low : low + 300])
    dA, dB = (msd.from_files(tmp_path / name, chunk_bytes=200_000) for name in "AB")
    np.testing.assert_allclose(_chain({"A": dA, "B": dB, "x": x}), wanted)


def test_of_persisted_parts_sketches_are_asked_once(cluster: Any) -> None:
    persisted = msd.from_tensor(A, pieces=4).persist()
    found = sketch_of_operand(persisted)
    assert found is not None
    assert found.entries == A.nse
    assert sketch_of_operand(msd.from_tensor(A, pieces=4)) == found
    assert found.axes[0] == sketch_of(A).axes[0]


def test_chunks_that_are_not_there_yet_are_planned_by_their_types() -> None:
    """By their extents alone they would be taken to be nearly full, and parts of them for arrays of all pairs."""
    n = 40_000
    line = ms.tensor(([np.arange(n), np.arange(n)], np.ones(n)), "CSR", shape=(n, n))
    twice = msd.from_tensor(line, pieces=4) * 2.0
    assert sketch_of_operand(twice) is None
    found = ms.evaluate("Y(i,l) = S(i,j) * S(j,k) * S(k,l)", S=twice).compute(scheduler="synchronous")
    assert (found.nse, found.storage.values.sum()) == (n, 8.0 * n)
    y = ms.evaluate("y(i) = S(i,j) * S(j,k) * x(k)", S=twice, x=np.ones(n)).compute(scheduler="synchronous")
    np.testing.assert_array_equal(y, np.full(n, 4.0))
