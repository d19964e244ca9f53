"""The module after each pass."""

from __future__ import annotations

import pytest

import mlir_sparse as ms


@pytest.fixture(scope="module")
def trace() -> ms.pipeline.Trace:
    return ms.compile("y(i) = A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]").passes()


def test_a_snapshot_for_each_pass_and_the_input(trace: ms.pipeline.Trace) -> None:
    names = [snapshot.name for snapshot in trace]
    assert names[0] == "input"
    assert "sparsification-and-bufferization" in names
    assert names[-1] == "reconcile-unrealized-casts"
    assert len(trace) == len(names)


def test_the_last_snapshot_is_what_is_compiled(trace: ms.pipeline.Trace) -> None:
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]")
    assert trace[0].text == kernel.ir("linalg")
    assert trace[-1].text == kernel.ir("llvm")


def test_a_diff_shows_what_a_pass_did(trace: ms.pipeline.Trace) -> None:
    diff = trace.diff("sparsification")
    assert any(line.startswith("-") and "linalg.generic" in line for line in diff.splitlines())
    assert any(line.startswith("+") and "scf.for" in line for line in diff.splitlines())
    assert trace.diff("expand-realloc") == ""


def test_an_overview_says_why_each_pass_is_there(trace: ms.pipeline.Trace) -> None:
    assert "lower-affine: 0 lines changed; affine.min of the vector loops" in str(trace).splitlines()


def test_an_unknown_pass_is_refused_with_the_names(trace: ms.pipeline.Trace) -> None:
    with pytest.raises(ms.UnsupportedError, match=r"expected a pass of .*lower-affine.*, but got 'nothing'"):
        trace.diff("nothing")
