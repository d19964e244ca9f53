"""Workers that are lost with what was kept beside parts, that are slow, and that have other instructions."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import mlir_sparse as ms

pytest.importorskip("dask.array")
msd = pytest.importorskip("mlir_sparse.dask")
distributed = pytest.importorskip("distributed")

N = 600
GRID = sp.diags_array([np.full(N, 4.0), *[np.full(N, -1.0)] * 4], offsets=[0, -1, 1, -20, 20], shape=(N, N)).tolil()
GRID[77] = np.arange(1.0, N + 1)  # a row with more than its share
GRID = GRID.tocsr()
x = np.arange(float(N))
TEXT = "y(i) = A(i,j) * x(j)"


def _noted(folder: str, seconds: float) -> Any:
    def read(low: int, high: int) -> Any:
        Path(folder, f"{low}-{os.getpid()}").touch()
        for _ in range(10):
            time.sleep(seconds / 10)
        return GRID[low:high]

    return read


@pytest.mark.timeout(200)
def test_pieces_go_to_the_workers_that_have_time(own_cluster: Any, tmp_path: Path) -> None:
    """A worker that is stopped most of the time computes fewer pieces; nothing waits for those it was to have."""
    measured = pytest.importorskip("benchmarks.cluster")
    slow, fast = own_cluster.run(os.getpid).values()
    A = msd.from_source(_noted(str(tmp_path), 0.05), shape=(N, N), type="f64[?,?] CSR", cuts=range(0, N + 1, 25))
    with measured.stopped_half_of_the_time(slow, period=0.4):
        np.testing.assert_allclose(ms.evaluate(TEXT, A=A, x=x).compute(), GRID @ x)
    ran = [path.name.rpartition("-")[2] for path in tmp_path.iterdir()]
    assert ran.count(str(fast)) > ran.count(str(slow))
    assert len(ran) >= 24


def _with_other_instructions(names: tuple[str, ...]) -> None:
    from mlir_sparse.compile.cpu_build import Build
    from mlir_sparse.pipeline import machine_key

    os.environ["MLIR_SPARSE_CACHE"] = "off"
    Build.compiled_here = []  # type: ignore[attr-defined]
    compiled = Build.compile

    def counted(self: Build, *arguments: Any, **options: Any) -> bytes:
        self.compiled_here.append(str(self.spec.assignment))  # type: ignore[attr-defined]
        return compiled(self, *arguments, **options)

    Build.compile = counted  # type: ignore[method-assign]
    if names:
        machine_key.cpu_features = lambda: frozenset(names)  # type: ignore[assignment]


def _compiled_here() -> list[str]:
    from mlir_sparse.compile.cpu_build import Build

    return list(Build.compiled_here)  # type: ignore[attr-defined]


@pytest.mark.timeout(200)
def test_a_worker_with_other_instructions_compiles_for_itself(own_cluster: Any) -> None:
    same, other = sorted(own_cluster.scheduler_info()["workers"])
    own_cluster.run(_with_other_instructions, (), workers=[same])
    own_cluster.run(_with_other_instructions, ("fpu", "sse2"), workers=[other])
    A = msd.from_tensor(ms.tensor(GRID), pieces=8)
    text = "y(i) = 7 * A(i,j) * x(j) - A(i,j)"
    found = ms.evaluate(text, A=A, x=x).persist()
    np.testing.assert_allclose(found.compute(), GRID @ (7 * x) - GRID.sum(axis=1))
    by_worker = {worker: own_cluster.run(_compiled_here, workers=[worker])[worker] for worker in (same, other)}
    assert not by_worker[same]  # the code came with the first piece
    assert by_worker[other]


def test_nothing_is_scattered() -> None:
    """Parts are nodes of the graph: what Dask is told to keep without knowing how to make it is lost with a worker."""
    sources = Path(msd.__file__).parent.glob("*.py")
    assert not [path.name for path in sources if "scatter(" in path.read_text()]


@pytest.mark.timeout(200)
def test_what_a_lost_worker_kept_beside_parts_is_made_again(
    own_cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlir_sparse.dask.image_operands.TASK_NBYTES", 0)
    ms.write(tmp_path / "0.npz", ms.tensor(GRID))
    cases = (
        msd.from_files(tmp_path, cuts=range(0, N + 1, 60)).persist(),
        msd.from_tensor(ms.tensor(GRID), pieces=10).persist(),
    )
    for A in cases:  # images and divisions are kept with the parts from now on
        np.testing.assert_allclose(ms.evaluate(TEXT, A=A, x=x).compute(), GRID @ x)
    assert any("division-" in str(key) for key in own_cluster.who_has())
    again = [ms.evaluate(TEXT, A=A, x=2 * x) for A in cases]
    os.kill(next(iter(own_cluster.run(os.getpid).values())), signal.SIGKILL)
    for y in again:
        np.testing.assert_allclose(y.compute(), GRID @ (2 * x))
