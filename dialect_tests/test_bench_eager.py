"""`scripts/bench eager`: each operation gives what the peer's does, and cases over the bound are marked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("scipy.sparse")
eager = pytest.importorskip("benchmarks.eager.__main__")
from benchmarks.eager import eager_rounds  # noqa: E402 - only where the benchmark is
from benchmarks.eager.eager_operations import OPERATIONS  # noqa: E402


@pytest.mark.filterwarnings("ignore:Changing the sparsity structure")
@pytest.mark.parametrize("dtype", ["f64", "i64", "c128"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_give_what_the_peers_do(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eager_rounds, "_LEAST", 1)
    monkeypatch.setattr(eager_rounds, "_ROUND", 0)
    sizes = ["8 x 8", "1e3"] if dtype == "f64" else ["8 x 8"]
    found = [case for case in eager_rounds.cases(sizes, [dtype], ["CSR", "CSC", "COO"]) if case[0] == name]
    assert found or OPERATIONS[name].orders
    for case in found:
        row = eager_rounds.measured(*case, seconds=0)  # which compares the results
        assert row.absent or min(row.ours, row.theirs, row.ratio) > 0


def test_results_that_differ_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = OPERATIONS["A * 2"]
    monkeypatch.setitem(
        eager_rounds.OPERATIONS, "wrong", eager_rounds.Operation(wrong.ours, lambda o: o.A * 3, storages=("CSR",))
    )
    with pytest.raises(AssertionError, match="wrong of CSR, 8 x 8, f64 beside scipy"):
        eager_rounds.measured("wrong", "CSR", "8 x 8", "f64", seconds=0)


def test_cases_over_the_bound_are_marked_and_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eager, "RESULTS", tmp_path)
    monkeypatch.setattr(eager_rounds, "BOUND", 0.0)
    ran = CliRunner().invoke(eager.main, ["A.copy", "reshape, to", "--sizes", "8 x 8", "--storages", "CSR", "--save"])
    assert ran.exit_code == 1
    lines = [line for line in ran.output.splitlines() if "scipy.sparse" in line]
    assert [line.split()[0] for line in lines] == ["A.copy()", "reshape,"]
    assert all(line.endswith("over") for line in lines)
    (saved,) = tmp_path.glob("*-eager.json")
    assert [row["missed"] for row in json.loads(saved.read_text())["results"]] == [True, True]
    assert "| A.copy() | CSR | 8 x 8 | f64 | scipy.sparse |" in saved.with_suffix(".md").read_text()
