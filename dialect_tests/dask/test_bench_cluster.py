"""The figures of two workers are measured; how large they are is the benchmark's to say."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("dask.array")
measured = pytest.importorskip("benchmarks.cluster")
distributed = pytest.importorskip("benchmarks.distributed")


@pytest.mark.timeout(200)
def test_walls_and_bytes_are_measured(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlir_sparse.dask.image_operands.TASK_NBYTES", 0)
    small, skewed = distributed.grid(60), distributed.power_law(2000, 30_000)
    found = [*measured.statements(cluster, small, skewed, small, rounds=1)]
    found.append(measured.page_rank(cluster, 20_000, rounds=1))
    assert len(found) == 6
    assert all(one.two > 0 and one.one > 0 and one.busy_ratio > 0 for one in found)
    assert 0 < measured.slow_worker(cluster, pieces=4, seconds=0.02, rounds=1) < 100
    assert measured.transferred(cluster, small) > 0
