"""Parts that were persisted on a cluster: what is asked of them, and what stays with them for the next step."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import mlir_sparse as ms
from dialect_tests.as_array import as_array

da = pytest.importorskip("dask.array")
msd = pytest.importorskip("mlir_sparse.dask")

N = 1024
GRID = sp.diags_array([np.full(N, 4.0), *[np.full(N, -1.0)] * 4], offsets=[0, -1, 1, -32, 32], shape=(N, N)).tocsr()
_RANDOM = np.random.default_rng(8)
P = np.where(_RANDOM.random((N, 50)) < 0.05, _RANDOM.integers(1, 9, (N, 50)), 0).astype(float)
x = _RANDOM.integers(1, 9, N).astype(float)


@pytest.fixture(autouse=True)
def _tasks_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operands of tests are so small that their images would not be worth a task."""
    monkeypatch.setattr("mlir_sparse.dask.image_operands.TASK_NBYTES", 0)


def _persisted(whole: Any, folder: Path, cuts: list[int]) -> Any:
    """Returns parts of a file that workers have read: nothing of them is known here."""
    ms.write(folder / "0.npz", ms.tensor(whole))
    return msd.from_files(folder, cuts=cuts).persist()


@pytest.mark.timeout(200)
def test_persisted_parts_are_asked_for_their_images_once(cluster: Any, tmp_path: Path) -> None:
    from mlir_sparse.dask.kept_while import _kept

    A = _persisted(GRID, tmp_path, list(range(0, N + 1, 128)))
    before = len(_kept)
    chunked = da.from_array(x, chunks=128)
    for text, named, wanted in (
        ("y(i) = A(i,j) * x(j)", {"x": chunked}, GRID @ x),
        ("y(i) = A(i,j) * x(j)", {"x": x}, GRID @ x),
        ("C(i,k) = A(i,j) * B(j,k)", {"B": msd.from_tensor(ms.tensor(P), pieces=4)}, GRID @ P),
    ):
        found = ms.evaluate(text, A=A, **named)
        assert "of images" in msd.explain(text, A=A, **named)
        np.testing.assert_array_equal(as_array(found.compute()), wanted)
    steps = list(msd.iterate(lambda v, A: ms.evaluate("y(i) = A(i,j) * v(j)", A=A, v=v), chunked, A, times=3))
    np.testing.assert_array_equal(steps[-1].compute(), GRID @ (GRID @ (GRID @ x)))
    step = ms.evaluate("y(i) = A(i,j) * v(j)", A=A, v=chunked)
    sends = [key for key in dict(step.dask.layers[step.name]) if str(key[0]).startswith("image-send-")]
    assert len(sends) == 2 * 7  # of chunks beside: all of a part's own is read, and others have nothing to send
    assert len(dict(step.dask.layers[step.name])) == len(sends) + 8 + 1  # nothing is asked again
    assert len(_kept) > before
    del A, found, steps, step
    gc.collect()
    assert len(_kept) == before


@pytest.mark.timeout(200)
def test_heavy_persisted_parts_are_divided_among_the_workers(cluster: Any, tmp_path: Path) -> None:
    skewed = np.where(_RANDOM.random((300, 500)) < 0.01, 1.0, 0)
    skewed[150] = _RANDOM.integers(1, 5, 500)  # a third of the entries are in one row
    v = np.arange(500.0)
    A = _persisted(skewed, tmp_path, np.linspace(0, 300, 31).astype(int).tolist())
    for text, named, wanted in (
        ("y(i) = A(i,j) * v(j)", {"v": v}, skewed @ v),
        ("y(j) = A(i,j) * z(i)", {"z": np.arange(300.0)}, np.arange(300.0) @ skewed),
        ("m(i) = max(j : A(i,j))", {}, skewed.max(axis=1)),
    ):
        found = ms.evaluate(text, A=A, **named)
        within = [key for key in dict(found.dask.layers[found.name]) if str(key[0]).endswith("-within")]
        assert len(within) >= 8 or "max" in text
        np.testing.assert_array_equal(found.compute(), wanted)
    holders = cluster.who_has()
    divisions = {key: who for key, who in holders.items() if str(key).startswith("('division-")}
    assert len({worker for who in divisions.values() for worker in who}) == 2


@pytest.mark.timeout(200)
def test_parts_that_failed_say_so_when_they_are_computed(cluster: Any) -> None:
    def broken(low: int, high: int) -> Any:
        if low == 512:
            raise ValueError("rows of noise")
        return GRID[low:high]

    A = msd.from_source(broken, shape=(N, N), type="f64[?,?] CSR", cuts=[0, 512, N]).persist()
    from distributed import wait

    wait(A)
    y = ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x)
    with pytest.raises(ValueError, match="rows of noise"):
        y.compute()


@pytest.mark.timeout(200)
def test_chunks_of_what_each_piece_reads_go_to_it_one_by_one(cluster: Any) -> None:
    whole = sp.random_array((600, 400), density=0.3, rng=np.random.default_rng(2), format="csr")
    A = msd.from_tensor(ms.tensor(whole), pieces=4)
    v = da.from_array(np.arange(400.0), chunks=100)
    y = ms.evaluate("y(i) = A(i,j) * v(j)", A=A, v=v)
    assert not [key for key in dict(y.dask) if "rechunk" in str(key[0])]
    np.testing.assert_allclose(y.compute(), whole @ np.arange(400.0))
