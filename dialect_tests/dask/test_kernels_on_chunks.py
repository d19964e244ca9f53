"""Kernels that are called with `dask.array`s: results are dask.arrays, equal to those of calls on the whole."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.as_array import as_array

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
msd = pytest.importorskip("mlir_sparse.dask")

_RANDOM = np.random.default_rng(7)
D = np.where(_RANDOM.random((60, 50)) < 0.1, _RANDOM.random((60, 50)), 0)
x, z = _RANDOM.random(50), _RANDOM.random(60)
T = ms.tensor(D, "CSR")
E = ms.tensor(D.T.copy(), "CSR")

STATEMENTS: dict[str, dict[str, Any]] = {
    "y(i) = A(i,j) * x(j)": {"x": x},
    "y(j) = A(i,j) * z(i)": {"z": z},
    "C(i,k) = A(i,j) * E(j,k)": {"E": E},
    "y(i) = A(i,j) * j": {},
    "y(i) = A(i,j) * i": {},
    "y(i) += A(i,j) * x(j)": {"x": x, "y": np.ones(60)},
    "y(i) = A(i,j) * x(j) where j in 3:20": {"x": x},
    "y(i) = A(i,j) * x(j) where i in 0:33": {"x": x},
    "y(j) = max(i : A(i,j)) where i in 10:50": {},
    "s = A(i,j) * x(j) where i in 17:20, j in 3:9": {"x": x},
}


def _parts(**chunks: Any) -> Any:
    return msd.from_tensor(T, pieces=4).rechunk(chunks.get("chunks", (17, -1)))


def _computed(found: Any) -> np.ndarray[Any, Any]:
    assert isinstance(found, da.Array), "nothing runs in the call"
    return as_array(found.compute(scheduler="threads"))


@pytest.mark.parametrize("chunks", [(17, -1), (-1, 9), (17, 9)])
@pytest.mark.parametrize("text", STATEMENTS)
def test_calls_on_chunks_are_those_on_the_whole(text: str, chunks: tuple[int, int]) -> None:
    operands = STATEMENTS[text]
    kernel = ms.compile(text, A=T, **operands)
    wanted = as_array(kernel(A=T, **operands))
    np.testing.assert_allclose(_computed(kernel(A=_parts(chunks=chunks), **operands)), wanted, rtol=1e-12)
    np.testing.assert_allclose(as_array(kernel(A=T, **operands)), wanted, rtol=1e-12)  # as before
    np.testing.assert_allclose(_computed(kernel(A=_parts(chunks=chunks), **operands)), wanted, rtol=1e-12)


@pytest.mark.parametrize("semiring", ["min_plus", "max_times", "or_and"])
def test_calls_under_a_semiring(semiring: str) -> None:
    matrix, vector = (T.astype(bool), x > 0.5) if semiring == "or_and" else (T, x)
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=matrix, x=vector, semiring=semiring)
    parts = msd.from_tensor(matrix, pieces=3)
    for chunks in ((20, -1), (-1, 9)):
        np.testing.assert_array_equal(_computed(kernel(parts.rechunk(chunks), vector)), kernel(matrix, vector))


def test_compile_takes_chunks_for_their_type() -> None:
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=_parts(), x=da.from_array(x, chunks=9))
    assert kernel.spec.inputs[0][1].encoding == T.encoding
    np.testing.assert_allclose(kernel(T, x), D @ x)
    np.testing.assert_allclose(_computed(kernel(_parts(), x)), D @ x)
    np.testing.assert_allclose(_computed(kernel(T, da.from_array(x, chunks=9))), D @ x)
    assert kernel.explain(_parts(), x).startswith("cut along i: axis 0 of A; each piece reads all of x")


def test_results_have_the_storage_and_widths_that_were_asked_for() -> None:
    kernel = ms.compile("C(i,k) = A(i,j) * E(j,k)", A=T, E=E, out="DCSR")
    found = kernel(_parts(), E).compute(scheduler="threads")
    assert found.encoding.with_widths(0, 0) == ms.encoding("DCSR")
    wide = msd.from_tensor(T.convert(T.encoding.with_widths(64, 64)), pieces=4)
    np.testing.assert_allclose(_computed(kernel(wide, E)), D @ D.T)


def test_kernels_of_every_kind_take_chunks(tmp_path: Path) -> None:
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=T, x=x)
    kernel.save(tmp_path / "kernel.msk")
    for one in (pickle.loads(pickle.dumps(kernel)), ms.load(tmp_path / "kernel.msk")):
        np.testing.assert_allclose(_computed(one(_parts(), x)), D @ x)
    twice = ms.define("B(i,j) = 2 * A(i,j)", A=T)
    composed = ms.compile("y(i) = A(i,j) * B(i,j)", A=_parts(), B=twice)
    np.testing.assert_allclose(_computed(composed(_parts(), twice)), 2 * (D * D).sum(axis=1))
    filled = ms.tensor(D + 2, fill_value=2.0)
    beside = ms.compile("y(i) = A(i,j) * F(i,j)", A=T, F=filled)
    np.testing.assert_allclose(_computed(beside(_parts(), filled)), (D * (D + 2)).sum(axis=1))
    found = ms.evaluate("y(i) = A(i,j) * F(i,j)", A=_parts(), F=filled)
    np.testing.assert_allclose(_computed(found), (D * (D + 2)).sum(axis=1))


def test_comprehensions_take_chunks() -> None:
    text = "def f(double(M,N) A, double(N) x) -> (y, w) {\n y(i) +=! A(i,j) * x(j)\n w(j) +=! A(i,j) * y(i)\n}"
    kernel = ms.compile(text, A=T, x=x)
    for chunks in ((17, -1), (17, 9)):
        y, w = kernel(_parts(chunks=chunks), x)
        np.testing.assert_allclose(_computed(y), D @ x)
        np.testing.assert_allclose(_computed(w), D.T @ (D @ x))
    assert "cut along i" in kernel.explain(_parts(), x)


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "an array to write to": (lambda k: k(_parts(), x, out=np.empty(60)), ms.OperandError, r"found\.compute\(\)"),
    "another element type": (lambda k: k(_parts().astype("f4"), x), ms.DTypeError, "astype"),
    "another rank": (lambda k: k(_parts()[0], x), ms.RankError, "2 dimensions"),
    "arrays for tensors": (lambda k: k(da.ones((60, 50)), x), ms.OperandError, "map_blocks"),
    "other storage": (lambda k: k(_parts().map_blocks(lambda p: p.convert("CSC")), x), ms.OperandError, "map_blocks"),
    "other extents": (lambda k: k(_parts(), np.ones(49)), ms.ExtentError, "range over one extent"),
    "unknown chunks": (lambda k: k(_parts()[da.ones(60, chunks=17) > 0], x), ms.OperandError, "compute_chunk_sizes"),
    "a delayed value": (lambda k: k(dask.delayed(T), x), ms.OperandError, "expected a dask.array"),
    "too few": (lambda k: k(_parts()), ms.UnknownTensorError, "expected data for tensor x"),
    "its structure": (lambda k: k.assemble(_parts(), x), ms.OperandError, "compute"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_operands_that_do_not_fit_are_refused_in_the_call(case: str) -> None:
    call, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        call(ms.compile("y(i) = A(i,j) * x(j)", A=T, x=x))


def test_the_way_out_of_a_cut_that_cannot_be_is_another() -> None:
    with pytest.raises(ms.UnsupportedError, match=r"keeps a place(.|\n)*so rechunk an operand along j"):
        ms.evaluate("p(j) = argmax(i : A(i,j))", A=_parts())
    found = ms.evaluate("p(j) = argmax(i : A(i,j))", A=_parts(chunks=(-1, 9)))
    np.testing.assert_array_equal(_computed(found), D.argmax(axis=0))


def test_what_pieces_would_not_do_alike_is_refused() -> None:
    text = "y(i) = A(i,j) * x(j)"
    for options in ({"deterministic": True}, {"schedule": "lanes=8"}):
        with pytest.raises(ms.UnsupportedError, match="without target="):
            ms.compile(text, A=T, x=x, **options)(_parts(), x)
    static = ms.compile(text, A="f64[60,50] CSR", x="f64[50]")
    np.testing.assert_allclose(_computed(static(_parts(), x)), D @ x)
    with pytest.raises(ms.ExtentError, match=r"expected A of shape \[60, 50\]|expected A of shape \(60, 50\)"):
        static(_parts()[:30], x)
    square = ms.tensor(D[:50])
    planned = ms.compile("y(i) = A(i,j) * A(j,k) * x(k)", A=square, x=x)
    in_steps = next(way for way in planned.alternatives(square, x) if way.parts)
    chosen = ms.compile(in_steps, A=square, x=x)
    with pytest.raises(ms.UnsupportedError, match="compile the text"):
        chosen(_parts()[:50], x)
