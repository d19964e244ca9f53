"""Parts with much more than their share of the entries, such as a row that is full, are computed in divisions."""

from __future__ import annotations

import gc
import pickle
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.as_array import as_array
from mlir_sparse.dask.heavy_parts import is_linear

da = pytest.importorskip("dask.array")
msd = pytest.importorskip("mlir_sparse.dask")

_RANDOM = np.random.default_rng(7)
D = np.where(_RANDOM.random((300, 500)) < 0.01, _RANDOM.integers(-4, 5, (300, 500)), 0).astype(float)
D[150] = _RANDOM.integers(1, 5, 500)  # a third of the entries are in one row
x, B = _RANDOM.integers(-4, 5, 500).astype(float), _RANDOM.integers(-4, 5, (500, 3)).astype(float)
PIECES = 40

STATEMENTS: dict[str, tuple[dict[str, Any], Any]] = {
    "y(i) = A(i,j) * x(j)": ({"x": x}, D @ x),
    "y(j) = A(i,j) * z(i)": ({"z": np.arange(300.0)}, np.arange(300.0) @ D),
    "Y(i,k) = A(i,j) * B(j,k)": ({"B": B}, D @ B),
    "s = A(i,j)": ({}, D.sum()),
    "r(i) = -(A(i,j) * x(j)) / 2": ({"x": x}, -(D @ x) / 2),
    "C(i,k) = A(i,j) * P(k,j)": ({"P": ms.tensor(D[:20])}, D @ D[:20].T),
    "m(i) = max(j : A(i,j))": ({}, D.max(axis=1)),
    "q(i) = A(i,j) * A(i,j)": ({}, (D * D).sum(axis=1)),
    "r(i) = z(i) - A(i,j) * x(j)": ({"x": x, "z": np.arange(300.0)}, np.arange(300.0) - D @ x),
}


@pytest.fixture(autouse=True)
def _tasks_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operands of tests are so small that their images would not be worth a task."""
    monkeypatch.setattr("mlir_sparse.dask.image_operands.TASK_NBYTES", 0)


def _division_sizes(graph: Any) -> list[int]:
    return [value.nse for key, value in dict(graph).items() if str(key[0]).startswith("part-division-")]


@pytest.mark.parametrize("storage", ["CSR", "COO", "DCSR", "CSR(unordered)"])
@pytest.mark.parametrize("text", STATEMENTS)
def test_statements_on_heavy_rows_are_those_on_the_whole(text: str, storage: str) -> None:
    named, wanted = STATEMENTS[text]
    encoding = "(i, j) -> (i : dense, j : compressed(nonordered))" if "unordered" in storage else storage
    A = msd.from_tensor(ms.tensor(D, encoding), pieces=PIECES)
    found = msd.evaluate(text, A=A, **named)
    statement = ms.parse(text)
    assert isinstance(statement, ms.Assignment)
    divided = text[0] not in "mq" and "z(i) - " not in text
    assert bool(_division_sizes(found.__dask_graph__())) == divided
    np.testing.assert_array_equal(as_array(found.compute(scheduler="threads")), wanted)


def test_no_piece_has_much_more_than_its_share() -> None:
    A = msd.from_tensor(ms.tensor(D, "CSR"), pieces=PIECES)
    y = msd.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x)
    computed = dict(y.dask.cull(y.__dask_keys__())).values()
    sizes = [value.nse for value in computed if isinstance(value, ms.SparseTensor)]
    assert sum(sizes) == np.count_nonzero(D)
    assert max(sizes) <= 1.1 * sum(sizes) / PIECES
    assert len(_division_sizes(y.dask)) > 10


def test_divisions_are_sent_what_they_name_and_no_more() -> None:
    n = 4000
    rows = np.zeros((400, n))
    rows[np.arange(400), np.arange(400) * 7] = 1
    rows[20, :600] = 2
    A = msd.from_tensor(ms.tensor(rows, "CSR"), pieces=8)
    v = np.arange(float(n))
    found = msd.evaluate("y(i) = A(i,j) * v(j)", A=A, v=v)
    graph = dict(found.__dask_graph__())
    images = [value for key, value in graph.items() if isinstance(key, tuple) and "-within-v" in key[0]]
    assert len(images) > 2
    assert max(len(pickle.dumps(image)) for image in images) < 2500  # all of v takes 32,000
    np.testing.assert_array_equal(found.compute(scheduler="synchronous"), rows @ v)


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.float16, np.complex64])
def test_divisions_of_every_element_type(dtype: Any) -> None:
    dense = (np.abs(D) % 4).astype(dtype)
    A = msd.from_tensor(ms.tensor(dense, "CSR"), pieces=PIECES)
    for text in ("C(i,j) = A(i,j) * v(j)", "y(i) = A(i,j) * v(j)"):
        v = np.arange(500) % 2
        found = msd.evaluate(text, A=A, v=v.astype(dtype))
        whole = ms.evaluate(text, A=ms.tensor(dense, "CSR"), v=v.astype(dtype))
        assert _division_sizes(found.__dask_graph__())
        computed = found.compute(scheduler="synchronous")
        assert computed.dtype == whole.dtype == found.dtype
        np.testing.assert_array_equal(as_array(computed), as_array(whole))


@pytest.mark.parametrize("storage", ["CSR", "COO", "DCSR", "BSR(3, 4)", "(i, j) -> (i : dense, j : loose_compressed)"])
def test_divisions_see_values_that_change_in_place(storage: str) -> None:
    whole = ms.tensor(D, storage)
    A = msd.from_tensor(whole, pieces=PIECES)
    found = msd.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x)
    np.testing.assert_array_equal(found.compute(scheduler="threads"), D @ x)
    whole.storage.values[:] *= 2
    np.testing.assert_array_equal(found.compute(scheduler="threads"), 2 * D @ x)
    again = msd.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x)
    np.testing.assert_array_equal(again.compute(scheduler="threads"), 2 * D @ x)


def test_iterations_have_the_same_divisions() -> None:
    square = np.zeros((100, 100))
    square[3] = 1
    square[np.arange(100), np.arange(100)] = 2
    A = msd.from_tensor(ms.tensor(square, "CSR"), pieces=10)
    step = lambda v, A: msd.evaluate("y(i) = A(i,j) * v(j)", A=A, v=v)  # noqa: E731
    last = list(msd.iterate(step, np.ones(100), A, times=3))[-1]
    np.testing.assert_array_equal(last.compute(scheduler="threads"), square @ square @ square @ np.ones(100))


@pytest.mark.parametrize(
    ("text", "linear"),
    [
        ("y(i) = A(i,j) * x(j)", True),
        ("y(i) = A(i,j) * x(j) + 2 * A(i,j)", True),
        ("y(i) = A(i,j) * A(i,j)", False),
        ("y(i) = A(i,j) + 1", False),
        ("y(i) = exp(A(i,j))", False),
        ("y(i) = x(j) / A(i,j)", False),
        ("y(i) = max(j : A(i,j))", False),
        ("y(i) += A(i,j) * x(j)", False),
        ("y(i) = count(j : A(i,j))", False),
    ],
)
def test_what_is_linear(text: str, linear: bool) -> None:
    from mlir_sparse.notation import with_explicit_sums
    from mlir_sparse.notation.laws import PLUS_TIMES

    statement = ms.parse(text)
    assert isinstance(statement, ms.Assignment)
    assert is_linear(with_explicit_sums(statement, PLUS_TIMES), "A") == linear


def test_divisions_end_with_their_parts() -> None:
    from mlir_sparse.dask.kept_while import _kept

    gc.collect()
    before = len(_kept)
    A = msd.from_tensor(ms.tensor(D, "CSR"), pieces=PIECES)
    first, again = (msd.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x) for _ in range(2))
    assert len(_kept) > before
    del A, first, again
    gc.collect()
    assert len(_kept) == before
