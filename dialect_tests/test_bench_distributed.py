"""`scripts/bench --distributed`: each figure is measured, and those that miss their bound are marked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mlir_sparse as ms

pytest.importorskip("dask.array")
distributed = pytest.importorskip("benchmarks.distributed")


def test_figures_are_measured_and_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(distributed, "RESULTS", tmp_path)
    monkeypatch.setattr(distributed, "ROUNDS", 1)
    distributed.main(["--scale", "40", "--save"])
    printed = capsys.readouterr().out.splitlines()
    (saved,) = tmp_path.iterdir()
    found = json.loads(saved.read_text())["figures"]
    assert len(found) == len(printed) - 1 == 11
    for one, line in zip(found, printed, strict=False):
        assert one["name"] in line
        assert one["value"] > 0 or "milliseconds" in one["name"]
        assert ("MISSED" in line) == (one["value"] > one["bound"])


def test_a_graph_sends_parts_and_images_and_little_else() -> None:
    assert distributed.bytes_sent(distributed.grid(150)) <= 1.01 + 0.02  # of 22,500 rows; tasks are counted too
    assert distributed.balance(distributed.grid(100), 8) <= 1.01
    assert distributed.balance(ms.tensor([[1.0, 2.0], [0.0, 0.0]], "CSR"), 2) <= 1  # the row is divided
