"""Images of sparse operands, under semirings, and of parts that tasks read: equal to the whole, and nothing besides."""

from __future__ import annotations

import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import mlir_sparse as ms
from dialect_tests.as_array import as_array
from mlir_sparse.tensor.chosen_lines import entries_in_lines, lines_closed_up, lines_spread_out

da = pytest.importorskip("dask.array")
msd = pytest.importorskip("mlir_sparse.dask")

N = 1024
GRID = sp.diags_array([np.full(N, 4.0), *[np.full(N, -1.0)] * 4], offsets=[0, -1, 1, -32, 32], shape=(N, N)).tocsr()
D = GRID.toarray()
_RANDOM = np.random.default_rng(16)
P = np.where(_RANDOM.random((N, 60)) < 0.05, _RANDOM.integers(1, 9, (N, 60)), 0).astype(float)
P[300:420] = 0  # no line of a chunk
x = _RANDOM.integers(1, 9, N).astype(float)

STORAGES = {
    "CSR": "CSR",
    "CSC": "CSC",
    "DCSR": "DCSR",
    "COO": "COO",
    "unordered": "(i, j) -> (i : dense, j : compressed(nonordered))",
    "dense columns": "(i, j) -> (i : compressed, j : dense)",
    "blocks": "BSR(4, 3)",
}


@pytest.fixture(autouse=True)
def _tasks_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operands of tests are so small that their images would not be worth a task."""
    monkeypatch.setattr("mlir_sparse.dask.image_operands.TASK_NBYTES", 0)


def _tensors_sent(array: Any) -> list[Any]:
    """Returns what tasks of an array's own layer have with them."""
    own = dict(array.dask.layers[array.name])
    return [value for key, value in own.items() if str(key[0]).startswith("image-known-")]


@pytest.mark.parametrize("storage", STORAGES)
def test_pieces_are_sent_the_entries_of_a_sparse_operand_that_they_name(storage: str) -> None:
    A, B = msd.from_tensor(ms.tensor(GRID), pieces=6), ms.tensor(P, STORAGES[storage])
    found = ms.evaluate("C(i,k) = A(i,j) * B(j,k)", A=A, B=B)
    np.testing.assert_array_equal(as_array(found.compute(scheduler="synchronous")), D @ P)
    sent = _tensors_sent(found)
    assert len(sent) == 6
    ends = np.cumsum([0, *A.chunks[0]])
    entries = [np.count_nonzero(P[np.flatnonzero(D[low:high].any(axis=0))]) for low, high in pairwise(ends)]
    held = [one.nse if isinstance(one, ms.SparseTensor) else one.chunk.nse for one in sent]
    if storage in ("CSR", "CSC", "DCSR", "COO", "unordered"):
        assert held == entries
    if storage == "CSR":  # no bytes besides those of the lines
        assert all(one.shape[0] < N / 4 for one in sent)
        assert sum(len(pickle.dumps(one)) for one in sent) < 1.1 * sum(one.nbytes for one in sent)
    assert "of images, which pieces read" in msd.explain("C(i,k) = A(i,j) * B(j,k)", A=A, B=B)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("text", ["C(i,k) = A(i,j) * B(j,k)", "C(i,k) = A(i,j) * B(k,j)"])
def test_images_of_sparse_operands_in_chunks_come_from_their_chunks(storage: str, text: str) -> None:
    other = ms.tensor(P if "B(j" in text else P.T.copy(), STORAGES[storage])
    along = 0 if "B(j" in text else 1
    chunks = [100, 160, 64, 300, 400]
    B = da.from_array(other, chunks=(chunks, 60) if along == 0 else (60, chunks))
    A = msd.from_tensor(ms.tensor(GRID), pieces=6)
    found = msd.evaluate(text, A=A, B=B, along="i")
    np.testing.assert_array_equal(as_array(found.compute(scheduler="synchronous")), D @ P)


def test_sampled_products_are_sent_rows_of_both_factors() -> None:
    factor = ms.tensor(P)
    S = msd.from_tensor(ms.tensor(GRID), pieces=6)
    found = ms.evaluate("C(i,j) = S(i,j) * A(i,k) * B(j,k)", S=S, A=factor, B=factor)
    np.testing.assert_array_equal(as_array(found.compute(scheduler="synchronous")), D * (P @ P.T))
    assert len(_tensors_sent(found)) == 6


@pytest.mark.parametrize(
    "ring", ["min_plus", "max_times", "or_and", "plus_pair", "max_min", "any_second", "plus_times"]
)
def test_semirings_are_sent_images(ring: str) -> None:
    whole = ms.tensor(GRID)
    A, B = msd.from_tensor(whole, pieces=6), ms.tensor(P)
    for text, named, out in (
        ("y(i) = A(i,j) * x(j)", {"x": x}, None),
        ("C(i,k) = A(i,j) * B(j,k)", {"B": B}, "CSR"),
    ):
        found = ms.evaluate(text, A=A, **named, semiring=ring, out=out)
        wanted = ms.evaluate(text, A=whole, **named, semiring=ring, out=out)
        np.testing.assert_array_equal(as_array(found.compute(scheduler="synchronous")), as_array(wanted))
        assert len(_tensors_sent(found)) == 6


@pytest.mark.parametrize("count", [1, 3, 7])
def test_of_parts_that_tasks_read_tasks_find_the_images(tmp_path: Path, count: int) -> None:
    whole = ms.tensor(GRID)
    bounds = np.linspace(0, N, count + 1).astype(int)
    for number, (low, high) in enumerate(pairwise(bounds)):
        ms.write(tmp_path / f"{number}.npz", whole[low:high])
    A = msd.from_files(tmp_path, cuts=np.linspace(0, N, 9).astype(int).tolist())
    cases = (
        ("y(i) = A(i,j) * x(j)", {"x": x}, D @ x),
        ("y(i) = A(i,j) * x(j)", {"x": da.from_array(x, chunks=200)}, D @ x),
        ("C(i,k) = A(i,j) * B(j,k)", {"B": ms.tensor(P)}, D @ P),
        ("C(i,k) = A(i,j) * B(j,k)", {"B": msd.from_tensor(ms.tensor(P, "DCSR"), pieces=5)}, D @ P),
        ("y(i) = sum(j : A(i,j) + x(j))", {"x": np.zeros(N)}, D.sum(axis=1)),
    )
    for text, named, wanted in cases:
        found = msd.evaluate(text, A=A, **named, along="i")
        np.testing.assert_allclose(as_array(found.compute(scheduler="threads")), wanted)
        sends = [key for key in dict(found.dask) if isinstance(key, tuple) and str(key[0]).startswith("image-send-")]
        assert bool(sends) == ("+" not in text)
        assert ("of images" in msd.explain(text, A=A, **named)) == bool(sends)


def test_parts_that_a_users_function_reads_are_not_read_before_they_are_computed() -> None:
    calls = []

    def read(low: int, high: int) -> Any:
        calls.append(low)
        return GRID[low:high]

    A = msd.from_source(read, shape=(N, N), type="f64[?,?] CSR", cuts=range(0, N + 1, 128))
    found = ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x)
    assert not calls
    np.testing.assert_allclose(found.compute(scheduler="synchronous"), D @ x)


def test_parts_that_name_most_of_an_operand_get_all_of_it(tmp_path: Path) -> None:
    dense = np.ones((64, 50))
    ms.write(tmp_path / "0.npz", ms.tensor(dense, "CSR"))
    A = msd.from_files(tmp_path, cuts=[0, 16, 32, 64])
    told = msd.explain("y(i) = A(i,j) * x(j)", A=A, x=np.ones(50))
    assert "read whole by every piece" in told
    assert "images" not in told


def test_lines_of_tensors_of_three_dimensions() -> None:
    T = np.where(_RANDOM.random((40, 12, 9)) < 0.1, _RANDOM.integers(1, 5, (40, 12, 9)), 0).astype(float)
    A = sp.random_array((30, 40), density=0.05, random_state=1, format="csr")
    for storage in ("CSF", "(i, j, k) -> (i : dense, j : compressed, k : compressed)"):
        found = ms.evaluate(
            "C(i,j,k) = A(i,m) * T(m,j,k)",
            A=msd.from_tensor(ms.tensor(A), pieces=5),
            T=ms.tensor(T, storage),
            out=storage,
        )
        computed = found.compute(scheduler="synchronous")
        np.testing.assert_allclose(as_array(computed), np.einsum("im,mjk->ijk", A.toarray(), T))
        assert len(_tensors_sent(found)) >= 5  # heavy parts are divided


@pytest.mark.parametrize("ring", ["min_plus", "any_secondi", "max_firstj", "min_firsti1", "plus_secondj"])
@pytest.mark.parametrize("text", ["y(i) = A(i,j) * x(j)", "y(j) = A(i,j) * x(i)"])
def test_semirings_of_values_and_of_positions_by_either_call(ring: str, text: str) -> None:
    whole = ms.tensor(GRID)
    wanted = ms.evaluate(text, A=whole, x=x, semiring=ring)
    for call in (ms.evaluate, msd.evaluate):
        found = call(text, A=msd.from_tensor(whole, pieces=5), x=x, semiring=ring)
        np.testing.assert_array_equal(as_array(found.compute(scheduler="synchronous")), as_array(wanted))


def test_what_a_mask_or_a_users_operator_reads_beyond_the_image_is_sent() -> None:
    whole = ms.tensor(GRID)
    either = ms.operator(lambda a, b: a + b, left=lambda a: a, right=lambda b: b)
    both = ms.operator(lambda a, b: a * b + 1)
    for text, function, images in (
        ("y(i) = sum(j : A(i,j) if x(j) > 3)", None, False),
        ("y(i) = max(j : f(A(i,j), x(j)))", either, False),
        ("y(i) = max(j : f(A(i,j), x(j)))", both, False),  # of all places, zeros too
        ("y(i) = sum(j : f(A(i,j), x(j)))", both, True),
    ):
        named = {} if function is None else {"f": function}
        found = ms.evaluate(text, A=msd.from_tensor(whole, pieces=5), x=x, **named)
        wanted = ms.evaluate(text, A=whole, x=x, **named)
        np.testing.assert_array_equal(as_array(found.compute(scheduler="synchronous")), as_array(wanted))
        assert bool(_tensors_sent(found)) == images


@pytest.mark.parametrize("rows", [0, 1, 7, 2000])
@pytest.mark.parametrize("share", [0.0, 0.03, 0.5, 0.97, 1.0])
def test_lines_are_put_back_where_they_were(rows: int, share: float) -> None:
    """As few runs of lines and as many: positions of these are made in two ways."""
    random = np.random.default_rng(rows)
    whole = ms.tensor(random.random((rows, 5)) * (random.random((rows, 5)) < 0.4), "CSR")
    for wanted in (np.flatnonzero(random.random(rows) < share), np.arange(int(share * rows), rows)):
        found = lines_spread_out(lines_closed_up(whole, 0, wanted), 0, wanted, rows)
        expected = entries_in_lines(whole, 0, wanted)
        np.testing.assert_array_equal(found.storage.positions[1], expected.storage.positions[1])
        np.testing.assert_array_equal(found.to_numpy(), expected.to_numpy())
